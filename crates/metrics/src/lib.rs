//! Computes the numbers of a run from its events. docs/metrics.md defines every number.
//!
//! Each module computes the numbers that it is named after; [`Analysis`] combines them.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod analysis;
mod common;
mod context;
mod device;
mod host;
mod op;
mod profile;
mod program;
mod step;

pub use analysis::Analysis;
pub use common::histogram::Histogram;
pub use common::questions::LEAST_SHARE;
pub use common::statistics::{Percentiles, mean, median, percentiles, stddev};
pub use context::{Context, Examined, analyse};
pub use device::device_time::DeviceTime;
pub use device::devices::{Device, Devices, interval};
pub use device::hardware::{Reading, readings};
pub use device::scores::{DeviceScore, LateCause, StepSpread};
pub use device::self_time::{SelfTime, self_times};
pub use facts::input_stages::InputStage;
pub use host::compiled_calls::{CompiledCalls, HostArguments, compiled_calls, host_arguments};
pub use host::host_ops::{HostOp, HostOps};
pub use host::host_threads::{HostRole, HostThreads};
pub use host::host_waits::{
    NamedCalls, PythonThreads, RangeCall, busy_python_threads, called_back, event_in, named_calls,
};
pub use host::host_work::{
    CompiledFunction, HostWork, compiled_functions, compiled_modules, for_each_named, host_spans,
};
pub use host::input_pipeline::{HostStages, InputCategory, InputOp, InputPipeline};
pub use host::io::io_operations;
pub use host::launches::{Call, LaunchGroup, LaunchStatistics, Launches, call_of, for_each_launch};
pub use op::categories::{OpClass, OpFamily, family_of};
pub use op::collectives::{CollectiveOp, CollectiveSums, Collectives, DeviceSums, GroupRun, exposed_communication};
pub use op::copies::{Copies, CopyRow, StepCopies, bandwidth_gb_per_sec};
pub use op::kernel_stats::demangle::demangle;
pub use op::kernel_stats::{KernelColumns, KernelRow, KernelStats, KernelSum, Occurrences, SHORT_KERNEL};
pub use op::kernels::kernels;
pub use op::layers::{Layer, LayerGrouping, Layers, Members, NO_PATH, NO_SCOPE};
pub use op::ops::shapes::{elements, of_expression as op_shapes};
pub use op::ops::tree::{OpNode, OpTree};
pub use op::ops::{
    Coverage, Grouping, NodeText, Op, OpColumns, OpText, Ops, PROGRAM, Tallies, Text, Texts, TreeColumns, WorkTime,
    rate,
};
pub use op::placement::{HostReason, Placement, PlacementRow};
pub use op::roofline;
pub use op::transfers::memory_operations;
pub use profile::metadata::{EMBEDDED_SIDECAR, captured_at, is_amd, matrix_units, name_device};
pub use profile::unrecorded::Unrecorded;
pub use program::arguments::Argument;
pub use program::autotuning::AUTOTUNING;
pub use program::compilation::compilation;
pub use program::freezing::of_module as layer_freezing_of;
pub use program::memory_use;
pub use program::parameters::{Preset, parameter_counts, presets};
pub use program::programs::{MissingProgram, missing as missing_programs};
pub use step::step_breakdown::{Breakdown, MeanPart, StepEvent, StepRow, WithoutInput, without_input};
pub use step::step_growth::grown_op;
pub use step::step_part::StepPart;
pub use step::steps::{Launched, SortedWindows, StepWindow, Steps, StepsTogether};
pub use step::throughput::throughput;
pub use step::window::LEAST_WORK_PERCENT;
