//! What a walk over events need not look up again: the kinds of events that were met, and the stats that are of no use.

use super::metadata::{IdMap, StatMetadata};
use trace::LineId;

/// What is known of a plane, by the numbers that stand in the file.
#[derive(Debug)]
pub(super) struct Known {
    /// Whether stats with this metadata id are passed over; ids of two bytes are not in here.
    ignored: [bool; 128],
    /// By event metadata id: the line it was last met on, plus one, and what an event of it is there, if it says nothing of
    /// its own. Only for the ids that a plane usually has.
    kinds: Vec<(u32, u32)>,
}

impl Known {
    /// For a plane with `event_metadata` event metadata.
    pub fn new(event_metadata: usize, stat_metadata: &mut IdMap<StatMetadata>) -> Known {
        let mut ignored = [false; 128];
        for (id, slot) in (0..).zip(&mut ignored) {
            *slot = stat_metadata.get_mut(id).is_none_or(|metadata| metadata.meaning.is_none());
        }
        Known { ignored, kinds: vec![(0, 0); 2 * event_metadata + 16] }
    }

    /// Whether the stat `message` is one to pass over; false where that is yet to be found out.
    #[inline(always)]
    pub fn ignores(&self, message: &[u8]) -> bool {
        matches!(message, [0x08, id, ..] if self.ignored.get(usize::from(*id)) == Some(&true))
    }

    /// What an event is that says nothing of its own: an index into [`kinds`](trace::Events::kinds).
    #[inline(always)]
    pub fn kind(&self, metadata_id: i64, line: LineId) -> Option<u32> {
        let (met_on, kind) = *self.kinds.get(usize::try_from(metadata_id).ok()?)?;
        (met_on == line.get().wrapping_add(1)).then_some(kind)
    }

    /// Looks all events up again: a line turned out to have chip times, by which its events are distinguished.
    pub fn forget(&mut self) {
        self.kinds.fill((0, 0));
    }

    /// Keeps what an event turned out to be.
    pub fn learn(&mut self, metadata_id: i64, line: LineId, kind: Option<u32>) {
        let slot = usize::try_from(metadata_id).ok().and_then(|id| self.kinds.get_mut(id));
        if let (Some(slot), Some(kind)) = (slot, kind) {
            *slot = (line.get().wrapping_add(1), kind);
        }
    }
}
