//! Every op with its time and cost: XProf's `hlo_stats`, with its column ids where it has one.

use crate::table::{CellRef, Column, Rows, SharedColumn, SharedTexts, Unit};
use base::Ps;
use metrics::roofline::{OpLabel, OpLabels};
use metrics::{Context, Op, OpColumns, OpText, Ops, rate};
use trace::{MemoryBytes, Trace};

/// What a column tells, and how.
struct Field {
    column: Column,
    value: Value,
}

/// How a cell is told.
enum Value {
    /// A text of the ops.
    Text(OpText),
    /// One of a few labels.
    Label(OpLabel),
    /// Anything else.
    Cell(for<'a> fn(&OpRows<'a>, usize, &'a Op) -> CellRef<'a>),
}

const fn field(
    key: &'static str,
    title: &'static str,
    unit: Unit,
    cell: for<'a> fn(&OpRows<'a>, usize, &'a Op) -> CellRef<'a>,
) -> Field {
    Field { column: Column { key, title, unit }, value: Value::Cell(cell) }
}

const fn text(key: &'static str, title: &'static str, text: OpText) -> Field {
    Field { column: Column { key, title, unit: Unit::Text }, value: Value::Text(text) }
}

const fn label(key: &'static str, title: &'static str, label: OpLabel) -> Field {
    Field { column: Column { key, title, unit: Unit::Text }, value: Value::Label(label) }
}

const FIELDS: [Field; 37] = [
    field("rank", "Rank", Unit::Count, |_, row, _| CellRef::Int(row as u64 + 1)),
    text("hlo_op_name", "Op", OpText::Name),
    text("category", "Category", OpText::Category),
    field("total_self_time_us", "Self time", Unit::TimeUs, |rows, row, _| {
        CellRef::Float(rows.kept.time(row).0.as_us())
    }),
    field("total_self_time_percent", "Share", Unit::Percent, |rows, row, _| {
        share(rows.kept.time(row).0, rows.ops.device_time)
    }),
    field("busy_self_time_percent", "Share of busy time", Unit::Percent, |rows, row, _| {
        share(rows.kept.time(row).0, rows.ops.op_time)
    }),
    field("cumulative_total_self_time_percent", "Cumulative share", Unit::Percent, |rows, row, _| {
        rows.kept.cumulative().get(row).map_or(CellRef::Absent, |&sum| share(sum, rows.ops.device_time))
    }),
    field("occurrences", "Count", Unit::Count, |rows, row, _| CellRef::Int(rows.kept.time(row).1)),
    field("executions", "Executions", Unit::Count, |_, _, op| CellRef::Int(op.executions)),
    field("avg_self_time_us", "Mean self time", Unit::TimeUs, |rows, row, _| {
        let (time, occurrences) = rows.kept.time(row);
        mean(time, occurrences)
    }),
    field("total_time_us", "Total time", Unit::TimeUs, |_, _, op| CellRef::Float(op.total.as_us())),
    field("avg_time_us", "Mean time", Unit::TimeUs, |_, _, op| mean(op.total, op.occurrences)),
    field("min_time_us", "Shortest", Unit::TimeUs, |_, _, op| CellRef::Float(op.min.as_us())),
    field("max_time_us", "Longest", Unit::TimeUs, |_, _, op| CellRef::Float(op.max.as_us())),
    field("dma_stall_percent", "Stalled by copies", Unit::Percent, |_, _, op| {
        op.dma_stall.map_or(CellRef::Absent, |stall| share(stall, op.total))
    }),
    label("bound_by", "Bound by", OpLabel::Bound),
    field("measured_flop_rate_gflops", "FLOP/s", Unit::GigaflopsPerSecond, |_, _, op| giga(op.flops_per_second())),
    field("model_flop_rate_gflops", "Model FLOP/s", Unit::GigaflopsPerSecond, |_, _, op| {
        giga(op.model_flops_per_second())
    }),
    field("measured_memory_bw_gibps", "Memory", Unit::GibibytesPerSecond, |_, _, op| gibi(op.bytes_per_second())),
    field("hbm_bw_gibps", "HBM", Unit::GibibytesPerSecond, |_, _, op| gibi(op.hbm_bytes_per_second())),
    field("cmem_read_bw_gibps", "CMEM read", Unit::GibibytesPerSecond, |_, _, op| memory(op, |it| it.cmem_read)),
    field("cmem_write_bw_gibps", "CMEM write", Unit::GibibytesPerSecond, |_, _, op| memory(op, |it| it.cmem_write)),
    field("vmem_read_bw_gibps", "VMEM read", Unit::GibibytesPerSecond, |_, _, op| memory(op, |it| it.vmem_read)),
    field("vmem_write_bw_gibps", "VMEM write", Unit::GibibytesPerSecond, |_, _, op| memory(op, |it| it.vmem_write)),
    field("operational_intensity", "FLOPs/byte", Unit::FlopsPerByte, |_, _, op| CellRef::float(op.intensity())),
    field("flops", "FLOPs", Unit::Flops, |_, _, op| CellRef::float(op.flops)),
    field("bytes_accessed", "Bytes", Unit::Bytes, |_, _, op| CellRef::float(op.bytes)),
    label("data_type", "Type", OpLabel::DataType),
    label("cost_source", "Cost from", OpLabel::CostSource),
    field("hlo_rematerialization", "Rematerialised", Unit::Flag, |_, _, op| CellRef::flag(op.rematerialized)),
    text("tf_op_name", "Framework op", OpText::FrameworkPath),
    text("source_info", "Source", OpText::Source),
    text("program_id", "Program", OpText::Program),
    text("hlo_module", "Module", OpText::Module),
    field("num_devices", "Devices", Unit::Count, |_, _, op| CellRef::Int(u64::from(op.devices))),
    text("hlo_op_expression", "Expression", OpText::Expression),
    text("sharding", "Sharding", OpText::Sharding),
];

/// The table of a run.
pub struct OpRows<'a> {
    trace: &'a Trace,
    ops: &'a Ops,
    columns: Vec<Column>,
    kept: &'a OpColumns,
    labels: &'a OpLabels,
}

impl<'a> OpRows<'a> {
    /// The ops of a run, by descending self time.
    pub fn new(context: &Context<'a>) -> OpRows<'a> {
        OpRows {
            trace: context.trace(),
            ops: &context.analysis.ops,
            columns: FIELDS.iter().map(|field| field.column).collect(),
            kept: context.analysis.columns(context.trace()),
            labels: context.analysis.labels(context.trace()),
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
        match (self.ops.rows.get(row), FIELDS.get(column)) {
            (Some(op), Some(Field { value: Value::Text(text), .. })) => {
                CellRef::text(self.ops.text(self.trace, text.of(op)))
            }
            (Some(_), Some(Field { value: Value::Label(label), .. })) => {
                self.labels.of_row(*label, row).map_or(CellRef::Absent, CellRef::Text)
            }
            (Some(op), Some(Field { value: Value::Cell(cell), .. })) => cell(self, row, op),
            _ => CellRef::Absent,
        }
    }

    fn shared_texts(&self) -> SharedTexts<'_> {
        SharedTexts::new(self.ops.texts.tables(self.trace).into_iter().chain([self.labels.labels().table()]))
    }

    fn shared_column(&self, column: usize) -> Option<SharedColumn<'_>> {
        match &FIELDS.get(column)?.value {
            Value::Text(text) => Some(SharedColumn::new(self.kept.texts(*text))),
            Value::Label(label) => Some(SharedColumn::new(self.labels.column(*label))),
            Value::Cell(_) => None,
        }
    }
}

fn mean<'a>(time: Ps, occurrences: u64) -> CellRef<'a> {
    if occurrences == 0 { CellRef::Absent } else { CellRef::Float(time.as_us() / occurrences as f64) }
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

/// Bytes a second of one memory and direction.
fn memory<'a>(op: &Op, bytes: fn(&MemoryBytes) -> i64) -> CellRef<'a> {
    gibi(op.memory.as_ref().and_then(|memory| rate(op.of_all(bytes(memory)), op.work_time())))
}

#[cfg(test)]
mod tests {
    use crate::table::{CellRef, Filter, Query, Sort, Table, Unit, query};
    use crate::tables::{self, TableName};
    use metrics::{Analysis, Context, Run, Settings};
    use trace::TraceBuilder;

    /// Tables whose texts are shared answer as those with texts of their own, which is how small ones are.
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
        let analysis = Analysis::new(&run, &settings);
        let context = Context { run: &run, analysis: &analysis };
        for name in [TableName::Ops, TableName::Roofline, TableName::Kernels, TableName::OpTree] {
            let rows = tables::rows(&context, name, "");
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
