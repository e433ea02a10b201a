//! Causes of idle time, each listed once.

use super::{
    Rule, barrier_cores, compilation, data_loading, host_arguments, host_overhead, many_programs, module_graphs,
    pipeline_bubbles, python_threads, renewed_iterator, sequential_loop, uneven_devices,
};

/// Causes that are exclusive parts of a step, so that their shares add up.
pub(super) static PARTS_OF_STEP: [&Rule; 4] =
    [&data_loading::RULE, &compilation::RULE, &host_overhead::RULE, &barrier_cores::RULE];

/// Causes of idle time in any part of a step.
pub(super) static OTHER_CAUSES: [&Rule; 8] = [
    &many_programs::RULE,
    &host_arguments::RULE,
    &renewed_iterator::RULE,
    &module_graphs::RULE,
    &pipeline_bubbles::RULE,
    &python_threads::RULE,
    &uneven_devices::RULE,
    &sequential_loop::RULE,
];
