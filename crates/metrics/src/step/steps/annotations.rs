//! Finds step annotations on the host: `jax.profiler.StepTraceAnnotation("train", step_num=i)` and PyTorch's
//! `ProfilerStep#i` (the decoder extracts the number from the name).
//!
//! Events inside an annotation (nested Python frames, kernel launches) may also have the annotation's `step_num`, so
//! the annotation must be distinguished from these events. The numbers of an annotation never repeat on a line. Among
//! the names without repeated numbers, the annotation is the name that covers the most time.
//!
//! In some programs, the numbers restart with each epoch, or never change. Annotations with repeated numbers are steps
//! without usable numbers if they follow each other on a Python thread and cover more time than all numbered events
//! inside them.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{Mark, align};
use crate::device::devices::interval;
use base::{Ps, sort};
use facts::host_spans;
use trace::{EventColumn, EventId, LineId, LineKind, StrId, Trace};

#[derive(Clone, Debug)]
pub(super) struct Annotations {
    /// Name of the annotations, without number.
    pub name: String,
    /// Step numbers in order, or positions if the numbers in the trace repeat.
    pub numbers: Vec<i64>,
    /// True if the end of the last annotation is the end of its step, unless the capture cuts the annotation. False for
    /// annotations that only mark the start of a step.
    pub ends: bool,
    /// Number of distinct step numbers in the trace, if step numbers repeat.
    pub distinct_numbers: Option<u64>,
    /// `by_host[host][step]`.
    pub by_host: BTreeMap<u16, Vec<Option<Mark>>>,
}

/// Events with the same name, grouped by line, in file order.
#[derive(Debug, Default)]
struct Candidate {
    by_line: BTreeMap<LineId, Vec<Mark>>,
    /// True if the name may belong to steps although its numbers repeat.
    may_repeat: bool,
    repeats: bool,
}

impl Candidate {
    fn push(&mut self, line: LineId, mark: Mark) {
        if self.repeats && !self.may_repeat {
            return;
        }
        let marks = self.by_line.entry(line).or_default();
        self.repeats |= marks.last().is_some_and(|last| last.key == mark.key);
        marks.push(mark);
    }

    /// Sorts each line by start. Returns `None` if the numbers repeat and either the name does not come from a user or
    /// the events overlap. Such events cannot be steps.
    fn finish(mut self) -> Option<Candidate> {
        for marks in self.by_line.values_mut() {
            let mut keys: Vec<Option<i64>> = marks.iter().map(|mark| mark.key).collect();
            sort::sort_by_key(&mut keys, |key| *key);
            self.repeats |= !keys.is_sorted_by(|a, b| a < b);
            sort::sort_by_key(marks, |mark| mark.interval);
        }
        let overlap = |marks: &Vec<Mark>| !marks.is_sorted_by(|a, b| a.interval.end <= b.interval.start);
        let refused = self.repeats && (!self.may_repeat || self.by_line.values().any(overlap));
        (!refused && !self.by_line.is_empty()).then_some(self)
    }
}

/// Returns true if a user chose this name: it is neither a Python function nor a runtime span.
fn is_users(name: &str) -> bool {
    !host_spans::is_frame(name) && !name.contains("::") && host_spans::work(name).is_none()
}

/// Finds the step annotations of `trace`. Returns `None` if there are no step annotations.
pub(super) fn find(trace: &Trace) -> Option<Annotations> {
    let mut candidates = Candidates::new(trace);
    for (id, number) in trace.events.column(EventColumn::StepNum).iter() {
        candidates.push(id, number);
    }
    let (name, repeats, mut hosts) = candidates.best()?;
    let mut distinct_numbers = None;
    if repeats {
        distinct_numbers = Some(sort::set(hosts.values().flatten().map(|mark| mark.key)).len() as u64);
        for marks in hosts.values_mut() {
            marks.iter_mut().zip(0..).for_each(|(mark, position)| mark.key = Some(position));
        }
    }
    let rows: Vec<Vec<Mark>> = hosts.values().cloned().collect();
    let aligned = align::by_key(&rows);
    let count = aligned.first().map_or(0, Vec::len);
    let number = |step: usize| {
        aligned.iter().find_map(|row| row.get(step).copied().flatten()).and_then(|mark| mark.key).unwrap_or_default()
    };
    Some(Annotations {
        name,
        ends: true,
        distinct_numbers,
        numbers: (0..count).map(number).collect(),
        by_host: sort::map(hosts.into_keys().zip(aligned)),
    })
}

struct Candidates<'a> {
    trace: &'a Trace,
    /// Index into `found` of each event name. The map is only used for lookups, so its order does not matter.
    index: HashMap<StrId, usize, FxBuildHasher>,
    names: BTreeMap<&'a str, usize>,
    found: Vec<Candidate>,
}

impl<'a> Candidates<'a> {
    fn new(trace: &'a Trace) -> Candidates<'a> {
        Candidates { trace, index: HashMap::default(), names: BTreeMap::new(), found: Vec::new() }
    }

    fn push(&mut self, id: EventId, number: i64) {
        let Some(event) = self.trace.events.get(id) else { return };
        let host = self.trace.lines.get(event.line.index()).is_some_and(|line| line.kind == LineKind::Host);
        if !host {
            return;
        }
        let (trace, names, found) = (self.trace, &mut self.names, &mut self.found);
        let index = *self.index.entry(event.name).or_insert_with(|| {
            let name = without_number(trace.text(event.name));
            *names.entry(name).or_insert_with(|| {
                found.push(Candidate { may_repeat: is_users(name), ..Candidate::default() });
                found.len() - 1
            })
        });
        if let Some(candidate) = found.get_mut(index) {
            candidate.push(event.line, Mark { interval: interval(&event), key: Some(number) });
        }
    }

    /// Returns the name that covers the most time, with one line for each host. If several names cover the same time,
    /// returns the first in alphabetical order. The flag is true if the numbers of the name repeat. A name with
    /// repeated numbers must cover more time than every name without repeated numbers.
    fn best(mut self) -> Option<(String, bool, BTreeMap<u16, Vec<Mark>>)> {
        let mut best: Option<Best<'_>> = None;
        for (name, index) in std::mem::take(&mut self.names) {
            let candidate = self.found.get_mut(index).map(std::mem::take);
            let Some(candidate) = candidate.and_then(Candidate::finish) else { continue };
            let hosts = one_line_per_host(self.trace, candidate.by_line);
            let time: Ps = hosts.values().map(|marks| total(marks)).sum();
            let is_better = |(longest, repeats, ..): &(Ps, bool, &str, _)| match time.cmp(longest) {
                Ordering::Equal => *repeats && !candidate.repeats,
                order => order == Ordering::Greater,
            };
            if best.as_ref().is_none_or(is_better) {
                best = Some((time, candidate.repeats, name, hosts));
            }
        }
        best.map(|(_, repeats, name, hosts)| (name.to_owned(), repeats, hosts))
    }
}

/// Time of the best candidate, true if the candidate's numbers repeat, its name, and its marks by host.
type Best<'a> = (Ps, bool, &'a str, BTreeMap<u16, Vec<Mark>>);

/// Selects one line for each host. If several threads annotate, selects the thread whose annotations cover the most time.
pub(super) fn one_line_per_host(trace: &Trace, by_line: BTreeMap<LineId, Vec<Mark>>) -> BTreeMap<u16, Vec<Mark>> {
    let mut hosts: BTreeMap<u16, Vec<Mark>> = BTreeMap::new();
    for (line, marks) in by_line {
        let host = trace.lines.get(line.index()).and_then(|line| trace.plane_of(line)).map_or(0, |plane| plane.host);
        let best = hosts.entry(host).or_default();
        if best.is_empty() || total(&marks) > total(best) {
            *best = marks;
        }
    }
    hosts
}

fn total(marks: &[Mark]) -> Ps {
    marks.iter().map(|mark| mark.interval.length()).sum()
}

/// Removes the number from a name: returns `ProfilerStep` for `ProfilerStep#7`.
fn without_number(name: &str) -> &str {
    match name.rsplit_once('#') {
        Some((stem, number)) if !stem.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => stem,
        _ => name,
    }
}
