//! Finds steps from spans that repeat on the host. This source is used if neither annotations nor device lines mark the
//! steps.
//!
//! A function or range is the body of a loop if it runs repeatedly on one Python thread and covers most of the time
//! during which the devices work. If no function or range is the body of a loop, the launches of a program that cause
//! most of the device work mark the steps. These rules apply:
//!
//! * At least four spans that do not overlap are needed. They come at regular intervals, or with the same number of
//!   device ops between their starts, and keep the devices busy for similar times (`rhythm`).
//! * If devices ran ops, at least a tenth of their busy time belongs to the spans: a wait for a device is not a step.
//! * Fewer than four spans are steps if their name indicates steps (`step`, `execute`, ...) and they launch nearly all
//!   device work.
//! * Names of steps that differ only in their numbers (`execute_context_3`, `step[DECODE bs=64]`) are treated as one
//!   name.
//! * A Python function or a named range covers at least half of the time from the devices' first op to their last.
//! * The ops of launches (`PjitFunction(f)`, `jit_f:XLA GPU module`) make up at least half of the busy time.
//! * A range that PyTorch records once in each step (`Optimizer.zero_grad#SGD.zero_grad`) extends to the next such
//!   range.
//! * Functions in Python's and JAX's own files, private functions, runtime spans and calls to CUDA and HIP are not
//!   steps.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::annotations::Annotations;
use super::{Mark, launches, rhythm};
use crate::device::devices::{Devices, interval};
use crate::host::host_threads::HostRole;
use base::{Ps, sort};
use facts::{host_spans, library_files};
use trace::{EventColumn, EventKind, Interval, IntervalSet, LineId, LineKind, Trace};

/// Minimum number of spans that show a rhythm.
const FEWEST: usize = 4;
/// The spans must cover at least this share of the time, or launch ops with at least this share of the busy time.
const COVERS: f64 = 0.5;
/// Minimum share of the busy time that fewer than [`FEWEST`] spans must launch to be steps. We chose this limit.
const NEARLY_ALL: f64 = 0.9;
/// Minimum share of the devices' busy time that belongs to steps. We chose this limit because warm-up and compilation
/// come before the steps.
const LEAST_WORK: f64 = 0.1;
/// Prefixes of ranges that PyTorch records once in each step of a training loop.
const ONCE_PER_STEP: [&str; 2] = ["Optimizer.zero_grad#", "Optimizer.step#"];
/// Maximum number of names that are examined in detail. The names that cover the most time come first. Each name
/// requires a pass over the launches.
const MOST_ASKED: usize = 6;

/// Kind of a span, from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    /// A user function, as the Python tracer names it.
    Function,
    /// A named range, such as a range of `jax.profiler.TraceAnnotation`.
    Range,
    /// A call that a training loop makes once in each step. The step lasts until the next call.
    OncePerStep,
    /// The launch of a compiled function.
    Program,
}

#[derive(Clone, Debug)]
pub(super) struct HostSteps {
    /// The spans, as if they were annotations.
    pub spans: Annotations,
    /// Description of the spans (`calls of train_step`).
    pub marker: String,
    /// True if `percent` is the share of the devices' busy time that the spans launch. False if `percent` is the share
    /// of the devices' active span that the spans cover.
    pub launches: bool,
    /// The share in percent.
    pub percent: f64,
}

pub(super) fn find(trace: &Trace, devices: &Devices) -> Option<HostSteps> {
    let active = active_span(devices)?;
    let mut candidates = spans(trace, devices, |seen| seen.may_be_steps(active));
    // Sorts by descending time. Candidates with the same time keep the order of the file.
    sort::sort_by(&mut candidates, |a, b| b.time().cmp(&a.time()));
    let (candidates, few): (Vec<Candidate>, Vec<Candidate>) =
        candidates.into_iter().partition(|it| it.marks.len() >= FEWEST);
    let covered = |it: &Candidate| {
        share_of(active, it.marks.iter().filter_map(|mark| mark.interval.clip(active)).map(Interval::length).sum())
    };
    // Each filter is more expensive than the filter before it.
    let takes_most = |(_, share): &(&Candidate, f64)| *share >= COVERS;
    let bodies = candidates.iter().filter(|it| it.sort != Sort::Program).map(|it| (it, covered(it)));
    let works = |(it, _): &(&Candidate, f64)| it.work_share(trace, devices) >= LEAST_WORK;
    let mut bodies = bodies.filter(takes_most).take(MOST_ASKED).filter(works);
    let programs = candidates.iter().filter(|it| it.sort == Sort::Program).take(MOST_ASKED);
    let mut programs = programs.map(|it| (it, launched(trace, devices, it))).filter(takes_most);
    let repeats = |(it, _): &(&Candidate, f64)| it.repeats(trace, devices);
    let few = few.iter().filter(|it| it.sort == Sort::Range && names_a_step(&it.name));
    let mut few = few.take(MOST_ASKED).map(|it| (it, launched(trace, devices, it)));
    let found = bodies.find(repeats).map(|found| (found, false));
    let mut launching = || programs.find(repeats).or_else(|| few.find(|(_, share)| *share >= NEARLY_ALL));
    let ((found, share), launches) = found.or_else(|| launching().map(|found| (found, true)))?;
    Some(HostSteps {
        marker: found.marker(),
        spans: found.as_annotations(),
        launches,
        percent: (100.0 * share).clamp(0.0, 100.0),
    })
}

/// Returns the time from the first op's start to the last op's end of all devices, or the capture if nothing ran.
fn active_span(devices: &Devices) -> Option<Interval> {
    let spans = || devices.used.iter().map(|device| device.span);
    let used = spans().map(|span| span.start).min().zip(spans().map(|span| span.end).max());
    used.map(|(start, end)| Interval::new(start, end)).or(devices.capture)
}

fn share_of(all: Interval, time: Ps) -> f64 {
    time.as_ps() as f64 / all.length().as_ps().max(1) as f64
}

/// Returns the share of the devices' busy time that belongs to ops launched inside the spans, from 0 to 1.
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

struct Candidate {
    name: String,
    sort: Sort,
    host: u16,
    /// Marks of the spans, sorted by time. The spans do not overlap.
    marks: Vec<Mark>,
}

impl Candidate {
    fn time(&self) -> Ps {
        self.marks.iter().map(|mark| mark.interval.length()).sum()
    }

    /// Extends each span to the start of the next span. The last span stays unchanged, because the capture may have cut its
    /// step.
    fn last_to_the_next(&mut self) {
        let starts: Vec<Ps> = self.marks.iter().map(|mark| mark.interval.start).collect();
        for (mark, &next) in self.marks.iter_mut().zip(starts.iter().skip(1)) {
            mark.interval = Interval::new(mark.interval.start, next);
        }
    }

    /// Returns the marks on each device in use: the ops that the spans launch, or the spans themselves if ops cannot be
    /// connected with launches.
    fn marks_on(&self, trace: &Trace, devices: &Devices) -> Vec<Vec<Mark>> {
        let found = self.as_annotations();
        match launches::owners(trace, devices, &found).marks(trace, devices, self.marks.len()) {
            Some(rows) => rows.into_iter().map(|row| row.into_iter().flatten().collect()).collect(),
            None => devices.used.iter().map(|_| self.marks.clone()).collect(),
        }
    }

    /// Returns the share of the devices' busy time between the start of the first span and the end of the last span on
    /// each device, from 0 to 1. Includes only devices of the spans' host. Returns 1 if no device is used.
    fn work_share(&self, trace: &Trace, devices: &Devices) -> f64 {
        let marks = self.marks_on(trace, devices);
        let (mut own, mut all) = (Ps::ZERO, Ps::ZERO);
        for (device, marks) in devices.used.iter().zip(&marks).filter(|(device, _)| device.host == self.host) {
            all += device.busy.length();
            if let (Some(first), Some(last)) = (marks.first(), marks.iter().map(|mark| mark.interval.end).max()) {
                own += device.busy.length_within(Interval::new(first.interval.start, last));
            }
        }
        if all > Ps::ZERO { own.as_ps() as f64 / all.as_ps() as f64 } else { 1.0 }
    }

    /// Returns true if the spans repeat like the body of a loop: regularly, or with the same number of ops between their
    /// starts, and with similar busy times of the devices. The ops of a GPU run after their launch. If the trace contains the
    /// launches, ops are therefore assigned by their launches.
    fn repeats(&self, trace: &Trace, devices: &Devices) -> bool {
        let marks = self.marks_on(trace, devices);
        let fed = || devices.used.iter().zip(&marks).filter(|(device, _)| device.host == self.host);
        let even = fed().all(|(device, marks)| rhythm::even(&device.busy, marks));
        let mut same = fed().map(|(device, marks)| rhythm::same_work(trace, device, marks)).peekable();
        even && (rhythm::regular(&self.marks) || (same.peek().is_some() && same.all(|same| same)))
    }

    fn marker(&self) -> String {
        match self.sort {
            Sort::Function => format!("calls of {}", self.name.rsplit(' ').next().unwrap_or(&self.name)),
            Sort::Range => format!("{} ranges", self.name),
            Sort::OncePerStep => format!("repeats of {}", self.name),
            Sort::Program => format!("launches of {}", program(&self.name).unwrap_or(&self.name)),
        }
    }

    fn as_annotations(&self) -> Annotations {
        let marks = self.marks.iter().zip(0i64..).map(|(mark, number)| Some(Mark { key: Some(number), ..*mark }));
        Annotations {
            name: self.name.clone(),
            ends: self.sort != Sort::OncePerStep,
            distinct_numbers: None,
            numbers: (0i64..).take(self.marks.len()).collect(),
            by_host: BTreeMap::from([(self.host, marks.collect())]),
        }
    }
}

/// Returns `f` for `PjitFunction(f)`, and `jit_f` for `jit_f:XLA GPU module`.
fn program(name: &str) -> Option<&str> {
    let call = name.strip_prefix("PjitFunction(").and_then(|rest| rest.strip_suffix(')'));
    call.or_else(|| name.strip_suffix(":XLA GPU module"))
}

/// Returns the starts of the calls to every compiled function, sorted by time. The key is the host and the module. JAX
/// names the module of a `<lambda>` `jit__lambda_`.
pub(super) fn program_calls(trace: &Trace, devices: &Devices) -> BTreeMap<(u16, String), Vec<Ps>> {
    let mut calls: BTreeMap<(u16, String), Vec<Ps>> = BTreeMap::new();
    for candidate in spans(trace, devices, |seen| seen.sort == Sort::Program) {
        let Some(function) = program(&candidate.name) else { continue };
        let is_module = function.len() < candidate.name.len() && candidate.name.starts_with(function);
        let in_names = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '.' { c } else { '_' };
        let module = if is_module {
            function.to_owned()
        } else {
            format!("jit_{}", function.replace(|c| in_names(c) != c, "_"))
        };
        let starts = candidate.marks.iter().map(|mark| mark.interval.start);
        calls.entry((candidate.host, module)).or_default().extend(starts);
    }
    calls.values_mut().for_each(|starts| sort::sort_by_key(starts, |start| *start));
    calls
}

/// Returns true for the names of calls to the CUDA and HIP runtimes and drivers (`cudaFree`, `cuLaunchKernel`,
/// `hipMemcpyAsync`).
fn is_api_call(name: &str) -> bool {
    ["cuda", "cu", "hip", "nccl", "rccl"]
        .iter()
        .any(|prefix| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase())))
}

/// Words in the names of steps and batches. These words do not occur in the names of parts of a step.
const STEP_WORDS: [&str; 6] = ["step", "iter", "execute", "decode", "prefill", "batch"];
/// Words in the names of parts of a step. These parts are also numbered.
const PART_WORDS: [&str; 4] = ["layer", "block", "stage", "micro"];

/// Returns true for the names of steps and batches.
fn names_a_step(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    has(&STEP_WORDS) && !has(&PART_WORDS)
}

/// Replaces every number in the name of a numbered step with `#`. Returns any other name unchanged.
fn without_numbers(name: &str) -> Cow<'_, str> {
    if !name.bytes().any(|byte| byte.is_ascii_digit()) || !names_a_step(name) {
        return Cow::Borrowed(name);
    }
    let mut masked = String::with_capacity(name.len());
    for c in name.chars() {
        if !c.is_ascii_digit() {
            masked.push(c);
        } else if !masked.ends_with('#') {
            masked.push('#');
        }
    }
    Cow::Owned(masked)
}

/// Returns the kind of a span with this name, or `None` if it cannot be a user's step.
fn sort_of(name: &str) -> Option<Sort> {
    if host_spans::is_frame(name) {
        return library_files::is_users(name).then_some(Sort::Function);
    }
    if program(name).is_some() {
        return Some(Sort::Program);
    }
    if ONCE_PER_STEP.iter().any(|prefix| name.starts_with(prefix)) {
        return Some(Sort::OncePerStep);
    }
    (!name.contains("::") && !is_api_call(name) && host_spans::work(name).is_none()).then_some(Sort::Range)
}

/// Returns true for a thread that runs Python, and for a thread whose name is only a number, because such a thread may
/// run Python.
fn may_run_python(trace: &Trace, line: &trace::Line) -> bool {
    let name = trace.text(line.name);
    let is_number = name.strip_prefix("thread ").unwrap_or(name).bytes().all(|byte| byte.is_ascii_digit());
    line.kind == LineKind::Host && (is_number || HostRole::of_thread(name) == HostRole::Python)
}

struct Seen<'t> {
    name: Cow<'t, str>,
    sort: Sort,
    host: u16,
    count: usize,
    /// Sum of the spans' lengths within the devices' active span.
    inside: Ps,
    end: Option<Ps>,
    /// True if spans overlap. Overlapping spans are steps only if a second span with the same name encloses the launch
    /// of a program.
    overlaps: bool,
}

impl Seen<'_> {
    fn add(&mut self, interval: Interval, active: Option<Interval>) {
        if self.end.is_some_and(|end| interval.start < end) {
            self.overlaps = true;
            return;
        }
        self.count += 1;
        self.end = Some(interval.end);
        self.inside += active.and_then(|active| interval.clip(active)).map_or(Ps::ZERO, Interval::length);
    }

    /// Returns false if [`find`] rejects the spans because they cover too little of the active span.
    fn may_be_steps(&self, active: Interval) -> bool {
        let must_cover = matches!(self.sort, Sort::Function | Sort::Range) && self.count >= FEWEST;
        !must_cover || share_of(active, self.inside) >= COVERS
    }
}

/// Returns the wanted spans of every name on every Python thread, except names whose spans nest in each other. If a
/// second span with the same name encloses a program's launch, the outer span is used.
///
/// A name can have millions of spans. The first pass therefore only adds up the spans, and the second pass stores the
/// spans of wanted names.
fn spans(trace: &Trace, devices: &Devices, wanted: impl Fn(&Seen) -> bool) -> Vec<Candidate> {
    let python: Vec<bool> = trace.lines.iter().map(|line| may_run_python(trace, line)).collect();
    let mut sorts: Vec<Option<Option<Sort>>> = vec![None; trace.strings.len()];
    let mut index: BTreeMap<(LineId, Cow<'_, str>), usize> = BTreeMap::new();
    let mut seen: Vec<Seen> = Vec::new();
    let mut place = |kind: &EventKind| {
        let line = trace.lines.get(kind.line.index()).filter(|_| python.get(kind.line.index()) == Some(&true))?;
        let name = trace.text(kind.name);
        let sort = (*sorts.get_mut(kind.name.index())?.get_or_insert_with(|| sort_of(name)))?;
        if trace.args.set(kind.args.index()).is_some_and(|args| !args.hlo_op.is_empty()) {
            return None;
        }
        // Functions are distinguished by their lines, programs by their names.
        let name = if sort == Sort::Range { without_numbers(name) } else { Cow::Borrowed(name) };
        Some(*index.entry((kind.line, name.clone())).or_insert_with(|| {
            let host = trace.plane_of(line).map_or(0, |plane| plane.host);
            seen.push(Seen { name, sort, host, count: 0, inside: Ps::ZERO, end: None, overlaps: false });
            seen.len() - 1
        }))
    };
    let mut places: Vec<Option<usize>> = trace.events.kinds().iter().map(&mut place).collect();
    let active = active_span(devices);
    for_each_placed(trace, devices, &places, |place, interval| {
        seen.get_mut(place).into_iter().for_each(|seen| seen.add(interval, active));
    });
    let candidate = |seen: Seen| {
        let is_wanted = (!seen.overlaps || seen.sort == Sort::Program) && wanted(&seen);
        is_wanted.then(|| {
            let (name, marks) = (seen.name.into_owned(), Vec::with_capacity(seen.count));
            Candidate { name, sort: seen.sort, host: seen.host, marks }
        })
    };
    let mut found: Vec<Option<Candidate>> = seen.into_iter().map(candidate).collect();
    for place in &mut places {
        *place = place.filter(|&place| found.get(place).is_some_and(Option::is_some));
    }
    for_each_placed(trace, devices, &places, |place, interval| {
        let Some(Some(Candidate { marks, .. })) = found.get_mut(place) else { return };
        if marks.last().is_none_or(|last: &Mark| interval.start >= last.interval.end) {
            marks.push(Mark { interval, key: None });
        }
    });
    let mut found: Vec<Candidate> = found.into_iter().flatten().collect();
    found.iter_mut().filter(|it| it.sort == Sort::OncePerStep).for_each(Candidate::last_to_the_next);
    found
}

/// Calls `visit` with the place and the interval of each event whose kind has an entry in `places`. Reads only lines
/// with such events.
pub(super) fn for_each_placed(
    trace: &Trace,
    devices: &Devices,
    places: &[Option<usize>],
    mut visit: impl FnMut(usize, Interval),
) {
    let mut has_places = vec![false; trace.lines.len()];
    for (kind, _) in trace.events.kinds().iter().zip(places).filter(|(_, place)| place.is_some()) {
        has_places.get_mut(kind.line.index()).into_iter().for_each(|has| *has = true);
    }
    for (events, _) in devices.by_line.events.iter().zip(&has_places).filter(|(_, has)| **has) {
        events.for_each_time(&trace.events, |kind, interval| {
            places.get(kind).copied().flatten().into_iter().for_each(|place| visit(place, interval));
        });
    }
}
