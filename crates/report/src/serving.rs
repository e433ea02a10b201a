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
    /// Median time between the ends of consecutive passes that decode: the time after which a request gets its next
    /// token. The time includes the passes in between that only prefill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_token_interval_us: Option<f64>,
    /// 95th percentile of the times between the ends of consecutive passes that decode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_token_interval_us: Option<f64>,
    /// Longest time between the ends of consecutive passes that decode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_token_interval_us: Option<f64>,
    /// Share of the token intervals that is due to prompts. A token interval is the time between the ends of two
    /// consecutive passes that decode. The share is the sum by which intervals with a `prefill` or `mixed` pass exceed
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
    /// Share of this phase in the time of all counted passes.
    pub time_percent: f64,
    /// Mean time of a pass.
    pub avg_time_us: f64,
    /// Median time of a pass.
    pub median_time_us: f64,
    /// 95th percentile of the times of the passes.
    pub p95_time_us: f64,
    /// Time of the longest pass.
    pub max_time_us: f64,
    /// Share of the time during which the devices are idle, mean over devices.
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
}

/// Part of a capture in which an engine serves a steady number of requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct SteadyState {
    /// Index of the first step.
    pub first_step: u64,
    /// Index of the last step.
    pub last_step: u64,
    /// Time from the start of the first step to the end of the last one.
    pub duration_us: f64,
    /// Mean number of requests in the passes that decode.
    pub avg_requests: f64,
    /// Decoded tokens per second in this part of the capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decode_tokens_per_sec: Option<f64>,
}
