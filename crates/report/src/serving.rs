//! Forward passes of an inference engine.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Forward passes of an inference engine, by phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Serving {
    /// Phases with counted passes, in the order `prefill`, `mixed`, `decode`.
    pub phases: Vec<PhaseStats>,
    /// Largest number of requests in one pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_requests: Option<u64>,
    /// Decoded tokens per second, over the time of all counted passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decode_tokens_per_sec: Option<f64>,
    /// Prompt tokens per second, over the time of all counted passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefill_tokens_per_sec: Option<f64>,
    /// Median time between the ends of consecutive passes that decode. After this time, a request gets its next token.
    /// The time includes the passes in between that only prefill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_token_interval_us: Option<f64>,
    /// 95th percentile of the times between the ends of consecutive passes that decode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_token_interval_us: Option<f64>,
    /// Longest time between the ends of consecutive passes that decode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_token_interval_us: Option<f64>,
    /// Share of the token intervals that is due to prompts. A token interval is the time between the ends of two
    /// consecutive passes that decode. The share is the total excess of intervals with a `prefill` or `mixed` pass over
    /// the median of the other intervals, divided by the sum of all intervals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_delay_percent: Option<f64>,
    /// Longest part of the capture in which the number of requests stays near its maximum. Absent if this part has fewer than
    /// five passes that decode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyState>,
}

/// Counted passes of one phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct PhaseStats {
    /// `prefill`: passes that only compute prompts. `decode`: passes that only compute next tokens. `mixed`: passes that do
    /// both, or whose name does not distinguish them.
    pub phase: String,
    /// Number of passes.
    pub passes: u64,
    /// Time of all passes.
    pub total_time_us: f64,
    /// Time of this phase as a share of the time of all counted passes.
    pub time_percent: f64,
    /// Mean time of a pass.
    pub avg_time_us: f64,
    /// Median time of a pass.
    pub median_time_us: f64,
    /// 95th percentile of the times of the passes.
    pub p95_time_us: f64,
    /// Time of the longest pass.
    pub max_time_us: f64,
    /// Share of the passes' time during which the devices are idle, as a mean over devices.
    pub idle_percent: f64,
    /// Mean number of requests per pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avg_requests: Option<f64>,
    /// Tokens of all passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Prompt tokens of all passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefill_tokens: Option<u64>,
    /// Decoded tokens of all passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decode_tokens: Option<u64>,
    /// Tokens per second of this phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_sec: Option<f64>,
    /// Median gap between consecutive passes of this phase. A gap is the time on a device from the end of the ops
    /// before the boundary of the two passes to the start of the next op. The gap is 0 if the device runs an op at the
    /// boundary. The gap statistics cover every device and every pair of consecutive counted passes of this phase.
    /// Absent if there are no such pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_gap_us: Option<f64>,
    /// 95th percentile of the gaps between consecutive passes of this phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_gap_us: Option<f64>,
    /// Longest gap between consecutive passes of this phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_gap_us: Option<f64>,
    /// Gaps between consecutive passes, as a share of the time of this phase's counted passes, over all devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_percent: Option<f64>,
    /// Cause of most of the gaps' time: an idle part of a step ([step_breakdown](#step_breakdown)), such as
    /// `host_bound`. Absent if there are no gaps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_cause: Option<String>,
    /// Share of the gaps' time that has this cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_cause_percent: Option<f64>,
    /// Mean number of graphs (CUDA, HIP) that the host launches per pass and device. 0 means that the host launches
    /// every op one by one. Absent if launches are unknown, and on devices that run whole programs (TPU).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_launches: Option<f64>,
    /// Mean number of ops that graphs start, per pass and device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_kernels: Option<f64>,
    /// Mean number of ops (kernels, copies and fills) that the host launches one by one, per pass and device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single_kernels: Option<f64>,
}

/// Part of a capture in which an engine serves a steady number of requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct SteadyState {
    /// Index of the first step.
    pub first_step: u64,
    /// Index of the last step.
    pub last_step: u64,
    /// Time from the start of the first step to the end of the last step.
    pub duration_us: f64,
    /// Mean number of requests in the passes that decode.
    pub avg_requests: f64,
    /// Decoded tokens per second in this part of the capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decode_tokens_per_sec: Option<f64>,
}
