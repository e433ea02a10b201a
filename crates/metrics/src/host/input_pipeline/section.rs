//! Builds the input pipeline section of the report.

use super::{InputCategory, InputOp, InputPipeline, share};
use crate::host::host_waits::{place, shown};
use base::Ps;
use facts::input_stages::InputStage;
use report::{InputOpTime, InputStageTime};
use trace::{IntervalSet, Trace};

/// Maximum number of listed ops, and of ops in the chain.
const MOST_OPS: usize = 50;

/// Builds the section.
pub(crate) fn section(trace: &Trace, found: &InputPipeline) -> report::InputPipeline {
    let held: Ps = found.hosts.iter().map(|host| host.held.length()).sum();
    let window: Ps = found.hosts.iter().map(|host| host.window.length()).sum();
    let limit = found.limit.and_then(|at| found.ops.get(at));
    let name = |at: usize| found.ops.get(at).map(|op| label(trace.text(op.name)));
    let part = |at: usize| name(at).map(|name| name.rsplit("::").next().unwrap_or(&name).to_owned());
    let op = |op: &InputOp| InputOpTime {
        name: label(trace.text(op.name)),
        detail: Some(detail(trace.text(op.detail))).filter(|detail| !detail.is_empty()),
        stage: op.stage.label().to_owned(),
        parent: op.parent.and_then(name),
        count: op.count,
        total_time_us: op.total.as_us(),
        self_time_us: op.self_time.as_us(),
        threads: op.threads,
        busy_percent: op.busy_percent,
    };
    let stage = |stage: InputStage| {
        let sets = || found.hosts.iter().filter_map(move |host| Some((host, host.stages.get(stage as usize)?)));
        let time: Ps = sets().map(|(host, set)| set.length_within(host.window)).sum();
        let in_held = |set: &IntervalSet, held: &IntervalSet| {
            held.parts().iter().map(|part| set.length_within(*part)).sum::<Ps>()
        };
        let busy = if held > Ps::ZERO { sets().map(|(host, set)| in_held(set, &host.held)).sum() } else { time };
        let count = found.ops.iter().filter(|op| op.stage == stage).map(|op| op.count).sum();
        (count > 0 || time > Ps::ZERO).then(|| InputStageTime {
            stage: stage.label().to_owned(),
            time_us: time.as_us(),
            thread_time_us: found.thread_times.get(stage as usize).map_or(0.0, |time| time.as_us()),
            count,
            busy_percent: share(busy, if held > Ps::ZERO { held } else { window }),
        })
    };
    let mut ops: Vec<InputOpTime> = found.ops.iter().filter(|op| op.count > 0).map(op).collect();
    let of_category = |category| {
        let own = ops.iter().filter(|op| InputCategory::of(op) == Some(category));
        Some(own.map(|op| op.self_time_us).sum())
    };
    let enqueue_us = of_category(InputCategory::Enqueue);
    let demanded_file_read_us = of_category(InputCategory::DemandedFileRead);
    let advanced_file_read_us = of_category(InputCategory::AdvancedFileRead);
    let preprocessing_us = of_category(InputCategory::Preprocessing);
    ops.truncate(MOST_OPS);
    report::InputPipeline {
        enqueue_us,
        demanded_file_read_us,
        advanced_file_read_us,
        preprocessing_us,
        held_us: held.as_us(),
        held_percent: share(held, window),
        limiting_stage: limit.map(|op| op.stage.label().to_owned()),
        limiting_op: found.limit.and_then(name),
        limiting_percent: limit.map(|op| op.busy_percent),
        chain: found.chain().into_iter().take(MOST_OPS).filter_map(part).collect(),
        stages: InputStage::ALL.into_iter().filter_map(stage).collect(),
        ops,
    }
}

/// Returns the display name of an op. For a frame of the Python tracer, this is the function and its place.
pub(super) fn label(name: &str) -> String {
    match place(name) {
        Some(place) => format!("{} ({place})", shown(name)),
        None => name.to_owned(),
    }
}

/// Returns the place of an op in the program without the addresses of Python objects, which differ between runs.
fn detail(text: &str) -> String {
    let mut parts = text.split(" object at 0x");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, rest| text + rest.trim_start_matches(|c: char| c.is_ascii_hexdigit()))
}
