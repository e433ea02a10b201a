//! Reads one file: passes each unpacked member to its own decoder, and collects the results.

use base::{Error, Warning};
use input::plan::{self, FileKind};
use input::{Decoded, Decoder, NamedProfile, Outline, Sidecar, Unpacked};
use report::SourceFile;
use trace::{RowBlock, SourceFormat, Trace};

/// Result of a finished file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileResult {
    /// Path of the file, as the caller passed it.
    pub path: String,
    /// Number of events read from the file.
    pub events: u64,
    /// Members of the file: the file itself, or the members of an archive.
    pub members: Vec<MemberResult>,
    /// Warnings about lost or unusual data.
    pub warnings: Vec<Warning>,
    /// Reason why the file gave no data. `None` if the file contains a run or a model configuration, or if it is
    /// ignored on purpose.
    pub error: Option<Error>,
}

/// Result of one member of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberResult {
    /// Path of the member. The path of a member of an archive starts with the archive's path.
    pub path: String,
    /// Kind of content.
    pub kind: FileKind,
    /// Number of events read from the member.
    pub events: u64,
    /// Reason why the member is not part of a run, as a sentence.
    pub ignored: Option<String>,
    /// Error that made the member unreadable.
    pub error: Option<Error>,
}

/// A file, or a member of an archive, that belongs to a run.
pub(super) struct Member {
    pub(super) path: String,
    pub(super) size_bytes: u64,
    pub(super) kind: FileKind,
    pub(super) content: Content,
    /// Warnings about the member's bytes. Warnings about the member's events are in its trace.
    pub(super) warnings: Vec<Warning>,
}

/// Decoded content of a member.
pub(super) enum Content {
    Trace(Box<Trace>),
    /// Runs of a document, at least one.
    Profiles(Vec<NamedProfile>),
    Model(Box<Sidecar>),
    /// Serialised `xla.HloProto` or HLO text of a compiled program, or its buffer assignment as text.
    Program(Vec<u8>),
    /// Device memory profile (pprof).
    MemoryProfile(Vec<u8>),
    /// Text of an out-of-memory error.
    MemoryError(String),
    /// Content that the caller did not read, because another file of the same host is read instead.
    NotRead,
    /// Content that has been moved into a run.
    Taken,
}

impl Member {
    /// Returns the file's entry in a report.
    pub(super) fn source_file(&self, num_events: Option<u64>) -> SourceFile {
        let format = match self.kind {
            FileKind::XPlane => "xplane",
            FileKind::TraceJson => "trace_json",
            FileKind::UnifiedProfile => "unified_profile",
            FileKind::LakeTrends => "lake_trends",
            FileKind::ModelConfig => "model_config",
            FileKind::Program => "hlo",
            FileKind::MemoryProfile => "memory_profile",
            FileKind::MemoryError => "out_of_memory_error",
            FileKind::Archive | FileKind::Unknown => "unknown",
        };
        SourceFile { path: self.path.clone(), size_bytes: self.size_bytes, format: format.to_owned(), num_events }
    }

    pub(super) fn new(path: &str, size_bytes: u64, kind: FileKind, content: Content) -> Member {
        Member { path: path.to_owned(), size_bytes, kind, content, warnings: Vec::new() }
    }
}

/// State of a file that is being read.
pub(super) struct Intake {
    path: String,
    size: Option<u64>,
    /// Number of stored bytes that have been received.
    stored: u64,
    /// Outlines of the planes, if the file itself is an xplane.
    outlines: Vec<Outline>,
    open: Option<OpenMember>,
    members: Vec<Member>,
    results: Vec<MemberResult>,
    /// Warnings for the member that is open or will be opened next.
    warnings: Vec<Warning>,
    all_warnings: Vec<Warning>,
}

struct OpenMember {
    path: String,
    size: Option<u64>,
    unpacked_bytes: u64,
    decoder: Result<Decoder, Error>,
}

impl Intake {
    pub(super) fn new(path: &str, size: Option<u64>) -> Intake {
        Intake {
            path: path.to_owned(),
            size,
            stored: 0,
            outlines: Vec::new(),
            open: None,
            members: Vec::new(),
            results: Vec::new(),
            warnings: Vec::new(),
            all_warnings: Vec::new(),
        }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn count_stored(&mut self, bytes: u64) {
        self.stored = self.stored.saturating_add(bytes);
    }

    pub(super) fn add_outline(&mut self, outline: Outline) {
        self.outlines.push(outline);
    }

    pub(super) fn events(&self) -> u64 {
        let open = self.open.as_ref().and_then(|open| open.decoder.as_ref().ok()).map_or(0, Decoder::events);
        self.results.iter().map(|member| member.events).sum::<u64>().saturating_add(open)
    }

    /// See [`super::Session::early_rows`]. Takes no events from members of an archive, because an archive may contain
    /// several hosts.
    pub(super) fn early_rows(&mut self) -> Vec<RowBlock> {
        let open = self.open.as_mut().filter(|open| open.path == self.path);
        open.and_then(|open| open.decoder.as_mut().ok()).map(Decoder::take_final_rows).unwrap_or_default()
    }

    pub(super) fn accept(&mut self, piece: Unpacked<'_>) {
        match piece {
            Unpacked::Begin { path, size } => {
                self.end_member();
                // Sizes of archive members are only claims. The file's own size is certain.
                let mut decoder = Decoder::new(path).expecting(self.size.unwrap_or(0));
                if path == self.path {
                    decoder = decoder.with_outlines(std::mem::take(&mut self.outlines));
                }
                let decoder = Ok(decoder);
                self.open = Some(OpenMember { path: path.to_owned(), size, unpacked_bytes: 0, decoder });
            }
            Unpacked::Data(bytes) => {
                let Some(open) = &mut self.open else { return };
                open.unpacked_bytes = open.unpacked_bytes.saturating_add(bytes.len() as u64);
                if let Ok(decoder) = &mut open.decoder
                    && let Err(error) = decoder.push(bytes)
                {
                    // The rest of the member is unpacked and skipped, because the archive's next member follows it.
                    open.decoder = Err(error);
                }
            }
            Unpacked::End => self.end_member(),
            Unpacked::Warning(mut warning) => {
                warning.file.get_or_insert_with(|| self.path.clone());
                self.all_warnings.push(warning.clone());
                match self.members.last_mut() {
                    // A warning about trailing bytes or a wrong checksum is reported after the end of a member.
                    Some(member) if self.open.is_none() => member.warnings.push(warning),
                    _ => self.warnings.push(warning),
                }
            }
        }
    }

    fn end_member(&mut self) {
        let Some(open) = self.open.take() else { return };
        let decoded = open.decoder.and_then(Decoder::finish);
        let is_file = open.path == self.path || self.path.strip_suffix(".gz") == Some(open.path.as_str());
        let size = if is_file { self.size.or((self.stored > 0).then_some(self.stored)) } else { open.size };
        let mut result =
            MemberResult { path: open.path, kind: FileKind::Unknown, events: 0, ignored: None, error: None };
        let content = match decoded {
            Ok(Decoded::Trace(trace)) => {
                result.kind = trace_kind(&trace);
                result.events = trace.events.len() as u64;
                self.all_warnings.extend(trace.warnings.iter().cloned());
                Some(Content::Trace(trace))
            }
            Ok(Decoded::Profiles(profiles)) => {
                let is_of_lake = profiles.runs.iter().any(|run| run.trends.is_some());
                result.kind = if is_of_lake { FileKind::LakeTrends } else { FileKind::UnifiedProfile };
                self.all_warnings.extend(profiles.warnings.iter().cloned());
                self.warnings.extend(profiles.warnings);
                Some(Content::Profiles(profiles.runs))
            }
            Ok(Decoded::Model(model)) => {
                result.kind = FileKind::ModelConfig;
                Some(Content::Model(model))
            }
            Ok(Decoded::Program(bytes)) => {
                result.kind = FileKind::Program;
                Some(Content::Program(bytes))
            }
            Ok(Decoded::MemoryProfile(bytes)) => {
                result.kind = FileKind::MemoryProfile;
                Some(Content::MemoryProfile(bytes))
            }
            Ok(Decoded::MemoryError(text)) => {
                result.kind = FileKind::MemoryError;
                Some(Content::MemoryError(text))
            }
            Ok(Decoded::Ignored { reason }) => {
                result.ignored = Some(reason);
                None
            }
            Err(error) => {
                // XProf's caches are not profiles, but opening them is not a mistake.
                match plan::cache_reason(&result.path) {
                    Some(reason) => result.ignored = Some(reason.to_owned()),
                    None => result.error = Some(error),
                }
                None
            }
        };
        if let Some(content) = content {
            // The file's name as given, so that messages and provenance use a name that the user recognises.
            let path = if is_file { &self.path } else { &result.path };
            let mut member = Member::new(path, size.unwrap_or(open.unpacked_bytes), result.kind, content);
            member.warnings = std::mem::take(&mut self.warnings);
            self.members.push(member);
        }
        self.results.push(result);
    }

    pub(super) fn finish(mut self) -> (FileResult, Vec<Member>) {
        self.end_member();
        let events = self.events();
        let nothing = self.members.is_empty() && self.results.iter().all(|member| member.ignored.is_none());
        let error = nothing.then(|| match self.results.as_slice() {
            [] => Error::Empty,
            [only] => only.error.clone().unwrap_or(Error::Empty),
            _ => Error::not_a_profile(
                "an archive without a profile in it",
                "Pack the folder that contains plugins/profile/<run>/*.xplane.pb, or the files themselves.",
            ),
        });
        let result = FileResult { path: self.path, events, members: self.results, warnings: self.all_warnings, error };
        (result, self.members)
    }
}

fn trace_kind(trace: &Trace) -> FileKind {
    match trace.format {
        Some(SourceFormat::XPlane) => FileKind::XPlane,
        _ => FileKind::TraceJson,
    }
}
