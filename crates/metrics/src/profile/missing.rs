//! Detects data that a capture lacks: runs of programs without ops, launches without kernels, steps without device ops,
//! ops inside command buffers. Also detects ops whose times are impossible. The time of missing data is not idle time.
//! The warnings of this module therefore suppress findings that would treat it as idle time (see [`base::Cut`]).

use crate::device::devices::{Device, Devices};
use crate::device::per_line::PerLine;
use crate::host::launches::{CallIndex, for_each_op};
use crate::step::steps::{Steps, ops_starting_in};
use base::format::{count, printable, shorten, time_us};
use base::{Ps, Warning, WarningCode};
use trace::{Args, EventId, Interval, LineKind, Platform, StrId, Trace, in_blocks};

/// Minimum share that must be missing for a warning, in percent. We chose this limit because a smaller share may be due
/// to the edges of the capture.
const LEAST_PERCENT: u64 = 2;

/// XLA's name of an op that runs a CUDA graph.
const COMMAND_BUFFER: &str = "command_buffer";

/// Returns the warnings about data that is missing from the whole capture. `calls` contains the launch calls. If the
/// capture is cut, the cut explains missing steps and launches.
pub(crate) fn warnings(
    trace: &Trace,
    captured: &Devices,
    calls: &CallIndex,
    steps: &Steps,
    is_cut: bool,
) -> Vec<Warning> {
    let found = [
        runs_without_ops(captured),
        if is_cut { None } else { steps_without_ops(trace, captured, steps) },
        if is_cut { None } else { launches_without_ops(trace, captured, calls) },
    ];
    let is_gpu = captured.platform == Some(Platform::Gpu);
    let streams = is_gpu.then(|| Streams::new(trace, captured));
    let of_streams = streams.iter().flat_map(|streams| [streams.command_buffers(), streams.overlaps(trace)]);
    found.into_iter().chain(of_streams).flatten().collect()
}

/// Returns true if the missing share is large enough for a warning.
fn is_notable(missing: u64, all: u64) -> bool {
    missing > 0 && missing.saturating_mul(100) >= all.saturating_mul(LEAST_PERCENT)
}

fn warning(code: WarningCode, missing: u64, message: String) -> Warning {
    Warning::new(code, message).with_remedy(code.remedy()).with_count(missing)
}

/// Returns true if start times can be compared between all devices. Returns false if the devices are on several hosts
/// whose clocks were aligned only through the devices' work.
pub(crate) fn has_common_clock(trace: &Trace, devices: &Devices) -> bool {
    let mut hosts = devices.used.iter().map(|device| device.host);
    let first = hosts.next();
    hosts.all(|host| Some(host) == first)
        || !trace.warnings.iter().any(|warning| warning.is(WarningCode::HostClocksNotAligned))
}

/// Returns the number of program runs without ops, and the number of all program runs.
fn runs(devices: &Devices) -> (u64, u64) {
    let unrecorded = devices.used.iter().map(|device| &device.unrecorded);
    unrecorded.fold((0, 0), |(without, runs), it| (without + it.without_ops, runs + it.runs))
}

/// Returns true if too many program runs lack ops, so that rates over the devices' time are meaningless.
pub(crate) fn lacks_ops(devices: &Devices) -> bool {
    let (without, all) = runs(devices);
    is_notable(without, all)
}

fn runs_without_ops(captured: &Devices) -> Option<Warning> {
    let (without, runs) = runs(captured);
    let ops: u64 = captured.used.iter().map(|device| device.ops.len() as u64).sum();
    let how_many = if ops == 0 {
        format!("The file has {} module runs and no ops", count(runs))
    } else {
        format!("{} of {} module runs have no ops", count(without), count(runs))
    };
    let message = format!(
        "{how_many}: the profiler did not record the ops. Such a run is included in the busy time, but its ops are unknown."
    );
    is_notable(without, runs).then(|| warning(WarningCode::RunsWithoutOps, without, message))
}

fn steps_without_ops(trace: &Trace, captured: &Devices, steps: &Steps) -> Option<Warning> {
    let platform = captured.platform.filter(|platform| *platform != Platform::Cpu)?;
    let runs_ops = |step: usize| {
        let mut windows = captured.used.iter().zip(&steps.windows);
        windows.any(|(device, windows)| {
            let window = windows.get(step).copied().flatten().map(|window| window.interval);
            window.is_some_and(|window| {
                ops_starting_in(trace, device, window) > 0 || device.unrecorded.time.length_within(window) > Ps::ZERO
            })
        })
    };
    let empty: Vec<usize> = (0..steps.len()).filter(|&step| !runs_ops(step)).collect();
    // A capture may end right after a step began.
    let is_only_the_last = matches!(empty.as_slice(), [only] if only + 1 == steps.len());
    let (missing, all) = (empty.len() as u64, steps.len() as u64);
    let message = format!(
        "{} of {} steps have no {} op: the profiler did not record the ops, or the program computed nothing in these \
         steps. Idle time is not judged.",
        count(missing),
        count(all),
        platform.label()
    );
    let is_some = is_notable(missing, all) && missing < all && !is_only_the_last;
    is_some.then(|| warning(WarningCode::StepsWithoutOps, missing, message))
}

/// Counts the launch calls of a GPU that started no op. Considers only calls to functions that started ops elsewhere in
/// the capture.
fn launches_without_ops(trace: &Trace, captured: &Devices, calls: &CallIndex) -> Option<Warning> {
    if captured.platform != Some(Platform::Gpu) || calls.is_empty() {
        return None;
    }
    let mut has_ops = vec![false; calls.slots()];
    for_each_op(trace, captured, |op| {
        if let Some(slot) = calls.find(trace, op.scope, op.number).and_then(|(slot, _)| has_ops.get_mut(slot)) {
            *slot = true;
        }
    });
    let recorded = Recorded::new(trace);
    // Number of launches with ops and of launches without ops, by name.
    let mut of_name: Vec<(StrId, u64, u64)> = Vec::new();
    for (call, has_ops) in calls.events().zip(has_ops) {
        let Some(event) = trace.events.get(call) else { continue };
        let known = of_name.iter().position(|(name, ..)| *name == event.name);
        if known.is_none() && !trace.text(event.name).contains("Launch") {
            continue;
        }
        let at = known.unwrap_or_else(|| {
            of_name.push((event.name, 0, 0));
            of_name.len() - 1
        });
        let Some((_, with, without)) = of_name.get_mut(at) else { continue };
        if has_ops {
            *with += 1;
        } else if !recorded.holds(event.line.index(), event.start) {
            *without += 1;
        }
    }
    of_name.retain(|(_, with, _)| *with > 0);
    let missing: u64 = of_name.iter().map(|(.., without)| without).sum();
    let all = missing + of_name.iter().map(|(_, with, _)| with).sum::<u64>();
    let name = of_name.iter().max_by_key(|(.., without)| *without).map_or("", |(name, ..)| trace.text(*name));
    let message = format!(
        "{} of {} launches have no kernel in the capture (most of them {}): the profiler did not record their \
         kernels. Idle time is not judged.",
        count(missing),
        count(all),
        printable(&shorten(name, 60))
    );
    is_notable(missing, all).then(|| warning(WarningCode::LaunchesWithoutOps, missing, message))
}

/// Times when each thread records calls into a graph, between `cudaStreamBeginCapture` and `cudaStreamEndCapture`. The
/// recorded calls start no work.
struct Recorded(Vec<(usize, Interval)>);

impl Recorded {
    fn new(trace: &Trace) -> Recorded {
        let is = |name: StrId, word: &str| trace.text(name).contains(word);
        if !trace.events.kinds().iter().any(|kind| is(kind.name, "StreamBeginCapture")) {
            return Recorded(Vec::new());
        }
        let edges = trace.events.iter().filter_map(|event| {
            let begins = is(event.name, "StreamBeginCapture");
            (begins || is(event.name, "StreamEndCapture")).then(|| (event.line.index(), event.start, begins))
        });
        let mut edges: Vec<(usize, Ps, bool)> = edges.collect();
        base::sort::sort_by(&mut edges, Ord::cmp);
        let mut recorded = Vec::new();
        for pair in edges.windows(2) {
            if let [(line, start, true), (of, end, false)] = pair
                && line == of
            {
                recorded.push((*line, Interval::new(*start, *end)));
            }
        }
        Recorded(recorded)
    }

    fn holds(&self, line: usize, time: Ps) -> bool {
        let after = self.0.partition_point(|(of, part)| (*of, part.start) <= (line, time));
        let last = after.checked_sub(1).and_then(|at| self.0.get(at));
        last.is_some_and(|(of, part)| *of == line && time < part.end)
    }
}

/// Problems on GPU streams: ops that hide other ops, and impossible times.
#[derive(Default)]
struct Streams {
    buffers: (u64, Ps),
    /// Number of ops that are inside another op of their stream.
    covered: u64,
    /// The op that covers the most other ops, and the number of ops that it covers.
    worst: Option<(EventId, u64)>,
}

/// An op that is running on a stream, and the number of ops inside it.
#[derive(Default)]
struct Running {
    op: Option<(EventId, Interval)>,
    covers: u64,
}

impl Streams {
    fn new(trace: &Trace, captured: &Devices) -> Streams {
        let mut found = Streams::default();
        let is_buffer = |name: StrId| trace.text(name).starts_with(COMMAND_BUFFER);
        // Checked once for each kind of event, not for each of a million events.
        let any_buffer = trace.events.kinds().iter().any(|kind| is_buffer(kind.name));
        let of_graph: Vec<bool> =
            (0..trace.args.len()).map(|index| trace.args.set(index).is_some_and(Args::is_in_graph)).collect();
        for device in &captured.used {
            if any_buffer {
                found.add_buffers(trace, device, is_buffer);
            }
            found.add_overlaps(trace, device, &of_graph);
        }
        found
    }

    fn add_buffers(&mut self, trace: &Trace, device: &Device, is_buffer: impl Fn(StrId) -> bool) {
        for event in device.ops.iter().filter_map(|&id| trace.events.get(id)).filter(|event| is_buffer(event.name)) {
            self.buffers.0 += 1;
            self.buffers.1 += event.duration;
        }
    }

    /// Counts ops that overlap on a stream. Skips graph kernels, because the file puts them on one stream regardless of
    /// where they ran. Also skips lines that the exporter derived from streams, because ops on them nest.
    fn add_overlaps(&mut self, trace: &Trace, device: &Device, of_graph: &[bool]) {
        let is_stream = |line: usize| {
            let line = trace.lines.get(line);
            line.is_some_and(|line| line.kind == LineKind::DeviceOps && trace.text(line.name) != "XLA Ops")
        };
        let mut lines: PerLine<Running> = PerLine::default();
        in_blocks(&device.ops, |&id| {
            let Some(event) = trace.events.get(id).filter(|it| of_graph.get(it.args.index()) != Some(&true)) else {
                return;
            };
            let Some(running) = lines.of(event.line) else { return };
            let time = Interval::new(event.start, event.end());
            match running.op {
                Some((op, outer))
                    if outer.start < time.start && time.end < outer.end && is_stream(event.line.index()) =>
                {
                    running.covers += 1;
                    self.covered += 1;
                    if self.worst.is_none_or(|(_, covers)| covers < running.covers) {
                        self.worst = Some((op, running.covers));
                    }
                }
                Some((_, outer)) if time.end <= outer.end => {}
                _ => *running = Running { op: Some((id, time)), covers: 0 },
            }
        });
    }

    fn command_buffers(&self) -> Option<Warning> {
        let (buffers, time) = self.buffers;
        let message = format!(
            "{} ops with a total time of {} are command buffers (CUDA graphs): the ops inside them were not recorded.",
            count(buffers),
            time_us(time.as_us())
        );
        (buffers > 0).then(|| warning(WarningCode::CommandBufferOps, buffers, message))
    }

    fn overlaps(&self, trace: &Trace) -> Option<Warning> {
        let (op, covers) = self.worst?;
        let event = trace.events.get(op)?;
        let message = format!(
            "{} ops are inside another op of their stream, although a stream runs one op at a time: {} ({}) covers \
             {}. A start or duration is wrong, and so is every number based on these ops.",
            count(self.covered),
            printable(&shorten(trace.text(event.name), 60)),
            time_us(event.duration.as_us()),
            count(covers)
        );
        Some(warning(WarningCode::OpsOverlapOnStream, self.covered, message))
    }
}
