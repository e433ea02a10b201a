//! Measures the stages of the input pipeline, and finds the stage that limits the pipeline.
//!
//! Reads spans that input pipelines record (tf.data, Grain, PyTorch's DataLoader, infeed), user ranges around and
//! inside these spans, and copies to devices. `facts/input_stages.csv` lists the stage for each name.
//!
//! ```text
//! python    [next_batch           )[train     )[next_batch           )      feeds the devices
//! loader    [read   )[read   )[map )[read   )[read   )[map )[read   )       its own thread
//! held      HHHHHHHHHHHHHHHHHHHHHHH             HHHHHHHHHHHHHHHHHHHHHHH
//! read      RRRRRRRRRRRRRRRRRRR     RRR         RRRRR      RRRRRRRRRRRR     busy for most of the held time
//! ```
//!
//! An op that only passes on the results of other threads (`next_batch`, `Iterator::Prefetch`) works only while no
//! other thread works for it. The op that is busy for the largest part of the held time limits the pipeline: other ops
//! wait for it, or run ahead of it. If several threads work in an op, their time is divided by the largest number of
//! threads that work at once. One busy reader is therefore a tighter limit than four mapping threads that are half
//! idle.

mod category;
mod events;
mod section;

pub use category::InputCategory;
pub(crate) use section::section;

use std::collections::BTreeMap;

use crate::device::devices::Devices;
use crate::host::host_threads::HostTime;
use base::{Ps, sort};
use events::{Events, Segment};
use facts::input_stages::InputStage;
use trace::{Interval, IntervalSet, StrId, Trace};

/// An op of the pipeline. All events of an op have the same name and the same place in the program.
#[derive(Clone, Debug, PartialEq)]
pub struct InputOp {
    /// Name of the events.
    pub name: StrId,
    /// Place in the program, from Grain. Empty if unknown.
    pub detail: StrId,
    /// Stage of the op.
    pub stage: InputStage,
    /// True if the op may wait for other threads.
    pub waits: bool,
    /// True if the trace contains functions of the op that run on other threads.
    pub has_functions: bool,
    /// Op that gets this op's results.
    pub parent: Option<usize>,
    /// Number of events inside the window.
    pub count: u64,
    /// Sum of the events' durations inside the window.
    pub total: Ps,
    /// Time of the events without the ops nested in them.
    pub self_time: Ps,
    /// Number of threads that work in the op.
    pub threads: u64,
    /// Share of the held time during which the op works, from 0 to 100.
    pub busy_percent: f64,
}

/// Times of one host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostStages {
    /// Index of the host in [`Trace::hosts`].
    pub host: u16,
    /// Times when a thread works in each stage, in the order of [`InputStage::ALL`].
    pub stages: [IntervalSet; InputStage::ALL.len()],
    /// Times in the window when a thread that feeds devices is in the pipeline.
    pub held: IntervalSet,
    /// The measured time.
    pub window: Interval,
}

/// The input pipelines of all hosts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputPipeline {
    /// Ops, sorted by descending self time.
    pub ops: Vec<InputOp>,
    /// Times by host.
    pub hosts: Vec<HostStages>,
    /// Time of all threads in each stage, inside the window.
    pub thread_times: [Ps; InputStage::ALL.len()],
    /// Index of the op that limits the pipeline.
    pub limit: Option<usize>,
}

impl InputPipeline {
    /// Measures the pipelines of all hosts, each in its window. Returns `None` if the trace has no span of an input
    /// pipeline. Takes time linear in the number of events on threads with spans of an input pipeline.
    pub fn new(
        trace: &Trace,
        devices: &Devices,
        hosts: &BTreeMap<u16, HostTime>,
        window: impl Fn(u16) -> Interval,
    ) -> Option<InputPipeline> {
        let Events { mut ops, segments } = Events::new(trace, devices, &window)?;
        let mut found = InputPipeline::default();
        let mut busy: Vec<(Ps, Ps)> = vec![Default::default(); ops.len()];
        let host_of = |segment: &Segment| segment.host;
        for of_host in segments.chunk_by(|a, b| host_of(a) == host_of(b)) {
            let Some(host) = of_host.first().map(host_of) else { continue };
            let window = window(host);
            let held = hosts.get(&host).map(|time| time.held_by_input.clip(window)).unwrap_or_default();
            let measured = if held.is_empty() { IntervalSet::union_of([window]) } else { held.clone() };
            let work = worked(&ops, of_host);
            found.add_stages(host, &ops, &work, window, held);
            for of_op in work.chunk_by(|a, b| a.0 == b.0) {
                let Some((time, whole)) = of_op.first().and_then(|(op, _)| busy.get_mut(*op)) else { continue };
                *time += of_op.iter().map(|(_, interval)| measured.length_within(*interval)).sum();
                *whole += Ps::new(measured.length().as_ps().saturating_mul(at_once(of_op, &measured)));
            }
        }
        for (op, (time, whole)) in ops.iter_mut().zip(busy) {
            op.busy_percent = share(time, whole);
        }
        found.limit = limit(&ops);
        found.ops = ops;
        Some(found)
    }

    /// Adds the stages of one host. `work` contains the ops' work in the whole capture.
    fn add_stages(
        &mut self,
        host: u16,
        ops: &[InputOp],
        work: &[(usize, Interval)],
        window: Interval,
        held: IntervalSet,
    ) {
        let mut times: [Vec<Interval>; InputStage::ALL.len()] = Default::default();
        for &(op, interval) in work {
            let Some(stage) = ops.get(op).map(|op| op.stage as usize) else { continue };
            times.get_mut(stage).into_iter().for_each(|list| list.push(interval));
            if let (Some(sum), Some(inside)) = (self.thread_times.get_mut(stage), interval.clip(window)) {
                *sum += inside.length();
            }
        }
        let stages = times.map(|mut list| {
            list.sort_unstable();
            IntervalSet::union_of(list)
        });
        self.hosts.push(HostStages { host, stages, held, window });
    }

    /// Returns the times of a stage in an interval of a host.
    pub fn stage_time(&self, host: u16, stage: InputStage, within: Interval) -> Ps {
        let of_host = self.hosts.iter().find(|it| it.host == host);
        of_host.and_then(|it| it.stages.get(stage as usize)).map_or(Ps::ZERO, |set| set.length_within(within))
    }

    /// Returns the chain of ops from the op that feeds the devices to the op that reads the data. The op that limits
    /// the pipeline is in this chain.
    pub fn chain(&self) -> Vec<usize> {
        let Some(limit) = self.limit else { return Vec::new() };
        let parent = |at: &usize| self.ops.get(*at)?.parent;
        let mut chain: Vec<usize> = std::iter::successors(Some(limit), parent).take(self.ops.len()).collect();
        chain.reverse();
        // Time of each op with its inputs. Inputs come before the ops that get their results.
        let mut times: Vec<Ps> = self.ops.iter().map(|op| op.self_time).collect();
        let mut largest: Vec<Option<usize>> = vec![None; self.ops.len()];
        let mut order: Vec<usize> = (0..self.ops.len()).collect();
        let depths = depths(&self.ops);
        sort::sort_by_key(&mut order, |&at| (std::cmp::Reverse(depths.get(at).copied()), at));
        for at in order {
            let time = times.get(at).copied().unwrap_or_default();
            let Some(parent) = parent(&at) else { continue };
            times.get_mut(parent).into_iter().for_each(|sum| *sum += time);
            let Some(slot) = largest.get_mut(parent) else { continue };
            if slot.is_none_or(|other| times.get(other).is_none_or(|&known| time > known)) {
                *slot = Some(at);
            }
        }
        let input = |at: &usize| largest.get(*at).copied().flatten();
        chain.extend(std::iter::successors(input(&limit), input));
        chain
    }
}

/// Returns, for each op, the number of ops through which its results reach the devices.
fn depths(ops: &[InputOp]) -> Vec<usize> {
    let mut depths: Vec<Option<usize>> = vec![None; ops.len()];
    for start in 0..ops.len() {
        // Walks through the ops up to one whose depth is known.
        let unknown = |at: &usize| depths.get(*at) == Some(&None);
        let path: Vec<usize> =
            std::iter::successors(Some(start), |&at| ops.get(at)?.parent).take_while(unknown).take(ops.len()).collect();
        for &at in path.iter().rev() {
            let parent = ops.get(at).and_then(|op| op.parent);
            let depth = parent.and_then(|parent| depths.get(parent).copied().flatten()).map_or(0, |depth| depth + 1);
            depths.get_mut(at).into_iter().for_each(|slot| *slot = Some(depth));
        }
    }
    depths.into_iter().flatten().collect()
}

/// Returns the times when each op of one host works. An op that waits for other threads works only while no other op
/// works. If the functions of an op are known, the op works while its functions run.
fn worked(ops: &[InputOp], segments: &[Segment]) -> Vec<(usize, Interval)> {
    let op_of = |segment: &Segment| ops.get(segment.op);
    let works =
        |segment: &Segment| segment.is_function || op_of(segment).is_some_and(|op| !op.waits && !op.has_functions);
    let mut busy: Vec<Interval> = segments.iter().filter(|it| works(it)).map(|it| it.time).collect();
    busy.sort_unstable();
    let busy = IntervalSet::union_of(busy);
    let mut found = Vec::new();
    for segment in segments {
        let mut add = |time| found.push((segment.op, time));
        if works(segment) {
            add(segment.time);
        } else if op_of(segment).is_some_and(|op| !op.has_functions) {
            IntervalSet::union_of([segment.time])
                .difference(&busy.clip(segment.time))
                .parts()
                .iter()
                .copied()
                .for_each(add);
        }
    }
    sort::sort_by_key(&mut found, |&(op, time): &(usize, Interval)| (op, time.start, time.end));
    found
}

/// Returns the largest number of an op's threads that work at once inside `measured`. Moments at which one thread hands its
/// work to another are ignored.
fn at_once(work: &[(usize, Interval)], measured: &IntervalSet) -> i64 {
    /// A number of threads is ignored if it occurs for less than this share of the op's time, in percent.
    const LEAST_PERCENT: i64 = 5;
    let mut changes: Vec<(Ps, i64)> = Vec::new();
    for (_, interval) in work {
        let inside = measured.clip(*interval);
        changes.extend(inside.parts().iter().flat_map(|part| [(part.start, 1), (part.end, -1)]));
    }
    // An end comes before a start at the same time.
    sort::sort_by_key(&mut changes, |&change| change);
    let (mut now, mut since, mut whole) = (0i64, Ps::ZERO, Ps::ZERO);
    let mut times: BTreeMap<i64, Ps> = BTreeMap::new();
    for (at, change) in changes {
        if now > 0 {
            *times.entry(now).or_insert(Ps::ZERO) += at - since;
            whole += at - since;
        }
        (now, since) = (now.saturating_add(change), at);
    }
    let mut above = Ps::ZERO;
    let counts = |time: Ps| time.as_ps().saturating_mul(100) >= whole.as_ps().saturating_mul(LEAST_PERCENT);
    let found = times.into_iter().rev().find(|&(_, time)| {
        above += time;
        counts(above)
    });
    found.map_or(0, |(threads, _)| threads)
}

/// Returns the op that limits the pipeline: the busiest op. If the busiest op waits for other threads, and ops upstream
/// of it also wait and are nearly as busy, returns the op that is farthest upstream.
fn limit(ops: &[InputOp]) -> Option<usize> {
    /// An op is nearly as busy as the busiest op if its busy share is at least this fraction of the busiest op's share.
    const NEARLY: f64 = 0.9;
    let busy = |at: usize| ops.get(at).map_or(0.0, |op| op.busy_percent);
    let waits = |at: usize| ops.get(at).is_some_and(|op| op.waits);
    let depths = depths(ops);
    let busiest = (0..ops.len()).max_by(|&a, &b| busy(a).total_cmp(&busy(b)).then(b.cmp(&a)))?;
    let behind = (0..ops.len()).filter(|&at| waits(at) && busy(at) >= NEARLY * busy(busiest));
    let deepest = behind.max_by_key(|&at| (depths.get(at).copied(), std::cmp::Reverse(at))).filter(|_| waits(busiest));
    Some(deepest.unwrap_or(busiest)).filter(|&at| busy(at) > 0.0)
}

fn share(part: Ps, whole: Ps) -> f64 {
    (100.0 * part.as_ps() as f64 / whole.as_ps().max(1) as f64).clamp(0.0, 100.0)
}

#[cfg(test)]
mod tests;
