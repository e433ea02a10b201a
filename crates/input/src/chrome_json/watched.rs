//! The selected events of a Chrome trace, with the text of events that may be selected but are not stored yet.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::watch::Watch;
use trace::EventId;

/// Maximum total size of the event texts that are kept, in bytes. The arguments of further events are lost.
const MAX_KEPT_BYTES: usize = 64 << 20;

/// The selected events and the state of the search.
#[derive(Debug, Default)]
pub(super) struct Watched {
    pub watch: Watch,
    /// Selected events that were just stored in the trace: the index, and the position in the text.
    pub placed: Vec<(u32, u64)>,
    /// Position in the text of the begin event that the current end event closes.
    pub ended: Option<u64>,
    /// Texts of events that are not stored in the trace yet, by their position in the text.
    pub kept: HashMap<u64, Kept, FxBuildHasher>,
    pub kept_bytes: usize,
    pub is_settled: bool,
}

/// Text of an event that is not stored in the trace yet.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub begin: Box<[u8]>,
    /// Text of the object that ends the event of a pair.
    pub end: Box<[u8]>,
    /// True if the event is complete and only waits for the trace's clock.
    pub is_whole: bool,
}

impl Watched {
    /// Records that the event at `offset` in the text was stored in the trace.
    #[inline]
    pub(super) fn placed(&mut self, id: EventId, offset: u64) {
        if self.watch.next() == Some(id.get()) {
            self.watch.advance();
            self.placed.push((id.get(), offset));
        }
    }

    /// Records that the current object ends the begin event at `offset`.
    pub(super) fn ends(&mut self, offset: u64) {
        self.ended = Some(offset);
    }

    pub(super) fn keep(&mut self, offset: u64, text: &[u8], is_whole: bool) {
        if self.kept_bytes + text.len() <= MAX_KEPT_BYTES {
            self.kept_bytes += text.len();
            self.kept.insert(offset, Kept { begin: text.into(), end: Box::default(), is_whole });
        }
    }

    pub(super) fn drop_kept(&mut self, offset: u64) {
        if let Some(kept) = self.kept.remove(&offset) {
            self.kept_bytes -= kept.begin.len();
        }
    }
}
