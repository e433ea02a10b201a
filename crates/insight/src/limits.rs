//! Limits that several rules share, or that a rule shares with the headlines or the checklist. The limit of each quantity is
//! declared once.
//!
//! Comments name the source of a limit. If no source defines a limit, the comment says why we chose it.

use report::{FindingSeverity, Level, Platform, UnifiedProfile};

/// Two limits for one number: a value beyond the first is good, a value beyond the second is bad, and a value between them is a
/// warning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Limit beyond which nothing needs to be done.
    pub good: f64,
    /// Limit beyond which most of the time is lost. Infinite if no value is bad.
    pub bad: f64,
}

impl Limits {
    const fn new(good: f64, bad: f64) -> Limits {
        Limits { good, bad }
    }

    /// Returns the severity of a loss that is not good, and the limit that it exceeds.
    pub(super) fn severity(self, value: f64) -> (FindingSeverity, f64) {
        match value >= self.bad {
            true => (FindingSeverity::Critical, self.bad),
            false => (FindingSeverity::Warning, self.good),
        }
    }

    /// Returns the level of a value. A value equal to a limit is a warning.
    pub fn judge(self, value: f64) -> Level {
        let (is_good, is_bad) = if self.good >= self.bad {
            (value > self.good, value < self.bad)
        } else {
            (value < self.good, value > self.bad)
        };
        match (is_good, is_bad) {
            (true, _) => Level::Good,
            (_, true) => Level::Bad,
            _ => Level::Warning,
        }
    }
}

/// Share of the time during which devices are busy, percent (JAX guide, key performance indicators).
pub const BUSY_PERCENT: Limits = Limits::new(80.0, 50.0);
/// Share of the time during which devices are idle, percent: the complement of [`BUSY_PERCENT`].
pub const IDLE_PERCENT: Limits = Limits::new(100.0 - BUSY_PERCENT.good, 100.0 - BUSY_PERCENT.bad);
/// Minimum idle share for a note about the gaps of devices that are otherwise busy enough, percent (JAX guide: device idle
/// time; XProf: TensorCore idle).
pub const IDLE_NOTED_PERCENT: f64 = 10.0;
/// Share of the time that an avoidable activity takes, percent. The limit for good is the JAX guide's limit for host
/// overhead, which we apply to all overheads. We chose the limit for bad: beyond it, most of the time is lost.
pub const OVERHEAD_PERCENT: Limits = Limits::new(10.0, 50.0);
/// Minimum share of the time for a note about an overhead, percent. We chose half of the limit for a warning.
pub const OVERHEAD_NOTED_PERCENT: f64 = OVERHEAD_PERCENT.good / 2.0;
/// Share of the time during which devices wait for the host, percent.
pub const HOST_BOUND_PERCENT: Limits = OVERHEAD_PERCENT;
/// Share of the time that ops on the host take, percent (good: XProf's debug-print suggestion; bad: as for all
/// overheads).
pub const HOST_OPS_PERCENT: Limits = Limits::new(5.0, OVERHEAD_PERCENT.bad);
/// Minimum share of the time for communication to be the bottleneck, percent (XProf's collective-bound and data-shuffle
/// suggestions). We chose the same limit for copies and launch gaps.
pub const BOTTLENECK_PERCENT: f64 = 30.0;
/// Minimum share of the time that the done ops of asynchronous copies or collectives take for a finding, percent
/// (XProf, `kAsyncDoneThresholdInPercent`).
pub const ASYNC_DONE_PERCENT: f64 = 10.0;
/// Share of the time during which devices wait for input, percent. The limit for good comes from XProf's input-bound
/// suggestion. We chose the limit for bad: beyond it, input is most of the time that could be saved.
pub const INPUT_BOUND_PERCENT: Limits = Limits::new(10.0, 40.0);
/// Duration below which a kernel is short, microseconds (JAX guide: "many small kernels, below 0.1 ms each").
pub const SHORT_KERNEL_US: f64 = 100.0;
/// Mean duration below which kernels are short, microseconds (JAX guide: bad). The guide also warns below 1 ms, but most
/// kernels of healthy programs are shorter than that.
pub const SHORT_MEAN_KERNEL_US: f64 = SHORT_KERNEL_US;
/// Ops are compared with a peak only if their mean duration is at least this long, microseconds (XProf's limit for
/// short kernels). Shorter ops are limited by their start-up and are measured too coarsely.
pub const SHORTEST_OP_US: f64 = 10.0;
/// Compile time, microseconds (JAX guide).
pub const COMPILE_US: Limits = Limits::new(2e6, 10e6);
/// Share of the main memory's bandwidth that is used, percent (JAX guide).
pub const BANDWIDTH_PERCENT: Limits = Limits::new(60.0, 40.0);
/// Share of a resource's peak above which the devices use this resource well, percent (XProf's memory-bound and
/// compute-bound suggestions).
pub const UTILIZED_PERCENT: f64 = 70.0;
/// Share of a resource's peak below which this resource does not limit the run, percent (XProf's memory-bound and
/// compute-bound suggestions).
pub const UNDERUTILIZED_PERCENT: f64 = 50.0;
/// Share of its roofline bound below which an op is slow, percent. We chose half of the rate of a tuned library kernel.
pub const SLOW_OP_PERCENT: f64 = 35.0;
/// Mean number of calls or runs per step from which every step is assumed to have one. We chose a limit below 1 because
/// the edge of the window may cut a step.
pub const EACH_STEP: f64 = 0.9;
/// Theoretical occupancy below which a kernel's occupancy is low, percent (JAX guide).
pub const OCCUPANCY_PERCENT: f64 = 50.0;
/// Minimum share of the op time for one op to dominate, percent (JAX guide).
pub const DOMINANT_OP_PERCENT: f64 = 50.0;
/// Minimum share of the window for one op to dominate, percent. Below this limit, devices mostly wait, and the op is
/// not the cause.
pub const DOMINANT_OP_OF_WINDOW_PERCENT: f64 = 20.0;
/// Minimum excess of a slow layer over the median of layers that do the same work, in percent. We chose this limit
/// because a smaller excess may be noise.
pub const UNEVEN_LAYER_PERCENT: f64 = 20.0;
/// Minimum time that a slow layer must lose for the rule to fire, as a share of the op time in percent. We chose this
/// limit because a smaller loss is not worth a search.
pub const UNEVEN_OF_OPS_PERCENT: f64 = 1.0;
/// Used share from which a device's memory is treated as nearly full, percent (JAX guide: peak memory below 90 %).
pub const NEARLY_FULL_PERCENT: f64 = 90.0;
/// Share of a program's peak memory that a change could save, percent. We chose these limits because they make room for
/// a batch that is a tenth or a third larger.
pub const OF_PEAK_MEMORY_PERCENT: Limits = Limits::new(10.0, 25.0);
/// Increase of the step time under tracing, percent. Beyond the first limit, a note reports the increase. We chose the
/// first limit because the checklist accepts 5 to 10 % for a profiler. We chose the second limit: beyond it, the times
/// no longer represent the program.
pub const SLOWED_PERCENT: Limits = Limits::new(10.0, 50.0);

/// Returns the mean duration of a GPU kernel in microseconds, and the number of kernels. On other platforms, and for profiles
/// without kernel statistics, returns the mean self time of an op, copies included. Returns `None` if nothing ran.
pub fn mean_kernel(profile: &UnifiedProfile) -> Option<(f64, u64)> {
    let gpu = profile.kernel_statistics.as_ref().filter(|_| profile.metadata.platform() == Some(Platform::Gpu));
    let kernels = gpu.map(|all| (all.total_time_us, all.count));
    let (time_us, count) = kernels.filter(|(_, count)| *count > 0).unwrap_or_else(|| {
        let categories = profile.kernels.kernels_by_category.values();
        categories.fold((0.0, 0u64), |(time, count), it| (time + it.time_us, count.saturating_add(it.count)))
    });
    (count > 0).then(|| (time_us / count as f64, count))
}

/// Returns true if short kernels may cost time. The host launches the kernels of a GPU one by one, but not the ops of
/// TPUs and CPUs. Short kernels cost no time on a GPU that is always busy. If the busy share of the GPU is unknown,
/// short kernels are treated as costly.
pub fn are_short_kernels_costly(profile: &UnifiedProfile) -> bool {
    let busy = profile.compute_utilization.as_ref().map(|usage| usage.compute_util_percent);
    profile.metadata.platform() == Some(Platform::Gpu) && busy.is_none_or(|busy| busy < BUSY_PERCENT.good)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tries a value at, below and above each limit in the guide's table of key performance indicators.
    #[test]
    fn a_value_at_a_limit_is_a_warning() {
        let cases = [
            (BUSY_PERCENT, 80.1, Level::Good),
            (BUSY_PERCENT, 80.0, Level::Warning),
            (BUSY_PERCENT, 50.0, Level::Warning),
            (BUSY_PERCENT, 49.9, Level::Bad),
            (HOST_BOUND_PERCENT, 9.9, Level::Good),
            (HOST_BOUND_PERCENT, 10.0, Level::Warning),
            (HOST_BOUND_PERCENT, 50.1, Level::Bad),
            (COMPILE_US, 1.9e6, Level::Good),
            (COMPILE_US, 2e6, Level::Warning),
            (COMPILE_US, 1.1e7, Level::Bad),
        ];
        for (limits, value, expected) in cases {
            assert_eq!(limits.judge(value), expected, "{value}");
        }
    }

    #[test]
    fn idle_limits_are_the_complement_of_busy_limits() {
        for busy in [20.0, 49.0, 51.0, 79.0, 81.0, 100.0] {
            assert_eq!(BUSY_PERCENT.judge(busy), IDLE_PERCENT.judge(100.0 - busy));
        }
    }
}
