//! The window section of the unified profile.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Part of the run that the numbers cover, except in sections that cover the whole capture. Absent if no device ran an
/// op. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct MainWindow {
    /// `steps`, `given_steps`, `active_span`, `capture` or `range`. If the user gives the number of steps, the kind is
    /// `given_steps`. The window then extends from the start of the first step to the end of the last step that was
    /// found, or over the active span if no steps were found.
    pub kind: String,
    /// The user's selection (`all`, `active`, `steps:3-98`, `1500-2500`). Absent if the user did not select a window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// Part of the capture that the numbers cover, as a sentence. Numbers that cover the whole capture are marked. To
    /// select another part, use Measure on the page or `--window` on the command line. Example: `Counted steps 3 to 98:
    /// 95 steps, 74.5 s of 98.0 s captured.`
    pub sentence: String,
    /// Caution that is shown before all other text. Present if the active spans of the devices cover less than half of
    /// the capture (`The devices worked for 67 ms of 2.3 s captured.`), or if a window that the user did not select
    /// contains less than a quarter of the devices' work (`work_percent`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caution: Option<String>,
    /// First instant of the window on any device, measured from the start of the capture.
    pub start_us: f64,
    /// Last instant of the window on any device.
    pub end_us: f64,
    /// Length of the window without gaps between steps, as a mean over the devices in the window. A step may run on
    /// only some of the devices.
    pub duration_us: f64,
    /// Number of steps in the window. Absent if the window does not consist of steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_steps: Option<u64>,
    /// Number of the window's first step in the trace, or its index if the trace has no step numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_step: Option<String>,
    /// Number of the window's last step in the trace, or its index if the trace has no step numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_step: Option<String>,
    /// Active span of a device in the whole capture: the time from its first to its last op, as a mean over devices.
    pub active_span_us: f64,
    /// Share of the capture during which a device is between its first and its last op. Absent for an empty capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_percent: Option<f64>,
    /// Share of the busy time of all devices that is inside the window. Absent if the devices ran nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_percent: Option<f64>,
}
