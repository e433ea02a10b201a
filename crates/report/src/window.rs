//! The window in the unified profile.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The part of the run that its numbers are of, where a section is not marked as of the whole capture. Absent
/// where no device was used. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct MainWindow {
    /// `steps`, `given_steps`, `active_span`, `capture` or `range`. `given_steps` where the user's count overrides the steps
    /// found: from the first found step's start to the last one's end, and where none was found the active span.
    pub kind: String,
    /// The user's choice (`all`, `active`, `steps:3-98`, `1500-2500`); absent where the window was not chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// The part of the capture that every number is of, where it is not said to be of the whole capture; choose another with Measure on
    /// the page or `--window` on the command line. In words: `Counted steps 3 to 98: 95 steps, 74.5 s of 98.0 s captured.`
    pub sentence: String,
    /// Said first where less than half of the capture lies in the active span of any device (`The devices worked for 67 ms of
    /// 2.3 s captured.`), and where a window that was not chosen holds less than a quarter of their work (`work_percent`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caution: Option<String>,
    /// First instant of the window on any device, from the start of the capture.
    pub start_us: f64,
    /// Last instant of the window on any device.
    pub end_us: f64,
    /// Length of the window without holes, mean over the devices that it covers. A step may run on some devices only.
    pub duration_us: f64,
    /// Steps in the window; absent where it is none of steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_steps: Option<u64>,
    /// Number that the trace gives the first step of the window, else its index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_step: Option<String>,
    /// Number that the trace gives the last step of the window, else its index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_step: Option<String>,
    /// Active span (first op to last op of a device) in the whole capture, mean over devices.
    pub active_span_us: f64,
    /// Share of the capture in which a device is between its first op and its last; absent for an empty capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_percent: Option<f64>,
    /// Share of the busy time of all devices that lies in the window; absent where they did nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_percent: Option<f64>,
}
