//! Tables made from a unified profile, so that imported results have them too. Most columns are fields of the profile.

use super::equal_ops::equal_ops;
use super::profile_table::{ProfileColumns, float, int, of_rows, optional_text, text};
use crate::record::{Made, TableRecord};
use crate::shown::{RowKey, Shown};
use base::{Warning, WarningCode, sort};
use report::{DeviceStats, Gap, Kernel, KernelCategory, LiveMemoryLine, Step, TopOp, Transfer, UnifiedProfile};
use table::{Cell, Column, Table, Unit, column, columns};

pub(super) const WARNINGS_TABLE: TableRecord =
    TableRecord::new("warnings", || columns(&WARNINGS), Made::Profile(warnings));

pub(super) const LIVE_MEMORY_TABLE: TableRecord =
    TableRecord::new("live-memory", || columns(&LIVE_MEMORY), Made::Profile(live_memory));

pub(super) const STEPS_TABLE: TableRecord = TableRecord {
    shown: Shown {
        leading: &[
            "name",
            "phase",
            "requests",
            "tokens",
            "start_us",
            "duration_us",
            "busy_us",
            "compute_us",
            "communication_us",
            "idle_us",
            "num_kernels",
            "counted",
        ],
        ..Shown::WHOLE
    },
    ..TableRecord::new("steps", || columns(&STEPS), Made::Profile(steps))
};

pub(super) const TOP_KERNELS_TABLE: TableRecord = TableRecord {
    shown: Shown {
        leading: &["name", "category", "total_us", "percent", "count", "framework_op"],
        row_keys: &[RowKey::new("name", &["name"])],
        ..Shown::WHOLE
    },
    ..TableRecord::new("top-kernels", || columns(&KERNELS), Made::Profile(kernels))
};

pub(super) const CATEGORIES_TABLE: TableRecord = TableRecord {
    shown: Shown { row_keys: &[RowKey::new("category", &["category"])], ..Shown::WHOLE },
    ..TableRecord::new("categories", || columns(&CATEGORIES), Made::Profile(categories))
};

pub(super) const DEVICES_TABLE: TableRecord = TableRecord {
    shown: Shown {
        leading: &[
            "device_name",
            "coordinates",
            "utilization_percent",
            "step_time_us",
            "median_step_us",
            "slowest_step_us",
            "work_us",
            "relative_score_percent",
            "individual_score_percent",
            "last_percent",
            "caused_wait_us",
            "late_cause",
            "max_gap_us",
        ],
        row_keys: &[RowKey::new("device_name", &["device_name"])],
        ..Shown::WHOLE
    },
    ..TableRecord::new("devices", || columns(&DEVICES), Made::Profile(devices))
};

pub(super) const GAPS_TABLE: TableRecord = TableRecord {
    shown: Shown { row_keys: &[RowKey::new("device_name", &["device_name"])], ..Shown::WHOLE },
    ..TableRecord::new("gaps", || columns(&GAPS), Made::Profile(gaps))
};

pub(super) static STEPS: ProfileColumns<Step, 26> = [
    (Column::of_field("index", "Step", Unit::Count, "steps[].index"), |it| Cell::Int(it.index)),
    (Column::of_field("name", "Name", Unit::Text, "steps[].name"), |it| optional_text(&it.name)),
    (Column::of_field("start_us", "Start", Unit::TimeUs, "steps[].start_us"), |it| Cell::Float(it.start_us)),
    (Column::of_field("duration_us", "Duration", Unit::TimeUs, "steps[].duration_us"), |it| {
        Cell::Float(it.duration_us)
    }),
    (Column::of_field("busy_us", "Busy", Unit::TimeUs, "steps[].busy_us"), |it| Cell::Float(it.busy_us)),
    (Column::of_field("compute_us", "Compute", Unit::TimeUs, "steps[].compute_us"), |it| Cell::Float(it.compute_us)),
    (Column::of_field("communication_us", "Exposed communication", Unit::TimeUs, "steps[].communication_us"), |it| {
        Cell::Float(it.communication_us)
    }),
    (Column::of_field("transfer_us", "Exposed transfers", Unit::TimeUs, "steps[].transfer_us"), |it| {
        Cell::Float(it.transfer_us)
    }),
    (Column::of_field("idle_us", "Idle", Unit::TimeUs, "steps[].idle_us"), |it| Cell::Float(it.idle_us)),
    (Column::of_field("num_kernels", "Ops", Unit::Number, "steps[].num_kernels"), |it| Cell::Float(it.num_kernels)),
    (Column::of_field("graph_launches", "Graph launches", Unit::Number, "steps[].graph_launches"), |it| {
        float(it.graph_launches)
    }),
    (Column::of_field("graph_kernels", "Ops in graphs", Unit::Number, "steps[].graph_kernels"), |it| {
        float(it.graph_kernels)
    }),
    (Column::of_field("device_work_us", "Device work", Unit::TimeUs, "steps[].device_work_us"), |it| {
        float(it.device_work_us)
    }),
    (Column::of_field("host_start_us", "Host start", Unit::TimeUs, "steps[].host_start_us"), |it| {
        float(it.host_start_us)
    }),
    (Column::of_field("host_duration_us", "Host duration", Unit::TimeUs, "steps[].host_duration_us"), |it| {
        float(it.host_duration_us)
    }),
    (Column::of_field("lag_us", "Lag behind host", Unit::TimeUs, "steps[].lag_us"), |it| float(it.lag_us)),
    (Column::of_field("clock_percent", "Clock", Unit::Percent, "steps[].clock_percent"), |it| float(it.clock_percent)),
    (Column::of_field("partial", "Partial", Unit::Flag, "steps[].partial"), |it| Cell::Flag(it.partial)),
    (Column::of_field("compiles", "Compiles", Unit::Flag, "steps[].compiles"), |it| Cell::Flag(it.compiles)),
    (Column::of_field("warm_up", "Warm-up", Unit::Flag, "steps[].warm_up"), |it| Cell::Flag(it.warm_up)),
    (Column::of_field("counted", "Counted", Unit::Flag, "steps[].counted"), |it| Cell::Flag(it.counted)),
    (Column::of_field("phase", "Phase", Unit::Text, "steps[].phase"), |it| optional_text(&it.phase)),
    (Column::of_field("requests", "Requests", Unit::Count, "steps[].requests"), |it| int(it.requests)),
    (Column::of_field("tokens", "Tokens", Unit::Count, "steps[].tokens"), |it| int(it.tokens)),
    (Column::of_field("prefill_tokens", "Prompt tokens", Unit::Count, "steps[].prefill_tokens"), |it| {
        int(it.prefill_tokens)
    }),
    (Column::of_field("decode_tokens", "Decoded tokens", Unit::Count, "steps[].decode_tokens"), |it| {
        int(it.decode_tokens)
    }),
];

/// Returns every step of the capture.
pub(crate) fn steps(profile: &UnifiedProfile) -> Table {
    of_rows("steps", &STEPS, &profile.steps)
}

pub(super) static DEVICES: ProfileColumns<DeviceStats, 31> = [
    (Column::of_field("device_name", "Device", Unit::Text, "multi_device.device_stats[].device_name"), |it| {
        text(&it.device_name)
    }),
    (Column::of_field("host", "Host", Unit::Text, "multi_device.device_stats[].host"), |it| optional_text(&it.host)),
    (Column::of_field("device_type", "Type", Unit::Text, "multi_device.device_stats[].device_type"), |it| {
        optional_text(&it.device_type)
    }),
    (Column::of_field("kernel_count", "Ops", Unit::Count, "multi_device.device_stats[].kernel_count"), |it| {
        Cell::Int(it.kernel_count)
    }),
    (
        Column::of_field(
            "actual_busy_time_us",
            "Busy",
            Unit::TimeUs,
            "multi_device.device_stats[].actual_busy_time_us",
        ),
        |it| Cell::Float(it.actual_busy_time_us),
    ),
    (Column::of_field("total_time_us", "Window", Unit::TimeUs, "multi_device.device_stats[].total_time_us"), |it| {
        Cell::Float(it.total_time_us)
    }),
    (
        Column::of_field(
            "utilization_percent",
            "Busy share",
            Unit::Percent,
            "multi_device.device_stats[].utilization_percent",
        ),
        |it| float(it.utilization_percent),
    ),
    (Column::of_field("parallelism", "Concurrency", Unit::Number, "multi_device.device_stats[].parallelism"), |it| {
        float(it.parallelism)
    }),
    (
        Column::of_field(
            "total_kernel_time_us",
            "Sum of op times",
            Unit::TimeUs,
            "multi_device.device_stats[].total_kernel_time_us",
        ),
        |it| Cell::Float(it.total_kernel_time_us),
    ),
    (Column::of_field("total_gaps", "Gaps", Unit::Count, "multi_device.device_stats[].gaps.total_gaps"), |it| {
        int(it.gaps.as_ref().map(|gaps| gaps.total_gaps))
    }),
    (
        Column::of_field("max_gap_us", "Longest gap", Unit::TimeUs, "multi_device.device_stats[].gaps.max_gap_us"),
        |it| float(it.gaps.as_ref().and_then(|gaps| gaps.max_gap_us)),
    ),
    (Column::of_field("slice", "Slice", Unit::Count, "multi_device.device_stats[].place.slice"), |it| {
        int(it.place.as_ref().and_then(|place| place.slice))
    }),
    (
        Column::of_field("local_chip", "Chip on host", Unit::Count, "multi_device.device_stats[].place.local_chip"),
        |it| int(it.place.as_ref().and_then(|place| place.local_chip)),
    ),
    (Column::of_field("core", "Core", Unit::Count, "multi_device.device_stats[].place.core"), |it| {
        int(it.place.as_ref().and_then(|place| place.core))
    }),
    (Column::of_field("global_chip", "Chip", Unit::Count, "multi_device.device_stats[].place.global_chip"), |it| {
        int(it.place.as_ref().and_then(|place| place.global_chip))
    }),
    (
        Column::of_field("coordinates", "Coordinates", Unit::Text, "multi_device.device_stats[].place.coordinates"),
        |it| it.place.as_ref().map_or(Cell::Absent, |place| optional_text(&place.coordinates)),
    ),
    (
        Column::of_field("step_time_us", "Mean step", Unit::TimeUs, "multi_device.device_stats[].steps.step_time_us"),
        |it| float(it.steps.as_ref().and_then(|steps| steps.step_time_us)),
    ),
    (
        Column::of_field(
            "median_step_us",
            "Median step",
            Unit::TimeUs,
            "multi_device.device_stats[].steps.median_step_us",
        ),
        |it| float(it.steps.as_ref().and_then(|steps| steps.median_step_us)),
    ),
    (
        Column::of_field(
            "slowest_step_us",
            "Slowest step",
            Unit::TimeUs,
            "multi_device.device_stats[].steps.slowest_step_us",
        ),
        |it| float(it.steps.as_ref().and_then(|steps| steps.slowest_step_us)),
    ),
    (
        Column::of_field(
            "slowest_step",
            "Position of slowest step",
            Unit::Count,
            "multi_device.device_stats[].steps.slowest_step",
        ),
        |it| int(it.steps.as_ref().and_then(|steps| steps.slowest_step)),
    ),
    (Column::of_field("work_us", "Work", Unit::TimeUs, "multi_device.device_stats[].steps.work_us"), |it| {
        float(it.steps.as_ref().and_then(|steps| steps.work_us))
    }),
    (
        Column::of_field(
            "relative_score_percent",
            "Relative score",
            Unit::Percent,
            "multi_device.device_stats[].steps.relative_score_percent",
        ),
        |it| float(it.steps.as_ref().and_then(|steps| steps.relative_score_percent)),
    ),
    (
        Column::of_field(
            "individual_score_percent",
            "Individual score",
            Unit::Percent,
            "multi_device.device_stats[].steps.individual_score_percent",
        ),
        |it| float(it.steps.as_ref().and_then(|steps| steps.individual_score_percent)),
    ),
    (
        Column::of_field(
            "compared",
            "Compared collectives",
            Unit::Count,
            "multi_device.device_stats[].arrivals.compared",
        ),
        |it| int(it.arrivals.as_ref().map(|arrivals| arrivals.compared)),
    ),
    (Column::of_field("last", "Arrived last", Unit::Count, "multi_device.device_stats[].arrivals.last"), |it| {
        int(it.arrivals.as_ref().map(|arrivals| arrivals.last))
    }),
    (
        Column::of_field(
            "last_percent",
            "Arrived last, share",
            Unit::Percent,
            "multi_device.device_stats[].arrivals.last_percent",
        ),
        |it| float(it.arrivals.as_ref().map(|arrivals| arrivals.last_percent)),
    ),
    (
        Column::of_field(
            "fair_percent",
            "Fair share",
            Unit::Percent,
            "multi_device.device_stats[].arrivals.fair_percent",
        ),
        |it| float(it.arrivals.as_ref().map(|arrivals| arrivals.fair_percent)),
    ),
    (
        Column::of_field(
            "wait_time_us",
            "Waited for others",
            Unit::TimeUs,
            "multi_device.device_stats[].arrivals.wait_time_us",
        ),
        |it| float(it.arrivals.as_ref().map(|arrivals| arrivals.wait_time_us)),
    ),
    (
        Column::of_field(
            "caused_wait_us",
            "Wait caused",
            Unit::TimeUs,
            "multi_device.device_stats[].arrivals.caused_wait_us",
        ),
        |it| float(it.arrivals.as_ref().map(|arrivals| arrivals.caused_wait_us)),
    ),
    (Column::of_field("delay_us", "Delay", Unit::TimeUs, "multi_device.device_stats[].arrivals.delay_us"), |it| {
        float(it.arrivals.as_ref().map(|arrivals| arrivals.delay_us))
    }),
    (Column::of_field("late_cause", "Cause", Unit::Text, "multi_device.device_stats[].arrivals.late_cause"), |it| {
        it.arrivals.as_ref().map_or(Cell::Absent, |arrivals| optional_text(&arrivals.late_cause))
    }),
];

/// Returns the devices that ran ops.
pub(crate) fn devices(profile: &UnifiedProfile) -> Table {
    of_rows("devices", &DEVICES, profile.multi_device.iter().flat_map(|devices| &devices.device_stats))
}

pub(super) static KERNELS: ProfileColumns<Kernel, 9> = [
    (Column::of_field("name", "Kernel", Unit::Text, "kernels.top_kernels[].name"), |it| text(&it.name)),
    (Column::of_field("category", "Category", Unit::Text, "kernels.top_kernels[].category"), |it| text(&it.category)),
    (Column::of_field("total_us", "Self time", Unit::TimeUs, "kernels.top_kernels[].total_us").bound(), |it| {
        Cell::Float(it.total_us)
    }),
    (Column::of_field("percent", "Share of busy time", Unit::Percent, "kernels.top_kernels[].percent"), |it| {
        float(it.percent)
    }),
    (Column::of_field("count", "Count", Unit::Count, "kernels.top_kernels[].count"), |it| Cell::Int(it.count)),
    (Column::of_field("avg_us", "Mean", Unit::TimeUs, "kernels.top_kernels[].avg_us").bound(), |it| {
        Cell::Float(it.avg_us)
    }),
    (Column::of_field("min_us", "Shortest", Unit::TimeUs, "kernels.top_kernels[].min_us").bound(), |it| {
        float(it.min_us)
    }),
    (Column::of_field("max_us", "Longest", Unit::TimeUs, "kernels.top_kernels[].max_us").bound(), |it| {
        float(it.max_us)
    }),
    (Column::of_field("framework_op", "Framework op", Unit::Text, "kernels.top_kernels[].framework_op"), |it| {
        optional_text(&it.framework_op)
    }),
];

/// Returns the kernels with the most self time.
pub(crate) fn kernels(profile: &UnifiedProfile) -> Table {
    of_rows("top-kernels", &KERNELS, &profile.kernels.top_kernels)
}

static TOP_OPS: ProfileColumns<TopOp, 9> = [
    (Column::of_field("name", "Op", Unit::Text, "op_statistics.top_ops[].name"), |it| text(&it.name)),
    (Column::of_field("category", "Category", Unit::Text, "op_statistics.top_ops[].category"), |it| text(&it.category)),
    (Column::of_field("self_time_us", "Self time", Unit::TimeUs, "op_statistics.top_ops[].self_time_us"), |it| {
        Cell::Float(it.self_time_us)
    }),
    (
        Column::of_field(
            "percent",
            "Share of busy time",
            Unit::Percent,
            "op_statistics.top_ops[].busy_self_time_percent",
        ),
        |it| float(it.busy_self_time_percent),
    ),
    (Column::of_field("executions", "Executions", Unit::Count, "op_statistics.top_ops[].executions"), |it| {
        int(it.executions)
    }),
    (Column::of_field("source", "Source", Unit::Text, "op_statistics.top_ops[].source"), |it| {
        optional_text(&it.source)
    }),
    (column("flop_rate", "FLOP/s", Unit::GigaflopsPerSecond, "FLOPs of the op divided by its total time."), |it| {
        let flops = it.flops.filter(|_| it.total_time_us > 0.0);
        float(flops.map(|flops| flops / it.total_time_us * 1e-3))
    }),
    (Column::of_field("bound_by", "Bound by", Unit::Text, "op_statistics.top_ops[].bound_by"), |it| {
        optional_text(&it.bound_by)
    }),
    (Column::of_field("framework_op", "Framework op", Unit::Text, "op_statistics.top_ops[].framework_op"), |it| {
        optional_text(&it.framework_op)
    }),
];

/// Returns the main table of a report, with its heading: the ops with the most self time, or the kernels if the profile
/// has no ops.
pub fn top_ops_or_kernels(profile: &UnifiedProfile) -> (&'static str, Table) {
    match profile.op_statistics.as_ref().filter(|found| !found.top_ops.is_empty()) {
        Some(found) => {
            let are_bounds = profile.warnings.iter().any(|it| it.code == WarningCode::CpuOpEndsAreBounds.label());
            let ops = equal_ops(&found.top_ops);
            let heading = match (are_bounds, ops.len() < found.top_ops.len()) {
                (true, _) => "Top ops (times are upper bounds)",
                (false, true) => "Top ops (repeated ops among the 50 largest are merged)",
                (false, false) => "Top ops",
            };
            (heading, of_rows("ops", &TOP_OPS, &ops))
        }
        None => ("Top kernels", kernels(profile)),
    }
}

pub(super) static CATEGORIES: ProfileColumns<(String, KernelCategory), 4> = [
    (
        column("category", "Category", Unit::Text, "Category: see [kernel categories](#kernel-categories)."),
        |(name, _)| text(name),
    ),
    (Column::of_field("time_us", "Self time", Unit::TimeUs, "kernels.kernels_by_category.*.time_us"), |(_, it)| {
        Cell::Float(it.time_us)
    }),
    (
        Column::of_field("percent", "Share of busy time", Unit::Percent, "kernels.kernels_by_category.*.percent"),
        |(_, it)| float(it.percent),
    ),
    (Column::of_field("count", "Count", Unit::Count, "kernels.kernels_by_category.*.count"), |(_, it)| {
        Cell::Int(it.count)
    }),
];

/// Returns self time by category, largest first.
pub(crate) fn categories(profile: &UnifiedProfile) -> Table {
    let mut categories: Vec<_> = profile.kernels.kernels_by_category.clone().into_iter().collect();
    sort::sort_by(&mut categories, |a, b| b.1.time_us.total_cmp(&a.1.time_us).then_with(|| a.0.cmp(&b.0)));
    of_rows("categories", &CATEGORIES, &categories)
}

pub(super) static GAPS: ProfileColumns<Gap, 5> = [
    (Column::of_field("device_name", "Device", Unit::Text, "timeline_analysis.longest_gaps[].device_name"), |it| {
        text(&it.device_name)
    }),
    (Column::of_field("start_us", "Start", Unit::TimeUs, "timeline_analysis.longest_gaps[].start_us"), |it| {
        Cell::Float(it.start_us)
    }),
    (Column::of_field("duration_us", "Length", Unit::TimeUs, "timeline_analysis.longest_gaps[].duration_us"), |it| {
        Cell::Float(it.duration_us)
    }),
    (Column::of_field("after", "After", Unit::Text, "timeline_analysis.longest_gaps[].after"), |it| text(&it.after)),
    (Column::of_field("before", "Before", Unit::Text, "timeline_analysis.longest_gaps[].before"), |it| {
        text(&it.before)
    }),
];

/// Returns the longest idle gaps.
pub(crate) fn gaps(profile: &UnifiedProfile) -> Table {
    of_rows("gaps", &GAPS, profile.timeline_analysis.iter().flat_map(|timeline| &timeline.longest_gaps))
}

pub(super) static LIVE_MEMORY: ProfileColumns<LiveMemoryLine, 6> = [
    (Column::of_field("line", "Line", Unit::Text, "memory.live.lines[].line"), |it| text(&it.line)),
    (Column::of_field("function", "Function", Unit::Text, "memory.live.lines[].function"), |it| text(&it.function)),
    (Column::of_field("bytes", "Bytes", Unit::Bytes, "memory.live.lines[].bytes"), |it| Cell::Int(it.bytes)),
    (Column::of_field("percent", "Share", Unit::Percent, "memory.live.lines[].percent"), |it| Cell::Float(it.percent)),
    (Column::of_field("count", "Count", Unit::Count, "memory.live.lines[].count"), |it| Cell::Int(it.count)),
    (Column::of_field("stack", "Largest call stack", Unit::Text, "memory.live.lines[].stack"), |it| text(&it.stack)),
];

/// Returns the lines of code that allocated live memory on the devices.
pub(crate) fn live_memory(profile: &UnifiedProfile) -> Table {
    let live = profile.memory.iter().filter_map(|memory| memory.live.as_ref());
    of_rows("live-memory", &LIVE_MEMORY, live.flat_map(|live| &live.lines))
}

static TRANSFERS: ProfileColumns<Transfer, 6> = [
    (Column::of_field("direction", "Direction", Unit::Text, "memory_operations.transfers[].direction"), |it| {
        text(&it.direction)
    }),
    (Column::of_field("count", "Count", Unit::Count, "memory_operations.transfers[].count"), |it| Cell::Int(it.count)),
    (Column::of_field("total_time_us", "Time", Unit::TimeUs, "memory_operations.transfers[].total_time_us"), |it| {
        Cell::Float(it.total_time_us)
    }),
    (Column::of_field("total_bytes", "Bytes", Unit::Bytes, "memory_operations.transfers[].total_bytes"), |it| {
        int(it.total_bytes)
    }),
    (
        Column::of_field("sized_count", "Of known size", Unit::Count, "memory_operations.transfers[].sized_count"),
        |it| Cell::Int(it.sized_count),
    ),
    (
        Column::of_field(
            "bandwidth_gb_per_sec",
            "Bandwidth",
            Unit::GigabytesPerSecond,
            "memory_operations.transfers[].bandwidth_gb_per_sec",
        ),
        |it| float(it.bandwidth_gb_per_sec),
    ),
];

/// Returns copies by direction.
pub(crate) fn transfers(profile: &UnifiedProfile) -> Table {
    of_rows("transfers", &TRANSFERS, profile.memory_operations.iter().flat_map(|memory| &memory.transfers))
}

pub(super) static WARNINGS: ProfileColumns<Warning, 7> = [
    (Column::of_field("severity", "Severity", Unit::Text, "warnings[].severity"), |it| {
        Cell::Text(format!("{:?}", it.severity).to_lowercase())
    }),
    (Column::of_field("code", "Code", Unit::Text, "warnings[].code"), |it| text(&it.code)),
    (Column::of_field("message", "Message", Unit::Text, "warnings[].message"), |it| text(&it.message)),
    (Column::of_field("remedy", "Remedy", Unit::Text, "warnings[].remedy"), |it| optional_text(&it.remedy)),
    (Column::of_field("file", "File", Unit::Text, "warnings[].file"), |it| optional_text(&it.file)),
    (Column::of_field("byte_offset", "Byte", Unit::Count, "warnings[].byte_offset"), |it| int(it.byte_offset)),
    (Column::of_field("count", "Count", Unit::Count, "warnings[].count"), |it| int(it.count)),
];

/// Returns warnings about lost or unusual data.
pub(crate) fn warnings(profile: &UnifiedProfile) -> Table {
    of_rows("warnings", &WARNINGS, &profile.warnings)
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
