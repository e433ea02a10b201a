//! The second reader: decodes the content that the first reader has unpacked, and passes the runs to the analyst.

use crossprof::session::plan::FileKind;
use crossprof::session::snapshot;
use crossprof::session::{FileId, FileResult, MemberResult, Session};
use crossprof::session::{Outline, Unpacked};
use crossprof::{Error, Warning, WarningCode};
use js_sys::Uint8Array;

use crate::protocol::analyst::RunChunk;
use crate::protocol::files::{FileDone, FileEntry};
use crate::protocol::reader::{DecodeProgress, DecodeRequest, FileChunk};
use crate::worker::Pace;
use crate::worker::asker::Asker;
use crate::worker::pipe::{self, Bytes, Pipe};

const DAMAGED: &str = "A file was damaged during the transfer between two workers. Load the profile again.";

/// Maximum number of unread archive members that get their own warning. The page shows each warning as a row.
const MAX_NAMED: usize = 200;

/// Decodes the content that the other reader sends.
pub fn run(request: DecodeRequest, asker: Asker) {
    let mut decoder = Some(Decoder::new(request, asker));
    pipe::listen(move |chunk, bytes| match chunk {
        Some(FileChunk::Done) => {
            if let Some(decoder) = decoder.take() {
                wasm_bindgen_futures::spawn_local(decoder.hand_over());
            }
        }
        Some(chunk) => {
            if let Some(decoder) = &mut decoder {
                decoder.take(chunk, bytes);
            }
        }
        None => {
            if let Some(decoder) = decoder.take() {
                decoder.asker.refuse(DAMAGED);
            }
        }
    });
}

/// Decodes chunks into a session and reports progress to the page.
struct Decoder {
    asker: Asker,
    entries: Vec<FileEntry>,
    session: Session,
    /// The current file: its index and its id in the session.
    file: Option<(u32, FileId)>,
    /// Finished files that have not been reported to the page yet.
    done: Vec<FileDone>,
    block: Vec<u8>,
    to_analyst: Pipe<RunChunk>,
    pace: Pace,
}

impl Decoder {
    fn new(request: DecodeRequest, asker: Asker) -> Decoder {
        let mut session = Session::new();
        for entry in request.left_out {
            session.leave_out(&entry.path, entry.size_bytes, entry.kind);
        }
        let to_analyst = Pipe::new(RunChunk::Bytes);
        let (entries, block, pace) = (request.files, Vec::new(), Pace::default());
        Decoder { asker, entries, session, file: None, done: Vec::new(), block, to_analyst, pace }
    }

    /// Handles the next chunk. Takes the bytes of the chunk from `bytes`.
    fn take(&mut self, chunk: FileChunk, bytes: &mut Bytes) {
        match chunk {
            FileChunk::File(index) => {
                if let Some(entry) = self.entries.get(index as usize) {
                    self.file = Some((index, self.session.begin(&entry.path, Some(entry.size_bytes))));
                }
            }
            FileChunk::Foreseen { start, end } => {
                if let Some((_, id)) = self.file {
                    let outline = Outline::new(start..end, Uint8Array::new(bytes.buffer()).to_vec());
                    self.session.add_outline(id, outline);
                }
            }
            FileChunk::Begin { path, size_bytes } => self.give(Unpacked::Begin { path: &path, size: size_bytes }),
            FileChunk::Bytes(length) => self.bytes(&bytes.take(length)),
            FileChunk::End => self.give(Unpacked::End),
            FileChunk::Warning(warning) => self.give(Unpacked::Warning(warning)),
            FileChunk::FileEnd => {
                if let Some((index, id)) = self.file.take() {
                    self.done.push(done(index, self.session.finish(id)));
                    if self.pace.is_due() {
                        self.report_done();
                    }
                }
            }
            // The caller passes on the runs.
            FileChunk::Done => {}
        }
    }

    fn report_done(&mut self) {
        let done = std::mem::take(&mut self.done);
        self.asker.progress::<DecodeRequest>(&DecodeProgress::FilesDone(done));
    }

    /// Sends the runs to the analyst, after all files were read.
    async fn hand_over(mut self) {
        self.block = Vec::new();
        self.report_done();
        let wanted = self.session.wanted();
        if !wanted.is_empty() {
            self.asker.progress::<DecodeRequest>(&DecodeProgress::Wanted(wanted));
        }
        self.session.runs();
        while let Some(image) = self.session.hand_over() {
            for piece in image {
                self.to_analyst.ready().await;
                match piece {
                    snapshot::Piece::Rows(rows) => self.to_analyst.send_words(RunChunk::Rows, rows.words()),
                    snapshot::Piece::Bytes(bytes) => self.to_analyst.fill(&bytes),
                }
            }
            self.to_analyst.send(RunChunk::End);
        }
        self.to_analyst.send(RunChunk::Done);
        self.to_analyst.flush();
        self.asker.respond::<DecodeRequest>(&());
    }

    fn give(&mut self, piece: Unpacked<'_>) {
        if let Some((_, id)) = self.file {
            self.session.unpacked(id, piece);
        }
    }

    fn bytes(&mut self, bytes: &Uint8Array) {
        let Some((index, id)) = self.file else { return };
        self.block.resize(bytes.length() as usize, 0);
        bytes.copy_to(&mut self.block);
        self.session.unpacked(id, Unpacked::Data(&self.block));
        if self.entries.len() == 1 {
            for rows in self.session.early_rows(id) {
                self.to_analyst.send_words(RunChunk::Rows, rows.words());
            }
        }
        if self.pace.is_due() {
            let events = self.session.events(id);
            self.asker.progress::<DecodeRequest>(&DecodeProgress::Events { file: index, events });
        }
    }
}

/// Converts the result of a file to a message for the page.
fn done(file: u32, result: FileResult) -> FileDone {
    let single = result.members.len() == 1;
    let mut warnings = result.warnings;
    if !single {
        warnings.extend(unread(&result.path, &result.members));
    }
    let useful = result.members.iter().any(|member| member.error.is_none() && member.ignored.is_none());
    let skipped = result.members.iter().find_map(|member| member.ignored.clone()).filter(|_| !useful);
    let kind = if single { result.members.first().map(|member| member.kind) } else { Some(FileKind::Archive) };
    FileDone {
        file,
        events: result.events,
        kind: kind.filter(|kind| *kind != FileKind::Unknown),
        warnings,
        error: result.error.map(|error| error.to_string()),
        skipped,
    }
}

/// Returns warnings for archive members that could not be read. Each of the first [`MAX_NAMED`] members gets its own
/// warning. One more warning contains the number of other members.
fn unread(archive: &str, members: &[MemberResult]) -> Vec<Warning> {
    let failed = || members.iter().filter_map(|member| Some((member, member.error.as_ref()?)));
    let warning = |(member, error): (&MemberResult, &Error)| {
        let message = format!("A file in this archive was not read. {error}");
        Warning::new(WarningCode::MemberNotRead, message).with_file(member.path.as_str())
    };
    let mut warnings: Vec<Warning> = failed().take(MAX_NAMED).map(warning).collect();
    let more = failed().skip(MAX_NAMED).count();
    if more > 0 {
        let message = format!("{more} more files in this archive were not read. The first {MAX_NAMED} are listed.");
        warnings.push(Warning::new(WarningCode::MemberNotRead, message).with_file(archive).with_count(more as u64));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_unread_members_are_listed_and_the_others_counted() {
        let member = |index: usize| MemberResult {
            path: format!("a.zip/{index}"),
            kind: FileKind::Unknown,
            events: 0,
            ignored: None,
            error: (index > 0).then_some(Error::Empty),
        };
        let told = |members: usize| {
            done(
                0,
                FileResult {
                    path: "a.zip".into(),
                    members: (0..members).map(member).collect(),
                    ..FileResult::default()
                },
            )
        };
        assert_eq!(told(1 + MAX_NAMED).warnings.len(), MAX_NAMED);
        let warnings = told(100_000).warnings;
        assert_eq!(warnings.len(), MAX_NAMED + 1);
        assert_eq!(warnings.last().and_then(|warning| warning.count), Some(99_999 - MAX_NAMED as u64));
    }
}
