//! Computes statistics of a set of launches.

use crate::common::histogram::Histogram;
use base::Ps;

/// A call with a longer duration than this is a runtime outlier. The kernel of such a call is not counted as short. HTA
/// has the same rules.
pub(super) const RUNTIME_CUTOFF: Ps = Ps::new(50_000_000);

/// A launch with a longer delay than this is an outlier. HTA uses the same limit.
pub(super) const LAUNCH_DELAY_CUTOFF: Ps = Ps::new(100_000_000);

/// Counts, times and distributions of a set of launches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchStatistics {
    /// Number of launches.
    pub launches: u64,
    /// Number of ops that the launches started. Exceeds the number of launches if graphs are launched.
    pub device_ops: u64,
    /// Sum of the calls' durations.
    pub host: Ps,
    /// Duration of the longest call.
    pub host_max: Ps,
    /// Sum of the ops' durations.
    pub device: Ps,
    /// Number of launches whose op appears to start before the call, because the clocks differ. The delays of these
    /// launches are unknown, and the fields below exclude them.
    pub early: u64,
    /// Sum of the times from the end of the call to the start of the op; 0 for an op that starts during its call.
    pub delay: Ps,
    /// Longest launch delay.
    pub delay_max: Ps,
    /// Median of the delays by nearest rank.
    pub delay_median: Ps,
    /// 95th percentile of the delays by nearest rank.
    pub delay_p95: Ps,
    /// Number of launches whose op took less time than the call. Excludes calls longer than [`RUNTIME_CUTOFF`].
    pub short_kernels: u64,
    /// Number of calls longer than [`RUNTIME_CUTOFF`].
    pub runtime_outliers: u64,
    /// Number of delays longer than [`LAUNCH_DELAY_CUTOFF`].
    pub delay_outliers: u64,
    /// Durations of the calls.
    pub host_histogram: Histogram,
    /// Durations of the ops that the launches started.
    pub device_histogram: Histogram,
    /// Histogram of the delays.
    pub delay_histogram: Histogram,
}

impl LaunchStatistics {
    pub(super) fn add(&mut self, host: Ps, device: Ps, delay: Option<Ps>, ops: u32) {
        self.launches += 1;
        self.device_ops += u64::from(ops);
        self.host += host;
        self.host_max = self.host_max.max(host);
        self.device += device;
        self.short_kernels += u64::from(device < host && host <= RUNTIME_CUTOFF);
        self.runtime_outliers += u64::from(host > RUNTIME_CUTOFF);
        self.host_histogram.add(host);
        self.device_histogram.add(device);
        let Some(delay) = delay else {
            self.early += 1;
            return;
        };
        self.delay += delay;
        self.delay_max = self.delay_max.max(delay);
        self.delay_outliers += u64::from(delay > LAUNCH_DELAY_CUTOFF);
        self.delay_histogram.add(delay);
    }

    /// Sets the percentiles from the delays in picoseconds, which must be in ascending order.
    pub(super) fn set_percentiles(&mut self, count: usize, delay_at: impl Fn(usize) -> Option<i64>) {
        let at = |percent: usize| Ps::new(delay_at((count * percent).div_ceil(100).saturating_sub(1)).unwrap_or(0));
        (self.delay_median, self.delay_p95) = (at(50), at(95));
    }

    /// Divides a sum by the number of launches. Returns microseconds, or `None` without launches.
    pub fn mean_us(&self, sum: Ps) -> Option<f64> {
        (self.launches > 0).then(|| sum.as_us() / self.launches as f64)
    }

    /// Returns the number of launches whose delay is known.
    fn delayed(&self) -> u64 {
        self.launches.saturating_sub(self.early)
    }

    /// Returns the mean delay in microseconds, or `None` if no delay is known.
    pub fn mean_delay_us(&self) -> Option<f64> {
        self.delay_us(self.delay).map(|sum| sum / self.delayed() as f64)
    }

    /// Converts a delay to microseconds. Returns `None` if no delay is known.
    pub fn delay_us(&self, delay: Ps) -> Option<f64> {
        (self.delayed() > 0).then(|| delay.as_us())
    }
}
