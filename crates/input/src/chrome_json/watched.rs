//! The events of a Chrome trace that are watched for, with the text of those that are not placed yet.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::watch::Watch;
use trace::EventId;

/// Text of open events that is kept: of what is open beyond that, nothing can be said.
const MAX_KEPT_BYTES: usize = 64 << 20;

/// The events that are watched for.
#[derive(Debug, Default)]
pub(super) struct Watched {
    pub watch: Watch,
    /// Events that are wanted, since they were placed: index, and where they stand in the text.
    pub placed: Vec<(u32, u64)>,
    /// The begin that the object at hand ends.
    pub ended: Option<u64>,
    /// What is not placed yet, by where it stands in the text.
    pub kept: HashMap<u64, Kept, FxBuildHasher>,
    pub kept_bytes: usize,
    pub is_settled: bool,
}

/// Text of an event that is not placed yet.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub begin: Box<[u8]>,
    /// Text of the object that ends the event.
    pub end: Box<[u8]>,
    /// Whether the event waits for the clock only.
    pub is_whole: bool,
}

impl Watched {
    /// An event was placed that stands at `offset`.
    #[inline]
    pub fn placed(&mut self, id: EventId, offset: u64) {
        if self.watch.next() == Some(id.get()) {
            self.watch.advance();
            self.placed.push((id.get(), offset));
        }
    }

    /// The begin at `offset` ends.
    pub fn ends(&mut self, offset: u64) {
        self.ended = Some(offset);
    }

    pub fn keep(&mut self, offset: u64, text: &[u8], is_whole: bool) {
        if self.kept_bytes + text.len() <= MAX_KEPT_BYTES {
            self.kept_bytes += text.len();
            self.kept.insert(offset, Kept { begin: text.into(), end: Box::default(), is_whole });
        }
    }

    pub fn drop_kept(&mut self, offset: u64) {
        if let Some(kept) = self.kept.remove(&offset) {
            self.kept_bytes -= kept.begin.len();
        }
    }
}
