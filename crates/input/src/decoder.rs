//! Decodes the content of a file or archive member into a [`Decoded`]. Detects the format from the first bytes (the
//! head), and passes all bytes to the decoder of that format.
//!
//! ```text
//!  bytes --> head (4 KiB; JSON up to 1 MiB) --> sniff --> chrome_json | xplane | whole (profile_json, lake_trends, report_html, model_config)
//! ```
//!
//! The head is examined only at fixed lengths, so the result does not depend on the chunk sizes.

use super::chrome_json::ChromeJsonDecoder;
use super::lake_trends;
use super::log::LogReader;
use super::model_config::{Sidecar, read_hugging_face, read_sidecar};
use super::profile_json::{self, NamedProfile, Profiles, read_profiles};
use super::report_html;
use super::sniff::{self, Format};
use super::watch::{EventArguments, Watch};
use super::xplane::{Outline, XPlaneDecoder};
use base::Error;
use trace::{RowBlock, Trace};

/// Number of bytes after which a JSON text of unknown kind is read as a trace. Other kinds of JSON are smaller.
const MAX_HEAD_BYTES: usize = 1 << 20;

/// Maximum size of a file with a compiled program or a device memory profile, in bytes.
const MAX_PROGRAM_BYTES: usize = 1 << 30;

/// Maximum size of a model configuration, in bytes.
const MAX_CONFIG_BYTES: usize = 4 << 20;

/// Decoded content of a member.
#[derive(Debug)]
pub enum Decoded {
    /// Events from an xplane file or a Chrome trace.
    Trace(Box<Trace>),
    /// Results of earlier runs of crossprof. One document can contain several profiles.
    Profiles(Profiles),
    /// Dimensions of a model.
    Model(Box<Sidecar>),
    /// A device memory profile (pprof): its bytes, which are parsed on demand.
    MemoryProfile(Vec<u8>),
    /// The text of an out-of-memory error, with the surrounding lines of its log.
    MemoryError(String),
    /// A compiled program: the bytes of its `xla.HloProto` or HLO text, which are parsed on demand.
    Program(Vec<u8>),
    /// The member is a usual file in a profile folder, but has no data for a report.
    Ignored {
        /// Reason why the member is ignored, as a sentence.
        reason: String,
    },
}

/// Decodes one member that is pushed in chunks of any size.
///
/// ```
/// use input::{Decoded, Decoder};
///
/// let mut decoder = Decoder::new("crossprof.json");
/// decoder.push(br#"{"batch_size":16,"#)?;
/// decoder.push(br#""seq_length":2048}"#)?;
/// let Decoded::Model(sidecar) = decoder.finish()? else { panic!("not a model configuration") };
/// assert_eq!(sidecar.model.seq_length, Some(2048));
/// # Ok::<(), base::Error>(())
/// ```
#[derive(Debug)]
pub struct Decoder {
    path: String,
    /// Expected size of the member in bytes, or 0 if unknown.
    expected: u64,
    /// Outlines of the member's large planes, if the member is an xplane file.
    outlines: Vec<Outline>,
    /// The events to watch for. The watch is stored here until the format is known.
    watch: Option<Watch>,
    state: DecoderState,
}

#[derive(Debug)]
enum DecoderState {
    /// The head is too short to detect the format. The head is examined again when `look_at` bytes have arrived.
    Head {
        bytes: Vec<u8>,
        look_at: usize,
    },
    Json(Box<ChromeJsonDecoder>),
    XPlane(Box<XPlaneDecoder>),
    /// A document that is parsed as a whole after its last byte.
    Whole {
        kind: Whole,
        bytes: Vec<u8>,
    },
    /// Plain text.
    Log(LogReader),
    Ignored(String),
    Refused(Error),
}

/// Kinds of documents that are parsed as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whole {
    Profile,
    LakeTrends,
    Report,
    HuggingFace,
    Sidecar,
    Program,
    MemoryProfile,
}

impl Decoder {
    /// Creates a decoder of the member at `path`. The path appears in warnings, and does not affect decoding.
    pub fn new(path: &str) -> Decoder {
        Decoder {
            path: path.to_owned(),
            expected: 0,
            outlines: Vec::new(),
            watch: None,
            state: DecoderState::Head { bytes: Vec::new(), look_at: sniff::HEAD_BYTES },
        }
    }

    /// Announces that the member has at least `bytes` bytes, so that the decoder can allocate its memory in one step.
    pub fn expecting(mut self, bytes: u64) -> Decoder {
        self.expected = bytes;
        self
    }

    /// Sets the known planes of the member, if the member is an xplane file.
    pub fn with_outlines(mut self, outlines: Vec<Outline>) -> Decoder {
        self.outlines = outlines;
        self
    }

    /// Watches for selected events, if the member contains any events. The caller needs only the arguments of these
    /// events.
    pub(crate) fn watching(mut self, watch: Watch) -> Decoder {
        self.watch = Some(watch);
        self
    }

    /// Frees the memory of the events that were read so far, and returns the number of selected events that are still
    /// missing.
    pub(crate) fn forget(&mut self) -> usize {
        match &mut self.state {
            DecoderState::Json(decoder) => decoder.forget(),
            DecoderState::XPlane(decoder) => decoder.forget(),
            _ => self.watch.as_ref().map_or(0, Watch::left),
        }
    }

    /// Ends the member and returns the selected events that were found.
    pub(crate) fn finish_watch(mut self) -> Vec<EventArguments> {
        if let DecoderState::Head { bytes, .. } = &self.state {
            // A file that is not a profile has no events.
            let _ = self.open(sniff::sniff(bytes, true).unwrap_or(Format::TraceJson));
        }
        let watch = match self.state {
            DecoderState::Json(decoder) => decoder.finish_watch(),
            DecoderState::XPlane(decoder) => decoder.finish_watch(),
            _ => None,
        };
        watch.map(Watch::into_found).unwrap_or_default()
    }

    /// Reads the member's next bytes.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] as soon as it is clear that the member is not a profile, and for every later chunk.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            let DecoderState::Head { bytes: head, look_at } = &mut self.state else { return self.pass_on(bytes) };
            let (piece, rest) = bytes.split_at(look_at.saturating_sub(head.len()).min(bytes.len()));
            head.extend_from_slice(piece);
            bytes = rest;
            if head.len() < *look_at {
                return Ok(());
            }
            match sniff::sniff(head, false) {
                None if head.len() < MAX_HEAD_BYTES => *look_at *= 2,
                None => self.open(Format::TraceJson)?,
                Some(format) => self.open(format)?,
            }
        }
        if let DecoderState::Refused(error) = &self.state { Err(error.clone()) } else { Ok(()) }
    }

    /// Returns the number of events read so far.
    pub fn events(&self) -> u64 {
        match &self.state {
            DecoderState::Json(decoder) => decoder.events(),
            DecoderState::XPlane(decoder) => decoder.events(),
            _ => 0,
        }
    }

    /// Takes the rows of events that will not change any more. Only xplane files have such events before the end of the
    /// file, because events of a JSON trace may still end later.
    pub fn take_final_rows(&mut self) -> Vec<RowBlock> {
        match &mut self.state {
            DecoderState::XPlane(decoder) => decoder.take_rows(),
            _ => Vec::new(),
        }
    }

    /// Ends the member and returns its content.
    ///
    /// # Errors
    ///
    /// Returns an [`Error`] if the member is not a profile.
    pub fn finish(mut self) -> Result<Decoded, Error> {
        if let DecoderState::Head { bytes, .. } = &self.state {
            let format = sniff::sniff(bytes, true).unwrap_or(Format::TraceJson);
            self.open(format)?;
        }
        match self.state {
            DecoderState::Json(decoder) => Ok(Decoded::Trace(Box::new(decoder.finish()?))),
            DecoderState::XPlane(decoder) => Ok(Decoded::Trace(Box::new(decoder.finish()?))),
            DecoderState::Whole { kind: Whole::Profile, bytes } => {
                Ok(Decoded::Profiles(read_profiles(&bytes, &self.path)?))
            }
            DecoderState::Whole { kind: Whole::LakeTrends, bytes } => {
                let runs = vec![NamedProfile { trends: Some(bytes), ..NamedProfile::default() }];
                Ok(Decoded::Profiles(Profiles { runs, ..Profiles::default() }))
            }
            DecoderState::Whole { kind: Whole::Report, bytes } => {
                let mut found = read_profiles(report_html::profiles(&bytes)?, &self.path)?;
                let steps = report_html::median_steps(&bytes);
                // If some profile was not read, it is unclear which picture belongs to which profile.
                if steps.len() == found.runs.len() {
                    found.runs.iter_mut().zip(steps).for_each(|(run, step)| run.median_step = step);
                }
                Ok(Decoded::Profiles(found))
            }
            DecoderState::Whole { kind: Whole::HuggingFace, bytes } => {
                Ok(Decoded::Model(Box::new(read_hugging_face(&bytes)?.into())))
            }
            DecoderState::Whole { kind: Whole::Sidecar, bytes } => Ok(Decoded::Model(Box::new(read_sidecar(&bytes)?))),
            DecoderState::Whole { kind: Whole::Program, bytes } => Ok(Decoded::Program(sniff::as_hlo_proto(bytes))),
            DecoderState::Whole { kind: Whole::MemoryProfile, bytes } => Ok(Decoded::MemoryProfile(bytes)),
            DecoderState::Log(reader) => Ok(Decoded::MemoryError(reader.finish()?)),
            DecoderState::Ignored(reason) => Ok(Decoded::Ignored { reason }),
            DecoderState::Refused(error) => Err(error),
            DecoderState::Head { .. } => Err(Error::Empty),
        }
    }

    /// Opens the decoder for `format`, and passes it the head.
    fn open(&mut self, format: Format) -> Result<(), Error> {
        let whole = |kind| DecoderState::Whole { kind, bytes: Vec::new() };
        let next = match format {
            Format::TraceJson => {
                DecoderState::Json(Box::new(ChromeJsonDecoder::new(&self.path).watching(self.watch.take())))
            }
            Format::XSpace => {
                let decoder = XPlaneDecoder::new(&self.path).expecting(self.expected).watching(self.watch.take());
                DecoderState::XPlane(Box::new(decoder.with_outlines(std::mem::take(&mut self.outlines))))
            }
            Format::UnifiedProfile => whole(Whole::Profile),
            Format::LakeTrends => whole(Whole::LakeTrends),
            Format::Report => whole(Whole::Report),
            Format::HuggingFaceConfig => whole(Whole::HuggingFace),
            Format::Sidecar => whole(Whole::Sidecar),
            Format::Program => whole(Whole::Program),
            Format::Log => DecoderState::Log(LogReader::default()),
            Format::MemoryProfile => whole(Whole::MemoryProfile),
            Format::Derived(reason) => DecoderState::Ignored(reason),
            Format::Empty => DecoderState::Refused(Error::Empty),
            Format::Other(error) => DecoderState::Refused(error),
            // Unpacking comes before decoding. A member that is still packed is nested too deeply.
            Format::Gzip | Format::Zip | Format::Tar => DecoderState::Refused(Error::Unsupported {
                what: "An archive nested inside several others".to_owned(),
                remedy: "Unpack it and open its files.".to_owned(),
            }),
        };
        let DecoderState::Head { bytes, .. } = std::mem::replace(&mut self.state, next) else { return Ok(()) };
        self.pass_on(&bytes)
    }

    fn pass_on(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let refused = match &mut self.state {
            DecoderState::Json(decoder) => decoder.push(bytes).err(),
            DecoderState::XPlane(decoder) => decoder.push(bytes).err(),
            DecoderState::Whole { kind, bytes: document } => {
                document.extend_from_slice(bytes);
                too_large(*kind, document.len())
            }
            DecoderState::Log(reader) => {
                reader.push(bytes);
                None
            }
            DecoderState::Refused(error) => Some(error.clone()),
            DecoderState::Head { .. } | DecoderState::Ignored(_) => None,
        };
        match refused {
            None => Ok(()),
            Some(error) => {
                self.state = DecoderState::Refused(error.clone());
                Err(error)
            }
        }
    }
}

fn too_large(kind: Whole, length: usize) -> Option<Error> {
    let (what, limit, limit_text) = match kind {
        Whole::Profile => ("A unified profile of this size", profile_json::MAX_BYTES, "64 MiB"),
        Whole::LakeTrends => ("A lake export of this size", lake_trends::MAX_BYTES, "256 MiB"),
        Whole::Report => ("A report of this size", profile_json::MAX_BYTES, "64 MiB"),
        Whole::Program => ("A compiled program of this size", MAX_PROGRAM_BYTES, "1 GiB"),
        Whole::MemoryProfile => ("A device memory profile of this size", MAX_PROGRAM_BYTES, "1 GiB"),
        Whole::HuggingFace | Whole::Sidecar => ("A model configuration of this size", MAX_CONFIG_BYTES, "4 MiB"),
    };
    (length > limit).then(|| Error::LimitExceeded {
        what: what.to_owned(),
        limit: limit_text.to_owned(),
        remedy: "Check that it is the right file.".to_owned(),
    })
}

#[cfg(test)]
mod tests;
