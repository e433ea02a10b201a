//! Slowdown of the program because of tracing.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Slowdown of the program that tracing causes. The capture kit of the Python package measures the slowdown with its
/// own clock. The kit waits for the devices, runs steps, and waits for the devices again, first without and then with
/// tracing. Absent if the capture was made without the kit, or if a compilation or the end of the program interrupted
/// the measurement. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Tracing {
    /// Step time with tracing relative to the step time without tracing. `traced_step_time_us / untraced_step_time_us`:
    /// 1.02 if tracing makes a step 2 % longer.
    pub slowdown: f64,
    /// Mean time of a step in the capture. Unlike `step_timing.avg_step_time_us`, this mean covers every step of the
    /// capture, until the devices are idle.
    pub traced_step_time_us: f64,
    /// Mean time of a step before the capture, without tracing.
    pub untraced_step_time_us: f64,
    /// Number of steps in `traced_step_time_us`.
    pub traced_steps: u64,
    /// Number of steps in `untraced_step_time_us`.
    pub untraced_steps: u64,
}

impl Tracing {
    /// Returns the increase of the step time that tracing causes, in percent. The increase is negative if traced steps
    /// were shorter by chance.
    pub fn slowed_percent(&self) -> f64 {
        100.0 * (self.slowdown - 1.0)
    }
}
