//! Measurements of steps: their parts, and the window that consists of steps.

pub(crate) mod serving;
pub(crate) mod step_breakdown;
pub(crate) mod step_growth;
pub(crate) mod step_ops;
pub(crate) mod step_part;
pub(crate) mod steps;
pub(crate) mod throughput;
pub(crate) mod window;
