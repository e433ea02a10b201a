//! What is known of a capture without device ops: the work of its hosts, and devices of kinds that crossprof does not know.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the threads of the hosts did, in a capture that holds no op of a TPU, a GPU or XLA's CPU backend.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct HostActivity {
    /// Threads of hosts with at least one event.
    pub num_threads: u64,
    /// Time in which a thread of a host does anything but wait, summed over hosts.
    pub busy_time_us: f64,
    /// Share of the capture in which a thread of a host is busy, over all hosts. `busy_time_us` over the capture, summed over hosts.
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
    /// Name of the thread. The 50 with the most busy time are listed.
    pub name: String,
    /// Host of the thread, where the run has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// What the thread is for by its name (`crates/facts/src/host_threads.csv`): `python`, `launch`, `input`, `compile`,
    /// `transfer`, `wait` or `other`.
    pub role: String,
    /// Events of the thread.
    pub num_events: u64,
    /// Union of the thread's events, waits included.
    pub busy_time_us: f64,
    /// Share of the capture in which the thread is in an event, waits included. `busy_time_us` over the capture.
    pub busy_percent: f64,
    /// Name of the events with the most self time on the thread.
    pub top_span: String,
}

/// All host events of one name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct HostSpan {
    /// Name of the events. The 20 with the most self time of the table host-ops are listed.
    pub name: String,
    /// What the events do: `python`, `launch`, `input`, `compile`, `transfer`, `wait` or `other`.
    pub role: String,
    /// Number of the events. One that lies in another one of its name on its thread is part of it.
    pub occurrences: u64,
    /// Threads that the events are on.
    pub threads: u64,
    /// Sum of the events' durations.
    pub total_time_us: f64,
    /// Time of the spans in which nothing nested in them ran.
    pub self_time_us: f64,
    /// Longest duration of one of the events.
    pub max_time_us: f64,
    /// `self_time_us` over the self time of all host events.
    pub percent: f64,
}

/// Spans that call, execute or compile one program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct HostProgram {
    /// A program that host events call, execute or compile: `f` of JAX's `PjitFunction(f)`; the module that the event names;
    /// where it names none (XLA's spans of execution), the event's own name. The 100 with the most time are listed.
    pub name: String,
    /// `call`, `execute` (`crates/facts/src/program_spans.csv`) or `compile` (`crates/facts/src/host_spans.csv`).
    pub activity: String,
    /// Calls of the program, without those inside another one of the program and activity on the thread. JAX marks the
    /// first call of a function twice.
    pub calls: u64,
    /// Summed durations of the events. Executions lie inside calls, and the runtime marks one execution by several nested
    /// events, so rows do not add up. A call only dispatches where the device works beside the host.
    pub total_time_us: f64,
    /// Longest duration of one of the events.
    pub max_time_us: f64,
}

/// A device, or a process, of a kind that crossprof does not know: only how long it was busy and with what.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct OtherDevice {
    /// Name of the plane or process, with its label (`process_labels`) where it has one.
    pub name: String,
    /// `accelerator` or `process`. An accelerator's name is `/device:...` (but XLA's own `/device:CUSTOM:Megascale Trace` and
    /// `MOSAIC`), or name or label hold a word of `crates/facts/src/accelerators.csv` (`NPU 0`, `Ascend Hardware`, `HPU 0`). A
    /// process is listed only where no device op of a known kind ran.
    pub kind: String,
    /// Lines (streams, threads) with at least one event.
    pub num_lines: u64,
    /// Events with a duration.
    pub num_events: u64,
    /// Union of the events of all its lines.
    pub busy_time_us: f64,
    /// Active span: first event's start to last event's end, of events that take time.
    pub total_time_us: f64,
    /// Share of the window in which an event of the device runs. `100 * busy_time_us / total_time_us`.
    pub busy_percent: f64,
    /// The names with the most self time, at most 10.
    pub top_events: Vec<OtherDeviceEvent>,
}

/// All events of one name on such a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct OtherDeviceEvent {
    /// Name of the events. The 10 with the most self time are listed.
    pub name: String,
    /// Number of the events.
    pub occurrences: u64,
    /// Sum of the events' durations.
    pub total_time_us: f64,
    /// Time of the events in which nothing nested in them on their line ran.
    pub self_time_us: f64,
    /// Longest duration of one of the events.
    pub max_time_us: f64,
}
