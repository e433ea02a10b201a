//! Computes the numbers of a run from its events. docs/metrics.md defines every number.
//!
//! Each module computes the numbers that it is named after; [`Analysis`] combines them.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod analysis;
mod arguments;
mod cache;
mod call_path;
mod categories;
mod civil;
mod collectives;
mod compilation;
mod compiled_calls;
mod context;
mod copies;
mod device_clocks;
mod device_time;
mod devices;
mod document;
mod duty_cycle;
mod framework;
mod freezing;
mod gaps;
mod histogram;
mod host_activity;
mod host_ops;
mod host_threads;
mod host_waits;
mod host_work;
mod io;
mod kernel_stats;
mod kernels;
mod labels;
mod launches;
pub mod memory_use;
mod metadata;
mod missing;
mod not_measured;
mod ops;
mod other_devices;
mod overlap;
mod parameters;
mod per_line;
mod placement;
mod programs;
mod questions;
pub mod roofline;
mod self_time;
mod statistics;
mod step_breakdown;
mod step_growth;
mod step_ops;
mod step_part;
mod steps;
mod throughput;
mod transfers;
mod unrecorded;
mod utilization;
mod window;

pub use analysis::Analysis;

pub use arguments::Argument;
pub use categories::{OpClass, OpFamily, family_of};
pub use collectives::{CollectiveOp, CollectiveSums, Collectives, exposed_communication};
pub use compilation::compilation;
pub use compiled_calls::{CompiledCalls, HostArguments, compiled_calls, host_arguments};
pub use context::{Context, Examined, analyse};
pub use copies::{Copies, CopyRow, StepCopies, bandwidth_gb_per_sec};
pub use device_time::DeviceTime;
pub use devices::{Device, Devices, interval};
pub use freezing::of_module as layer_freezing_of;
pub use histogram::Histogram;
pub use host_ops::{HostOp, HostOps};
pub use host_threads::{HostRole, HostThreads};
pub use host_waits::{PythonThreads, RangeCall, busy_python_threads, called_back, event_in};
pub use host_work::{HostWork, compiled_modules, for_each_named, host_spans};
pub use io::io_operations;
pub use kernel_stats::demangle::demangle;
pub use kernel_stats::{KernelColumns, KernelRow, KernelStats, KernelSum, Occurrences, SHORT_KERNEL};
pub use kernels::kernels;
pub use launches::{Call, LaunchGroup, LaunchStatistics, Launches, call_of, for_each_launch};
pub use metadata::{EMBEDDED_SIDECAR, captured_at, is_amd, matrix_units, name_device};
pub use ops::shapes::{elements, of_expression as op_shapes};
pub use ops::tree::{OpNode, OpTree};
pub use ops::{
    Coverage, Grouping, NodeText, Op, OpColumns, OpText, Ops, PROGRAM, Tallies, Text, Texts, TreeColumns, WorkTime,
    rate,
};
pub use parameters::{Preset, parameter_counts, presets};
pub use placement::{HostReason, Placement, PlacementRow};
pub use programs::{MissingProgram, missing as missing_programs};
pub use questions::LEAST_SHARE;
pub use self_time::{SelfTime, self_times};
pub use statistics::{Percentiles, median, percentiles};
pub use step_breakdown::{Breakdown, MeanPart, StepEvent, StepRow};
pub use step_growth::grown_op;
pub use step_part::StepPart;
pub use steps::{Launched, StepWindow, Steps, StepsTogether};
pub use throughput::throughput;
pub use transfers::memory_operations;
pub use unrecorded::Unrecorded;
pub use window::LEAST_WORK_PERCENT;
