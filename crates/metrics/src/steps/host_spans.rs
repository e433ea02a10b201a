//! Steps from what repeats on the host, where neither annotations nor device lines mark them.
//!
//! A function or range that runs again and again on one Python thread and takes most of the time in which the devices work is the
//! body of a loop; else a program whose launches give most of the device work. Nothing less is taken for a step:
//!
//! * at least four spans that do not overlap, at regular intervals or with as many device ops from one to the next, which keep the
//!   devices busy for about as long (`rhythm`);
//! * if devices ran ops, at least a tenth of their busy time belongs to the spans: waiting for a device is no step of it;
//! * fewer than four spans are steps if their name says so (`step`, `execute`, ...) and they launch nearly all device work;
//! * names of steps that differ in their numbers only are one name (`execute_context_3`, `step[DECODE bs=64]`);
//! * a Python function or a named range covers at least half of the time from the devices' first op to their last;
//! * of launches (`PjitFunction(f)`, `jit_f:XLA GPU module`), the ops that they launch make at least half of the busy time;
//! * a range that PyTorch records once in each step (`Optimizer.zero_grad#SGD.zero_grad`) stands for the time to the next one;
//! * functions of Python's and JAX's own files, private functions, spans of the runtime and calls of CUDA and HIP are no steps of a user.

use std::borrow::Cow;
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
/// The least share of the busy time that fewer spans launch if they are steps (ours).
const NEARLY_ALL: f64 = 0.9;
/// The least share of the devices' busy time that belongs to steps (ours: warm-up and compilation come before them).
const LEAST_WORK: f64 = 0.1;
/// Ranges that PyTorch records once in each step of a training loop, by how they begin.
const ONCE_PER_STEP: [&str; 2] = ["Optimizer.zero_grad#", "Optimizer.step#"];
/// Names that are looked at closely, those with the most time first: each costs a walk over the launches.
const MOST_ASKED: usize = 6;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    /// A function of the user, as the Python tracer names it.
    Function,
    /// A named range, such as those of `jax.profiler.TraceAnnotation`.
    Range,
    /// A call that a training loop makes once in each step: the step lasts to the next one.
    OncePerStep,
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
    /// True if `percent` is what they launch of the devices' busy time; else it is what they cover of the devices' active span.
    pub launches: bool,
    /// The share in percent.
    pub percent: f64,
}

/// Finds the steps on the host.
pub(super) fn find(trace: &Trace, devices: &Devices) -> Option<HostSteps> {
    let active = active_span(devices)?;
    let mut candidates = spans(trace, devices);
    // The most time first; of equals the first of the file.
    sort::sort_by(&mut candidates, |a, b| b.time().cmp(&a.time()));
    let (candidates, few): (Vec<Candidate>, Vec<Candidate>) =
        candidates.into_iter().partition(|it| it.marks.len() >= FEWEST);
    let covered = |it: &Candidate| {
        let inside = it.marks.iter().filter_map(|mark| mark.interval.clip(active)).map(Interval::length).sum::<Ps>();
        inside.as_ps() as f64 / active.length().as_ps().max(1) as f64
    };
    // Each question costs more than the one before it.
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

    /// Lets each span last until the next one begins, and the last one, whose step the capture may have cut, as it is.
    fn last_to_the_next(&mut self) {
        let starts: Vec<Ps> = self.marks.iter().map(|mark| mark.interval.start).collect();
        for (mark, &next) in self.marks.iter_mut().zip(starts.iter().skip(1)) {
            mark.interval = Interval::new(mark.interval.start, next);
        }
    }

    /// The marks on a used device: the ops that the spans launch, or the spans themselves if nothing ties ops to launches.
    fn marks_on(&self, trace: &Trace, devices: &Devices) -> Vec<Vec<Mark>> {
        let found = self.as_annotations();
        match launches::owners(trace, devices, &found).marks(trace, devices, self.marks.len()) {
            Some(rows) => rows.into_iter().map(|row| row.into_iter().flatten().collect()).collect(),
            None => devices.used.iter().map(|_| self.marks.clone()).collect(),
        }
    }

    /// Share of the busy time of the host's devices from the first span's start on each device to the last one's end, 0 to 1; 1 where
    /// no device is used.
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

    /// As the body of a loop does: regularly or with as many ops from one to the next, which keep the devices busy for about as
    /// long. The ops of a GPU run after their launch: they are tied to it where the trace does.
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

/// `f` of `PjitFunction(f)`, `jit_f` of `jit_f:XLA GPU module`.
fn program(name: &str) -> Option<&str> {
    let call = name.strip_prefix("PjitFunction(").and_then(|rest| rest.strip_suffix(')'));
    call.or_else(|| name.strip_suffix(":XLA GPU module"))
}

/// The starts of the calls of every compiled function, in order, by host and module: JAX calls the module of `<lambda>` `jit__lambda_`.
pub(super) fn program_calls(trace: &Trace, devices: &Devices) -> BTreeMap<(u16, String), Vec<Ps>> {
    let mut calls: BTreeMap<(u16, String), Vec<Ps>> = BTreeMap::new();
    for candidate in spans(trace, devices).into_iter().filter(|it| it.sort == Sort::Program) {
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

/// True for the names of calls of the CUDA and HIP runtimes and drivers (`cudaFree`, `cuLaunchKernel`, `hipMemcpyAsync`).
fn is_api_call(name: &str) -> bool {
    ["cuda", "cu", "hip", "nccl", "rccl"]
        .iter()
        .any(|prefix| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase())))
}

/// Words in the names of ranges that are steps or batches, not parts of one step.
const STEP_WORDS: [&str; 6] = ["step", "iter", "execute", "decode", "prefill", "batch"];
/// Words in the names of parts of a step, which are numbered too.
const PART_WORDS: [&str; 4] = ["layer", "block", "stage", "micro"];

/// True for the names of steps and batches.
fn names_a_step(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    has(&STEP_WORDS) && !has(&PART_WORDS)
}

/// The name of a numbered step with every number in it as `#`; any other name as it is.
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

/// What a span of this name can be; `None` for what is no step of a user.
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

/// True for a thread that runs Python, or that has no name but its number and so may.
fn may_run_python(trace: &Trace, line: &trace::Line) -> bool {
    let name = trace.text(line.name);
    let is_number = name.strip_prefix("thread ").unwrap_or(name).bytes().all(|byte| byte.is_ascii_digit());
    line.kind == LineKind::Host && (is_number || HostRole::of_thread(name) == HostRole::Python)
}

/// The spans of every name on every Python thread, but those that nest in themselves. Around a program's launch there may be a
/// second span of its name, of which the outer one counts.
fn spans(trace: &Trace, devices: &Devices) -> Vec<Candidate> {
    let python: Vec<bool> = trace.lines.iter().map(|line| may_run_python(trace, line)).collect();
    let mut sorts: Vec<Option<Option<Sort>>> = vec![None; trace.strings.len()];
    let mut index: BTreeMap<(LineId, Cow<'_, str>), usize> = BTreeMap::new();
    let mut found: Vec<Option<Candidate>> = Vec::new();
    let mut place = |kind: &EventKind| {
        let line = trace.lines.get(kind.line.index()).filter(|_| python.get(kind.line.index()) == Some(&true))?;
        let name = trace.text(kind.name);
        let sort = (*sorts.get_mut(kind.name.index())?.get_or_insert_with(|| sort_of(name)))?;
        if trace.args.set(kind.args.index()).is_some_and(|args| !args.hlo_op.is_empty()) {
            return None;
        }
        // Functions are told apart by their lines, programs by their names.
        let masked = if sort == Sort::Range { without_numbers(name) } else { Cow::Borrowed(name) };
        Some(*index.entry((kind.line, masked.clone())).or_insert_with(|| {
            let host = trace.plane_of(line).map_or(0, |plane| plane.host);
            found.push(Some(Candidate { name: masked.into_owned(), sort, host, marks: Vec::new() }));
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
    let mut found: Vec<Candidate> = found.into_iter().flatten().collect();
    found.iter_mut().filter(|it| it.sort == Sort::OncePerStep).for_each(Candidate::last_to_the_next);
    found
}
