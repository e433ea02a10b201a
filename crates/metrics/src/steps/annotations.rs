//! Step annotations on the host: `jax.profiler.StepTraceAnnotation("train", step_num=i)`, PyTorch's `ProfilerStep#i`
//! (whose number the decoder takes out of the name).
//!
//! Everything that runs inside an annotation may carry its `step_num` too (nested Python frames, kernel launches), so
//! the annotation has to be distinguished from them: its numbers never repeat on a line, and of the names of which that is true
//! it covers the most time.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{Mark, align};
use crate::devices::interval;
use base::{Ps, sort};
use trace::{EventColumn, EventId, LineId, LineKind, StrId, Trace};

/// The annotations that are the steps.
#[derive(Clone, Debug)]
pub(super) struct Annotations {
    /// Name of the annotations, without number.
    pub name: String,
    /// Step numbers in order.
    pub numbers: Vec<i64>,
    /// `by_host[host][step]`.
    pub by_host: BTreeMap<u16, Vec<Option<Mark>>>,
}

/// Events of one name, by line, in file order.
#[derive(Debug, Default)]
struct Candidate {
    by_line: BTreeMap<LineId, Vec<Mark>>,
    /// A number came twice in a row on one line: no step annotation. Nothing more is kept of it.
    repeats: bool,
}

impl Candidate {
    fn push(&mut self, line: LineId, mark: Mark) {
        if self.repeats {
            return;
        }
        let marks = self.by_line.entry(line).or_default();
        if marks.last().is_some_and(|last| last.key == mark.key) {
            self.repeats = true;
            self.by_line.clear();
        } else {
            marks.push(mark);
        }
    }

    /// Sorts each line by start; `None` where a number occurs twice on a line.
    fn finish(mut self) -> Option<BTreeMap<LineId, Vec<Mark>>> {
        for marks in self.by_line.values_mut() {
            let mut keys: Vec<Option<i64>> = marks.iter().map(|mark| mark.key).collect();
            sort::sort_by_key(&mut keys, |key| *key);
            if keys.is_sorted_by(|a, b| a < b) {
                sort::sort_by_key(marks, |mark| mark.interval);
            } else {
                return None;
            }
        }
        (!self.repeats && !self.by_line.is_empty()).then_some(self.by_line)
    }
}

/// The step annotations of `trace`, or `None` where it has none.
pub(super) fn find(trace: &Trace) -> Option<Annotations> {
    let mut candidates = Candidates::new(trace);
    for (id, number) in trace.events.column(EventColumn::StepNum).iter() {
        candidates.push(id, number);
    }
    let (name, hosts) = candidates.best()?;
    let rows: Vec<Vec<Mark>> = hosts.values().cloned().collect();
    let aligned = align::by_key(&rows);
    let count = aligned.first().map_or(0, Vec::len);
    let number = |step: usize| {
        aligned.iter().find_map(|row| row.get(step).copied().flatten()).and_then(|mark| mark.key).unwrap_or_default()
    };
    Some(Annotations {
        name,
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
            *names.entry(without_number(trace.text(event.name))).or_insert_with(|| {
                found.push(Candidate::default());
                found.len() - 1
            })
        });
        if let Some(candidate) = found.get_mut(index) {
            candidate.push(event.line, Mark { interval: interval(&event), key: Some(number) });
        }
    }

    /// The name that covers most time, with one line for each host; of equals the first by name.
    fn best(mut self) -> Option<(String, BTreeMap<u16, Vec<Mark>>)> {
        let mut best: Option<(Ps, String, BTreeMap<u16, Vec<Mark>>)> = None;
        for (name, index) in std::mem::take(&mut self.names) {
            let candidate = self.found.get_mut(index).map(std::mem::take);
            let Some(by_line) = candidate.and_then(Candidate::finish) else { continue };
            let hosts = one_line_per_host(self.trace, by_line);
            let time = hosts.values().map(|marks| total(marks)).sum();
            if best.as_ref().is_none_or(|(longest, ..)| time > *longest) {
                best = Some((time, name.to_owned(), hosts));
            }
        }
        best.map(|(_, name, hosts)| (name, hosts))
    }
}

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
