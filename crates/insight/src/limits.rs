//! Limits that several of the rules, the headlines and the checklist go by: one fact has one limit, declared here.

use report::UnifiedProfile;

/// Two limits of one number: good beyond the first, bad beyond the second. Between them it is worth a look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Beyond it nothing is to be done.
    pub good: f64,
    /// Beyond it most of the time is lost; infinite where nothing is bad.
    pub bad: f64,
}

impl Limits {
    const fn new(good: f64, bad: f64) -> Limits {
        Limits { good, bad }
    }

    /// `good`, `warning` or `bad`. A value at a limit is a warning.
    pub fn judge(self, value: f64) -> &'static str {
        let (is_good, is_bad) = if self.good >= self.bad {
            (value > self.good, value < self.bad)
        } else {
            (value < self.good, value > self.bad)
        };
        match (is_good, is_bad) {
            (true, _) => "good",
            (_, true) => "bad",
            _ => "warning",
        }
    }
}

/// Share of the time in which devices are busy, percent (JAX guide, key performance indicators).
pub const BUSY_PERCENT: Limits = Limits::new(80.0, 50.0);
/// Share of the time in which devices are idle, percent: what [`BUSY_PERCENT`] leaves.
pub const IDLE_PERCENT: Limits = Limits::new(100.0 - BUSY_PERCENT.good, 100.0 - BUSY_PERCENT.bad);
/// Idle share from which the gaps are noted though the devices are busy enough, percent (JAX guide: device idle time; XProf: TensorCore idle).
pub const IDLE_NOTED_PERCENT: f64 = 10.0;
/// Share of the time in which devices wait for the host, percent: good as host overhead of the JAX guide, bad where most of the time is lost.
pub const HOST_BOUND_PERCENT: Limits = Limits::new(10.0, 50.0);
/// Share of the time in which devices wait for input, percent: good as in XProf's input-bound suggestion, bad (ours) where most of what is to
/// win is input.
pub const INPUT_BOUND_PERCENT: Limits = Limits::new(10.0, 40.0);
/// Mean duration of a kernel below which kernels are short, microseconds (JAX guide: bad). Its warning below 1 ms is left out: most kernels of
/// healthy programs are shorter than that.
pub const SHORT_MEAN_KERNEL_US: f64 = 100.0;
/// Time in which programs are compiled, microseconds (JAX guide).
pub const COMPILE_US: Limits = Limits::new(2e6, 10e6);
/// Used share of the main memory's bandwidth, percent (JAX guide).
pub const BANDWIDTH_PERCENT: Limits = Limits::new(60.0, 40.0);
/// Theoretical occupancy of kernels below which it is low, percent (JAX guide).
pub const OCCUPANCY_PERCENT: f64 = 50.0;
/// Share of the op time from which one op dominates, percent (JAX guide).
pub const DOMINANT_OP_PERCENT: f64 = 50.0;
/// Share of the window from which it does, percent (ours: of devices that mostly wait it is not the op that keeps them).
pub const DOMINANT_OP_OF_WINDOW_PERCENT: f64 = 20.0;
/// Share of a device's memory from which on little is left, percent (JAX guide: peak memory below 90 %).
pub const NEARLY_FULL_PERCENT: f64 = 90.0;
/// How much longer steps take while they are traced, percent: noted beyond the first (ours: the 5 to 10 % that the checklist allows a
/// profiler are no reason to capture again); beyond the second the times are no longer those of the program (ours).
pub const SLOWED_PERCENT: Limits = Limits::new(10.0, 50.0);

/// Mean duration of a GPU's kernel in microseconds, and the number of kernels. Elsewhere, and of a profile without kernel statistics, the mean
/// self time of an op, copies included. `None` where nothing ran.
pub fn mean_kernel(profile: &UnifiedProfile) -> Option<(f64, u64)> {
    let gpu = profile.kernel_statistics.as_ref().filter(|_| profile.metadata.platform == "GPU");
    let kernels = gpu.map(|all| (all.total_time_us, all.count));
    let (time_us, count) = kernels.filter(|(_, count)| *count > 0).unwrap_or_else(|| {
        let categories = profile.kernels.kernels_by_category.values();
        categories.fold((0.0, 0u64), |(time, count), it| (time + it.time_us, count.saturating_add(it.count)))
    });
    (count > 0).then(|| (time_us / count as f64, count))
}

/// True where short kernels may cost the host time. Ops of TPUs and CPUs are launched by the program on the device: short ones cost
/// the host nothing. Nor do those of a GPU that is busy all the same; without its busy share nothing says.
pub fn are_short_kernels_costly(profile: &UnifiedProfile) -> bool {
    let busy = profile.compute_utilization.as_ref().map(|usage| usage.compute_util_percent);
    profile.metadata.platform == "GPU" && busy.is_none_or(|busy| busy < BUSY_PERCENT.good)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The guide's table of key performance indicators: at, below and above each of its limits.
    #[test]
    fn a_value_at_a_limit_is_worth_a_look() {
        let cases = [
            (BUSY_PERCENT, 80.1, "good"),
            (BUSY_PERCENT, 80.0, "warning"),
            (BUSY_PERCENT, 50.0, "warning"),
            (BUSY_PERCENT, 49.9, "bad"),
            (HOST_BOUND_PERCENT, 9.9, "good"),
            (HOST_BOUND_PERCENT, 10.0, "warning"),
            (HOST_BOUND_PERCENT, 50.1, "bad"),
            (COMPILE_US, 1.9e6, "good"),
            (COMPILE_US, 2e6, "warning"),
            (COMPILE_US, 1.1e7, "bad"),
        ];
        for (limits, value, expected) in cases {
            assert_eq!(limits.judge(value), expected, "{value}");
        }
    }

    #[test]
    fn what_is_idle_is_not_busy() {
        for busy in [20.0, 49.0, 51.0, 79.0, 81.0, 100.0] {
            assert_eq!(BUSY_PERCENT.judge(busy), IDLE_PERCENT.judge(100.0 - busy));
        }
    }
}
