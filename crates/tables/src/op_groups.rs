//! Table of ops grouped by a common property: the corresponding ops of repeated layers, or the ops of a name scope, a
//! category, a program or a source line.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::record::{Made, TableRecord};
use crate::shown::{RowKey, Shown};
use base::Ps;
use metrics::{Context, Op, OpText, WorkTime, rate};
use table::{Cell, Column, Filter, Table, Unit, column, columns};

pub(super) const TABLE: TableRecord = TableRecord {
    forms: &["name", "scope", "category", "program", "source"],
    shown: Shown {
        leading: &[
            "name",
            "num_ops",
            "total_self_time_us",
            "busy_self_time_percent",
            "executions",
            "execution_self_time_us",
            "source_info",
            "largest",
        ],
        row_keys: &[
            RowKey::new("category", &["name"]).of_form("category"),
            RowKey::new("hlo_module", &["name"]).of_form("program"),
            RowKey::new("source_info", &["name"]).of_form("source"),
        ],
        ..Shown::WHOLE
    },
    ..TableRecord::new(
        "op-groups",
        || columns(&COLUMNS),
        Made::Events(|context, form| Box::new(table(context, form)), None),
    )
};

/// Sums over the ops of a group.
#[derive(Default)]
pub(super) struct OpGroup {
    name: String,
    ops: u64,
    occurrences: u64,
    executions: u64,
    self_time: Ps,
    work_time: WorkTime,
    /// Known FLOPs of the ops.
    flops: f64,
    /// Known bytes that the ops read and write.
    bytes: f64,
    largest: (Ps, String),
    /// True if the name of one of the ops ends in a number.
    is_numbered: bool,
    /// Source line of the largest op.
    source: String,
}

type CellOf = fn(&OpGroup, Ps) -> Cell;

pub(super) static COLUMNS: [(Column, CellOf); 12] = [
    (
        column(
            "name",
            "Ops",
            Unit::Text,
            "Common property of the ops. By name: the name without its number (`fusion.*`); by scope: the framework \
                path with `*` for layer numbers.",
        )
        .caveat("Ops with equal names form one group even if they compute different things."),
        |it, _| text(&it.name),
    ),
    (
        column("num_ops", "Different ops", Unit::Count, "Number of ops in the group, as listed in the `ops` table."),
        |it, _| Cell::Int(it.ops),
    ),
    (
        column("total_self_time_us", "Self time", Unit::TimeUs, "Self time of the ops, summed over devices.").bound(),
        |it, _| Cell::Float(it.self_time.as_us()),
    ),
    (
        column(
            "busy_self_time_percent",
            "Share of busy time",
            Unit::Percent,
            "Self time as a share of busy time, which is the self time of all ops.",
        ),
        |it, whole| {
            if whole <= Ps::ZERO {
                return Cell::Absent;
            }
            Cell::Float(100.0 * it.self_time.as_ps() as f64 / whole.as_ps() as f64)
        },
    ),
    (column("executions", "Executions", Unit::Count, "Number of executions of the instructions."), |it, _| {
        Cell::Int(it.executions)
    }),
    (
        column("execution_self_time_us", "Time per execution", Unit::TimeUs, "Mean self time per execution.").bound(),
        |it, _| {
            if it.executions == 0 { Cell::Absent } else { Cell::Float(it.self_time.as_us() / it.executions as f64) }
        },
    ),
    (column("occurrences", "Events", Unit::Count, "Number of events of the ops (kernels on GPUs)."), |it, _| {
        Cell::Int(it.occurrences)
    }),
    (
        column(
            "measured_flop_rate_gflops",
            "FLOP/s",
            Unit::GigaflopsPerSecond,
            "Known FLOPs of the ops divided by their self time.",
        )
        .caveat("If a group contains only asynchronous pairs, their time from start to end is used."),
        |it, _| float(rate(it.flops, it.work_time.time()).filter(|_| it.flops > 0.0).map(|rate| rate * 1e-9)),
    ),
    (
        column(
            "measured_memory_bw_gibps",
            "Memory",
            Unit::GibibytesPerSecond,
            "Known bytes read and written by the ops divided by their self time.",
        )
        .caveat("If a group contains only asynchronous pairs, their time from start to end is used."),
        |it, _| {
            let speed = rate(it.bytes, it.work_time.time()).filter(|_| it.bytes > 0.0);
            float(speed.map(|speed| speed / (1u64 << 30) as f64))
        },
    ),
    (column("flops", "FLOPs", Unit::Flops, "Known FLOPs of all executions."), |it, _| {
        float((it.flops > 0.0).then_some(it.flops))
    }),
    (column("largest", "Largest op", Unit::Text, "Op of the group with the most self time."), |it, _| {
        text(&it.largest.1)
    }),
    (column("source_info", "Source", Unit::Text, "Source file and line of the largest op of the group."), |it, _| {
        text(&it.source)
    }),
];

fn text(text: &str) -> Cell {
    if text.is_empty() { Cell::Absent } else { Cell::Text(text.to_owned()) }
}

fn float(value: Option<f64>) -> Cell {
    value.map_or(Cell::Absent, Cell::Float)
}

/// Common property of the ops of a group.
#[derive(Clone, Copy, PartialEq)]
enum By {
    Name,
    Text(OpText),
    Scope,
}

/// Returns the groups, sorted by self time, largest first. `variant` is `name` (also the default for unknown words),
/// `scope`, `category`, `program` or `source`. The variant may end with a colon and a filter of the ops table. Only ops
/// that match the filter are grouped.
pub(crate) fn table(context: &Context<'_>, variant: &str) -> Table {
    let (form, filter) = variant.split_once(':').unwrap_or((variant, ""));
    let by = match form {
        "scope" => By::Scope,
        "category" => By::Text(OpText::Category),
        "program" => By::Text(OpText::Module),
        "source" => By::Text(OpText::Source),
        _ => By::Name,
    };
    let filter = Filter::parse(filter);
    let passing = (!filter.is_empty()).then(|| filter.passing(&super::ops::OpRows::new(context)));
    let (ops, trace) = (&context.analysis.ops, context.trace());
    let mut groups: Vec<OpGroup> = Vec::new();
    let mut places: FxHashMap<Cow<'_, str>, usize> = FxHashMap::default();
    for (row, op) in ops.rows.iter().enumerate() {
        if passing.as_ref().is_some_and(|passing| passing.get(row) != Some(&true)) {
            continue;
        }
        let key = match by {
            By::Name => equal_name(ops.text(trace, op.name)).0,
            By::Scope => without_numbers(ops.text(trace, op.framework_path)),
            By::Text(text) => Cow::Borrowed(ops.text(trace, text.of(op))),
        };
        let place = match places.get(&key) {
            Some(place) => *place,
            None => {
                groups.push(OpGroup { name: key.clone().into_owned(), ..OpGroup::default() });
                places.insert(key, groups.len() - 1);
                groups.len() - 1
            }
        };
        if let Some(group) = groups.get_mut(place) {
            group.is_numbered |= by == By::Name && equal_name(ops.text(trace, op.name)).1;
            group.add(op, ops.text(trace, op.name), ops.text(trace, op.source));
        }
    }
    for group in groups.iter_mut().filter(|group| group.name.is_empty()) {
        group.name = "not in the profile".to_owned();
    }
    groups.iter_mut().filter(|group| group.is_numbered).for_each(|group| group.name.push_str(".*"));
    base::sort::sort_by(&mut groups, |a, b| b.self_time.cmp(&a.self_time));
    let cells = |group: &OpGroup| COLUMNS.iter().map(|(_, cell)| cell(group, ops.op_time)).collect();
    Table::new("op-groups", columns(&COLUMNS), groups.iter().map(cells).collect())
}

impl OpGroup {
    fn add(&mut self, op: &Op, name: &str, source: &str) {
        self.ops += 1;
        self.occurrences += op.occurrences;
        self.executions += op.executions;
        self.self_time += op.self_time;
        self.work_time.add(op, !op.is_left_out());
        if self.ops == 1 || op.self_time > self.largest.0 {
            self.largest = (op.self_time, name.to_owned());
            self.source = source.to_owned();
        }
        // The work of an asynchronous pair is included once.
        let known = |value: Option<f64>| value.filter(|_| !op.is_left_out());
        for (sum, value) in [(&mut self.flops, known(op.flops)), (&mut self.bytes, known(op.bytes))] {
            *sum += value.unwrap_or(0.0);
        }
    }
}

/// Replaces numbers in a name: `fusion.12` and `fusion.7.remat2` become `fusion.*` and
/// `fusion.*.remat*`.
fn stem(name: &str) -> Cow<'_, str> {
    if !name.contains('.') {
        return Cow::Borrowed(name);
    }
    let parts = name.split('.').map(|part| {
        let bare = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_number = bare.is_empty() || matches!(bare, "remat" | "clone");
        if is_number && bare.len() < part.len() { format!("{bare}*") } else { part.to_owned() }
    });
    Cow::Owned(parts.collect::<Vec<_>>().join("."))
}

/// Returns the common name of the corresponding ops of repeated layers: `fusion` for `fusion` (the first of these ops),
/// `fusion.1` and `fusion.2`. Also returns true if the name ends in a number.
pub(super) fn equal_name(name: &str) -> (Cow<'_, str>, bool) {
    let stem = stem(name);
    match stem.strip_suffix(".*") {
        Some(bare) => (Cow::Owned(bare.to_owned()), true),
        None => (stem, false),
    }
}

/// Replaces layer numbers in a path: `jit(f)/layer_3/attn` becomes `jit(f)/layer_*/attn`. A number at the end of a part is the
/// number of a layer. A number within a word belongs to the word.
fn without_numbers(path: &str) -> Cow<'_, str> {
    let is_counted = |part: &str| part.ends_with(|c: char| c.is_ascii_digit());
    if !path.split('/').any(is_counted) {
        return Cow::Borrowed(path);
    }
    let part = |part: &str| match is_counted(part) {
        true => format!("{}*", part.trim_end_matches(|c: char| c.is_ascii_digit())),
        false => part.to_owned(),
    };
    Cow::Owned(path.split('/').map(part).collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use metrics::analyse;
    use run::{Run, Settings, WindowChoice};
    use trace::TraceBuilder;

    #[test]
    fn numbers_of_copies_and_layers_are_left_out() {
        for (name, expect) in [
            ("fusion.12", "fusion.*"),
            ("fusion", "fusion"),
            ("fusion.7.remat2", "fusion.*.remat*"),
            ("all-reduce-start.3.clone", "all-reduce-start.*.clone"),
            ("dot_bf16.v2", "dot_bf16.v2"),
        ] {
            assert_eq!(stem(name), expect);
        }
        assert_eq!(without_numbers("jit(f)/layer_31/conv2d/h2/add"), "jit(f)/layer_*/conv2d/h*/add");
        assert_eq!(without_numbers("jit(f)/conv2d/add"), "jit(f)/conv2d/add");
    }

    #[test]
    fn groups_add_up_to_their_ops() {
        let mut b = TraceBuilder::new();
        let line = b.line("/device:TPU:0", "XLA Ops");
        let ops = [("fusion.1", 30, "f/layer_0/a"), ("fusion", 20, "f/layer_1/a"), ("copy.3", 10, "f/layer_1/b")];
        for (at, (name, length, path)) in (0..).zip(ops) {
            let category = if at < 2 { "loop fusion" } else { "copy" };
            b.event(line, name, at * 100, length).hlo_category(category).tf_op(path);
        }
        let run = Run { trace: b.build(), ..Run::default() };
        let examined = analyse(&run, &Settings { window: WindowChoice::All, ..Settings::default() });
        let of = |variant: &str| -> Vec<(Cell, Cell, Cell, Cell)> {
            let table = table(&examined.context(&run), variant);
            let cells = |row: &Vec<Cell>| (row[0].clone(), row[1].clone(), row[2].clone(), row[10].clone());
            table.rows.iter().map(cells).collect()
        };
        let row = |name: &str, ops: u64, us: f64, largest: &str| {
            (Cell::Text(name.to_owned()), Cell::Int(ops), Cell::Float(us), Cell::Text(largest.to_owned()))
        };
        assert_eq!(of("name"), [row("fusion.*", 2, 50.0, "fusion.1"), row("copy.*", 1, 10.0, "copy.3")]);
        assert_eq!(of("scope"), [row("f/layer_*/a", 2, 50.0, "fusion.1"), row("f/layer_*/b", 1, 10.0, "copy.3")]);
        assert_eq!(of("category:fusion.1"), [row("loop fusion", 1, 30.0, "fusion.1")]);
        assert_eq!(of("source"), [row("not in the profile", 3, 60.0, "fusion.1")]);
    }
}
