//! Any member in, a [`Decoded`] out: looks at the first bytes and passes everything on to the decoder of that format.
//!
//! ```text
//!  bytes --> head (4 KiB; JSON up to 1 MiB) --> sniff --> chrome_json | xplane | whole (profile_json, report_html, model_config)
//! ```
//!
//! The head is looked at when it has certain lengths only, so the verdict does not depend on the chunks.

use super::chrome_json::ChromeJsonDecoder;
use super::log::LogReader;
use super::model_config::{Sidecar, read_hugging_face, read_sidecar};
use super::profile_json::{self, Profiles, read_profiles};
use super::report_html;
use super::sniff::{self, Format};
use super::watch::{EventArguments, Watch};
use super::xplane::{Outline, XPlaneDecoder};
use base::Error;
use trace::{RowBlock, Trace};

/// JSON that has not said what it is by here is taken for a trace whose events come late: only traces are large.
const MAX_HEAD_BYTES: usize = 1 << 20;

/// Largest compiled program, or device memory profile, that is read from a file by itself.
const MAX_PROGRAM_BYTES: usize = 1 << 30;

/// Largest model configuration that is read.
const MAX_CONFIG_BYTES: usize = 4 << 20;

/// What a member held.
#[derive(Debug)]
pub enum Decoded {
    /// Events, from an xplane or a Chrome trace.
    Trace(Box<Trace>),
    /// Earlier results: one document can hold several.
    Profiles(Profiles),
    /// Dimensions of a model.
    Model(Box<Sidecar>),
    /// A device memory profile (pprof): its bytes, which are read when somebody asks.
    MemoryProfile(Vec<u8>),
    /// The text of an out-of-memory error, with what stands around it in its log.
    MemoryError(String),
    /// A compiled program: the bytes of its `xla.HloProto`, which are read when somebody asks.
    Program(Vec<u8>),
    /// The member belongs in a profile folder and holds nothing for a report.
    Ignored {
        /// What the member is, as a sentence.
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
    /// Bytes that the member is known to have; else 0.
    expected: u64,
    /// Outlines of the member's large planes, should it be an xplane.
    outlines: Vec<Outline>,
    /// The events to watch for, until it is known who decodes.
    watch: Option<Watch>,
    state: DecoderState,
}

#[derive(Debug)]
enum DecoderState {
    /// Too few bytes to tell; looked at again when there are `look_at`.
    Head {
        bytes: Vec<u8>,
        look_at: usize,
    },
    Json(Box<ChromeJsonDecoder>),
    XPlane(Box<XPlaneDecoder>),
    /// A small document, read at its end.
    Whole {
        kind: Whole,
        bytes: Vec<u8>,
    },
    /// Plain text.
    Log(LogReader),
    Ignored(String),
    Refused(Error),
}

/// Documents that are read whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whole {
    Profile,
    Report,
    HuggingFace,
    Sidecar,
    Program,
    MemoryProfile,
}

impl Decoder {
    /// For the member at `path`, which is named in warnings and decides nothing.
    pub fn new(path: &str) -> Decoder {
        Decoder {
            path: path.to_owned(),
            expected: 0,
            outlines: Vec::new(),
            watch: None,
            state: DecoderState::Head { bytes: Vec::new(), look_at: sniff::HEAD_BYTES },
        }
    }

    /// The member is known to have at least `bytes` bytes: room for them may be made at once.
    pub fn expecting(mut self, bytes: u64) -> Decoder {
        self.expected = bytes;
        self
    }

    /// The member, should it be an xplane, is known to have these planes.
    pub fn foreseeing(mut self, outlines: Vec<Outline>) -> Decoder {
        self.outlines = outlines;
        self
    }

    /// Watches for events, should there be any: what the file says of them is all that is wanted of it.
    pub(crate) fn watching(mut self, watch: Watch) -> Decoder {
        self.watch = Some(watch);
        self
    }

    /// Gives back the memory of the events so far, and returns how many are still watched for.
    pub(crate) fn forget(&mut self) -> usize {
        match &mut self.state {
            DecoderState::Json(decoder) => decoder.forget(),
            DecoderState::XPlane(decoder) => decoder.forget(),
            _ => self.watch.as_ref().map_or(0, Watch::left),
        }
    }

    /// Ends the member: what was found of the events that were watched for.
    pub(crate) fn finish_watch(mut self) -> Vec<EventArguments> {
        if let DecoderState::Head { bytes, .. } = &self.state {
            // What is no profile has no events.
            let _ = self.open(sniff::sniff(bytes, true).unwrap_or(Format::TraceJson));
        }
        let watch = match self.state {
            DecoderState::Json(decoder) => decoder.finish_watch(),
            DecoderState::XPlane(decoder) => decoder.finish_watch(),
            _ => None,
        };
        watch.map(Watch::into_found).unwrap_or_default()
    }

    /// Takes the member's next bytes.
    ///
    /// # Errors
    ///
    /// Any [`Error`], as soon as it is clear that the member gives no profile; the same again for every later chunk.
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

    /// Events read so far.
    pub fn events(&self) -> u64 {
        match &self.state {
            DecoderState::Json(decoder) => decoder.events(),
            DecoderState::XPlane(decoder) => decoder.events(),
            _ => 0,
        }
    }

    /// Takes the events that are final: an xplane's. Those of a JSON trace may be closed later.
    pub fn take_final_rows(&mut self) -> Vec<RowBlock> {
        match &mut self.state {
            DecoderState::XPlane(decoder) => decoder.take_rows(),
            _ => Vec::new(),
        }
    }

    /// Ends the member.
    ///
    /// # Errors
    ///
    /// Any [`Error`]: the member gives no profile.
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
            DecoderState::Whole { kind: Whole::Report, bytes } => {
                let mut found = read_profiles(report_html::profiles(&bytes)?, &self.path)?;
                let steps = report_html::median_steps(&bytes);
                // Where a profile could not be read, it is unknown of which each is.
                if steps.len() == found.runs.len() {
                    found.runs.iter_mut().zip(steps).for_each(|(run, step)| run.median_step = step);
                }
                Ok(Decoded::Profiles(found))
            }
            DecoderState::Whole { kind: Whole::HuggingFace, bytes } => {
                Ok(Decoded::Model(Box::new(read_hugging_face(&bytes)?.into())))
            }
            DecoderState::Whole { kind: Whole::Sidecar, bytes } => Ok(Decoded::Model(Box::new(read_sidecar(&bytes)?))),
            DecoderState::Whole { kind: Whole::Program, bytes } => Ok(Decoded::Program(bytes)),
            DecoderState::Whole { kind: Whole::MemoryProfile, bytes } => Ok(Decoded::MemoryProfile(bytes)),
            DecoderState::Log(reader) => Ok(Decoded::MemoryError(reader.finish()?)),
            DecoderState::Ignored(reason) => Ok(Decoded::Ignored { reason }),
            DecoderState::Refused(error) => Err(error),
            DecoderState::Head { .. } => Err(Error::Empty),
        }
    }

    /// Goes on as `format`, with the head as its first bytes.
    fn open(&mut self, format: Format) -> Result<(), Error> {
        let whole = |kind| DecoderState::Whole { kind, bytes: Vec::new() };
        let next = match format {
            Format::TraceJson => {
                DecoderState::Json(Box::new(ChromeJsonDecoder::new(&self.path).watching(self.watch.take())))
            }
            Format::XSpace => {
                let decoder = XPlaneDecoder::new(&self.path).expecting(self.expected).watching(self.watch.take());
                DecoderState::XPlane(Box::new(decoder.foreseeing(std::mem::take(&mut self.outlines))))
            }
            Format::UnifiedProfile => whole(Whole::Profile),
            Format::Report => whole(Whole::Report),
            Format::HuggingFaceConfig => whole(Whole::HuggingFace),
            Format::Sidecar => whole(Whole::Sidecar),
            Format::Program => whole(Whole::Program),
            Format::Log => DecoderState::Log(LogReader::default()),
            Format::MemoryProfile => whole(Whole::MemoryProfile),
            Format::Derived(reason) => DecoderState::Ignored(reason),
            Format::Empty => DecoderState::Refused(Error::Empty),
            Format::Other(error) => DecoderState::Refused(error),
            // Unpacking comes before decoding: what is still packed lies too deep.
            Format::Gzip | Format::Zip | Format::Tar => DecoderState::Refused(Error::Unsupported {
                what: "An archive inside many others".to_owned(),
                remedy: "Unpack it and drop what it holds.".to_owned(),
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
