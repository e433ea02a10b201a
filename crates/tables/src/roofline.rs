//! Table of the program as a whole and of every op, on the roofline of the device: XProf's `roofline_model`, with its
//! column ids.

use super::op_columns;
use crate::record::{Made, TableRecord};
use crate::shown::{RowKey, Shown};
use base::Ps;
use metrics::roofline::{Bound, Level, OpLabel, OpLabels, Point, Roofline, Work};
use metrics::{Context, Op, OpColumns, OpText, PROGRAM, Texts, rate};
use table::{CellRef, Column, Rows, SharedColumn, SharedTexts, Unit, column, columns};

pub(super) const TABLE: TableRecord = TableRecord {
    shown: Shown {
        leading: &[
            "operation",
            "category",
            "total_self_time_us",
            "bound_by",
            "roofline_efficiency_percent",
            "measured_flop_rate_gflops",
            "measured_memory_bw_gibps",
            "operational_intensity",
        ],
        row_keys: &[RowKey::new("hlo_op_name", &["operation"])],
        ..Shown::WHOLE
    },
    ..TableRecord::new(
        "roofline",
        || columns(&COLUMNS),
        Made::Events(|context, _| Box::new(RooflineRows::new(context)), None),
    )
};

/// Row with the data for its cells.
pub(super) struct RooflineRow<'r, 'a> {
    table: &'r RooflineRows<'a>,
    /// Absent for the program.
    op: Option<&'a Op>,
    index: usize,
    work: Work,
}

/// Source of a cell.
pub(super) enum RooflineValue {
    /// Text of an op, and the text of the program in its place.
    Text(OpText, &'static str),
    /// Label from a short list. The program has only the label of its bound.
    Label(OpLabel),
    /// Any other cell.
    Cell(for<'r, 'a> fn(&RooflineRow<'r, 'a>) -> CellRef<'a>),
}

pub(super) static COLUMNS: [(Column, RooflineValue); 40] = [
    (
        column("rank", "Rank", Unit::Count, "Rank by self time. 0 for the program.").xprof("rank"),
        RooflineValue::Cell(|row| CellRef::Int(row.index as u64)),
    ),
    (
        column("category", "Category", Unit::Text, "XLA's category.").xprof("category"),
        RooflineValue::Text(OpText::Category, PROGRAM),
    ),
    (column("operation", "Op", Unit::Text, "The op.").xprof("operation"), RooflineValue::Text(OpText::Name, PROGRAM)),
    (
        column("occurrences", "Events", Unit::Count, "Number of events of the op (kernels on GPUs).")
            .xprof("occurrences"),
        RooflineValue::Cell(|row| CellRef::Int(row.occurrences())),
    ),
    (
        column(
            "total_time_us",
            "Total time",
            Unit::TimeUs,
            "Sum of durations. For the program, the sum of the windows of all devices.",
        )
        .bound()
        .xprof("total_time"),
        RooflineValue::Cell(|row| CellRef::Float(row.work.time.as_us())),
    ),
    (
        column("avg_time_us", "Mean time", Unit::TimeUs, "Mean duration per event (per kernel on GPUs).")
            .bound()
            .xprof("avg_time"),
        RooflineValue::Cell(|row| row.mean(row.work.time)),
    ),
    (
        column(
            "total_self_time_us",
            "Self time",
            Unit::TimeUs,
            "Time during which the op runs and no op that started later runs on the same line.",
        )
        .bound()
        .xprof("total_self_time"),
        RooflineValue::Cell(|row| CellRef::Float(row.self_time().as_us())),
    ),
    (
        column("avg_self_time_us", "Mean self time", Unit::TimeUs, "Mean self time.").bound().xprof("avg_self_time"),
        RooflineValue::Cell(|row| row.mean(row.self_time())),
    ),
    (
        column(
            "total_self_time_percent",
            "Share of measured time",
            Unit::Percent,
            "Self time as a share of the program's time, including idle time.",
        )
        .caveat("XProf shows a fraction instead of a percentage.")
        .xprof("total_self_time_percent"),
        RooflineValue::Cell(|row| row.share(row.self_time())),
    ),
    (
        column(
            "cumulative_total_self_time_percent",
            "Cumulative share of measured time",
            Unit::Percent,
            "Sum of the self time shares of this row and the rows above.",
        )
        .caveat("XProf shows a fraction instead of a percentage.")
        .xprof("cumulative_total_self_time_percent"),
        RooflineValue::Cell(|row| {
            row.share(
                row.index
                    .checked_sub(1)
                    .and_then(|op| row.table.kept.cumulative().get(op))
                    .copied()
                    .unwrap_or_default(),
            )
        }),
    ),
    (op_columns::DMA_STALL, RooflineValue::Cell(|row| row.stall())),
    (
        column("measured_flop_rate_gflops", "FLOP/s", Unit::GigaflopsPerSecond, "FLOPs divided by total time.")
            .caveat("For asynchronous pairs, the time from start to end is used; see [ops](#table-ops).")
            .xprof("measured_flop_rate"),
        RooflineValue::Cell(|row| giga(row.work.flop_rate())),
    ),
    (
        op_columns::MODEL_FLOP_RATE,
        RooflineValue::Cell(|row| giga(row.work.model_flops.and_then(|flops| rate(flops, row.work.work_time)))),
    ),
    (
        column(
            "peak_flop_rate_gflops",
            "Peak FLOP/s",
            Unit::GigaflopsPerSecond,
            "Peak that the op is compared \
            with.",
        ),
        RooflineValue::Cell(|row| giga(row.point().and_then(|point| point.peak_flop_rate))),
    ),
    (
        column("peak_data_type", "Peak of", Unit::Text, "Data type that the peak applies to."),
        RooflineValue::Label(OpLabel::PeakDataType),
    ),
    (op_columns::MEMORY_BANDWIDTH, RooflineValue::Cell(|row| row.bandwidth(row.work.bytes))),
    (op_columns::HBM_BANDWIDTH, RooflineValue::Cell(|row| row.level(Level::Hbm))),
    (op_columns::CMEM_READ_BANDWIDTH, RooflineValue::Cell(|row| row.level(Level::CmemRead))),
    (op_columns::CMEM_WRITE_BANDWIDTH, RooflineValue::Cell(|row| row.level(Level::CmemWrite))),
    (op_columns::VMEM_READ_BANDWIDTH.xprof("vmem_read_bw"), RooflineValue::Cell(|row| row.level(Level::VmemRead))),
    (op_columns::VMEM_WRITE_BANDWIDTH.xprof("vmem_write_bw"), RooflineValue::Cell(|row| row.level(Level::VmemWrite))),
    (op_columns::INTENSITY, RooflineValue::Cell(|row| CellRef::float(row.work.intensity()))),
    (
        column(
            "hbm_operational_intensity",
            "FLOPs/byte of HBM",
            Unit::FlopsPerByte,
            "FLOPs divided by the bytes moved to and from main memory.",
        )
        .xprof("hbm_operational_intensity"),
        RooflineValue::Cell(|row| row.intensity(Level::Hbm)),
    ),
    (
        column(
            "cmem_read_operational_intensity",
            "of CMEM read",
            Unit::FlopsPerByte,
            "FLOPs divided by the bytes read from the common memory of a TPU.",
        )
        .xprof("cmem_read_operational_intensity"),
        RooflineValue::Cell(|row| row.intensity(Level::CmemRead)),
    ),
    (
        column(
            "cmem_write_operational_intensity",
            "of CMEM write",
            Unit::FlopsPerByte,
            "FLOPs divided by the bytes written to the common memory of a TPU.",
        )
        .xprof("cmem_write_operational_intensity"),
        RooflineValue::Cell(|row| row.intensity(Level::CmemWrite)),
    ),
    (
        column(
            "vmem_read_operational_intensity",
            "of VMEM read",
            Unit::FlopsPerByte,
            "FLOPs divided by the bytes read from the vector memory of a TPU.",
        )
        .xprof("vmem_read_operational_intensity"),
        RooflineValue::Cell(|row| row.intensity(Level::VmemRead)),
    ),
    (
        column(
            "vmem_write_operational_intensity",
            "of VMEM write",
            Unit::FlopsPerByte,
            "FLOPs divided by the bytes written to the vector memory of a TPU.",
        )
        .xprof("vmem_write_operational_intensity"),
        RooflineValue::Cell(|row| row.intensity(Level::VmemWrite)),
    ),
    (
        column(
            "bottleneck_operational_intensity",
            "FLOPs/byte of the bottleneck",
            Unit::FlopsPerByte,
            "FLOPs divided by the bytes of the memory level that bounds the op, or by all bytes if arithmetic \
                bounds it.",
        )
        .xprof("bottleneck_operational_intensity"),
        RooflineValue::Cell(|row| CellRef::float(row.point().and_then(|point| point.bottleneck_intensity))),
    ),
    (
        column(
            "bound_by",
            "Bound by",
            Unit::Text,
            "`Compute`, a level of memory, `Host link` for copies to and from the host, or `Unknown`.",
        )
        .caveat(
            "The peak of the host link is unknown, so copies over it have no roofline efficiency. XProf shows \
                `HBM` for these copies. An elementwise op of a GPU that uses less than 35 % of the memory bandwidth has no known \
                limit, because the cost of its arithmetic is unknown.",
        )
        .xprof("bound_by"),
        RooflineValue::Label(OpLabel::BoundOrUnknown),
    ),
    (
        column(
            "total_time_per_core_us",
            "Time per device",
            Unit::TimeUs,
            "Total time divided by the number of devices that ran ops.",
        )
        .caveat("XProf divides by the number of devices in the profile.")
        .xprof("total_time_per_core"),
        RooflineValue::Cell(|row| {
            let devices = row.table.context.analysis.devices.used.len().max(1);
            CellRef::Float(row.work.time.as_us() / devices as f64)
        }),
    ),
    (
        column(
            "total_time_in_percentage",
            "Share of total time",
            Unit::Percent,
            "Total time as a share of the program's total time.",
        )
        .caveat("XProf shows a fraction instead of a percentage.")
        .xprof("total_time_in_percentage"),
        RooflineValue::Cell(|row| row.share(row.work.time)),
    ),
    (
        column(
            "optimal_flop_rate_gflops",
            "FLOP/s at the roof",
            Unit::GigaflopsPerSecond,
            "FLOP/s divided by the roofline efficiency.",
        )
        .xprof("optimal_flop_rate"),
        RooflineValue::Cell(|row| giga(row.point().and_then(|point| point.optimal_flop_rate))),
    ),
    (
        column(
            "roofline_efficiency_percent",
            "Roofline efficiency",
            Unit::Percent,
            "Greater of compute efficiency and memory utilisation.",
        )
        .caveat(
            "May be far above 100 for `copy-start` and `copy-done`, because the bytes move between these two ops. \
                XProf shows a \
                fraction instead of a percentage.",
        )
        .xprof("roofline_efficiency"),
        RooflineValue::Cell(|row| percent(row.point().and_then(|point| point.roofline_efficiency))),
    ),
    (
        column("compute_efficiency_percent", "Compute efficiency", Unit::Percent, "FLOP/s as a share of the peak.")
            .caveat("XProf shows a fraction instead of a percentage.")
            .xprof("compute_efficiency"),
        RooflineValue::Cell(|row| percent(row.point().and_then(|point| point.compute_efficiency))),
    ),
    (
        column(
            "max_mem_bw_utilization_percent",
            "Memory utilisation",
            Unit::Percent,
            "Largest share of a memory level's bandwidth that the op uses.",
        )
        .caveat("XProf shows a fraction instead of a percentage.")
        .xprof("max_mem_bw_utilization"),
        RooflineValue::Cell(|row| percent(row.point().and_then(|point| point.max_mem_bw_utilization))),
    ),
    (op_columns::DATA_TYPE, RooflineValue::Label(OpLabel::DataType)),
    (op_columns::COST_SOURCE, RooflineValue::Label(OpLabel::CostSource)),
    (
        column("tf_op_name", "Framework op", Unit::Text, "The framework's path."),
        RooflineValue::Text(OpText::FrameworkPath, ""),
    ),
    (
        column("hlo_module_id", "Program", Unit::Text, "Number of the program.").xprof("hlo_module_id"),
        RooflineValue::Text(OpText::Program, ""),
    ),
    (op_columns::SOURCE, RooflineValue::Text(OpText::Source, "")),
];

/// Table of a run.
pub(crate) struct RooflineRows<'a> {
    context: Context<'a>,
    roofline: &'a Roofline,
    columns: Vec<Column>,
    kept: &'a OpColumns,
    labels: &'a OpLabels,
}

impl<'a> RooflineRows<'a> {
    /// Creates the table: the program, then its ops sorted by self time, largest first. Empty if no op
    /// ran.
    pub(crate) fn new(context: &Context<'a>) -> RooflineRows<'a> {
        RooflineRows {
            context: *context,
            roofline: &context.analysis.roofline,
            columns: columns(&COLUMNS),
            kept: context.columns(),
            labels: context.labels(),
        }
    }
}

impl RooflineRows<'_> {
    /// Returns a label of the program's row.
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
        let (Some((_, value)), true) = (COLUMNS.get(column), row < self.len()) else { return CellRef::Absent };
        let op = op.flatten();
        let work = op.map_or(self.roofline.program, Work::of);
        match *value {
            RooflineValue::Label(label) => {
                let told = match row.checked_sub(1) {
                    Some(op) => self.labels.of_row(label, op),
                    None => self.of_program(label),
                };
                told.map_or(CellRef::Absent, CellRef::Text)
            }
            RooflineValue::Cell(cell) => cell(&RooflineRow { table: self, op, index: row, work }),
            RooflineValue::Text(text, program) => {
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
        let column = match COLUMNS.get(column)?.1 {
            RooflineValue::Text(text, program) => {
                let first = texts.find(trace, program).map(|program| Texts::number(trace, program));
                SharedColumn { first, rest: self.kept.texts(text) }
            }
            RooflineValue::Label(label) => {
                let first = self.of_program(label).and_then(|label| self.labels.labels().find(label));
                SharedColumn { first: first.or(Some(0)), rest: self.labels.column(label) }
            }
            RooflineValue::Cell(_) => return None,
        };
        (!self.is_empty()).then_some(column)
    }
}

impl<'a> RooflineRow<'_, 'a> {
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
