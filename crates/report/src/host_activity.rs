//! Sections for captures without device ops: activity of the hosts, and devices of unknown kinds.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Activity of host threads in a capture without ops of a TPU, a GPU or XLA's CPU backend.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct HostActivity {
    /// Host threads with at least one event.
    pub num_threads: u64,
    /// Time during which at least one thread of a host works rather than waits, summed over hosts.
    pub busy_time_us: f64,
    /// Share of the capture during which at least one thread of a host is busy. The share is `busy_time_us` divided by
    /// the capture's duration, both summed over hosts.
    pub busy_percent: f64,
    /// The threads with the most busy time, at most 50.
    pub threads: Vec<HostThread>,
    /// The names with the most self time, at most 20.
    pub top_spans: Vec<HostSpan>,
    /// Calls, executions and compilations of programs, most time first, at most 100.
    pub programs: Vec<HostProgram>,
}

/// A thread of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct HostThread {
    /// Name of the thread. `threads` contains the 50 threads with the most busy time.
    pub name: String,
    /// Host of the thread. Absent if the run has only one host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Role of the thread, derived from its name (`crates/facts/src/host_threads.csv`): `python`, `launch`, `input`, `compile`,
    /// `transfer`, `wait` or `other`.
    pub role: String,
    /// Events of the thread.
    pub num_events: u64,
    /// Length of the union of the thread's events, including waits.
    pub busy_time_us: f64,
    /// Share of the capture during which the thread is in an event, including waits. The share is `busy_time_us`
    /// divided by the duration of the capture.
    pub busy_percent: f64,
    /// Name of the events with the most self time on the thread.
    pub top_span: String,
}

/// All host events with one name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct HostSpan {
    /// Name of the events. `top_spans` contains the 20 names with the most self time in the `host-ops` table.
    pub name: String,
    /// Role of the events: `python`, `launch`, `input`, `compile`, `transfer`, `wait` or `other`.
    pub role: String,
    /// Number of events with this name. Excludes events nested in an event of the same name on the same thread.
    pub occurrences: u64,
    /// Threads with at least one of these events.
    pub threads: u64,
    /// Sum of the events' durations.
    pub total_time_us: f64,
    /// Time of these events without the events nested in them.
    pub self_time_us: f64,
    /// Longest duration of an event.
    pub max_time_us: f64,
    /// Share of the self time of all host events.
    pub percent: f64,
}

/// Host spans that call, execute or compile one program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct HostProgram {
    /// Name of a program that host events call, execute or compile: `f` for JAX's `PjitFunction(f)`. For other events,
    /// this is the module that the event names, or else the event's own name (XLA's execution spans). `programs`
    /// contains the 100 programs with the most time.
    pub name: String,
    /// `call`, `execute` (`crates/facts/src/program_spans.csv`) or `compile` (`crates/facts/src/host_spans.csv`).
    pub activity: String,
    /// Number of calls of the program. Excludes calls nested in a call of the same program with the same activity and thread,
    /// because JAX marks the first call of a function twice.
    pub calls: u64,
    /// Summed durations of the events. The times of programs overlap, because executions are inside calls and the
    /// runtime marks one execution by several nested events. If the device works asynchronously, a call only dispatches
    /// the program.
    pub total_time_us: f64,
    /// Longest duration of an event.
    pub max_time_us: f64,
}

/// A device or process of an unknown kind: its busy time and its events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct OtherDevice {
    /// Name of the plane or process, with its label (`process_labels`) if it has one.
    pub name: String,
    /// `accelerator` or `process`. The name of an accelerator is `/device:...` (except XLA's `/device:CUSTOM:Megascale Trace`
    /// and `MOSAIC`), or its name or label contains a word that `crates/facts/src/accelerators.csv` lists (`NPU 0`, `Ascend
    /// Hardware`, `HPU 0`). Processes are listed only if no device op of a known kind ran.
    pub kind: String,
    /// Lines (streams, threads) with at least one event.
    pub num_lines: u64,
    /// Events with a duration.
    pub num_events: u64,
    /// Length of the union of the device's events over all lines.
    pub busy_time_us: f64,
    /// Length of the active span: from the start of the first event with a duration to the end of the last such event.
    pub total_time_us: f64,
    /// Share of the active span during which an event of the device runs. `100 * busy_time_us / total_time_us`.
    pub busy_percent: f64,
    /// The names with the most self time, at most 10.
    pub top_events: Vec<OtherDeviceEvent>,
}

/// All events with one name on a device of an unknown kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct OtherDeviceEvent {
    /// Name of the events. `top_events` contains the 10 names with the most self time.
    pub name: String,
    /// Number of events with this name.
    pub occurrences: u64,
    /// Sum of the events' durations.
    pub total_time_us: f64,
    /// Time of the events without the events nested in them on their line.
    pub self_time_us: f64,
    /// Longest duration of an event.
    pub max_time_us: f64,
}
