//! Sections that not every run has: devices, communication, transfers, gaps. What is absent from the profile is absent here.

use super::page::{Align, Table, escape, push};
use super::steps::bar;
use crate::export::host;
use crate::export::value::display;
use crate::table::Unit;
use crate::tables::{TableName, of_report};
use base::format;
use report::{MultiDevice, UnifiedProfile};

/// Devices that are listed; the profile in the page has all.
const DEVICES: usize = 64;

/// What a run without device ops holds: unknown devices, programs and threads of the hosts.
pub fn host(page: &mut String, profile: &UnifiedProfile) {
    if profile.metadata.num_devices == 0 {
        for &(name, title, ..) in host::TABLES {
            of_table(page, profile, name, title);
        }
    }
}

/// How busy each device is.
pub fn devices(page: &mut String, profile: &UnifiedProfile) {
    let Some(devices) = profile.multi_device.as_ref().filter(|found| !found.device_stats.is_empty()) else { return };
    push(page, &["<section id=\"devices\">\n<h2>Devices</h2>\n", &device_table(devices, DEVICES), "</section>\n"]);
}

/// A row for each of the first devices, and how many more there are.
pub fn device_table(devices: &MultiDevice, most: usize) -> String {
    let mut table = Table::new(&[
        ("Device", Align::Name),
        ("Busy", Align::Right),
        ("Busy share", Align::Right),
        ("", Align::Left),
        ("Ops", Align::Right),
        ("Longest gap", Align::Right),
    ]);
    for device in devices.device_stats.iter().take(most) {
        table.row(
            "",
            &[
                escape(&device.device_name),
                format::time_us(device.actual_busy_time_us),
                format::percent(device.utilization_percent),
                bar("dot", device.utilization_percent.clamp(0.0, 100.0)),
                format::count(device.kernel_count),
                format::optional_time_us(device.gaps.as_ref().and_then(|gaps| gaps.max_gap_us)),
            ],
        );
    }
    let mut text = table.finish();
    let left = devices.device_stats.len().saturating_sub(most);
    if left > 0 {
        push(&mut text, &["<p class=\"note\">and ", &format::count(left as u64), " more.</p>\n"]);
    }
    text
}

/// Communication by kind.
pub fn communication(page: &mut String, profile: &UnifiedProfile) {
    let Some(communication) = &profile.communication else { return };
    page.push_str("<section id=\"communication\">\n<h2>Communication</h2>\n");
    let hidden =
        communication.hidden_percent.map(|hidden| format!(", {} of it hidden by computation", format::percent(hidden)));
    let (runs, time) = (format::count(communication.num_collectives), format::time_us(communication.total_time_us));
    push(page, &["<p>", &runs, " runs take ", &time, " on all devices", &hidden.unwrap_or_default(), ".</p>\n"]);
    if let (Some(straggler), Some(share)) = (&communication.straggler, communication.straggler_percent) {
        let share = format::percent(share);
        push(page, &["<p>Straggler: ", &escape(straggler), ", last in ", &share, " of the compared runs.</p>\n"]);
    }
    let columns = [("Kind", Align::Left), ("Count", Align::Right), ("Time", Align::Right), ("Exposed", Align::Right)];
    let mut table = Table::new(&columns);
    for kind in &communication.kinds {
        let (time, exposed) = (format::time_us(kind.total_time_us), format::time_us(kind.exposed_time_us));
        table.row("", &[escape(&kind.kind), format::count(kind.count), time, exposed]);
    }
    push(page, &[&table.finish(), "</section>\n"]);
}

/// Copies by direction.
pub fn transfers(page: &mut String, profile: &UnifiedProfile) {
    of_table(page, profile, TableName::Transfers, "Copies");
}

/// The longest idle gaps.
pub fn gaps(page: &mut String, profile: &UnifiedProfile) {
    of_table(page, profile, TableName::Gaps, "Longest idle gaps");
}

/// A table of the profile with all its columns.
fn of_table(page: &mut String, profile: &UnifiedProfile, name: TableName, title: &str) {
    let Some(whole) = of_report(profile, name).filter(|table| !table.rows.is_empty()) else { return };
    let align = |unit: Unit| if unit == Unit::Text { Align::Name } else { Align::Right };
    let columns: Vec<(&str, Align)> = whole.columns.iter().map(|column| (column.title, align(column.unit))).collect();
    let mut table = Table::new(&columns);
    for row in &whole.rows {
        let cells = whole.columns.iter().zip(row).map(|(column, cell)| escape(&display(cell, column.unit)));
        table.row("", &cells.collect::<Vec<_>>());
    }
    push(page, &["<section id=\"", name.key(), "\">\n<h2>", title, "</h2>\n", &table.finish(), "</section>\n"]);
}
