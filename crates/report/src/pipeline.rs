//! Pipeline-parallel execution: stages, schedule and bubbles.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Confidence;

/// Stages of a model that process microbatches one after another. All times are means over the pipeline's steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Pipeline {
    /// Form of the pipeline: `programs` (each stage runs its own programs, MPMD) or `loop` (all devices run one
    /// program, whose loop passes the microbatches on by collective-permutes).
    pub kind: String,
    /// Confidence that the devices form this pipeline. `high`: the microbatches arrive at each stage after the previous stage
    /// has processed them, and the stages begin and end in order. `medium`: the program's structure shows the pipeline, but its
    /// times do not. `low`: only a name in the program's source shows the pipeline.
    pub confidence: Confidence,
    /// Evidence for the pipeline, in a sentence.
    pub evidence: String,
    /// Number of stages.
    pub num_stages: u64,
    /// Number of measured steps.
    pub num_steps: u64,
    /// Source of the pipeline's steps: `program_order` (the order of programs on the first stage repeats), `steps` (the steps of
    /// the capture), `loop_runs` (runs of the loop) or `capture` (all runs form one step, because nothing separates steps).
    pub step_source: String,
    /// Microbatches per step. Absent if `step_source` is `capture`, because the number of steps is then unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_microbatches: Option<u64>,
    /// Order of the first stage's programs: `forward` (one program), `gpipe` (all forward passes before all backward passes),
    /// `1f1b` (forward and backward passes alternate after a warm-up) or `other`. Absent for loops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// Time from the first work of any stage to the last work of any stage in a step. The step time also contains the pause before
    /// the next step.
    pub span_us: f64,
    /// Bubble of a stage: time during which a device of the stage is idle, or in exposed sends, receives and
    /// collective-permutes. If a loop computes on every tick, the bubble also includes the ticks whose results are
    /// discarded. The value is the mean over stages, with equal weight.
    pub bubble_time_us: f64,
    /// Bubbles as a share of the time of all stages. `100 * bubble_time_us / span_us`.
    pub bubble_percent: f64,
    /// Share that bubbles would have in this schedule if all stages took the same time and transfers took no time: `100
    /// * (p - 1) / (m + p - 1)` for p stages and m microbatches. Absent if the number of microbatches is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule_bubble_percent: Option<f64>,
    /// Work of the slowest stage divided by the mean work of all stages. 1 if all stages have the same work.
    pub work_max_to_mean: f64,
    /// Stages, in the order in which a microbatch passes through them.
    pub stages: Vec<PipelineStage>,
}

/// One stage of a pipeline, with means over its devices and over the pipeline's steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct PipelineStage {
    /// Position of the stage, from 0.
    pub stage: u64,
    /// Devices that run the stage.
    pub devices: Vec<String>,
    /// Programs that the stage runs, except programs that take less than 2 % of the device's time.
    pub programs: Vec<String>,
    /// Runs of the stage's programs, or ticks of the loop with useful work, per step per device.
    pub runs_per_step: f64,
    /// Time during which a device of the stage does useful work.
    pub work_us: f64,
    /// Bubble of the stage: `span_us - work_us`.
    pub bubble_us: f64,
    /// Bubble as a share of the step.
    pub bubble_percent: f64,
    /// Part of the bubble before the first work of the stage.
    pub fill_us: f64,
    /// Part of the bubble after the last work of the stage.
    pub drain_us: f64,
    /// Part of the bubble that the stage spends in exposed sends, receives and collective-permutes. This part includes
    /// the time of waiting for other stages.
    pub communication_us: f64,
}
