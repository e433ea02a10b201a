//! The tables that a unified profile holds, so that an imported result has them too.

use crate::table::{Cell, Column, Table, Unit};
use report::{DeviceStats, UnifiedProfile};

pub fn steps(profile: &UnifiedProfile) -> Table {
    let rows = profile.steps.iter().map(|step| {
        vec![
            Cell::Int(step.index),
            text(step.name.as_deref()),
            Cell::Float(step.start_us),
            Cell::Float(step.duration_us),
            Cell::Float(step.busy_us),
            Cell::Float(step.compute_us),
            Cell::Float(step.communication_us),
            Cell::Float(step.transfer_us),
            Cell::Float(step.idle_us),
            Cell::Float(step.num_kernels),
            Cell::Flag(step.partial),
            Cell::Flag(step.compiles),
            Cell::Flag(step.warm_up),
            Cell::Flag(step.counted),
        ]
    });
    Table::new(
        "steps",
        vec![
            column("index", "Step", Unit::Count),
            column("name", "Name", Unit::Text),
            column("start_us", "Start", Unit::TimeUs),
            column("duration_us", "Duration", Unit::TimeUs),
            column("busy_us", "Busy", Unit::TimeUs),
            column("compute_us", "Compute", Unit::TimeUs),
            column("communication_us", "Exposed communication", Unit::TimeUs),
            column("transfer_us", "Exposed transfers", Unit::TimeUs),
            column("idle_us", "Idle", Unit::TimeUs),
            column("num_kernels", "Ops", Unit::Number),
            column("partial", "Partial", Unit::Flag),
            column("compiles", "Compiles", Unit::Flag),
            column("warm_up", "Warm-up", Unit::Flag),
            column("counted", "Counted", Unit::Flag),
        ],
        rows.collect(),
    )
}

pub fn devices(profile: &UnifiedProfile) -> Table {
    let row = |device: &DeviceStats| {
        vec![
            Cell::Text(device.device_name.clone()),
            text(device.host.as_deref()),
            text(device.device_type.as_deref()),
            Cell::Int(device.kernel_count),
            Cell::Float(device.actual_busy_time_us),
            Cell::Float(device.total_time_us),
            Cell::Float(device.utilization_percent),
            float(device.parallelism),
            Cell::Float(device.total_kernel_time_us),
            device.gaps.as_ref().map_or(Cell::Absent, |gaps| Cell::Int(gaps.total_gaps)),
            device.gaps.as_ref().map_or(Cell::Absent, |gaps| float(gaps.max_gap_us)),
        ]
    };
    Table::new(
        "devices",
        vec![
            column("device_name", "Device", Unit::Text),
            column("host", "Host", Unit::Text),
            column("device_type", "Type", Unit::Text),
            column("kernel_count", "Ops", Unit::Count),
            column("actual_busy_time_us", "Busy", Unit::TimeUs),
            column("total_time_us", "Window", Unit::TimeUs),
            column("utilization_percent", "Busy share", Unit::Percent),
            column("parallelism", "Concurrency", Unit::Number),
            column("total_kernel_time_us", "Sum of op times", Unit::TimeUs),
            column("total_gaps", "Gaps", Unit::Count),
            column("max_gap_us", "Longest gap", Unit::TimeUs),
        ],
        profile.multi_device.iter().flat_map(|devices| &devices.device_stats).map(row).collect(),
    )
}

pub fn kernels(profile: &UnifiedProfile) -> Table {
    let rows = profile.kernels.top_kernels.iter().map(|kernel| {
        vec![
            Cell::Text(kernel.name.clone()),
            Cell::Text(kernel.category.clone()),
            Cell::Float(kernel.total_us),
            float(kernel.percent),
            Cell::Int(kernel.count),
            Cell::Float(kernel.avg_us),
            float(kernel.min_us),
            float(kernel.max_us),
            text(kernel.framework_op.as_deref()),
        ]
    });
    Table::new(
        "top-kernels",
        vec![
            column("name", "Kernel", Unit::Text),
            column("category", "Category", Unit::Text),
            column("total_us", "Self time", Unit::TimeUs),
            column("percent", "Share", Unit::Percent),
            column("count", "Count", Unit::Count),
            column("avg_us", "Mean", Unit::TimeUs),
            column("min_us", "Shortest", Unit::TimeUs),
            column("max_us", "Longest", Unit::TimeUs),
            column("framework_op", "Framework op", Unit::Text),
        ],
        rows.collect(),
    )
}

pub fn categories(profile: &UnifiedProfile) -> Table {
    let mut categories: Vec<_> = profile.kernels.kernels_by_category.iter().collect();
    categories.sort_by(|a, b| b.1.time_us.total_cmp(&a.1.time_us).then_with(|| a.0.cmp(b.0)));
    let rows = categories.into_iter().map(|(name, category)| {
        vec![
            Cell::Text(name.clone()),
            Cell::Float(category.time_us),
            float(category.percent),
            Cell::Int(category.count),
        ]
    });
    Table::new(
        "categories",
        vec![
            column("category", "Category", Unit::Text),
            column("time_us", "Self time", Unit::TimeUs),
            column("percent", "Share", Unit::Percent),
            column("count", "Count", Unit::Count),
        ],
        rows.collect(),
    )
}

pub fn gaps(profile: &UnifiedProfile) -> Table {
    let rows = profile.timeline_analysis.iter().flat_map(|timeline| &timeline.longest_gaps).map(|gap| {
        vec![
            Cell::Text(gap.device_name.clone()),
            Cell::Float(gap.start_us),
            Cell::Float(gap.duration_us),
            Cell::Text(gap.after.clone()),
            Cell::Text(gap.before.clone()),
        ]
    });
    Table::new(
        "gaps",
        vec![
            column("device_name", "Device", Unit::Text),
            column("start_us", "Start", Unit::TimeUs),
            column("duration_us", "Length", Unit::TimeUs),
            column("after", "After", Unit::Text),
            column("before", "Before", Unit::Text),
        ],
        rows.collect(),
    )
}

pub fn transfers(profile: &UnifiedProfile) -> Table {
    let rows = profile.memory_operations.iter().flat_map(|memory| &memory.transfers).map(|transfer| {
        vec![
            Cell::Text(transfer.direction.clone()),
            Cell::Int(transfer.count),
            Cell::Float(transfer.total_time_us),
            int(transfer.total_bytes),
            Cell::Int(transfer.sized_count),
            float(transfer.bandwidth_gb_per_sec),
        ]
    });
    Table::new(
        "transfers",
        vec![
            column("direction", "Direction", Unit::Text),
            column("count", "Count", Unit::Count),
            column("total_time_us", "Time", Unit::TimeUs),
            column("total_bytes", "Bytes", Unit::Bytes),
            column("sized_count", "Of known size", Unit::Count),
            column("bandwidth_gb_per_sec", "Bandwidth", Unit::GigabytesPerSecond),
        ],
        rows.collect(),
    )
}

pub fn warnings(profile: &UnifiedProfile) -> Table {
    let rows = profile.warnings.iter().map(|warning| {
        vec![
            Cell::Text(format!("{:?}", warning.severity).to_lowercase()),
            Cell::Text(warning.code.clone()),
            Cell::Text(warning.message.clone()),
            text(warning.remedy.as_deref()),
            text(warning.file.as_deref()),
            int(warning.byte_offset),
            int(warning.count),
        ]
    });
    Table::new(
        "warnings",
        vec![
            column("severity", "Severity", Unit::Text),
            column("code", "Code", Unit::Text),
            column("message", "Message", Unit::Text),
            column("remedy", "Remedy", Unit::Text),
            column("file", "File", Unit::Text),
            column("byte_offset", "Byte", Unit::Count),
            column("count", "Count", Unit::Count),
        ],
        rows.collect(),
    )
}

fn column(key: &'static str, title: &'static str, unit: Unit) -> Column {
    Column { key, title, unit }
}

fn text(value: Option<&str>) -> Cell {
    value.map_or(Cell::Absent, |text| Cell::Text(text.to_owned()))
}

fn int(value: Option<u64>) -> Cell {
    value.map_or(Cell::Absent, Cell::Int)
}

fn float(value: Option<f64>) -> Cell {
    value.map_or(Cell::Absent, Cell::Float)
}

#[cfg(test)]
mod tests {
    use super::super::{TableName, of_report};

    #[test]
    fn every_row_is_as_wide_as_its_table_and_keys_are_unique() {
        let profile = report::example::profile();
        for table in TableName::ALL.into_iter().filter_map(|name| of_report(&profile, name)) {
            assert!(TableName::from_key(table.name).is_some());
            assert!(!table.rows.is_empty(), "{}", table.name);
            assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{}", table.name);
            let mut keys: Vec<_> = table.columns.iter().map(|column| column.key).collect();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), table.columns.len());
        }
    }

    #[test]
    fn json_rows_keep_the_order_of_columns() {
        let table = of_report(&::report::example::profile(), TableName::Categories).unwrap();
        let json = serde_json::to_string(&table).unwrap();
        assert!(json.starts_with(r#"[{"category":"matmul","time_us":60.5,"percent":"#), "{json}");
    }
}
