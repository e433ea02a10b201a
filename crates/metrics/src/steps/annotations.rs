//! Step annotations on the host: `jax.profiler.StepTraceAnnotation("train", step_num=i)`, PyTorch's `ProfilerStep#i`
//! (whose number the decoder takes out of the name).
//!
//! Everything that runs inside an annotation may carry its `step_num` too (nested Python frames, kernel launches), so
//! the annotation has to be distinguished from them. Its numbers never repeat on a line, and of the names for which that is true it
//! covers the most time.
//!
//! The numbers of some programs begin again with each epoch, or never change. Their annotations still follow each other on a Python thread
//! and cover more time than all that carries a number inside them. They are steps, and have no usable numbers.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{Mark, align};
use crate::devices::interval;
use base::{Ps, sort};
use facts::host_spans;
use trace::{EventColumn, EventId, LineId, LineKind, StrId, Trace};

/// The annotations that are the steps.
#[derive(Clone, Debug)]
pub(super) struct Annotations {
    /// Name of the annotations, without number.
    pub name: String,
    /// Step numbers in order; positions where the numbers of the trace repeat.
    pub numbers: Vec<i64>,
    /// True if the end of the last one is the end of its step, as far as it goes; false for what only marks the start of a step.
    pub ends: bool,
    /// How many different numbers there are in the trace, if they repeat.
    pub distinct_numbers: Option<u64>,
    /// `by_host[host][step]`.
    pub by_host: BTreeMap<u16, Vec<Option<Mark>>>,
}

/// Events of one name, by line, in file order.
#[derive(Debug, Default)]
struct Candidate {
    by_line: BTreeMap<LineId, Vec<Mark>>,
    /// The name may be a step's although its numbers repeat.
    may_repeat: bool,
    /// A number came twice on one line.
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

    /// Sorts each line by start. `None` for what cannot be steps: numbers repeat, and the name is not a user's or its events overlap.
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

/// True for a name that a user gives to an annotation: no function of Python, no span of a runtime.
fn is_users(name: &str) -> bool {
    !host_spans::is_frame(name) && !name.contains("::") && host_spans::work(name).is_none()
}

/// The step annotations of `trace`, or `None` where it has none.
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
    /// Index into `found` of each event name seen. Only looked up, never iterated.
    index: HashMap<StrId, usize, FxBuildHasher>,
    names: BTreeMap<&'a str, usize>,
    found: Vec<Candidate>,
}

impl<'a> Candidates<'a> {
    fn new(trace: &'a Trace) -> Candidates<'a> {
        Candidates { trace, index: HashMap::default(), names: BTreeMap::new(), found: Vec::new() }
    }

    /// Adds an event where it is on a host line.
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

    /// The name that covers most time, with one line for each host; of equals the first by name. The flag is true if its numbers repeat:
    /// such a name has to cover more time than every name whose numbers do not.
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

/// Time of the best candidate, whether its numbers repeat, its name, and its marks by host.
type Best<'a> = (Ps, bool, &'a str, BTreeMap<u16, Vec<Mark>>);

/// Where several threads of a host annotate, the one that annotates the most time counts.
fn one_line_per_host(trace: &Trace, by_line: BTreeMap<LineId, Vec<Mark>>) -> BTreeMap<u16, Vec<Mark>> {
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

/// `ProfilerStep` of `ProfilerStep#7`.
fn without_number(name: &str) -> &str {
    match name.rsplit_once('#') {
        Some((stem, number)) if !stem.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => stem,
        _ => name,
    }
}
