//! Precomputed sums over stretches of a line's events. With these sums, statistics of an area read only the events at
//! the area's edges.
//!
//! A stretch starts and ends at times when no event runs on the line. The edges of a stretch therefore cut no event,
//! and the sums of stretches can be added like the sums of adjacent ranges:
//!
//! ```text
//! line       [--a--)[-b-)   [--a--)[-b-)   [----c----)
//! stretches  [              )[             )[              the next starts with an event
//! range          [                              )
//! read           (  events  )(    sums     )(e. )
//! ```
//!
//! A stretch has so many events of each kind that the sums take at most 1.2 bytes per event. The order of the events by
//! kind, which percentiles need, raises this limit to 3.2 bytes. A stretch is not stored if it has too many kinds, or
//! if it grows too long before the line is idle. Statistics then read the events of the stretch individually.

use std::sync::OnceLock;

use base::Ps;
use metrics::SelfTime;
use rustc_hash::FxHashMap;
use trace::{ByLine, Interval, LineEvents, LineId, Trace};

use super::Sums;

/// Conditions under which a stretch is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Minimum average number of events per kind.
    pub of_a_kind: usize,
    /// Minimum number of events. Fewer events can be read quickly without stored sums.
    pub fewest: usize,
    /// Maximum number of events. Positions in a stretch are stored as 16-bit numbers.
    pub most: usize,
}

impl Limits {
    pub(crate) const USUAL: Limits = Limits { of_a_kind: 40, fewest: 1024, most: 1 << 16 };
}

/// Stretches of all lines of a trace. The stretches of each line are built only once.
#[derive(Debug)]
pub(crate) struct Stretches {
    limits: Limits,
    /// Stretches of each line, indexed by the line.
    of_lines: Vec<OnceLock<LineStretches>>,
}

/// Stretches of a line, in order of time.
#[derive(Debug, Default)]
struct LineStretches {
    list: Vec<Stretch>,
    /// Sums of all stretches, concatenated. Each stretch has one sum per kind, in the order in which the kinds first
    /// appear.
    sums: Vec<(u32, Sums)>,
    /// For all stretches, the positions of the events in their stretch, grouped by kind.
    by_kind: Vec<u16>,
}

#[derive(Debug)]
struct Stretch {
    /// Time from the start of the first event to the end of the last event. No other event of the line overlaps this
    /// time.
    time: Interval,
    /// Position of the first event among the line's events.
    first: usize,
    /// Index of the stretch's first sum. The sums of a stretch end at the first sum of the next stretch.
    sums: usize,
    by_kind: usize,
}

/// One stretch with its sums.
pub(super) struct StretchSums<'a> {
    /// Position of the stretch's first event among the line's events.
    pub first: usize,
    /// One sum per kind, in the order in which the kinds first appear.
    pub sums: &'a [(u32, Sums)],
    by_kind: &'a [u16],
}

impl<'a> StretchSums<'a> {
    /// Returns each kind with the positions of the kind's events, relative to `first`.
    pub(super) fn places(&self) -> impl Iterator<Item = (usize, &'a [u16])> + use<'a> {
        let mut rest = self.by_kind;
        self.sums.iter().map(move |(kind, sums)| {
            let (own, others) = rest.split_at((sums.count as usize).min(rest.len()));
            rest = others;
            (*kind as usize, own)
        })
    }
}

impl Stretches {
    /// Creates an empty cache for the stretches of `lines` lines.
    pub(crate) fn new(lines: usize, limits: Limits) -> Stretches {
        Stretches { limits, of_lines: (0..lines).map(|_| OnceLock::new()).collect() }
    }

    /// Builds the stretches of further lines, until these lines contain about `events` events. Returns false if the
    /// stretches of all lines were built already.
    pub(crate) fn make_some(&self, trace: &Trace, by_line: &ByLine, events: usize) -> bool {
        let mut made = 0;
        for (stretches, of_line) in self.of_lines.iter().zip(&by_line.events).filter(|(made, _)| made.get().is_none()) {
            stretches.get_or_init(|| LineStretches::new(trace, of_line, self.limits));
            made += of_line.len() + 1;
            if made >= events {
                break;
            }
        }
        made > 0
    }

    /// Calls `visit` with each stretch of a line that is inside `range`, in order of time. `visit` also receives the
    /// time of the stretch. Does not call `visit` if the stretches of the line are not built.
    pub(super) fn for_each_in(&self, line: LineId, range: Interval, mut visit: impl FnMut(Interval, StretchSums<'_>)) {
        let Some(of_line) = self.of_lines.get(line.index()).and_then(OnceLock::get) else { return };
        let first = of_line.list.partition_point(|stretch| stretch.time.start < range.start);
        let end = of_line.list.partition_point(|stretch| stretch.time.end <= range.end);
        for at in first..end {
            let Some(stretch) = of_line.list.get(at) else { return };
            let next = of_line.list.get(at + 1);
            let sums = stretch.sums..next.map_or(of_line.sums.len(), |next| next.sums);
            let by_kind = stretch.by_kind..next.map_or(of_line.by_kind.len(), |next| next.by_kind);
            let sums = of_line.sums.get(sums).unwrap_or_default();
            let by_kind = of_line.by_kind.get(by_kind).unwrap_or_default();
            visit(stretch.time, StretchSums { first: stretch.first, sums, by_kind });
        }
    }

    /// Returns the memory that the stretches allocate, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.of_lines.iter().filter_map(OnceLock::get).map(LineStretches::memory_bytes).sum()
    }
}

impl LineStretches {
    fn new(trace: &Trace, events: &LineEvents, limits: Limits) -> LineStretches {
        let mut builder = StretchBuilder::new(limits);
        trace.for_each_on_thread(events, |kind, at| builder.add(kind as u32, at));
        // The last stretch ends a picosecond after its events, so that an event of length 0 at their end is inside.
        builder.end(builder.until + Ps::new(1));
        let mut made = builder.made;
        made.list.shrink_to_fit();
        made.sums.shrink_to_fit();
        made.by_kind.shrink_to_fit();
        made
    }

    fn memory_bytes(&self) -> usize {
        size_of_val(self.list.as_slice()) + size_of_val(self.sums.as_slice()) + size_of_val(self.by_kind.as_slice())
    }
}

/// A stretch that is being built from the events of a line.
#[derive(Debug)]
struct StretchBuilder {
    limits: Limits,
    made: LineStretches,
    /// Position of the next event to add, among the line's events.
    place: usize,
    /// Latest end of the events so far.
    until: Ps,
    started: Ps,
    /// Start of the stretch.
    start: Ps,
    /// For each kind, the index of its sum in `sums`.
    of_kinds: FxHashMap<u32, u16>,
    sums: Vec<(u32, Sums)>,
    /// For each event, the index of its sum in `sums`.
    events: Vec<u16>,
    running: SelfTime,
    /// True if the stretch became too long. Later events then belong to no stretch until the line is idle.
    is_given_up: bool,
}

impl StretchBuilder {
    fn new(limits: Limits) -> StretchBuilder {
        let before = Ps::new(i64::MIN);
        StretchBuilder {
            limits,
            made: LineStretches::default(),
            place: 0,
            until: before,
            started: before,
            start: before,
            of_kinds: FxHashMap::default(),
            sums: Vec::new(),
            events: Vec::new(),
            running: SelfTime::default(),
            is_given_up: false,
        }
    }

    /// Adds the next event of the line.
    #[inline]
    fn add(&mut self, kind: u32, at: Interval) {
        if at.start >= self.until && at.start > self.started && (self.is_given_up || self.is_whole()) {
            self.end(at.start);
        }
        self.place += 1;
        (self.until, self.started) = (self.until.max(at.end), at.start);
        if self.events.len() == self.limits.most {
            self.forget();
            self.is_given_up = true;
        }
        if self.is_given_up {
            return;
        }
        if self.events.is_empty() {
            self.start = at.start;
        }
        let next = self.sums.len();
        let slot = *self.of_kinds.entry(kind).or_insert(next as u16) as usize;
        if slot == next {
            self.sums.push((kind, Sums::NONE));
        }
        if let Some((_, sums)) = self.sums.get_mut(slot) {
            sums.add(at.length());
        }
        self.events.push(slot as u16);
        let sums = &mut self.sums;
        self.running.start(slot, at, &mut |slot, own| give(sums, slot, own));
    }

    /// Returns true if there are enough events of each kind.
    fn is_whole(&self) -> bool {
        self.events.len() >= self.limits.fewest.max(self.limits.of_a_kind * self.sums.len())
    }

    /// Stores the stretch, which ends at `end`, if it has enough events.
    fn end(&mut self, end: Ps) {
        if self.is_whole() {
            let sums = &mut self.sums;
            self.running.finish(&mut |slot, own| give(sums, slot, own));
            let made = &mut self.made;
            made.list.push(Stretch {
                time: Interval::new(self.start, end),
                first: self.place - self.events.len(),
                sums: made.sums.len(),
                by_kind: made.by_kind.len(),
            });
            let before = made.by_kind.len();
            let mut next: Vec<usize> = self
                .sums
                .iter()
                .scan(before, |end, (_, sums)| Some(std::mem::replace(end, *end + sums.count as usize)))
                .collect();
            made.by_kind.resize(before + self.events.len(), 0);
            for (place, &slot) in self.events.iter().enumerate() {
                let Some(next) = next.get_mut(slot as usize) else { continue };
                made.by_kind.get_mut(*next).into_iter().for_each(|slot| *slot = place as u16);
                *next += 1;
            }
            made.sums.append(&mut self.sums);
        }
        self.forget();
    }

    fn forget(&mut self) {
        self.of_kinds.clear();
        self.sums.clear();
        self.events.clear();
        self.running = SelfTime::default();
        self.is_given_up = false;
    }
}

#[inline]
fn give(sums: &mut [(u32, Sums)], slot: usize, own: Interval) {
    sums.get_mut(slot).into_iter().for_each(|(_, sums)| sums.self_time += own.length());
}
