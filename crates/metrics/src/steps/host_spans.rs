//! Steps from what repeats on the host, where neither annotations nor device lines mark them.
//!
//! A function or range that runs again and again on one Python thread and takes most of the time in which the devices work is the
//! body of a loop; else a program whose launches give most of the device work. Nothing less is taken for a step:
//!
//! * at least four spans that do not overlap, at regular intervals or with as many device ops from one to the next, which keep the
//!   devices busy for about as long (`rhythm`);
//! * a Python function or a named range covers at least half of the time from the devices' first op to their last;
//! * of launches (`PjitFunction(f)`, `jit_f:XLA GPU module`), the ops that they launch make at least half of the busy time;
//! * functions of Python's and JAX's own files, private functions, and spans of the runtime are no steps of a user.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::annotations::Annotations;
use super::{Mark, launches, rhythm};
use crate::devices::{Devices, interval};
use crate::host_threads::HostRole;
use base::{Ps, sort};
use facts::{host_spans, library_files};
use trace::{EventColumn, EventKind, Interval, IntervalSet, LineId, LineKind, Trace};

/// Fewer spans show no rhythm.
const FEWEST: usize = 4;
/// The least share of the time that spans cover, or of the busy time that they launch.
const COVERS: f64 = 0.5;
/// Names that are looked at closely, those with the most time first: each costs a walk over the launches.
const MOST_ASKED: usize = 6;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    /// A function of the user, as the Python tracer names it.
    Function,
    /// A named range, such as those of `jax.profiler.TraceAnnotation`.
    Range,
    /// The launch of a compiled function.
    Program,
}

/// Steps found on the host.
#[derive(Clone, Debug)]
pub(super) struct HostSteps {
    /// The spans, as if they were annotations.
    pub spans: Annotations,
    /// What the spans are, for people (`calls of train_step`).
    pub marker: String,
    /// Share of the devices' active span that they cover, or of their busy time that they launch, in percent.
    pub percent: f64,
}

/// Finds the steps on the host.
pub(super) fn find(trace: &Trace, devices: &Devices) -> Option<HostSteps> {
    let active = active_span(devices)?;
    let mut candidates: Vec<Candidate> =
        spans(trace, devices).into_iter().filter(|it| it.marks.len() >= FEWEST).collect();
    // The most time first; of equals the first of the file.
    sort::sort_by(&mut candidates, |a, b| b.time().cmp(&a.time()));
    let covered = |it: &Candidate| {
        let inside = it.marks.iter().filter_map(|mark| mark.interval.clip(active)).map(Interval::length).sum::<Ps>();
        inside.as_ps() as f64 / active.length().as_ps().max(1) as f64
    };
    // Each question costs more than the one before it.
    let takes_most = |(_, share): &(&Candidate, f64)| *share >= COVERS;
    let bodies = candidates.iter().filter(|it| it.sort != Sort::Program).map(|it| (it, covered(it)));
    let mut bodies = bodies.filter(takes_most).take(MOST_ASKED);
    let programs = candidates.iter().filter(|it| it.sort == Sort::Program).take(MOST_ASKED);
    let mut programs = programs.map(|it| (it, launched(trace, devices, it))).filter(takes_most);
    let repeats = |(it, _): &(&Candidate, f64)| it.repeats(trace, devices);
    let found = bodies.find(repeats).or_else(|| programs.find(repeats));
    let (found, share) = found?;
    Some(HostSteps {
        marker: found.marker(),
        spans: found.as_annotations(),
        percent: (100.0 * share).clamp(0.0, 100.0),
    })
}

/// First op's start to last op's end of all devices; the capture where nothing ran.
fn active_span(devices: &Devices) -> Option<Interval> {
    let spans = || devices.used.iter().map(|device| device.span);
    let used = spans().map(|span| span.start).min().zip(spans().map(|span| span.end).max());
    used.map(|(start, end)| Interval::new(start, end)).or(devices.capture)
}

/// The share of the devices' busy time in which ops run that were launched inside the spans, 0 to 1.
fn launched(trace: &Trace, devices: &Devices, candidate: &Candidate) -> f64 {
    let inside = |time: Ps| {
        let next = candidate.marks.partition_point(|mark| mark.interval.start <= time);
        let span = next.checked_sub(1).and_then(|last| candidate.marks.get(last));
        span.is_some_and(|mark| time < mark.interval.end)
    };
    let plane = |line: LineId| trace.lines.get(line.index()).and_then(|line| Some((line.kind, trace.plane_of(line)?)));
    let mut ids: FxHashSet<i64> = FxHashSet::default();
    trace.events.column(EventColumn::Correlation).for_each(|id, correlation| {
        let Some(event) = trace.events.get(id).filter(|event| inside(event.start)) else { return };
        let launch = plane(event.line).is_some_and(|(kind, it)| kind == LineKind::Host && it.host == candidate.host);
        if launch {
            ids.insert(correlation);
        }
    });
    let mut union: Vec<Vec<Interval>> = vec![Vec::new(); devices.used.len()];
    let index = sort::map(devices.used.iter().zip(0usize..).map(|(device, index)| (device.plane, index)));
    trace.events.column(EventColumn::Correlation).for_each(|id, correlation| {
        let Some(event) = trace.events.get(id).filter(|_| ids.contains(&correlation)) else { return };
        let line = trace.lines.get(event.line.index()).filter(|line| line.kind == LineKind::DeviceOps);
        let device = line.and_then(|line| index.get(&line.plane.index()));
        if let Some(ops) = device.and_then(|&device| union.get_mut(device)) {
            ops.push(interval(&event));
        }
    });
    let busy: Ps = devices.used.iter().map(|device| device.busy.length()).sum();
    let launched: Ps = union.into_iter().map(|ops| IntervalSet::union_of(ops).length()).sum();
    if busy > Ps::ZERO { launched.as_ps() as f64 / busy.as_ps() as f64 } else { 0.0 }
}

/// The spans of one name on one thread.
struct Candidate {
    name: String,
    sort: Sort,
    host: u16,
    /// Marks of the spans in order; they do not overlap.
    marks: Vec<Mark>,
}

impl Candidate {
    fn time(&self) -> Ps {
        self.marks.iter().map(|mark| mark.interval.length()).sum()
    }

    /// As the body of a loop does: regularly or with as many ops from one to the next, which keep the devices busy for about as
    /// long. The ops of a GPU run after their launch: they are tied to it where the trace does.
    fn repeats(&self, trace: &Trace, devices: &Devices) -> bool {
        let marks = launches::attribute(trace, devices, &self.as_annotations());
        let of_device = |device: usize| match &marks {
            Some(rows) => rows.get(device).into_iter().flatten().flatten().copied().collect(),
            None => self.marks.clone(),
        };
        let fed = || (0..).zip(&devices.used).filter(|(_, device)| device.host == self.host);
        let even = fed().all(|(index, device)| rhythm::even(&device.busy, &of_device(index)));
        let mut same = fed().map(|(index, device)| rhythm::same_work(trace, device, &of_device(index))).peekable();
        even && (rhythm::regular(&self.marks) || (same.peek().is_some() && same.all(|same| same)))
    }

    fn marker(&self) -> String {
        match self.sort {
            Sort::Function => format!("calls of {}", self.name.rsplit(' ').next().unwrap_or(&self.name)),
            Sort::Range => format!("{} ranges", self.name),
            Sort::Program => format!("launches of {}", program(&self.name).unwrap_or(&self.name)),
        }
    }

    fn as_annotations(&self) -> Annotations {
        let marks = self.marks.iter().zip(0i64..).map(|(mark, number)| Some(Mark { key: Some(number), ..*mark }));
        Annotations {
            name: self.name.clone(),
            numbers: (0i64..).take(self.marks.len()).collect(),
            by_host: BTreeMap::from([(self.host, marks.collect())]),
        }
    }
}

/// `f` of `PjitFunction(f)`, `jit_f` of `jit_f:XLA GPU module`.
fn program(name: &str) -> Option<&str> {
    let call = name.strip_prefix("PjitFunction(").and_then(|rest| rest.strip_suffix(')'));
    call.or_else(|| name.strip_suffix(":XLA GPU module"))
}

/// What a span of this name can be; `None` for what is no step of a user.
fn sort_of(name: &str) -> Option<Sort> {
    if host_spans::is_frame(name) {
        return library_files::is_users(name).then_some(Sort::Function);
    }
    if program(name).is_some() {
        return Some(Sort::Program);
    }
    (!name.contains("::") && host_spans::work(name).is_none()).then_some(Sort::Range)
}

/// The spans of every name on every Python thread, but those that nest in themselves. Around a program's launch there may be a
/// second span of its name, of which the outer one counts.
fn spans(trace: &Trace, devices: &Devices) -> Vec<Candidate> {
    let python: Vec<bool> = trace
        .lines
        .iter()
        .map(|line| line.kind == LineKind::Host && HostRole::of_thread(trace.text(line.name)) == HostRole::Python)
        .collect();
    let mut sorts: Vec<Option<Option<Sort>>> = vec![None; trace.strings.len()];
    let mut index: BTreeMap<(LineId, &str), usize> = BTreeMap::new();
    let mut found: Vec<Option<Candidate>> = Vec::new();
    let mut place = |kind: &EventKind| {
        let line = trace.lines.get(kind.line.index()).filter(|_| python.get(kind.line.index()) == Some(&true))?;
        let name = trace.text(kind.name);
        let sort = (*sorts.get_mut(kind.name.index())?.get_or_insert_with(|| sort_of(name)))?;
        if trace.args.set(kind.args.index()).is_some_and(|args| !args.hlo_op.is_empty()) {
            return None;
        }
        Some(*index.entry((kind.line, name)).or_insert_with(|| {
            let host = trace.plane_of(line).map_or(0, |plane| plane.host);
            found.push(Some(Candidate { name: name.to_owned(), sort, host, marks: Vec::new() }));
            found.len() - 1
        }))
    };
    let places: Vec<Option<usize>> = trace.events.kinds().iter().map(&mut place).collect();
    for (events, _) in devices.by_line.events.iter().zip(&python).filter(|(_, python)| **python) {
        events.for_each_time(&trace.events, |kind, interval| {
            let Some(slot) = places.get(kind).copied().flatten().and_then(|place| found.get_mut(place)) else { return };
            let Some(candidate) = slot else { return };
            match candidate.marks.last() {
                Some(last) if interval.start < last.interval.end => {
                    if candidate.sort != Sort::Program {
                        *slot = None;
                    }
                }
                _ => candidate.marks.push(Mark { interval, key: None }),
            }
        });
    }
    found.into_iter().flatten().collect()
}
