//! Measurements of hosts: their threads, their calls, and the device work that they launch.

pub(crate) mod call_path;
pub(crate) mod compiled_calls;
pub(crate) mod goodput;
pub(crate) mod host_activity;
pub(crate) mod host_ops;
pub(crate) mod host_threads;
pub(crate) mod host_waits;
pub(crate) mod host_work;
pub(crate) mod input_pipeline;
pub(crate) mod io;
pub(crate) mod launches;
