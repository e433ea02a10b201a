//! Every op under the roofs of its device, after the program as a whole: XProf's `roofline_model`, with its column ids.

use crate::table::{CellRef, Column, Rows, SharedColumn, SharedTexts, Unit};
use base::Ps;
use metrics::roofline::{Bound, Level, OpLabel, OpLabels, Point, Roofline, Work};
use metrics::{Context, Op, OpColumns, OpText, PROGRAM, Texts, rate};

/// A row, with what its cells are made from.
struct Row<'r, 'a> {
    table: &'r RooflineRows<'a>,
    /// Absent for the program.
    op: Option<&'a Op>,
    index: usize,
    work: Work,
}

/// What a column tells, and how.
struct Field {
    column: Column,
    value: Value,
}

/// How a cell is told.
enum Value {
    /// A text of the ops, and what the program has in its place.
    Text(OpText, &'static str),
    /// One of a few labels; of the program only what bounds it is told.
    Label(OpLabel),
    /// Anything else.
    Cell(for<'r, 'a> fn(&Row<'r, 'a>) -> CellRef<'a>),
}

const fn field(
    key: &'static str,
    title: &'static str,
    unit: Unit,
    cell: for<'r, 'a> fn(&Row<'r, 'a>) -> CellRef<'a>,
) -> Field {
    Field { column: Column { key, title, unit }, value: Value::Cell(cell) }
}

const fn text(key: &'static str, title: &'static str, program: &'static str, text: OpText) -> Field {
    Field { column: Column { key, title, unit: Unit::Text }, value: Value::Text(text, program) }
}

const fn label(key: &'static str, title: &'static str, label: OpLabel) -> Field {
    Field { column: Column { key, title, unit: Unit::Text }, value: Value::Label(label) }
}

const FIELDS: [Field; 40] = [
    field("rank", "Rank", Unit::Count, |row| CellRef::Int(row.index as u64)),
    text("category", "Category", PROGRAM, OpText::Category),
    text("operation", "Op", PROGRAM, OpText::Name),
    field("occurrences", "Count", Unit::Count, |row| CellRef::Int(row.occurrences())),
    field("total_time_us", "Total time", Unit::TimeUs, |row| CellRef::Float(row.work.time.as_us())),
    field("avg_time_us", "Mean time", Unit::TimeUs, |row| row.mean(row.work.time)),
    field("total_self_time_us", "Self time", Unit::TimeUs, |row| CellRef::Float(row.self_time().as_us())),
    field("avg_self_time_us", "Mean self time", Unit::TimeUs, |row| row.mean(row.self_time())),
    field("total_self_time_percent", "Share", Unit::Percent, |row| row.share(row.self_time())),
    field("cumulative_total_self_time_percent", "Cumulative share", Unit::Percent, |row| {
        row.share(
            row.index.checked_sub(1).and_then(|op| row.table.kept.cumulative().get(op)).copied().unwrap_or_default(),
        )
    }),
    field("dma_stall_percent", "Stalled by copies", Unit::Percent, |row| row.stall()),
    field("measured_flop_rate_gflops", "FLOP/s", Unit::GigaflopsPerSecond, |row| giga(row.work.flop_rate())),
    field("model_flop_rate_gflops", "Model FLOP/s", Unit::GigaflopsPerSecond, |row| {
        giga(row.work.model_flops.and_then(|flops| rate(flops, row.work.work_time)))
    }),
    field("peak_flop_rate_gflops", "Peak FLOP/s", Unit::GigaflopsPerSecond, |row| {
        giga(row.point().and_then(|point| point.peak_flop_rate))
    }),
    label("peak_data_type", "Peak of", OpLabel::PeakDataType),
    field("measured_memory_bw_gibps", "Memory", Unit::GibibytesPerSecond, |row| row.bandwidth(row.work.bytes)),
    field("hbm_bw_gibps", "HBM", Unit::GibibytesPerSecond, |row| row.level(Level::Hbm)),
    field("cmem_read_bw_gibps", "CMEM read", Unit::GibibytesPerSecond, |row| row.level(Level::CmemRead)),
    field("cmem_write_bw_gibps", "CMEM write", Unit::GibibytesPerSecond, |row| row.level(Level::CmemWrite)),
    field("vmem_read_bw_gibps", "VMEM read", Unit::GibibytesPerSecond, |row| row.level(Level::VmemRead)),
    field("vmem_write_bw_gibps", "VMEM write", Unit::GibibytesPerSecond, |row| row.level(Level::VmemWrite)),
    field("operational_intensity", "FLOPs/byte", Unit::FlopsPerByte, |row| CellRef::float(row.work.intensity())),
    field("hbm_operational_intensity", "FLOPs/byte of HBM", Unit::FlopsPerByte, |row| row.intensity(Level::Hbm)),
    field("cmem_read_operational_intensity", "of CMEM read", Unit::FlopsPerByte, |row| row.intensity(Level::CmemRead)),
    field("cmem_write_operational_intensity", "of CMEM write", Unit::FlopsPerByte, |row| {
        row.intensity(Level::CmemWrite)
    }),
    field("vmem_read_operational_intensity", "of VMEM read", Unit::FlopsPerByte, |row| row.intensity(Level::VmemRead)),
    field("vmem_write_operational_intensity", "of VMEM write", Unit::FlopsPerByte, |row| {
        row.intensity(Level::VmemWrite)
    }),
    field("bottleneck_operational_intensity", "FLOPs/byte of the bottleneck", Unit::FlopsPerByte, |row| {
        CellRef::float(row.point().and_then(|point| point.bottleneck_intensity))
    }),
    label("bound_by", "Bound by", OpLabel::BoundOrUnknown),
    field("total_time_per_core_us", "Time per device", Unit::TimeUs, |row| {
        let devices = row.table.context.analysis.devices.used.len().max(1);
        CellRef::Float(row.work.time.as_us() / devices as f64)
    }),
    field("total_time_in_percentage", "Share of total time", Unit::Percent, |row| row.share(row.work.time)),
    field("optimal_flop_rate_gflops", "FLOP/s at the roof", Unit::GigaflopsPerSecond, |row| {
        giga(row.point().and_then(|point| point.optimal_flop_rate))
    }),
    field("roofline_efficiency_percent", "Roofline efficiency", Unit::Percent, |row| {
        percent(row.point().and_then(|point| point.roofline_efficiency))
    }),
    field("compute_efficiency_percent", "Compute efficiency", Unit::Percent, |row| {
        percent(row.point().and_then(|point| point.compute_efficiency))
    }),
    field("max_mem_bw_utilization_percent", "Memory utilisation", Unit::Percent, |row| {
        percent(row.point().and_then(|point| point.max_mem_bw_utilization))
    }),
    label("data_type", "Type", OpLabel::DataType),
    label("cost_source", "Cost from", OpLabel::CostSource),
    text("tf_op_name", "Framework op", "", OpText::FrameworkPath),
    text("hlo_module_id", "Program", "", OpText::Program),
    text("source_info", "Source", "", OpText::Source),
];

/// The table of a run.
pub struct RooflineRows<'a> {
    context: Context<'a>,
    roofline: &'a Roofline,
    columns: Vec<Column>,
    kept: &'a OpColumns,
    labels: &'a OpLabels,
}

impl<'a> RooflineRows<'a> {
    /// The program and its ops by descending self time; empty where no op ran.
    pub fn new(context: &Context<'a>) -> RooflineRows<'a> {
        RooflineRows {
            context: *context,
            roofline: &context.analysis.roofline,
            columns: FIELDS.iter().map(|field| field.column).collect(),
            kept: context.analysis.columns(context.trace()),
            labels: context.analysis.labels(context.trace()),
        }
    }
}

impl RooflineRows<'_> {
    /// A label of the program's row.
    fn of_program(&self, label: OpLabel) -> Option<&'static str> {
        let point = self.roofline.program_point().filter(|_| label == OpLabel::BoundOrUnknown);
        point.map(|point| Bound::label(point.bound_by))
    }
}

impl Rows for RooflineRows<'_> {
    fn name(&self) -> &'static str {
        "roofline"
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn len(&self) -> usize {
        match self.context.analysis.ops.rows.len() {
            0 => 0,
            ops => ops + 1,
        }
    }

    fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
        let op = row.checked_sub(1).map(|row| self.context.analysis.ops.rows.get(row));
        let (Some(field), true) = (FIELDS.get(column), row < self.len()) else { return CellRef::Absent };
        let op = op.flatten();
        let work = op.map_or(self.roofline.program, Work::of);
        match field.value {
            Value::Label(label) => {
                let told = match row.checked_sub(1) {
                    Some(op) => self.labels.of_row(label, op),
                    None => self.of_program(label),
                };
                told.map_or(CellRef::Absent, CellRef::Text)
            }
            Value::Cell(cell) => cell(&Row { table: self, op, index: row, work }),
            Value::Text(text, program) => {
                let ops = &self.context.analysis.ops;
                CellRef::text(op.map_or(program, |op| ops.text(self.context.trace(), text.of(op))))
            }
        }
    }

    fn shared_texts(&self) -> SharedTexts<'_> {
        let texts = self.context.analysis.ops.texts.tables(self.context.trace());
        SharedTexts::new(texts.into_iter().chain([self.labels.labels().table()]))
    }

    fn shared_column(&self, column: usize) -> Option<SharedColumn<'_>> {
        let texts = &self.context.analysis.ops.texts;
        let trace = self.context.trace();
        let column = match FIELDS.get(column)?.value {
            Value::Text(text, program) => {
                let first = texts.find(trace, program).map(|program| Texts::number(trace, program));
                SharedColumn { first, rest: self.kept.texts(text) }
            }
            Value::Label(label) => {
                let first = self.of_program(label).and_then(|label| self.labels.labels().find(label));
                SharedColumn { first: first.or(Some(0)), rest: self.labels.column(label) }
            }
            Value::Cell(_) => return None,
        };
        (!self.is_empty()).then_some(column)
    }
}

impl<'a> Row<'_, 'a> {
    fn occurrences(&self) -> u64 {
        self.op.map_or(1, |op| op.occurrences)
    }

    fn self_time(&self) -> Ps {
        self.op.map_or(Ps::ZERO, |op| op.self_time)
    }

    fn mean(&self, time: Ps) -> CellRef<'a> {
        match self.occurrences() {
            0 => CellRef::Absent,
            count => CellRef::Float(time.as_us() / count as f64),
        }
    }

    fn share(&self, part: Ps) -> CellRef<'a> {
        let whole = self.table.roofline.program.time;
        percent((whole > Ps::ZERO).then(|| (part.as_ps() as f64 / whole.as_ps() as f64).min(1.0)))
    }

    fn stall(&self) -> CellRef<'a> {
        let stalled = self.op.and_then(|op| op.dma_stall).filter(|_| self.work.time > Ps::ZERO);
        percent(stalled.map(|stall| (stall.as_ps() as f64 / self.work.time.as_ps() as f64).min(1.0)))
    }

    fn point(&self) -> Option<Point> {
        match self.op {
            Some(op) => self.table.roofline.point(op),
            None => self.table.roofline.program_point(),
        }
    }

    fn bandwidth(&self, bytes: Option<f64>) -> CellRef<'a> {
        let speed = bytes.and_then(|bytes| rate(bytes, self.work.work_time));
        CellRef::float(speed.map(|speed| speed / (1u64 << 30) as f64))
    }

    fn level(&self, level: Level) -> CellRef<'a> {
        self.bandwidth(self.work.level(level))
    }

    fn intensity(&self, level: Level) -> CellRef<'a> {
        CellRef::float(self.work.level_intensity(level))
    }
}

fn giga<'a>(rate: Option<f64>) -> CellRef<'a> {
    CellRef::float(rate.map(|rate| rate * 1e-9))
}

fn percent<'a>(share: Option<f64>) -> CellRef<'a> {
    CellRef::float(share.map(|share| 100.0 * share))
}
