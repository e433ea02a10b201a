//! Finds pipeline-parallel execution and measures its bubbles.
//!
//! ```text
//! stage 0   [F0][F1][F2]..........[B0][B1][B2]
//! stage 1       [F0][F1][F2]..[B0][B1][B2]
//! stage 2           [F0][F1][F2][B0]...            a bubble is the time of a step in which a stage has no work
//!           '----------- one step -----------'
//! ```
//!
//! There are two forms. In MPMD, each stage runs its own programs (`programs`). In SPMD, all devices run one loop that
//! passes microbatches on with collective-permutes (`loops`). Neither form needs step markers. In MPMD, the order of
//! programs on the first stage separates the steps. In SPMD, the runs of the loop separate the steps. All times are on
//! the host's clock, because a step covers several devices.

mod loops;
mod measure;
mod programs;

#[cfg(test)]
mod tests;

use crate::device::device_time::DeviceTime;
use crate::device::devices::Devices;
use crate::op::collectives::Collectives;
use crate::step::steps::Steps;
use report::{Confidence, Pipeline};
use trace::{Interval, Trace};

/// Kinds of communication between two stages.
const BETWEEN_STAGES: [&str; 4] = ["collective-permute", "send", "recv", "send-recv"];

/// Returns true if stages may have exchanged data.
pub(crate) fn has_transfers(collectives: &Collectives) -> bool {
    collectives.ops.iter().any(|op| BETWEEN_STAGES.contains(&op.kind))
}

/// Stages and steps of a pipeline.
struct Found {
    kind: &'static str,
    confidence: Confidence,
    evidence: String,
    stages: Vec<FoundStage>,
    /// Disjoint intervals during which the bubbles are measured, on the host's clock.
    spans: Vec<Interval>,
    num_steps: usize,
    step_source: &'static str,
    num_microbatches: Option<usize>,
    schedule: Option<&'static str>,
    /// Share of the work whose results are discarded, from 0 to 1.
    discarded: f64,
}

struct FoundStage {
    /// Indices into [`Devices::used`].
    devices: Vec<u32>,
    programs: Vec<String>,
    runs_per_step: f64,
}

/// Measures the pipeline of a capture. `devices`, `times` and `collectives` cover the whole capture. Returns `None` if
/// the capture shows no pipeline.
pub(crate) fn pipeline(
    trace: &Trace,
    devices: &Devices,
    times: &[DeviceTime],
    collectives: &Collectives,
    steps: &Steps,
) -> Option<Pipeline> {
    if devices.used.len() < 2 {
        return None;
    }
    let found = programs::find(trace, devices, steps).or_else(|| loops::find(trace, devices, times, collectives))?;
    measure::measure(devices, times, collectives, &found)
}
