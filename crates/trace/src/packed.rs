//! Stores consecutive events with small gaps, such as the ops of a device, in compact form. Each event takes only a few
//! bytes.
//!
//! ```text
//!  tag | gap to the end of the event before: 0, 2, 4 or 8 bytes | duration: 2, 3, 4 or 8 bytes
//!   4 bits   kind, one of at most 16 of a run
//!   2 bits   size of the gap
//!   2 bits   size of the duration
//! ```
//!
//! The position of every 16th event of a line is stored, so that a lookup reads at most 16 events.

use base::Ps;

/// Number of events from one stored position to the next.
const STRIDE: usize = 16;
/// Number of kinds that a tag can distinguish.
const KINDS: usize = 16;
const GAP_BYTES: [u8; 4] = [0, 2, 4, 8];
const DURATION_BYTES: [u8; 4] = [2, 3, 4, 8];

/// Kind, start and duration of an event.
pub(crate) type PackedEvent = (u32, Ps, Ps);

/// Events in packed form. Packed events can be appended and read, but not changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packed {
    runs: Vec<Run>,
    len: usize,
}

/// Consecutive packed events of at most 16 kinds.
#[derive(Clone, Debug, Default)]
struct Run {
    /// Index of the run's first event.
    first: usize,
    kinds: Vec<u32>,
    last_kind: u32,
    bytes: Vec<u8>,
    /// Position of every 16th event in the bytes.
    marks: Vec<Mark>,
    /// End of the last event.
    end: Ps,
}

/// Position of an event in the bytes of a run, and the end of the previous event. The end is stored as two halves. All
/// fields are 4-byte words, so that the struct has no padding.
#[derive(Clone, Copy, Debug)]
struct Mark([u32; 3]);

impl Mark {
    fn new(offset: u32, end: Ps) -> Mark {
        let end = end.as_ps().cast_unsigned();
        Mark([offset, end as u32, (end >> 32) as u32])
    }

    fn offset(self) -> usize {
        let Mark([offset, ..]) = self;
        offset as usize
    }

    fn end(self) -> Ps {
        let Mark([_, low, high]) = self;
        Ps::new((u64::from(low) | u64::from(high) << 32).cast_signed())
    }
}

impl Packed {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the kind of the last event.
    pub(crate) fn last_kind(&self) -> Option<u32> {
        self.runs.last().map(|run| run.last_kind)
    }

    /// Appends an event. `begins` is true for the first event of a line, which starts a new run.
    pub(crate) fn push(&mut self, event: PackedEvent, begins: bool) {
        let run = self.runs.last_mut().filter(|_| !begins);
        let is_added = run.is_some_and(|run| run.push(self.len, event));
        if !is_added {
            let mut run = Run { first: self.len, ..Run::default() };
            run.push(self.len, event);
            self.runs.push(run);
        }
        self.len += 1;
    }

    /// Returns the event at `index`.
    pub(crate) fn get(&self, index: usize) -> Option<PackedEvent> {
        let run = self.runs.get(self.runs.partition_point(|run| run.first <= index).checked_sub(1)?)?;
        let index = index - run.first;
        let mut reader = run.reader(index / STRIDE);
        for _ in 0..index % STRIDE {
            reader.next()?;
        }
        reader.next()
    }

    /// Returns the event at `index` and all later events.
    pub(crate) fn iter_from(&self, index: usize) -> impl Iterator<Item = PackedEvent> + '_ {
        let at = self.runs.partition_point(|run| run.first <= index).saturating_sub(1);
        let runs = self.runs.get(at..).unwrap_or_default().iter();
        runs.flat_map(move |run| {
            let index = index.saturating_sub(run.first);
            run.reader(index / STRIDE).skip(index % STRIDE)
        })
    }

    /// Frees the memory that is reserved for more events.
    pub(crate) fn shrink_to_fit(&mut self) {
        for run in &mut self.runs {
            run.bytes.shrink_to_fit();
            run.marks.shrink_to_fit();
        }
    }

    /// Returns the allocated memory, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let of_run = |run: &Run| run.bytes.capacity() + run.marks.capacity() * size_of::<Mark>();
        self.runs.iter().map(of_run).sum()
    }
}

impl Run {
    /// Appends the event with this index. Returns false if the run already has the maximum number of kinds, or if there
    /// is no room.
    fn push(&mut self, index: usize, (kind, start, duration): PackedEvent) -> bool {
        let known = self.kinds.iter().position(|&known| known == kind);
        let slot = known.unwrap_or(self.kinds.len());
        let Some(offset) = u32::try_from(self.bytes.len()).ok().filter(|_| slot < KINDS) else { return false };
        if known.is_none() {
            self.kinds.push(kind);
        }
        if (index - self.first).is_multiple_of(STRIDE) {
            self.marks.push(Mark::new(offset, self.end));
        }
        let gap = start.as_ps().wrapping_sub(self.end.as_ps()).cast_unsigned();
        let length = duration.as_ps().cast_unsigned();
        let [gap_code, length_code] = [code(gap, GAP_BYTES), code(length, DURATION_BYTES)];
        self.bytes.push(slot as u8 | gap_code << 4 | length_code << 6);
        for (value, count) in
            [(gap, byte_count(GAP_BYTES, gap_code)), (length, byte_count(DURATION_BYTES, length_code))]
        {
            self.bytes.extend(value.to_le_bytes().into_iter().take(count));
        }
        (self.end, self.last_kind) = (start + duration, kind);
        true
    }

    /// Returns a reader that starts at a stored position.
    #[inline]
    fn reader(&self, mark: usize) -> Reader<'_> {
        let mark = self.marks.get(mark).copied();
        let bytes = mark.and_then(|mark| self.bytes.get(mark.offset()..)).unwrap_or_default();
        Reader { kinds: &self.kinds, bytes, end: mark.map_or(Ps::ZERO, Mark::end) }
    }
}

/// Returns the code of the smallest size in `bytes` (a number of bytes) that can hold `value`.
fn code(value: u64, bytes: [u8; 4]) -> u8 {
    let holds = |&count: &u8| count == 8 || value >> (8 * u32::from(count)) == 0;
    bytes.iter().position(holds).unwrap_or(3) as u8
}

fn byte_count(bytes: [u8; 4], code: u8) -> usize {
    bytes.get(usize::from(code & 3)).copied().unwrap_or(8).into()
}

struct Reader<'a> {
    kinds: &'a [u32],
    bytes: &'a [u8],
    /// End of the previous event.
    end: Ps,
}

impl Reader<'_> {
    /// Reads a number of `count` bytes. `count` is at most 8.
    #[inline(always)]
    fn number(&mut self, count: usize) -> Option<i64> {
        let (own, rest) = self.bytes.split_at_checked(count)?;
        // Reads eight bytes at once if that many remain.
        let number = match self.bytes.first_chunk() {
            Some(&bytes) if count > 0 => u64::from_le_bytes(bytes) << (64 - 8 * count) >> (64 - 8 * count),
            _ => own.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)),
        };
        self.bytes = rest;
        Some(number.cast_signed())
    }
}

impl Iterator for Reader<'_> {
    type Item = PackedEvent;

    #[inline]
    fn next(&mut self) -> Option<PackedEvent> {
        let (&tag, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        let kind = *self.kinds.get(usize::from(tag & 15))?;
        let gap = self.number(byte_count(GAP_BYTES, tag >> 4))?;
        let duration = Ps::new(self.number(byte_count(DURATION_BYTES, tag >> 6))?);
        let start = Ps::new(self.end.as_ps().wrapping_add(gap));
        self.end = start + duration;
        Some((kind, start, duration))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_back_from_any_place(
            events in prop::collection::vec(
                (0u32..40, prop_oneof![Just(0i64), -9i64..70_000, any::<i32>().prop_map(i64::from), -(1i64 << 50)..1 << 50], prop_oneof![0i64..1 << 26, 0i64..1 << 50]),
                1..200,
            ),
        ) {
            let mut packed = Packed::default();
            let mut end = 0i64;
            let mut all = Vec::new();
            for (kind, gap, length) in events {
                let event = (kind, Ps::new(end + gap), Ps::new(length));
                end += gap + length;
                packed.push(event, kind == 39);
                all.push(event);
            }
            packed.shrink_to_fit();
            prop_assert_eq!(packed.len(), all.len());
            for from in 0..=all.len() + 1 {
                prop_assert_eq!(packed.get(from), all.get(from).copied());
                prop_assert!(packed.iter_from(from).eq(all.iter().skip(from).copied()), "{}", from);
            }
        }
    }

    #[test]
    fn what_follows_without_a_gap_takes_five_bytes() {
        let mut packed = Packed::default();
        for at in 0..1_000i64 {
            packed.push((at as u32 % 3, Ps::new(at * 10_000_000), Ps::new(10_000_000)), false);
        }
        packed.shrink_to_fit();
        assert!(packed.memory_bytes() < 5_000, "{}", packed.memory_bytes());
    }
}
