//! Caches known kinds of events and irrelevant stats, so that they are not looked up for each event.

use super::metadata::{IdMap, StatMetadata};
use trace::LineId;

/// Facts about the events and stats of a plane, by their ids in the file.
#[derive(Debug)]
pub(super) struct Known {
    /// For each id of stat metadata, true if stats with this id are skipped. The array contains only ids that take one
    /// byte.
    ignored: [bool; 128],
    /// For each id of event metadata, one plus the index of the last line with such an event, and the kind of an event
    /// without own stats on that line. The list contains only ids in the usual range.
    kinds: Vec<(u32, u32)>,
}

impl Known {
    /// Creates the table for a plane with `event_metadata` entries of event metadata.
    pub(super) fn new(event_metadata: usize, stat_metadata: &mut IdMap<StatMetadata>) -> Known {
        let mut ignored = [false; 128];
        for (id, slot) in (0..).zip(&mut ignored) {
            *slot = stat_metadata.get_mut(id).is_none_or(|metadata| metadata.meaning.is_none());
        }
        Known { ignored, kinds: vec![(0, 0); 2 * event_metadata + 16] }
    }

    /// Returns true if the stat `message` can be skipped, and false if it must be examined.
    #[inline(always)]
    pub(super) fn ignores(&self, message: &[u8]) -> bool {
        matches!(message, [0x08, id, ..] if self.ignored.get(usize::from(*id)) == Some(&true))
    }

    /// Returns the kind of an event without own stats, as an index into [`kinds`](trace::Events::kinds).
    #[inline(always)]
    pub(super) fn kind(&self, metadata_id: i64, line: LineId) -> Option<u32> {
        let (met_on, kind) = *self.kinds.get(usize::try_from(metadata_id).ok()?)?;
        (met_on == line.get().wrapping_add(1)).then_some(kind)
    }

    /// Forgets the kinds of all events, because a line turned out to have chip times. On such a line, events of one
    /// kind differ.
    pub(super) fn forget(&mut self) {
        self.kinds.fill((0, 0));
    }

    /// Caches the kind that events with this metadata have on a line.
    pub(super) fn learn(&mut self, metadata_id: i64, line: LineId, kind: Option<u32>) {
        let slot = usize::try_from(metadata_id).ok().and_then(|id| self.kinds.get_mut(id));
        if let (Some(slot), Some(kind)) = (slot, kind) {
            *slot = (line.get().wrapping_add(1), kind);
        }
    }
}
