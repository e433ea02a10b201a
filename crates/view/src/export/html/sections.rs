//! Sections that not every run has: devices, communication, transfers, gaps. What is absent from the profile is absent here.

use super::page::{Align, Table};
use super::steps::bar;
use crate::export::value::display;
use crate::export::{host, memory};
use crate::table::Unit;
use crate::tables::{TableName, of_report};
use base::format;
use maud::{Markup, html};
use report::{MultiDevice, UnifiedProfile};

/// Devices that are listed; the profile in the page has all.
const DEVICES: usize = 64;

/// What a run without device ops holds: unknown devices, programs and threads of the hosts.
pub fn host(profile: &UnifiedProfile) -> Markup {
    html! {
        @if profile.metadata.num_devices == 0 {
            @for &(name, title, ..) in host::TABLES { (of_table(profile, name, title)) }
        }
    }
}

/// The lines of code that allocated what is on the devices.
pub fn live_memory(profile: &UnifiedProfile) -> Markup {
    let (name, title, ..) = memory::TABLE;
    of_table(profile, name, title)
}

/// How busy each device is.
pub fn devices(profile: &UnifiedProfile) -> Markup {
    html! {
        @if let Some(devices) = profile.multi_device.as_ref().filter(|found| !found.device_stats.is_empty()) {
            section id="devices" {
                h2 { "Devices" }
                (device_table(devices, DEVICES))
            }
        }
    }
}

/// A row for each of the first devices, and how many more there are.
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
            &bar("dot", device.utilization_percent.unwrap_or(0.0).clamp(0.0, 100.0)),
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

/// Communication by kind.
pub fn communication(profile: &UnifiedProfile) -> Markup {
    let Some(communication) = &profile.communication else { return html! {} };
    let columns = [("Kind", Align::Left), ("Count", Align::Right), ("Time", Align::Right), ("Exposed", Align::Right)];
    let mut table = Table::new(&columns);
    for kind in &communication.kinds {
        let (time, exposed) = (format::time_us(kind.total_time_us), format::time_us(kind.exposed_time_us));
        table.row(&[&kind.kind, &format::count(kind.count), &time, &exposed]);
    }
    html! {
        section id="communication" {
            h2 { "Communication" }
            p {
                (format::count(communication.num_collectives)) " runs take " (format::time_us(communication.total_time_us))
                " on all devices"
                @if let Some(hidden) = communication.hidden_percent {
                    ", " (format::percent(hidden)) " of it overlapped by computation"
                }
                "."
            }
            @if let (Some(straggler), Some(share)) = (&communication.straggler, communication.straggler_percent) {
                p { "Straggler: " (straggler) ", last in " (format::percent(share)) " of the compared runs." }
            }
            (table)
        }
    }
}

/// Copies by direction.
pub fn transfers(profile: &UnifiedProfile) -> Markup {
    of_table(profile, TableName::Transfers, "Copies")
}

/// The longest idle gaps.
pub fn gaps(profile: &UnifiedProfile) -> Markup {
    of_table(profile, TableName::Gaps, "Longest idle gaps")
}

/// A table of the profile with all its columns.
fn of_table(profile: &UnifiedProfile, name: TableName, title: &str) -> Markup {
    let Some(whole) = of_report(profile, name).filter(|table| !table.rows.is_empty()) else { return html! {} };
    let align = |unit: Unit| if unit == Unit::Text { Align::Name } else { Align::Right };
    let columns: Vec<(&str, Align)> = whole.columns.iter().map(|column| (column.title, align(column.unit))).collect();
    let mut table = Table::new(&columns);
    for row in &whole.rows {
        let cells = whole.columns.iter().zip(row).map(|(column, cell)| display(cell, column.unit));
        table.row_of(&cells.collect::<Vec<_>>());
    }
    html! {
        section id=(name.key()) {
            h2 { (title) }
            (table)
        }
    }
}
