//! Builds the launches section of the report.

use super::{Launches, Queue};
use crate::device::devices::Devices;
use base::sort;
use report::{LaunchSection, StreamQueue};
use trace::Trace;

const TOP: usize = 50;

/// Builds the section. Returns `None` if no launch was found.
pub(crate) fn section(trace: &Trace, devices: &Devices, launches: &Launches) -> Option<LaunchSection> {
    let total = &launches.total;
    let mut queues: Vec<&Queue> = launches.queues.iter().collect();
    sort::sort_by(&mut queues, |a, b| b.max.cmp(&a.max));
    let queue = |queue: &&Queue| StreamQueue {
        device_name: devices.used.get(queue.device).map_or_else(String::new, |device| device.name.clone()),
        stream: trace.lines.get(queue.line).map_or_else(String::new, |line| trace.text(line.name).to_owned()),
        max_length: u64::from(queue.max),
        mean_length: queue.mean(),
        blocked_us: queue.blocked.as_us(),
        empty_us: queue.empty.as_us(),
    };
    Some(LaunchSection {
        count: total.launches,
        device_op_count: launches.device_ops,
        joined_op_count: launches.joined_ops,
        avg_host_us: total.mean_us(total.host)?,
        avg_launch_delay_us: total.mean_delay_us(),
        median_launch_delay_us: total.delay_us(total.delay_median),
        p95_launch_delay_us: total.delay_us(total.delay_p95),
        max_launch_delay_us: total.delay_us(total.delay_max),
        early_count: total.early,
        clock_difference_us: (total.early > 0).then(|| launches.early_max.as_us()),
        short_kernel_count: total.short_kernels,
        runtime_outlier_count: total.runtime_outliers,
        launch_delay_outlier_count: total.delay_outliers,
        queues: queues.iter().take(TOP).map(queue).collect(),
    })
}
