//! Measurements of devices: when they are busy or idle, and when their work overlaps.

pub(crate) mod device_clocks;
pub(crate) mod device_time;
pub(crate) mod devices;
pub(crate) mod duty_cycle;
pub(crate) mod gaps;
pub(crate) mod hardware;
pub(crate) mod hosts;
pub(crate) mod other_devices;
pub(crate) mod overlap;
pub(crate) mod per_line;
pub(crate) mod pipeline;
pub(crate) mod scores;
pub(crate) mod self_time;
pub(crate) mod stages;
pub(crate) mod utilization;
