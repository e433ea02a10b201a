//! The window in the unified profile.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The part of the run that its numbers are of, where a section does not say that it is of the whole capture. Absent where no device was
/// used. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MainWindow {
    /// `steps`, `given_steps` (as many as the user says), `active_span`, `capture` or `range`.
    pub kind: String,
    /// The user's choice (`all`, `active`, `steps:3-98`, `1500-2500`); absent where the window was not chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// In words: `Counted steps 3 to 98: 95 steps, 74.5 s of 98.0 s captured.`
    pub sentence: String,
    /// Where less than half of the capture lies in the active span of a device: `The devices worked for 67 ms of 2.3 s captured.`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caution: Option<String>,
    /// Its first instant on any device, from the start of the capture.
    pub start_us: f64,
    /// Its last instant on any device.
    pub end_us: f64,
    /// Its length, mean over devices: without the steps in the middle that do not count.
    pub duration_us: f64,
    /// Steps in it; absent where it is none of steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_steps: Option<u64>,
    /// The first of them: the number that the trace gives it, else its index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_step: Option<String>,
    /// The last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_step: Option<String>,
    /// First op to last op of a device in the whole capture, mean over devices.
    pub active_span_us: f64,
    /// Share of the capture that lies in the active span of any device; absent for an empty capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_percent: Option<f64>,
}
