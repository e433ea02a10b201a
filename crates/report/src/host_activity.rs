//! What is known of a capture without device ops: the work of its hosts, and devices of kinds that crossprof does not know.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the threads of the hosts did, in a capture that holds no op of a TPU, a GPU or XLA's CPU backend.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostActivity {
    /// Threads with at least one event.
    pub num_threads: u64,
    /// Time in which a thread of a host does anything but wait, summed over hosts.
    pub busy_time_us: f64,
    /// `busy_time_us` over the capture, summed over hosts.
    pub busy_percent: f64,
    /// The threads with the most busy time, at most 50.
    pub threads: Vec<HostThread>,
    /// The names with the most self time, at most 20.
    pub top_spans: Vec<HostSpan>,
    /// Calls, executions and compilations of programs, most time first, at most 100.
    pub programs: Vec<HostProgram>,
}

/// A thread of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostThread {
    /// Its name.
    pub name: String,
    /// Its host, where the run has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// What it is for: `python`, `launch`, `input`, `compile`, `transfer`, `wait` or `other`.
    pub role: String,
    /// Its events.
    pub num_events: u64,
    /// Time that its events cover.
    pub busy_time_us: f64,
    /// `busy_time_us` over the capture.
    pub busy_percent: f64,
    /// The name with the most self time on it.
    pub top_span: String,
}

/// All host events of one name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostSpan {
    /// Their name.
    pub name: String,
    /// What they do: `python`, `launch`, `input`, `compile`, `transfer`, `wait` or `other`.
    pub role: String,
    /// How many.
    pub occurrences: u64,
    /// Threads that they are on.
    pub threads: u64,
    /// Sum of their durations.
    pub total_time_us: f64,
    /// The part of it in which nothing nested in them ran.
    pub self_time_us: f64,
    /// The longest.
    pub max_time_us: f64,
    /// `self_time_us` over the self time of all host events.
    pub percent: f64,
}

/// Spans that call, execute or compile one program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostProgram {
    /// The program, where the span names it; else the span.
    pub name: String,
    /// `call`, `execute` or `compile`.
    pub activity: String,
    /// Spans that are not inside another one of the program and activity on their thread.
    pub calls: u64,
    /// Their summed durations.
    pub total_time_us: f64,
    /// The longest of them.
    pub max_time_us: f64,
}

/// A device, or a process, of a kind that crossprof does not know: only how long it was busy and with what.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OtherDevice {
    /// Its name in the profile.
    pub name: String,
    /// `accelerator` where its name says so, else `process`.
    pub kind: String,
    /// Lines with at least one event.
    pub num_lines: u64,
    /// Its events.
    pub num_events: u64,
    /// Time that its events cover.
    pub busy_time_us: f64,
    /// First event's start to last event's end.
    pub total_time_us: f64,
    /// `100 * busy_time_us / total_time_us`.
    pub busy_percent: f64,
    /// The names with the most self time, at most 10.
    pub top_events: Vec<OtherDeviceEvent>,
}

/// All events of one name on such a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OtherDeviceEvent {
    /// Their name.
    pub name: String,
    /// How many.
    pub occurrences: u64,
    /// Sum of their durations.
    pub total_time_us: f64,
    /// The part of it in which nothing nested in them on their line ran.
    pub self_time_us: f64,
    /// The longest.
    pub max_time_us: f64,
}
