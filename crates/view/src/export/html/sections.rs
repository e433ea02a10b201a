//! Renders the table of devices of a run.

use super::page::{Align, Table};
use crate::document::html::share_bar;
use base::format;
use maud::{Markup, html};
use report::MultiDevice;

/// Renders a row for each of the first devices, and the number of those left out.
pub fn device_table(devices: &MultiDevice, most: usize) -> Markup {
    let mut table = Table::new(&[
        ("Device", Align::Name),
        ("Busy", Align::Right),
        ("Busy share", Align::Right),
        ("", Align::Left),
        ("Ops", Align::Right),
        ("Longest gap", Align::Right),
    ]);
    for device in devices.device_stats.iter().take(most) {
        table.row(&[
            &device.device_name,
            &format::time_us(device.actual_busy_time_us),
            &format::optional_percent(device.utilization_percent),
            &share_bar("dot", device.utilization_percent.unwrap_or(0.0).clamp(0.0, 100.0)),
            &format::count(device.kernel_count),
            &format::optional_time_us(device.gaps.as_ref().and_then(|gaps| gaps.max_gap_us)),
        ]);
    }
    let left = devices.device_stats.len().saturating_sub(most);
    let unused = &devices.unused_devices;
    html! {
        (table)
        @if left > 0 {
            p.note { "and " (format::count(left as u64)) " more." }
        }
        @if !unused.is_empty() {
            p.note {
                "Not used: " (unused.iter().take(most).map(String::as_str).collect::<Vec<_>>().join(", "))
                @if let Some(more @ 1..) = unused.len().checked_sub(most) { " and " (format::count(more as u64)) " more" }
                "."
            }
        }
    }
}
