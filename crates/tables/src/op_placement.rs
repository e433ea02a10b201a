//! Table of the op types that run on devices, and of the op types that run on the host although the program targets a device.

use crate::record::{Made, TableRecord};
use crate::shown::{RowKey, Shown};
use metrics::{Context, Placement, PlacementRow};
use table::{CellRef, Column, Rows, Unit, column, columns};

pub(super) const TABLE: TableRecord = TableRecord {
    shown: Shown { row_keys: &[RowKey::new("op_type", &["op_type"])], ..Shown::WHOLE },
    ..TableRecord::new(
        "op-placement",
        || columns(&COLUMNS),
        Made::Events(|context, _| Box::new(OpPlacementRows::new(context)), None),
    )
};

type CellOf = for<'t> fn(&'t OpPlacementRows<'t>, &'t PlacementRow) -> CellRef<'t>;

pub(super) static COLUMNS: [(Column, CellOf); 7] = [
    (
        column(
            "op_type",
            "Op type",
            Unit::Text,
            "Category of a device op. On the host, the name of a callback, of a host compute op, or of a program of \
                the CPU backend.",
        )
        .source("For a CPU backend, and for a GPU with HLO, the category comes from the instruction."),
        |_, it| CellRef::text(&it.op_type),
    ),
    (column("runs_on", "Runs on", Unit::Text, "`device` or `host`."), |_, it| {
        CellRef::Text(if it.reason.is_some() { "host" } else { "device" })
    }),
    (
        column(
            "reason",
            "As",
            Unit::Text,
            "Platform of device ops. On the host, `callback`, `host compute` or `CPU program`.",
        )
        .source(
            "Callbacks: a compiled program calls into Python (`crates/facts/src/host_callbacks.csv`). Host compute: \
                line `Host Offload Ops`. CPU program: events that the CPU backend names after their op, in a run \
                on an accelerator.",
        ),
        |rows, it| CellRef::Text(it.reason.map_or(rows.platform, |reason| reason.label())),
    ),
    (column("num_ops", "Ops", Unit::Count, "Distinct ops."), |_, it| CellRef::Int(it.num_ops)),
    (
        column("occurrences", "Count", Unit::Count, "Number of runs.")
            .caveat("Frames inside a callback are not counted separately."),
        |_, it| CellRef::Int(it.occurrences),
    ),
    (
        column(
            "time_us",
            "Time",
            Unit::TimeUs,
            "For device ops, the self time, summed over devices. For host ops, the sum of their durations.",
        ),
        |_, it| CellRef::Float(it.time.as_us()),
    ),
    (column("percent", "Share", Unit::Percent, "Share of the time of all ops in the same place."), |rows, it| {
        let whole = rows.placement.time(it.reason.is_some()).as_ps();
        CellRef::float((whole > 0).then(|| 100.0 * it.time.as_ps() as f64 / whole as f64))
    }),
];

/// Op types of a run: first the op types on devices, then the op types on the host, each sorted by time, largest first.
pub(crate) struct OpPlacementRows<'a> {
    placement: &'a Placement,
    platform: &'static str,
    columns: Vec<Column>,
}

impl<'a> OpPlacementRows<'a> {
    /// Creates the table for `context`.
    pub(crate) fn new(context: &Context<'a>) -> OpPlacementRows<'a> {
        let platform = context.analysis.devices.platform.map_or("", |platform| platform.label());
        OpPlacementRows { placement: context.placement(), platform, columns: columns(&COLUMNS) }
    }
}

impl Rows for OpPlacementRows<'_> {
    fn name(&self) -> &'static str {
        "op-placement"
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.placement.rows.len()
    }

    fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
        match (self.placement.rows.get(row), COLUMNS.get(column)) {
            (Some(it), Some((_, cell))) => cell(self, it),
            _ => CellRef::Absent,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{TableName, rows};
    use metrics::analyse;
    use run::{Run, Settings};
    use table::{Cell, Query, query};
    use trace::TraceBuilder;

    /// Builds the timeline in the module's documentation, with a launch that names its op and a frame inside the
    /// callback.
    fn run(platform: &str) -> Run {
        let mut b = TraceBuilder::new();
        let line = if platform == "TPU" { "XLA Ops" } else { "Stream #1(Compute)" };
        let ops = b.line(&format!("/device:{platform}:0"), line);
        let python = b.line("/host:CPU", "python");
        let pool = b.line("/host:CPU", "tf_XLAEigen/1");
        for (name, category, start, length) in [
            ("fusion.1", "loop fusion", 0, 10),
            ("all-reduce.1", "all-reduce", 10, 5),
            ("fusion.2", "loop fusion", 20, 10),
        ] {
            let _ = b.event(ops, name, start, length).hlo_category(category).hlo_op(name).hlo_module("jit_f");
        }
        b.event(python, "pure_callback.3", 5, 10);
        b.event(python, "$callback.py:7 pure_callback_impl", 6, 8);
        let _ = b.event(python, "hipModuleLaunchKernel", 1, 2).hlo_op("fusion.1").hlo_module("jit_f");
        for start in [0, 40] {
            let _ = b.event(pool, "dot.1", start, 4).hlo_op("dot.1").hlo_module("jit_eval");
        }
        Run { trace: b.build(), ..Run::default() }
    }

    #[test]
    fn op_types_are_listed_by_place() {
        let run = run("TPU");
        let examined = analyse(&run, &Settings::default());
        let context = examined.context(&run);
        let table = query(&*rows(&context, TableName::OpPlacement, ""), &Query::default());
        let text = |cell: Option<&Cell>| match cell {
            Some(Cell::Text(text)) => text.clone(),
            other => format!("{other:?}"),
        };
        let found: Vec<[String; 3]> = table.rows.iter().map(|row| [1, 0, 2].map(|at| text(row.get(at)))).collect();
        let expect = |place: &str, op_type: &str, reason: &str| [place, op_type, reason].map(str::to_owned);
        assert_eq!(
            found,
            [
                expect("device", "loop fusion", "TPU"),
                expect("device", "all-reduce", "TPU"),
                expect("host", "pure_callback.3", "callback"),
                expect("host", "jit_eval", "CPU program"),
            ]
        );
        let placement = examined.context(&run).placement();
        let times: Vec<(u64, u64, f64)> =
            placement.rows.iter().map(|row| (row.num_ops, row.occurrences, row.time.as_us())).collect();
        // The window is the 30 us of the device's ops. The second run of `dot.1` is outside.
        assert_eq!(times, [(2, 2, 20.0), (1, 1, 5.0), (1, 1, 10.0), (1, 1, 4.0)]);
        // 0 to 4, and 5 to 15.
        assert_eq!(placement.on_host.length().as_us(), 14.0);
        assert_eq!((placement.callbacks, placement.in_callbacks.length().as_us()), (1, 10.0));
    }

    #[test]
    fn a_launch_that_names_its_op_is_no_op_on_the_host() {
        let run = run("GPU");
        let examined = analyse(&run, &Settings::default());
        let names: Vec<&str> =
            examined.context(&run).placement().host_rows().map(|(_, row)| row.op_type.as_str()).collect();
        assert_eq!(names, ["pure_callback.3", "jit_eval"]);
    }
}
