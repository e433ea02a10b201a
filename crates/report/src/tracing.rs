//! How much tracing slowed the program down.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much tracing slowed the program down, as the capture kit of the Python package measured it with its own clock: it waits for the devices, runs
/// steps, and waits for the devices again, without tracing and then with it. Absent where a capture was made without the kit, or a
/// compilation or the end of the program came between. Added in 1.1.0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, Fields)]
pub struct Tracing {
    /// How much longer a step takes while it is traced. `traced_step_time_us / untraced_step_time_us`: 1.02 where a step takes 2 % longer while it is traced.
    pub slowdown: f64,
    /// Mean time of a step in the capture. Other than `step_timing.avg_step_time_us`, it counts every step of the capture, up to the moment at
    /// which the devices rest.
    pub traced_step_time_us: f64,
    /// Mean time of a step before the capture, without tracing.
    pub untraced_step_time_us: f64,
    /// Steps behind `traced_step_time_us`.
    pub traced_steps: u64,
    /// Steps behind `untraced_step_time_us`.
    pub untraced_steps: u64,
}

impl Tracing {
    /// How much longer a step takes while it is traced, in percent; below 0 where it was shorter, which is chance.
    pub fn slowed_percent(&self) -> f64 {
        100.0 * (self.slowdown - 1.0)
    }
}
