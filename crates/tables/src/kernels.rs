//! Table of kernel statistics: columns with XProf's ids, followed by crossprof's own columns.

use crate::record::{Made, TableRecord};
use crate::shown::{RowKey, Shown};
use metrics::{Context, KernelColumns, KernelRow, KernelStats, Text};
use table::{CellRef, Column, Rows, SharedColumn, SharedTexts, Unit, column, columns};
use trace::Trace;

pub(super) const TABLE: TableRecord = TableRecord {
    shown: Shown {
        leading: &[
            "kernel_name",
            "total_duration_us",
            "time_percent",
            "occurrences",
            "avg_duration_us",
            "family",
            "hlo_op_name",
            "occupancy_pct",
        ],
        row_keys: &[RowKey::new("hlo_op_name", &["hlo_op_name", "kernel_name"])],
        ..Shown::WHOLE
    },
    ..TableRecord::new(
        "kernels",
        || columns(&COLUMNS),
        Made::Events(|context, _| Box::new(KernelTable::new(context)), None),
    )
};

/// Kernel with its index in the table.
pub(super) struct PlacedKernel<'a> {
    row: usize,
    kernel: &'a KernelRow,
}

type CellOf = for<'t> fn(&'t KernelTable<'t>, &PlacedKernel<'t>) -> CellRef<'t>;

pub(super) static COLUMNS: [(Column, CellOf); 26] = [
    (column("rank", "Rank", Unit::Count, "Rank by total time, from 1.").xprof("rank"), |_, it| {
        CellRef::Int(it.row as u64 + 1)
    }),
    (
        column("kernel_name", "Kernel", Unit::Text, "Name, demangled.")
            .caveat("Mangled C++ names are demangled (like c++filt); XProf shows them mangled.")
            .xprof("kernel_name"),
        |table, it| table.text(it.kernel.name),
    ),
    (
        column("registers_per_thread", "Registers", Unit::Count, "Number of registers per thread.")
            .source("As recorded by the collector.")
            .xprof("registers_per_thread"),
        |_, it| CellRef::int(it.kernel.shape.registers_per_thread),
    ),
    (
        column(
            "shmem_bytes",
            "Shared memory",
            Unit::Bytes,
            "Static plus dynamic shared memory per block; `group_mem` on ROCm.",
        )
        .xprof("shmem_bytes"),
        |_, it| CellRef::int(it.kernel.shape.shared_bytes()),
    ),
    (
        column("block_dim", "Block", Unit::Text, "Number of threads per block, `x,y,z`.").xprof("block_dim"),
        |table, it| table.text(it.kernel.block),
    ),
    (column("grid_dim", "Grid", Unit::Text, "Blocks, `x,y,z`.").xprof("grid_dim"), |table, it| {
        table.text(it.kernel.grid)
    }),
    (
        column(
            "occupancy_pct",
            "Occupancy",
            Unit::Percent,
            "Share of a multiprocessor's threads that can be resident with these resources: an upper bound, \
             not a measurement.",
        )
        .xprof("occupancy_pct"),
        |_, it| CellRef::float(it.kernel.shape.occupancy_percent),
    ),
    (
        column(
            "is_op_tensor_core_eligible",
            "Tensor core eligible",
            Unit::Flag,
            "True if the framework op is a matrix product or convolution, or if one of its kernels uses tensor \
                cores.",
        )
        .xprof("is_op_tensor_core_eligible"),
        |_, it| CellRef::flag(it.kernel.tensor_core_eligible),
    ),
    (
        column(
            "is_kernel_using_tensor_core",
            "Tensor core used",
            Unit::Flag,
            "True if the kernel uses tensor cores (matrix cores on AMD), according to its name.",
        )
        .xprof("is_kernel_using_tensor_core"),
        |_, it| CellRef::flag(it.kernel.uses_tensor_core),
    ),
    (
        column(
            "op_name",
            "Framework op",
            Unit::Text,
            "Framework op of the HLO instruction (empty if it has none, as in XProf). Without HLO, the framework \
                op that the event records.",
        )
        .xprof("op_name"),
        |table, it| table.text(it.kernel.op_name),
    ),
    (
        column("occurrences", "Count", Unit::Count, "Number of executions.")
            .caveat("Excludes executions without a duration, as in XProf.")
            .xprof("occurrences"),
        |_, it| CellRef::Int(it.kernel.occurrences.count),
    ),
    (column("total_duration_us", "Total", Unit::TimeUs, "Sum of durations.").xprof("total_duration_us"), |_, it| {
        CellRef::Float(it.kernel.occurrences.total.as_us())
    }),
    (column("avg_duration_us", "Mean", Unit::TimeUs, "Mean duration.").xprof("avg_duration_us"), |_, it| {
        CellRef::Float(it.kernel.occurrences.mean_us())
    }),
    (column("min_duration_us", "Shortest", Unit::TimeUs, "Shortest duration.").xprof("min_duration_us"), |_, it| {
        CellRef::Float(it.kernel.occurrences.min.as_us())
    }),
    (column("max_duration_us", "Longest", Unit::TimeUs, "Longest duration.").xprof("max_duration_us"), |_, it| {
        CellRef::Float(it.kernel.occurrences.max.as_us())
    }),
    (column("time_percent", "Share of kernel time", Unit::Percent, "Share of all kernels' time."), |table, it| {
        let share = (table.total_us > 0.0).then(|| 100.0 * it.kernel.occurrences.total.as_us() / table.total_us);
        CellRef::float(share)
    }),
    (Column::of_field("family", "Family", Unit::Text, "kernel_statistics.families[].family"), |_, it| {
        CellRef::Text(it.kernel.family.label())
    }),
    (column("short_name", "Short name", Unit::Text, "Name without types and arguments."), |table, it| {
        table.text(it.kernel.short_name)
    }),
    (
        column(
            "hlo_op_name",
            "HLO op",
            Unit::Text,
            "HLO instruction of the kernel. If several instructions of one framework op ran the kernel, the first of \
                these instructions.",
        ),
        |table, it| table.text(it.kernel.hlo_op),
    ),
    (column("hlo_module", "Module", Unit::Text, "Module of the HLO instruction."), |table, it| {
        table.text(it.kernel.hlo_module)
    }),
    (
        column(
            "data_type",
            "Data type",
            Unit::Text,
            "Data type of the first operand of a matrix product. For other ops, the data type of the result.",
        )
        .source("The HLO or, without HLO, the kernel's name. `tf32` comes only from the name."),
        |_, it| CellRef::text(it.kernel.data_type.unwrap_or("")),
    ),
    (
        column(
            "launch_delay_us",
            "Launch delay",
            Unit::TimeUs,
            "Mean time from the end of the launch call to the start of the kernel.",
        )
        .caveat("Excludes graph kernels."),
        |_, it| CellRef::float(it.kernel.occurrences.delay_mean_us()),
    ),
    (
        column(
            "static_shmem_bytes",
            "Static shared memory",
            Unit::Bytes,
            "Static shared memory, declared by the \
            kernel.",
        ),
        |_, it| CellRef::int(it.kernel.shape.static_shared_bytes),
    ),
    (
        column(
            "dynamic_shmem_bytes",
            "Dynamic shared memory",
            Unit::Bytes,
            "Dynamic shared memory, added by the \
            launch.",
        ),
        |_, it| CellRef::int(it.kernel.shape.dynamic_shared_bytes),
    ),
    (column("private_memory_bytes", "Private memory", Unit::Bytes, "Scratch memory per thread (ROCm)."), |_, it| {
        CellRef::int(it.kernel.shape.private_bytes)
    }),
    (column("in_graph", "In a CUDA graph", Unit::Flag, "True if a CUDA graph launched the kernel."), |_, it| {
        CellRef::Flag(it.kernel.in_graph)
    }),
];

/// Kernels of a run, sorted by time, largest first.
pub(crate) struct KernelTable<'a> {
    trace: &'a Trace,
    stats: &'a KernelStats,
    kept: &'a KernelColumns,
    total_us: f64,
    columns: Vec<Column>,
}

impl<'a> KernelTable<'a> {
    /// Creates the table for `context`.
    pub(crate) fn new(context: &Context<'a>) -> KernelTable<'a> {
        let (trace, stats) = (context.trace(), &context.analysis.kernel_stats);
        let total_us = stats.all.map_or(0.0, |all| all.total.as_us());
        KernelTable { trace, stats, kept: context.kernel_columns(), total_us, columns: columns(&COLUMNS) }
    }

    fn text(&self, text: Text) -> CellRef<'_> {
        CellRef::text(self.stats.text(self.trace, text))
    }
}

impl Rows for KernelTable<'_> {
    fn name(&self) -> &'static str {
        "kernels"
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.stats.kernels.len()
    }

    fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
        match (self.stats.kernels.get(row), COLUMNS.get(column)) {
            (Some(kernel), Some((_, cell))) => cell(self, &PlacedKernel { row, kernel }),
            _ => CellRef::Absent,
        }
    }

    fn shared_texts(&self) -> SharedTexts<'_> {
        SharedTexts::new(self.stats.texts.tables(self.trace).into_iter().chain([self.kept.labels().table()]))
    }

    fn shared_column(&self, column: usize) -> Option<SharedColumn<'_>> {
        self.kept.texts(COLUMNS.get(column)?.0.key).map(SharedColumn::new)
    }
}
