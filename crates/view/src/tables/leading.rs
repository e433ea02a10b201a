//! Columns of a table that a page shows initially, in this order: the most important ones, narrow
//! enough for a screen of 1,280 pixels. All others can be selected, are in the details of a row,
//! and are in every export.

use super::TableName;

/// Returns the keys of the leading columns. Empty if a page shows the whole table.
pub fn leading(name: TableName) -> &'static [&'static str] {
    match name {
        TableName::OpGroups => &[
            "name",
            "num_ops",
            "total_self_time_us",
            "busy_self_time_percent",
            "executions",
            "execution_self_time_us",
            "source_info",
            "largest",
        ],
        TableName::TopKernels => &["name", "category", "total_us", "percent", "count", "framework_op"],
        TableName::Ops => &[
            "hlo_op_name",
            "category",
            "total_self_time_us",
            "busy_self_time_percent",
            "executions",
            "execution_self_time_us",
            "bound_by",
            "source_info",
        ],
        TableName::Checklist => &["question", "judgement", "shown", "answer", "remedy"],
        TableName::Findings => &["severity", "title", "message", "remedy", "time_at_stake_percent"],
        TableName::FrameworkOps => &[
            "operation",
            "type",
            "total_self_time_us",
            "busy_self_time_percent",
            "occurrences",
            "avg_self_time_us",
            "bound_by",
            "num_hlo_ops",
        ],
        TableName::Roofline => &[
            "operation",
            "category",
            "total_self_time_us",
            "bound_by",
            "roofline_efficiency_percent",
            "measured_flop_rate_gflops",
            "measured_memory_bw_gibps",
            "operational_intensity",
        ],
        TableName::Kernels => &[
            "kernel_name",
            "total_duration_us",
            "time_percent",
            "occurrences",
            "avg_duration_us",
            "family",
            "hlo_op_name",
            "occupancy_pct",
        ],
        TableName::Launches => &[
            "kernel_name",
            "call",
            "launches",
            "median_launch_delay_us",
            "p95_launch_delay_us",
            "avg_host_us",
            "avg_device_us",
            "short_kernels",
        ],
        TableName::Collectives => &[
            "device_name",
            "track",
            "hlo_op_name",
            "name",
            "kind",
            "start_us",
            "duration_us",
            "occurrences",
            "total_time_us",
            "exposed_time_us",
            "avg_time_us",
            "bytes",
            "busbw_gb_per_sec",
            "gb_per_sec",
            "group_size",
        ],
        TableName::StepEvents => {
            &["name", "device_name", "part", "hlo_op_name", "kernel_name", "before", "start_us", "time_us"]
        }
        TableName::StepBreakdown => &[
            "name",
            "device_name",
            "duration_us",
            "compute_us",
            "communication_us",
            "h2d_us",
            "d2h_us",
            "p2p_us",
            "d2d_us",
            "infeed_outfeed_us",
            "data_movement_us",
            "barrier_us",
            "compile_us",
            "input_bound_us",
            "host_bound_us",
            "kernel_wait_us",
            "other_idle_us",
            "idle_us",
        ],
        TableName::Steps => &[
            "name",
            "start_us",
            "duration_us",
            "busy_us",
            "compute_us",
            "communication_us",
            "idle_us",
            "num_kernels",
            "counted",
        ],
        TableName::Transfers => &[
            "direction",
            "source_memory",
            "target_memory",
            "count",
            "total_time_us",
            "in_flight_us",
            "total_bytes",
            "bandwidth_gb_per_sec",
            "call_site",
        ],
        TableName::Devices => &[
            "device_name",
            "device_type",
            "utilization_percent",
            "actual_busy_time_us",
            "total_time_us",
            "kernel_count",
            "total_gaps",
            "max_gap_us",
        ],
        TableName::Arguments => &["argument", "shape", "bytes_per_device", "placement", "copies", "module"],
        TableName::ProgramMemory => &[
            "module",
            "memory_space",
            "peak_heap_bytes",
            "parameter_bytes",
            "output_bytes",
            "aliased_bytes",
            "temporary_bytes",
            "fragmentation_percent",
        ],
        TableName::Buffers => &[
            "buffer",
            "class",
            "scope",
            "source",
            "bytes",
            "peak_percent",
            "padding_bytes",
            "shape",
            "buffers",
            "largest",
        ],
        TableName::Allocators => &[
            "allocator",
            "host",
            "peak_bytes",
            "peak_percent",
            "capacity_bytes",
            "peak_time_us",
            "before_capture_bytes",
            "fragmentation_percent",
        ],
        TableName::Allocations => {
            &["allocator", "kind", "count", "bytes", "peak_percent", "time_us", "tf_op_name", "shape"]
        }
        TableName::MemoryTimeline => &[
            "allocator",
            "time_us",
            "activity",
            "allocation_bytes",
            "used_bytes",
            "available_bytes",
            "fragmentation_percent",
            "tf_op_name",
        ],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::columns_of;

    #[test]
    fn every_leading_column_exists_and_is_unique() {
        let mut count = 0;
        for name in TableName::ALL {
            let (columns, leading) = (columns_of(name), leading(name));
            for (at, key) in leading.iter().enumerate() {
                assert!(columns.iter().any(|column| column.key == *key), "{name:?} has no column {key}");
                assert!(!leading[..at].contains(key), "{name:?}: {key} stands twice");
                count += 1;
            }
        }
        assert!(count > 60, "{count}");
    }
}
