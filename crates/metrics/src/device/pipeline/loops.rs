//! Finds a pipeline in the loop of one program (SPMD): each tick computes a stage on each device, and a
//! collective-permute passes the results to the next device.
//!
//! ```text
//! device 0   [work 0][work 1][work 2][      ][      ]
//! device 1   [      ][work 0][work 1][work 2][      ]     `|` marks a permute: m + p - 1 ticks for m
//! device 2   [      ][      ][work 0][work 1][work 2]     microbatches and p stages
//! ```
//!
//! If a program skips the work of empty ticks, each stage begins and ends one tick after the previous one, and the
//! bubbles are waits in permutes. If the program computes in all ticks, the times do not show the bubbles, and the
//! evidence is an open chain of devices with more ticks than stages. Other loops (halo exchange, ring attention) send
//! in both directions, in rings, or once per device.

use std::collections::{BTreeMap, BTreeSet};

use super::{Found, FoundStage};
use crate::device::device_time::DeviceTime;
use crate::device::devices::Devices;
use crate::op::collectives::{CollectiveOp, Collectives};
use crate::step::step_part::StepPart;
use base::{Ps, format};
use report::Confidence;
use trace::{Interval, Trace};

const FEWEST_STAGES: usize = 2;

/// Returns the pipeline that takes the most time.
pub(super) fn find(trace: &Trace, devices: &Devices, times: &[DeviceTime], collectives: &Collectives) -> Option<Found> {
    let mut permutes = (0u32..).zip(&collectives.ops).filter(|(_, op)| op.kind == "collective-permute");
    permutes.find_map(|(index, op)| of_permute(trace, devices, times, collectives, index, op))
}

/// One run of the loop on one device. All times are on the device's clock.
struct LoopRun {
    span: Interval,
    ends: Vec<Ps>,
    /// Time that the device works in each tick, before the permute.
    work: Vec<Ps>,
}

fn of_permute(
    trace: &Trace,
    devices: &Devices,
    times: &[DeviceTime],
    collectives: &Collectives,
    index: u32,
    op: &CollectiveOp,
) -> Option<Found> {
    let chains = chains(collectives, op, devices.used.len())?;
    let length = chains.first()?.0.len();
    if length < FEWEST_STAGES || chains.iter().any(|(chain, _)| chain.len() != length) {
        return None;
    }
    let is_ring = chains.iter().any(|(_, is_ring)| *is_ring);
    let mut runs: BTreeMap<u32, Vec<LoopRun>> = BTreeMap::new();
    for &device in chains.iter().flat_map(|(chain, _)| chain) {
        runs.insert(device, loop_runs(trace, devices, times, collectives, index, device));
    }
    let ticks = runs.values().flatten().map(|run| run.ends.len()).max()?;
    if ticks <= length {
        return None;
    }
    // Runs that the window or the capture cuts are left out.
    runs.values_mut().for_each(|runs| runs.retain(|run| run.ends.len() == ticks));
    let num_steps = runs.values().map(Vec::len).min().filter(|&count| count > 0)?;
    let staggered = chains.iter().filter_map(|(chain, _)| staggered(chain, &runs, num_steps)).collect::<Vec<_>>();
    let is_named = op.framework_op.split('/').any(|part| part.to_ascii_lowercase().contains("pipeline"));
    let microbatches = (ticks + 1).checked_sub(length)?;
    let (confidence, evidence, discarded) = if staggered.len() == chains.len() {
        let evidence =
            "Each stage of the loop begins and ends its computation one tick after the previous stage.".to_owned();
        (Confidence::High, evidence, 0.0)
    } else {
        let confidence = match (is_ring, is_named) {
            (false, _) => Confidence::Medium,
            (true, true) => Confidence::Low,
            (true, false) => return None,
        };
        let evidence = format!(
            "A loop passes data along {} for {}. It computes in every tick and discards the results of bubbles.",
            format::counted(length as u64, "device"),
            format::counted(ticks as u64, "tick"),
        );
        (confidence, evidence, (length - 1) as f64 / ticks as f64)
    };
    // The order in which the stages begin to compute is known for rings too.
    let orders: Vec<Vec<u32>> = match staggered.len() == chains.len() {
        true => staggered,
        false => chains.into_iter().map(|(chain, _)| chain).collect(),
    };
    let program = trace.text(trace.args.get(op.args).hlo_module).to_owned();
    let stages = (0..length).map(|position| FoundStage {
        devices: orders.iter().filter_map(|chain| chain.get(position).copied()).collect(),
        programs: vec![program.clone()],
        runs_per_step: microbatches as f64,
    });
    let spans = (0..num_steps).filter_map(|step| {
        let of_device = runs.iter().filter_map(|(device, runs)| {
            let (run, device) = (runs.get(step)?, devices.used.get(*device as usize)?);
            Some(Interval::new(device.to_host(run.span.start), device.to_host(run.span.end)))
        });
        of_device.reduce(|a, b| Interval::new(a.start.min(b.start), a.end.max(b.end)))
    });
    let mut spans: Vec<Interval> = spans.collect();
    if !spans.is_sorted_by(|a, b| a.end <= b.start) {
        spans = spans
            .into_iter()
            .reduce(|a, b| Interval::new(a.start.min(b.start), a.end.max(b.end)))
            .into_iter()
            .collect();
    }
    Some(Found {
        kind: "loop",
        confidence,
        evidence,
        stages: stages.collect(),
        spans,
        num_steps,
        step_source: "loop_runs",
        num_microbatches: Some(microbatches),
        schedule: None,
        discarded,
    })
}

/// Returns the chains of devices along which the permute passes data, each with true if the chain is a ring. Returns
/// `None` if a device sends to several devices, receives from several devices, or is not in the capture.
fn chains(collectives: &Collectives, op: &CollectiveOp, devices: usize) -> Option<Vec<(Vec<u32>, bool)>> {
    let members = collectives.members_of(op)?;
    let mut next: BTreeMap<u32, u32> = BTreeMap::new();
    let mut targets = BTreeSet::new();
    for &(from, to) in &op.message.pairs {
        let (from, to) = (members.device(from)?, members.device(to)?);
        if from == to || next.insert(from, to).is_some() || !targets.insert(to) {
            return None;
        }
    }
    let follow = |start: u32| {
        let mut chain = vec![start];
        while let Some(&device) = chain.last().and_then(|last| next.get(last)) {
            if device == start || chain.len() > devices {
                return (chain, true);
            }
            chain.push(device);
        }
        (chain, false)
    };
    let mut chains: Vec<(Vec<u32>, bool)> = Vec::new();
    let mut seen = BTreeSet::new();
    // Open chains come first. The remaining chains are rings.
    let starts = next.keys().filter(|start| !targets.contains(start)).chain(next.keys());
    for &start in starts {
        if seen.contains(&start) {
            continue;
        }
        let chain = follow(start);
        seen.extend(chain.0.iter().copied());
        chains.push(chain);
    }
    (!chains.is_empty()).then_some(chains)
}

/// Splits the permutes of a device by the runs of the loop that contains the permutes. If no op marks the loop, splits
/// the permutes by the runs of the program.
fn loop_runs(
    trace: &Trace,
    devices: &Devices,
    times: &[DeviceTime],
    collectives: &Collectives,
    index: u32,
    number: u32,
) -> Vec<LoopRun> {
    let Some((device, time)) = devices.used.get(number as usize).zip(times.get(number as usize)) else {
        return Vec::new();
    };
    let mut around: Vec<Interval> = Vec::new();
    for event in device.ops.iter().filter_map(|&id| trace.events.get(id)) {
        let op = trace.args.get(event.args).hlo_op;
        let name = trace.text(if op.is_empty() { event.name } else { op });
        if name.trim_start_matches('%').starts_with("while") {
            around.push(Interval::new(event.start, event.end()));
        }
    }
    let permutes: Vec<Interval> = collectives
        .runs
        .iter()
        .filter(|run| run.op == index && run.device == number && run.parts == 0)
        .map(|run| Interval::new(run.start, run.start + run.duration))
        .collect();
    let contains = |span: &Interval| permutes.iter().any(|it| it.start >= span.start && it.end <= span.end);
    around.retain(contains);
    if around.is_empty() {
        let runs = crate::device::stages::of_device(trace, devices, device);
        let to_device = |at: Interval| Interval::new(device.time_from_host(at.start), device.time_from_host(at.end));
        around = runs.into_iter().map(|run| to_device(run.interval)).filter(contains).collect();
    }
    // If loops are nested, the innermost one passes data on.
    let is_innermost = |span: &Interval| {
        !around.iter().any(|other| other != span && other.start >= span.start && other.end <= span.end)
    };
    let waits = time.exposed(StepPart::Communication);
    let of_loop = |span: &Interval| {
        let inside: Vec<Interval> =
            permutes.iter().filter(|it| it.start >= span.start && it.end <= span.end).copied().collect();
        let mut from = span.start;
        let work = inside.iter().map(|permute| {
            let tick = Interval::new(from, permute.start.max(from));
            from = permute.end;
            let waiting = waits.map_or(Ps::ZERO, |waits| waits.length_within(tick));
            device.busy.length_within(tick) - waiting
        });
        let work = work.collect();
        LoopRun { span: *span, ends: inside.iter().map(|permute| permute.end).collect(), work }
    };
    around.iter().filter(|span| is_innermost(span)).map(of_loop).collect()
}

/// Returns the devices of a chain in the order in which they begin to compute, if each device begins and ends one tick
/// after the previous device. Compares the median work of each tick over the runs of the loop.
fn staggered(chain: &[u32], runs: &BTreeMap<u32, Vec<LoopRun>>, num_steps: usize) -> Option<Vec<u32>> {
    let mut active: Vec<(usize, usize, u32)> = Vec::new();
    for &device in chain {
        let runs = runs.get(&device)?.get(..num_steps)?;
        let ticks = runs.first()?.work.len();
        let works: Vec<f64> = (0..ticks)
            .filter_map(|tick| {
                let works: Vec<f64> = runs.iter().filter_map(|run| run.work.get(tick)).map(|it| it.as_us()).collect();
                crate::common::statistics::median(&works)
            })
            .collect();
        let most = works.iter().copied().fold(0.0, f64::max);
        let is_active = |work: &f64| *work > 0.5 * most;
        let first = works.iter().position(is_active)?;
        let last = works.iter().rposition(is_active)?;
        if !works.get(first..=last)?.iter().all(is_active) {
            return None;
        }
        active.push((first, last, device));
    }
    active.sort_unstable();
    let steady = active.windows(2).all(|pair| match pair {
        [(first, last, _), (next_first, next_last, _)] => *next_first == first + 1 && *next_last == last + 1,
        _ => false,
    });
    steady.then(|| active.into_iter().map(|(.., device)| device).collect())
}
