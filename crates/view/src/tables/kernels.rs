//! Kernel statistics, with XProf's column ids and our own columns behind them.

use crate::table::{CellRef, Column, Rows, SharedColumn, SharedTexts, Unit};
use metrics::{Context, KernelColumns, KernelStats, Text};
use trace::Trace;

const fn column(key: &'static str, title: &'static str, unit: Unit) -> Column {
    Column { key, title, unit }
}

const COLUMNS: [Column; 26] = [
    column("rank", "Rank", Unit::Count),
    column("kernel_name", "Kernel", Unit::Text),
    column("registers_per_thread", "Registers", Unit::Count),
    column("shmem_bytes", "Shared memory", Unit::Bytes),
    column("block_dim", "Block", Unit::Text),
    column("grid_dim", "Grid", Unit::Text),
    column("occupancy_pct", "Occupancy", Unit::Percent),
    column("is_op_tensor_core_eligible", "Tensor core eligible", Unit::Flag),
    column("is_kernel_using_tensor_core", "Tensor core used", Unit::Flag),
    column("op_name", "Framework op", Unit::Text),
    column("occurrences", "Count", Unit::Count),
    column("total_duration_us", "Total", Unit::TimeUs),
    column("avg_duration_us", "Mean", Unit::TimeUs),
    column("min_duration_us", "Shortest", Unit::TimeUs),
    column("max_duration_us", "Longest", Unit::TimeUs),
    column("time_percent", "Share", Unit::Percent),
    column("family", "Family", Unit::Text),
    column("short_name", "Short name", Unit::Text),
    column("hlo_op_name", "HLO op", Unit::Text),
    column("hlo_module", "Module", Unit::Text),
    column("data_type", "Data type", Unit::Text),
    column("launch_delay_us", "Launch delay", Unit::TimeUs),
    column("static_shmem_bytes", "Static shared memory", Unit::Bytes),
    column("dynamic_shmem_bytes", "Dynamic shared memory", Unit::Bytes),
    column("private_memory_bytes", "Private memory", Unit::Bytes),
    column("in_graph", "In a CUDA graph", Unit::Flag),
];

/// The kernels of a run, most time first.
pub struct KernelTable<'a> {
    trace: &'a Trace,
    stats: &'a KernelStats,
    kept: &'a KernelColumns,
    total_us: f64,
}

impl<'a> KernelTable<'a> {
    /// The table of `context`.
    pub fn new(context: &Context<'a>) -> KernelTable<'a> {
        let (trace, stats) = (context.trace(), &context.analysis.kernel_stats);
        let total_us = stats.all.map_or(0.0, |all| all.total.as_us());
        KernelTable { trace, stats, kept: context.analysis.kernel_columns(trace), total_us }
    }
}

impl Rows for KernelTable<'_> {
    fn name(&self) -> &'static str {
        "kernels"
    }

    fn columns(&self) -> &[Column] {
        &COLUMNS
    }

    fn len(&self) -> usize {
        self.stats.kernels.len()
    }

    fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
        let Some(kernel) = self.stats.kernels.get(row) else { return CellRef::Absent };
        let text = |text: Text| CellRef::text(self.stats.text(self.trace, text));
        let (shape, of) = (&kernel.shape, &kernel.occurrences);
        match COLUMNS.get(column).map_or("", |column| column.key) {
            "rank" => CellRef::Int(row as u64 + 1),
            "kernel_name" => text(kernel.name),
            "registers_per_thread" => CellRef::int(shape.registers_per_thread),
            "shmem_bytes" => CellRef::int(shape.shared_bytes()),
            "block_dim" => text(kernel.block),
            "grid_dim" => text(kernel.grid),
            "occupancy_pct" => CellRef::float(shape.occupancy_percent),
            "is_op_tensor_core_eligible" => CellRef::flag(kernel.tensor_core_eligible),
            "is_kernel_using_tensor_core" => CellRef::flag(kernel.uses_tensor_core),
            "op_name" => text(kernel.op_name),
            "occurrences" => CellRef::Int(of.count),
            "total_duration_us" => CellRef::Float(of.total.as_us()),
            "avg_duration_us" => CellRef::Float(of.mean_us()),
            "min_duration_us" => CellRef::Float(of.min.as_us()),
            "max_duration_us" => CellRef::Float(of.max.as_us()),
            "time_percent" => {
                let share = (self.total_us > 0.0).then(|| 100.0 * of.total.as_us() / self.total_us);
                CellRef::float(share)
            }
            "family" => CellRef::Text(kernel.family.label()),
            "short_name" => text(kernel.short_name),
            "hlo_op_name" => text(kernel.hlo_op),
            "hlo_module" => text(kernel.hlo_module),
            "data_type" => CellRef::text(kernel.data_type.unwrap_or("")),
            "launch_delay_us" => CellRef::float(of.delay_mean_us()),
            "static_shmem_bytes" => CellRef::int(shape.static_shared_bytes),
            "dynamic_shmem_bytes" => CellRef::int(shape.dynamic_shared_bytes),
            "private_memory_bytes" => CellRef::int(shape.private_bytes),
            "in_graph" => CellRef::Flag(kernel.in_graph),
            _ => CellRef::Absent,
        }
    }

    fn shared_texts(&self) -> SharedTexts<'_> {
        SharedTexts::new(self.stats.texts.tables(self.trace).into_iter().chain([self.kept.labels().table()]))
    }

    fn shared_column(&self, column: usize) -> Option<SharedColumn<'_>> {
        self.kept.texts(COLUMNS.get(column)?.key).map(SharedColumn::new)
    }
}
