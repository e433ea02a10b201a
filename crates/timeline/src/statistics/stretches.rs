//! What the events of a line add up to, stretch by stretch, made once: an area looks at the events at its edges only.
//!
//! A stretch begins and ends where nothing of the line runs. So no edge cuts an event, and the sums of stretches add up like those of
//! ranges that touch:
//!
//! ```text
//! line       [--a--)[-b-)   [--a--)[-b-)   [----c----)
//! stretches  [              )[             )[              the next begins where an event does
//! range          [                              )
//! looked at      (  events  )(    sums     )(e. )
//! ```
//!
//! A stretch has so many events of each kind that the sums of all take 1.2 bytes per event at most; with the order of the events by kind, which percentiles
//! need, it is 3.2. What is too varied or never ends in time is in no stretch, and its events are looked at as before.

use std::sync::OnceLock;

use base::Ps;
use metrics::SelfTime;
use rustc_hash::FxHashMap;
use trace::{ByLine, Interval, LineEvents, LineId, Trace};

use super::Sums;

/// What a stretch must have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Events of each kind, on average at least.
    pub of_a_kind: usize,
    /// Events at least: fewer are looked at in no time.
    pub fewest: usize,
    /// Events at most: their places in the stretch are numbers of 16 bits.
    pub most: usize,
}

impl Limits {
    pub const USUAL: Limits = Limits { of_a_kind: 40, fewest: 1024, most: 1 << 16 };
}

/// The stretches of all lines of a trace, of each made once.
#[derive(Debug)]
pub(crate) struct Stretches {
    limits: Limits,
    /// Index: the line.
    of_lines: Vec<OnceLock<LineStretches>>,
}

/// The stretches of a line, by time.
#[derive(Debug, Default)]
struct LineStretches {
    list: Vec<Stretch>,
    /// Sums of one stretch after the other, in the order in which the kinds are met.
    sums: Vec<(u32, Sums)>,
    /// The events of one stretch after the other, as places in it: kind by kind.
    by_kind: Vec<u16>,
}

#[derive(Debug)]
struct Stretch {
    /// Time in which the events of the stretch start and end, and no others of the line do.
    time: Interval,
    /// Place of the first in the order of the line.
    first: usize,
    /// Where the sums and the places of this stretch begin; they end where those of the next begin.
    sums: usize,
    by_kind: usize,
}

/// One stretch, ready to be added up.
pub(super) struct StretchSums<'a> {
    /// Place of its first event in the order of the line.
    pub first: usize,
    /// Sums by kind, in the order in which the kinds are met.
    pub sums: &'a [(u32, Sums)],
    by_kind: &'a [u16],
}

impl<'a> StretchSums<'a> {
    /// Each kind with its sums and with the places of its events, counted from `first`.
    pub fn places(&self) -> impl Iterator<Item = (usize, &'a [u16])> + use<'a> {
        let mut rest = self.by_kind;
        self.sums.iter().map(move |(kind, sums)| {
            let (own, others) = rest.split_at((sums.count as usize).min(rest.len()));
            rest = others;
            (*kind as usize, own)
        })
    }
}

impl Stretches {
    /// Stretches of `lines` lines, none of them made.
    pub fn new(lines: usize, limits: Limits) -> Stretches {
        Stretches { limits, of_lines: (0..lines).map(|_| OnceLock::new()).collect() }
    }

    /// Makes the stretches of some lines that have none yet, of about `events` events; false where none was left.
    pub fn make_some(&self, trace: &Trace, by_line: &ByLine, events: usize) -> bool {
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

    /// Calls `visit` with the stretches of a line that lie in `range`, by time, each with its time; with none of a line whose are not
    /// made.
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

    /// Bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.of_lines.iter().filter_map(OnceLock::get).map(LineStretches::memory_bytes).sum()
    }
}

impl LineStretches {
    fn new(trace: &Trace, events: &LineEvents, limits: Limits) -> LineStretches {
        let mut making = Making::new(limits);
        trace.for_each_on_thread(events, |kind, at| making.add(kind as u32, at));
        // What is left ends a picosecond after its events: a moment at their end is inside then.
        making.end(making.until + Ps::new(1));
        let mut made = making.made;
        made.list.shrink_to_fit();
        made.sums.shrink_to_fit();
        made.by_kind.shrink_to_fit();
        made
    }

    fn memory_bytes(&self) -> usize {
        size_of_val(self.list.as_slice()) + size_of_val(self.sums.as_slice()) + size_of_val(self.by_kind.as_slice())
    }
}

/// The stretch that is being made, while the events of a line go by.
#[derive(Debug)]
struct Making {
    limits: Limits,
    made: LineStretches,
    /// Place of the next event in the order of the line.
    place: usize,
    /// The latest end, and the latest start.
    until: Ps,
    started: Ps,
    /// Start of the stretch.
    start: Ps,
    /// Which of `sums` is of a kind.
    of_kinds: FxHashMap<u32, u16>,
    sums: Vec<(u32, Sums)>,
    /// Which of `sums` each event is of.
    events: Vec<u16>,
    running: SelfTime,
    /// Whether the stretch became too long: what follows is in no stretch until nothing runs.
    is_given_up: bool,
}

impl Making {
    fn new(limits: Limits) -> Making {
        let before = Ps::new(i64::MIN);
        Making {
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

    /// The next event of the line.
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

    /// Are there enough events of each kind?
    fn is_whole(&self) -> bool {
        self.events.len() >= self.limits.fewest.max(self.limits.of_a_kind * self.sums.len())
    }

    /// Keeps the stretch, which ends at `end`, where it is whole.
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
