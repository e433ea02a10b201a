//! Decodes `*.xplane.pb` files, which the JAX or TensorFlow profiler records, into a [`Trace`]. Such a file contains an
//! `XSpace` message.
//!
//! ```text
//! XSpace  1 planes*  2 errors*  3 warnings*  4 hostnames*
//! XPlane  1 id  2 name  3 lines*  4 event_metadata{}  5 stat_metadata{}  6 stats*
//! XLine   1 id  2 name  3 timestamp_ns  4 events*  9 duration_ps  10 display_id  11 display_name
//! XEvent  1 metadata_id  2 offset_ps | 5 num_occurrences  3 duration_ps  4 stats*
//! XStat   1 metadata_id  2 double | 3 uint64 | 4 int64 | 5 str | 6 bytes | 7 ref | 8 gzipped str
//! ```
//!
//! In the message, the lines of a plane come before the metadata that names their events. If the file allows random
//! access, an [`Outliner`] first reads the metadata of the file's large planes. The lines of these planes are then
//! decoded into columns while they arrive, without a struct per event. Other planes are buffered, indexed, decoded and
//! dropped one at a time. The peak memory is the size of the largest buffered plane plus the size of the columns. Both
//! ways of decoding a plane give the same trace.
//!
//! The HLO protos in the plane `/host:metadata` are kept undecoded. Of all other stats that consist of bytes, the
//! decoder reads only `memory_access_breakdown`, `dcn_collective_info` and `core_details`. The decoder also ignores
//! links between events (`_p`, `_c`, `flow`) that no metric uses. Events with `num_occurrences` are sums without a
//! time, so the decoder counts and skips them. All planes and lines are kept, including planes and lines that the
//! profiler derived from others. `trace::classify` detects the kinds of planes and lines by their names.

mod arguments;
mod arriving;
mod check;
mod counters;
mod environment;
mod event;
mod known;
mod losses;
mod metadata;
mod outline;
mod plane;
mod stats;
mod stream;
mod text;
mod walk;

#[cfg(test)]
mod arriving_tests;
#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod writer;

pub(crate) use check::{looks_like_xspace, what_else};
pub use outline::{Outline, Outliner};

use crate::watch::Watch;
use arriving::{ArrivingPlane, Target};
use base::{Error, Warning, WarningCode};
use environment::XSpaceTexts;
use losses::XPlaneLosses;
use plane::PlaneDecoder;
use stream::{Piece, Tail, TopFields, TopLevel};
use trace::{RowBlock, SourceFormat, Trace, copies};

/// Number of leading bytes that decide whether the file is an XSpace. The number is fixed, so that the result does not
/// depend on the chunk sizes.
const HEAD_BYTES: usize = 4096;

/// Decodes one xplane file that is pushed in chunks of any size.
///
/// ```
/// use input::XPlaneDecoder;
///
/// // One plane named "/host:CPU".
/// let file = b"\x0a\x0b\x12\x09/host:CPU";
/// let mut decoder = XPlaneDecoder::new("host.xplane.pb");
/// for byte in file.chunks(1) {
///     decoder.push(byte).unwrap();
/// }
/// let trace = decoder.finish().unwrap();
/// assert_eq!(trace.text(trace.planes[0].name), "/host:CPU");
/// ```
#[derive(Debug)]
pub struct XPlaneDecoder {
    path: String,
    /// First bytes of the file, until there are enough bytes to check them. `None` afterwards.
    head: Option<Vec<u8>>,
    refused: Option<Error>,
    fields: TopFields,
    sink: Sink,
}

/// State that grows while fields arrive.
#[derive(Debug)]
struct Sink {
    trace: Trace,
    planes: PlaneDecoder,
    arriving: Option<ArrivingPlane>,
    texts: XSpaceTexts,
    losses: XPlaneLosses,
}

impl XPlaneDecoder {
    /// Creates a decoder of the file `path`. Warnings contain this path.
    pub fn new(path: &str) -> XPlaneDecoder {
        XPlaneDecoder {
            path: path.to_owned(),
            head: Some(Vec::new()),
            refused: None,
            fields: TopFields::default(),
            sink: Sink {
                trace: Trace { format: Some(SourceFormat::XPlane), ..Trace::default() },
                planes: PlaneDecoder::default(),
                arriving: None,
                texts: XSpaceTexts::default(),
                losses: XPlaneLosses::default(),
            },
        }
    }

    /// Announces that the file has `bytes` bytes, so that the decoder can allocate the memory for a plane in one step.
    pub fn expecting(mut self, bytes: u64) -> XPlaneDecoder {
        self.fields = TopFields::expecting(bytes);
        self
    }

    /// Sets the positions of planes that an [`Outliner`] found in the file.
    pub fn with_outlines(mut self, outlines: Vec<Outline>) -> XPlaneDecoder {
        self.fields.set_outlines(outlines);
        self
    }

    /// Watches for events. The caller needs only the arguments of these events.
    pub(crate) fn watching(mut self, watch: Option<Watch>) -> XPlaneDecoder {
        self.sink.planes.file.watch = watch;
        self
    }

    /// Frees the memory of the events so far, and returns the number of watched events that are still missing.
    pub(crate) fn forget(&mut self) -> usize {
        self.sink.trace.events.forget();
        self.sink.planes.file.watch.as_ref().map_or(0, Watch::left)
    }

    /// Ends the file and returns the watch with the events found.
    pub(crate) fn finish_watch(mut self) -> Option<Watch> {
        self.begin();
        let Sink { mut trace, mut planes, mut losses, .. } = self.sink;
        if let Tail::Truncated { number: TopLevel::PLANE, offset, body, .. } = self.fields.finish() {
            planes.decode(&body, offset, true, &mut trace, &mut losses);
        }
        planes.file.watch
    }

    /// Reads the next bytes of the file.
    ///
    /// # Errors
    /// Returns an [`Error`] as soon as it is clear that the file is not an XSpace. In this case, further bytes are
    /// ignored.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        if let Some(head) = &mut self.head {
            let (taken, rest) = bytes.split_at(bytes.len().min(HEAD_BYTES - head.len()));
            head.extend_from_slice(taken);
            bytes = rest;
            if head.len() < HEAD_BYTES {
                return Ok(());
            }
            self.begin();
        }
        self.feed(bytes);
        self.refused.clone().map_or(Ok(()), Err)
    }

    /// Returns the number of events decoded so far.
    pub fn events(&self) -> u64 {
        self.sink.trace.events.len() as u64
    }

    /// Removes all decoded events but the latest from the trace, and returns them. The counts of the trace still
    /// include these events.
    pub fn take_rows(&mut self) -> Vec<RowBlock> {
        self.sink.trace.events.take_full_blocks().collect()
    }

    /// Returns the trace. The trace's warnings report lost data.
    ///
    /// # Errors
    /// Returns an [`Error`] if the file is not an XSpace. A damaged XSpace gives a trace with warnings.
    pub fn finish(mut self) -> Result<Trace, Error> {
        self.begin();
        if let Some(error) = self.refused {
            return Err(error);
        }
        let Sink { mut trace, mut planes, arriving, texts, mut losses } = self.sink;
        let truncated = match self.fields.finish() {
            Tail::Complete => None,
            Tail::Malformed { offset, unread } => {
                losses.unreadable(offset, unread);
                None
            }
            Tail::Truncated { number, offset, body, missing, length } => {
                let before = arriving.as_ref().map_or(trace.events.len(), |plane| plane.events_before);
                let name = match arriving {
                    Some(plane) => Some(plane.name),
                    None if number == TopLevel::PLANE => planes.decode(&body, offset, true, &mut trace, &mut losses),
                    None => None,
                };
                let name = name.map(|name| trace.text(name).to_owned());
                Some(losses::truncated(name.as_deref(), missing, length, (trace.events.len() - before) as u64))
            }
        };
        trace.complete_events = trace.events.len() as u64;
        environment::describe(&mut trace, &planes, &texts);
        trace::classify(&mut trace);
        copies::complete(&mut trace);
        trace.settle_clocks();
        let mut warnings: Vec<Warning> = truncated.into_iter().collect();
        losses.append_to(&mut warnings);
        texts.append_to(&mut warnings);
        warnings.extend(trace.strings.take_warning());
        if trace.events.is_empty() {
            let sentence = "The file contains no events.";
            let remedy = "Capture while the program runs steps, and stop the trace before the program exits.";
            warnings.push(Warning::new(WarningCode::XplaneNoEvents, sentence).with_remedy(remedy));
        }
        trace.warnings.extend(warnings.into_iter().map(|warning| warning.with_file(&self.path)));
        Ok(trace)
    }

    /// Checks the head of the file and then decodes it.
    fn begin(&mut self) {
        let Some(head) = self.head.take() else { return };
        self.refused = check::refusal(&head);
        self.feed(&head);
    }

    fn feed(&mut self, bytes: &[u8]) {
        if self.refused.is_some() {
            return;
        }
        let Sink { trace, planes, arriving, texts, losses } = &mut self.sink;
        self.fields.push(bytes, &mut |piece| match piece {
            Piece::Whole(TopLevel { number: TopLevel::PLANE, offset, body }) => {
                planes.decode(body, offset, false, trace, losses);
            }
            Piece::Whole(TopLevel { number, body, .. }) => texts.add(number, body),
            Piece::Begin(outline) => *arriving = ArrivingPlane::new(outline, &mut Target { trace, planes, losses }),
            Piece::Part(bytes) => {
                if let Some(plane) = arriving {
                    plane.push(bytes, &mut Target { trace, planes, losses });
                }
            }
            Piece::End => *arriving = None,
        });
    }
}
