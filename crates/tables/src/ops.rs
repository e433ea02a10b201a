//! Table of every op with its time and cost: XProf's `hlo_stats`, with XProf's column ids for the columns that XProf has.

use super::op_columns;
use crate::record::{Made, TableRecord};
use crate::shown::{RowKey, Shown};
use base::Ps;
use metrics::roofline::{OpLabel, OpLabels};
use metrics::{Context, Op, OpColumns, OpText, Ops, rate};
use table::{CellRef, Column, Rows, SharedColumn, SharedTexts, Unit, column, columns};
use trace::{MemoryBytes, Trace};

pub(super) const TABLE: TableRecord = TableRecord {
    shown: Shown {
        leading: &[
            "hlo_op_name",
            "category",
            "total_self_time_us",
            "busy_self_time_percent",
            "executions",
            "execution_self_time_us",
            "bound_by",
            "source_info",
        ],
        row_keys: &[RowKey::new("hlo_op_name", &["hlo_op_name"])],
        ..Shown::WHOLE
    },
    ..TableRecord::new("ops", || columns(&COLUMNS), Made::Events(|context, _| Box::new(OpRows::new(context)), None))
};

/// Source of a cell.
pub(super) enum OpValue {
    Text(OpText),
    /// Label from a short list.
    Label(OpLabel),
    /// Any other cell.
    Cell(for<'a> fn(&OpRows<'a>, usize, &'a Op) -> CellRef<'a>),
}

pub(super) static COLUMNS: [(Column, OpValue); 39] = [
    (
        column("rank", "Rank", Unit::Count, "Rank by self time, from 1.").xprof("rank"),
        OpValue::Cell(|_, row, _| CellRef::Int(row as u64 + 1)),
    ),
    (
        column(
            "hlo_op_name",
            "Op",
            Unit::Text,
            "Name of the HLO instruction, or of the kernel if there is no instruction.",
        )
        .xprof("hlo_op_name"),
        OpValue::Text(OpText::Name),
    ),
    (
        column("category", "Category", Unit::Text, "XLA's category of the op.").xprof("category"),
        OpValue::Text(OpText::Category),
    ),
    (
        column(
            "family",
            "Family",
            Unit::Text,
            "Kind of work: `matmul`, `convolution`, `attention`, `elementwise`, `reduction`, `other_compute`, \
                `communication` or `data_movement`.",
        )
        .caveat(
            "For custom calls, derived from the name of the kernel or of the function that calls it, if \
            possible.",
        ),
        OpValue::Label(OpLabel::Family),
    ),
    (
        column(
            "total_self_time_us",
            "Self time",
            Unit::TimeUs,
            "Time during which the op runs and no op that started later runs on the same line, summed over devices.",
        )
        .bound()
        .xprof("total_self_time"),
        OpValue::Cell(|rows, row, _| CellRef::Float(rows.kept.time(row).0.as_us())),
    ),
    (
        column(
            "total_self_time_percent",
            "Share of measured time",
            Unit::Percent,
            "Self time as a share of device time, including idle time.",
        )
        .xprof("total_self_time_percent"),
        OpValue::Cell(|rows, row, _| share(rows.kept.time(row).0, rows.ops.device_time)),
    ),
    (
        column(
            "busy_self_time_percent",
            "Share of busy time",
            Unit::Percent,
            "Self time as a share of busy time, which is the self time of all ops.",
        ),
        OpValue::Cell(|rows, row, _| share(rows.kept.time(row).0, rows.ops.op_time)),
    ),
    (
        column(
            "cumulative_total_self_time_percent",
            "Cumulative share of measured time",
            Unit::Percent,
            "Self time of this row and the rows above it, as a share of device time.",
        )
        .xprof("cumulative_total_self_time_percent"),
        OpValue::Cell(|rows, row, _| {
            rows.kept.cumulative().get(row).map_or(CellRef::Absent, |&sum| share(sum, rows.ops.device_time))
        }),
    ),
    (
        column(
            "occurrences",
            "Events",
            Unit::Count,
            "Number of events of the op. On GPUs, these events are kernels, and an execution may launch several \
                kernels.",
        )
        .xprof("occurrences"),
        OpValue::Cell(|rows, row, _| CellRef::Int(rows.kept.time(row).1)),
    ),
    (
        column("executions", "Executions", Unit::Count, "Number of executions of the instruction.").caveat(
            "A GPU library call may launch several kernels. On CPUs, an instruction may have several events: a \
                sort has one for copying and one for sorting.",
        ),
        OpValue::Cell(|_, _, op| CellRef::Int(op.executions)),
    ),
    (
        column(
            "execution_self_time_us",
            "Time per execution",
            Unit::TimeUs,
            "Mean self time per execution, summed over the kernels that the execution launches.",
        )
        .bound(),
        OpValue::Cell(|rows, row, op| mean(rows.kept.time(row).0, op.executions)),
    ),
    (
        column("avg_self_time_us", "Mean self time", Unit::TimeUs, "Mean self time per event (per kernel on GPUs).")
            .bound()
            .xprof("avg_self_time"),
        OpValue::Cell(|rows, row, _| {
            let (time, occurrences) = rows.kept.time(row);
            mean(time, occurrences)
        }),
    ),
    (
        column("total_time_us", "Total time", Unit::TimeUs, "Summed durations.").bound().xprof("total_time"),
        OpValue::Cell(|_, _, op| CellRef::Float(op.total.as_us())),
    ),
    (
        column("avg_time_us", "Mean time", Unit::TimeUs, "Mean duration per event (per kernel on GPUs).")
            .bound()
            .xprof("avg_time"),
        OpValue::Cell(|_, _, op| mean(op.total, op.occurrences)),
    ),
    (
        column("min_time_us", "Shortest", Unit::TimeUs, "Shortest duration."),
        OpValue::Cell(|_, _, op| CellRef::Float(op.min.as_us())),
    ),
    (
        column("max_time_us", "Longest", Unit::TimeUs, "Longest duration."),
        OpValue::Cell(|_, _, op| CellRef::Float(op.max.as_us())),
    ),
    (
        op_columns::DMA_STALL,
        OpValue::Cell(|_, _, op| op.dma_stall.map_or(CellRef::Absent, |stall| share(stall, op.total))),
    ),
    (
        column(
            "bound_by",
            "Bound by",
            Unit::Text,
            "Limit that the op comes closest to: `Compute` (the peak of the arithmetic units) or the bandwidth of \
                a memory (`HBM` is the device's main memory). `Host link` for copies to and from the host.",
        )
        .caveat(
            "Absent for an elementwise op of a GPU that uses less than 35 % of the memory bandwidth, because the cost of its \
             arithmetic is unknown. See [Roofline](#roofline). XProf shows `HBM` for copies between the memories of device and \
             host.",
        )
        .xprof("bound_by"),
        OpValue::Label(OpLabel::Bound),
    ),
    (
        column(
            "measured_flop_rate_gflops",
            "FLOP/s",
            Unit::GigaflopsPerSecond,
            "FLOPs divided by the summed \
            durations.",
        )
        .caveat(
            "Uses total time instead of self time, like XProf. For asynchronous pairs, the time from start to end is \
                used.",
        )
        .xprof("normalized_flop_rate"),
        OpValue::Cell(|_, _, op| giga(op.flops_per_second())),
    ),
    (op_columns::MODEL_FLOP_RATE, OpValue::Cell(|_, _, op| giga(op.model_flops_per_second()))),
    (op_columns::MEMORY_BANDWIDTH, OpValue::Cell(|_, _, op| gibi(op.bytes_per_second()))),
    (op_columns::HBM_BANDWIDTH, OpValue::Cell(|_, _, op| gibi(op.hbm_bytes_per_second()))),
    (op_columns::CMEM_READ_BANDWIDTH, OpValue::Cell(|_, _, op| memory(op, |it| it.cmem_read))),
    (op_columns::CMEM_WRITE_BANDWIDTH, OpValue::Cell(|_, _, op| memory(op, |it| it.cmem_write))),
    (op_columns::VMEM_READ_BANDWIDTH, OpValue::Cell(|_, _, op| memory(op, |it| it.vmem_read))),
    (op_columns::VMEM_WRITE_BANDWIDTH, OpValue::Cell(|_, _, op| memory(op, |it| it.vmem_write))),
    (op_columns::INTENSITY, OpValue::Cell(|_, _, op| CellRef::float(op.intensity()))),
    (
        column("flops", "FLOPs", Unit::Flops, "FLOPs of all executions."),
        OpValue::Cell(|_, _, op| CellRef::float(op.flops)),
    ),
    (
        column("bytes_accessed", "Bytes", Unit::Bytes, "Bytes read and written by all executions.").real(),
        OpValue::Cell(|_, _, op| CellRef::float(op.bytes)),
    ),
    (op_columns::DATA_TYPE, OpValue::Label(OpLabel::DataType)),
    (op_columns::COST_SOURCE, OpValue::Label(OpLabel::CostSource)),
    (
        column(
            "hlo_rematerialization",
            "Rematerialised",
            Unit::Flag,
            "True if the op is computed again: `.remat` in the name or `rematted_computation` in the path.",
        )
        .xprof("hlo_rematerialization"),
        OpValue::Cell(|_, _, op| CellRef::flag(op.rematerialized)),
    ),
    (
        column("tf_op_name", "Framework op", Unit::Text, "Path of the framework op.")
            .caveat("For a GPU op, the path comes from its instruction, even if the kernel's event has none.")
            .xprof("tf_op_name"),
        OpValue::Text(OpText::FrameworkPath),
    ),
    (op_columns::SOURCE, OpValue::Text(OpText::Source)),
    (
        column("program_id", "Program", Unit::Text, "Number of the program, as an unsigned decimal.")
            .xprof("program_id"),
        OpValue::Text(OpText::Program),
    ),
    (column("hlo_module", "Module", Unit::Text, "Module of the program."), OpValue::Text(OpText::Module)),
    (
        column("num_devices", "Devices", Unit::Count, "Number of devices that the op ran on."),
        OpValue::Cell(|_, _, op| CellRef::Int(u64::from(op.devices))),
    ),
    (
        column("hlo_op_expression", "Expression", Unit::Text, "Instruction as HLO text.").xprof("hlo_op_expression"),
        OpValue::Text(OpText::Expression),
    ),
    (
        column("sharding", "Sharding", Unit::Text, "Distribution of the result over devices, as HLO text.")
            .caveat("Empty if the program does not record the distribution, as for most ops of a partitioned program."),
        OpValue::Text(OpText::Sharding),
    ),
];

/// Table of a run.
pub(crate) struct OpRows<'a> {
    trace: &'a Trace,
    ops: &'a Ops,
    columns: Vec<Column>,
    kept: &'a OpColumns,
    labels: &'a OpLabels,
}

impl<'a> OpRows<'a> {
    /// Creates the table of a run, sorted by self time, largest first.
    pub(crate) fn new(context: &Context<'a>) -> OpRows<'a> {
        OpRows {
            trace: context.trace(),
            ops: &context.analysis.ops,
            columns: columns(&COLUMNS),
            kept: context.columns(),
            labels: context.labels(),
        }
    }
}

impl Rows for OpRows<'_> {
    fn name(&self) -> &'static str {
        "ops"
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.ops.rows.len()
    }

    fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
        match (self.ops.rows.get(row), COLUMNS.get(column)) {
            (Some(op), Some((_, OpValue::Text(text)))) => CellRef::text(self.ops.text(self.trace, text.of(op))),
            (Some(_), Some((_, OpValue::Label(label)))) => {
                self.labels.of_row(*label, row).map_or(CellRef::Absent, CellRef::Text)
            }
            (Some(op), Some((_, OpValue::Cell(cell)))) => cell(self, row, op),
            _ => CellRef::Absent,
        }
    }

    fn shared_texts(&self) -> SharedTexts<'_> {
        SharedTexts::new(self.ops.texts.tables(self.trace).into_iter().chain([self.labels.labels().table()]))
    }

    fn shared_column(&self, column: usize) -> Option<SharedColumn<'_>> {
        match &COLUMNS.get(column)?.1 {
            OpValue::Text(text) => Some(SharedColumn::new(self.kept.texts(*text))),
            OpValue::Label(label) => Some(SharedColumn::new(self.labels.column(*label))),
            OpValue::Cell(_) => None,
        }
    }
}

fn mean<'a>(time: Ps, count: u64) -> CellRef<'a> {
    if count == 0 { CellRef::Absent } else { CellRef::Float(time.as_us() / count as f64) }
}

fn share<'a>(part: Ps, whole: Ps) -> CellRef<'a> {
    if whole <= Ps::ZERO {
        return CellRef::Absent;
    }
    CellRef::Float((100.0 * part.as_ps() as f64 / whole.as_ps() as f64).min(100.0))
}

fn giga<'a>(rate: Option<f64>) -> CellRef<'a> {
    CellRef::float(rate.map(|rate| rate * 1e-9))
}

fn gibi<'a>(rate: Option<f64>) -> CellRef<'a> {
    CellRef::float(rate.map(|rate| rate / (1u64 << 30) as f64))
}

/// Returns the bytes per second of one memory and direction.
fn memory<'a>(op: &Op, bytes: fn(&MemoryBytes) -> i64) -> CellRef<'a> {
    gibi(op.memory.as_ref().and_then(|memory| rate(op.of_all(bytes(memory)), op.work_time())))
}

#[cfg(test)]
mod tests {
    use crate::TableName;
    use metrics::analyse;
    use run::{Run, Settings};
    use table::{CellRef, Filter, Query, Sort, Table, Unit, query};
    use trace::TraceBuilder;

    /// A table with shared texts answers queries like a small table, in which each cell has its own
    /// text.
    #[test]
    fn shared_texts_answer_as_the_cells_do() {
        let mut b = TraceBuilder::new();
        let line = b.line("/device:TPU:0", "XLA Ops");
        b.event(line, "fusion.1", 0, 30).hlo_category("loop fusion").hlo_module("jit_f").tf_op("jit(f)/a/add");
        b.event(line, "copy.2", 40, 10).hlo_category("copy");
        b.event(line, "copy.3", 60, 10).hlo_category("copy").tf_op("jit(f)/b/copy");
        b.event(line, "Program", 80, 5).hlo_category("copy").tf_op("jit(f)/b/copy");
        let run = Run { trace: b.build(), ..Run::default() };
        let settings = Settings { device: Some("tpu-v5e".to_owned()), ..Settings::default() };
        let examined = analyse(&run, &settings);
        let context = examined.context(&run);
        for name in [TableName::Ops, TableName::Roofline, TableName::Kernels, TableName::OpTree] {
            let rows = crate::rows(&context, name, "");
            assert!(rows.len() >= 4);
            let texts = rows.shared_texts();
            let cell = |row: usize, column: usize| rows.cell(row, column).to_cell();
            let all = |row: usize| (0..rows.columns().len()).map(|column| cell(row, column)).collect();
            let own = Table::new("own", rows.columns().to_vec(), (0..rows.len()).map(all).collect());
            for (at, column) in rows.columns().iter().enumerate() {
                if let Some(shared) = rows.shared_column(at) {
                    let text = |row: usize| CellRef::text(texts.get(shared.number(row) as usize));
                    assert!((0..rows.len()).all(|row| text(row) == rows.cell(row, at)), "{name:?} {}", column.key);
                }
                assert!(column.unit != Unit::Text || rows.shared_column(at).is_some(), "{name:?} {}", column.key);
                for sort in [column.key.to_owned(), format!("-{}", column.key)] {
                    for top in [None, Some(1), Some(3)] {
                        let asked = Query { sort: Some(Sort::parse(&sort)), top, ..Query::default() };
                        assert_eq!(query(&*rows, &asked).rows, query(&own, &asked).rows, "{name:?} {sort} {top:?}");
                    }
                }
            }
            for filter in ["copy", "program", "-jit", "category=copy", "hlo_op_name:O", "data", "hbm", "kernel_name:1"]
            {
                let filter = Filter::parse(filter);
                assert_eq!(filter.passing(&*rows), filter.passing(&own), "{name:?} {filter:?}");
            }
        }
    }
}
