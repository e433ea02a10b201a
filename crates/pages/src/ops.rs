//! Ops page: the ops with the most time, as a tree and as a table, and the share of the time for which costs are known.

use crate::filter::applied;
use crate::source::{Absent, nothing_ran};
use crate::{PageQuery, Source, table_block, table_block_of};
use base::{Ps, format};
use document::{Block, Choice, ColourClass, ColumnBlock, Figure, Icicle, Link, Node, TableBlock};
use metrics::roofline::OpLabel;
use metrics::{Context, Coverage, Grouping, LEAST_SHARE, Op, OpNode};
use report::View;
use table::{Cell, Filter, Query, Unit, query as ask_table, query_passing};
use tables::{self, TableName};
use trace::{Framework, Platform, SourceFormat, in_blocks};

const GROUP: &str = "group";
const IDLE: &str = "idle";
const ROWS: &str = "rows";
/// Properties by which the chart and the table can group ops. Name scopes and source lines are on the layers page.
const GROUPINGS: [(Grouping, &str); 2] = [(Grouping::Program, "Program"), (Grouping::Category, "Category")];
/// Kinds of rows of the table.
const ROW_KINDS: [(&str, &str); 5] = [
    ("ops", "Ops"),
    ("groups", "Groups"),
    ("equal", "Repeated ops merged"),
    ("framework-ops", "Framework ops"),
    ("arguments", "Arguments of programs"),
];
/// Maximum number of spans in the icicle. More spans could not be distinguished.
const MOST_NODES: usize = 400;

/// Returns the blocks of the page.
///
/// # Errors
///
/// Returns the reason if the run lists no ops.
pub(super) fn blocks(source: Source<'_>, query: &PageQuery) -> Result<Vec<Block>, Absent> {
    let context = &source.events("op_statistics")?;
    let ops = &context.analysis.ops;
    if ops.rows.is_empty() {
        return Ok(vec![nothing_ran()]);
    }
    let grouping = Grouping::from_key(query.chosen(GROUP, &GROUPINGS.map(|(grouping, _)| grouping.key())));
    let with_idle = query.chosen(IDLE, &["without", "with"]) == "with";
    let rows = tables::rows(context, TableName::Ops, "");
    let applied = applied(&query.filter, rows.columns()).filter;
    let filter = Filter::parse(&applied);
    // The figures, the chart and the table cover the same ops.
    let passing = (!filter.is_empty()).then(|| filter.passing(&*rows));
    let passing = passing.as_deref();
    let mut blocks = vec![Block::Figures { figures: figures(context, passing) }];
    let chosen = query.chosen(ROWS, &ROW_KINDS.map(|(kind, _)| kind));
    blocks.push(Block::Choice(Choice {
        option: ROWS.to_owned(),
        label: "Rows".to_owned(),
        values: ROW_KINDS.map(|(kind, name)| (kind.to_owned(), name.to_owned())).to_vec(),
        chosen: chosen.to_owned(),
    }));
    blocks.push(Block::Choice(Choice {
        option: GROUP.to_owned(),
        label: "Group by".to_owned(),
        values: GROUPINGS.map(|(grouping, name)| (grouping.key().to_owned(), name.to_owned())).to_vec(),
        chosen: grouping.key().to_owned(),
    }));
    match chosen {
        "groups" => blocks.push(groups(context, grouping.key(), &applied, query)),
        "equal" => blocks.push(groups(context, "name", &applied, query)),
        "framework-ops" => {
            let table = table_block(context, TableName::FrameworkOps, "", "Framework ops", query);
            blocks.push(Block::Table(table));
        }
        "arguments" => blocks.extend(arguments(context, query)),
        _ => {
            let mut ask = |asked: &Query| match asked.filter == applied {
                true => query_passing(&*rows, asked, passing),
                false => ask_table(&*rows, asked),
            };
            let mut table = table_block_of(TableName::Ops, "", "Ops", query, rows.columns(), &mut ask);
            for column in &mut table.columns {
                column.empty = why_empty(context, &column.key);
            }
            table.mark_bounds(context.profile);
            let note = without_source(&table);
            blocks.push(Block::Table(table));
            blocks.extend(note);
        }
    }
    blocks.push(Block::Choice(Choice {
        option: IDLE.to_owned(),
        label: "Idle time".to_owned(),
        values: vec![("without".to_owned(), "Left out".to_owned()), ("with".to_owned(), "Shown".to_owned())],
        chosen: if with_idle { "with" } else { "without" }.to_owned(),
    }));
    blocks.push(Block::Icicle(icicle(context, grouping, with_idle, passing)));
    Ok(blocks)
}

/// If the source column is visible and has empty cells, explains why these ops have no source line.
fn without_source(table: &TableBlock) -> Option<Block> {
    let is_source = |column: &&ColumnBlock| column.key == "source_info" && !column.is_folded;
    let at = table.columns.iter().position(|column| is_source(&column))?;
    let text = match &table.columns.get(at)?.empty {
        Some(reason) => format!("No source lines: {reason}"),
        None if table.rows.iter().any(|row| row.get(at) == Some(&Cell::Absent)) => {
            "XLA added the ops without a source line, or the program does not record their lines. Click on a row \
                to see the reason."
                .to_owned()
        }
        None => return None,
    };
    Some(Block::Note { text })
}

/// Groups the ops that pass the filter by a common property.
fn groups(context: &Context<'_>, form: &str, filter: &str, query: &PageQuery) -> Block {
    let variant = format!("{form}:{filter}");
    let unfiltered = PageQuery { filter: String::new(), ..query.clone() };
    Block::Table(table_block(context, TableName::OpGroups, &variant, "Groups of ops", &unfiltered))
}

/// Returns the table of the programs' arguments, with the bytes that several devices hold copies of.
fn arguments(context: &Context<'_>, query: &PageQuery) -> Vec<Block> {
    let all = context.arguments();
    let Some(first) = all.first() else {
        return vec![Block::Empty {
            reason: "The profile contains no compiled program, so the arguments are unknown.".to_owned(),
            remedy: Some("Open the *.xplane.pb of the run. A trace.json.gz contains no programs.".to_owned()),
        }];
    };
    // Uses the program with the largest arguments: the training step rather than its helpers.
    let size = |of: (u16, i64)| -> f64 {
        all.iter().filter(|it| (it.host, it.program_id) == of).map(|it| it.bytes_per_device).sum()
    };
    let largest = all.iter().fold(first, |largest, it| {
        let larger = size((it.host, it.program_id)) > size((largest.host, largest.program_id));
        if larger { it } else { largest }
    });
    let own = || all.iter().filter(|it| (it.host, it.program_id) == (largest.host, largest.program_id));
    let copied: f64 =
        own().filter(|it| it.copies().is_some_and(|copies| copies > 1)).map(|it| it.bytes_per_device).sum();
    let whole: f64 = own().map(|it| it.bytes_per_device).sum();
    let mut text = format!("{} takes {} of arguments per device", largest.program, format::bytes(whole as u64));
    if copied > 0.0 {
        text.push_str(&format!("; several devices hold copies of {} of it", format::bytes(copied as u64)));
    }
    text.push('.');
    let table = table_block(context, TableName::Arguments, "", "Arguments of the programs", query);
    vec![Block::Note { text }, Block::Table(table)]
}

/// Returns the figures of the ops that pass the filter, or of all ops if there is no filter.
fn figures(context: &Context<'_>, passing: Option<&[bool]>) -> Vec<Figure> {
    let (ops, trace) = (&context.analysis.ops, context.trace());
    let percent = |part: Ps, whole: Ps| (whole > Ps::ZERO).then(|| 100.0 * part.as_ps() as f64 / whole.as_ps() as f64);
    let sums = OpFigures::of(context, passing);
    let (coverage, whole) = (&sums.coverage, sums.op_time);
    let top = sums.top;
    let of_busy = if passing.is_some() { "of the busy time of ops that pass the filter" } else { "of busy time" };
    let figure = |label: &str, value: Option<f64>, unit: Unit, note: String| Figure {
        label: label.to_owned(),
        value,
        unit,
        note,
        ..Figure::default()
    };
    if passing.is_some() && sums.count == 0 {
        return vec![figure("Ops", Some(0.0), Unit::Count, "no op passes the filter".to_owned())];
    }
    let known = coverage.cost_known;
    let cost_note = match percent(coverage.cost_from_shapes, whole) {
        Some(share) if share > 0.0 => {
            format!("{of_busy}; {} derived from the shapes of library calls", format::percent(share))
        }
        _ if known == Ps::ZERO => {
            why_empty(context, "flops").unwrap_or_else(|| "The profile contains no costs.".to_owned())
        }
        _ => match percent(sums.unknown_calls, whole).filter(|&share| share >= 0.05) {
            Some(share) => format!("{of_busy}; {} in custom calls with unknown cost", format::percent(share)),
            None => of_busy.to_owned(),
        },
    };
    vec![
        Figure {
            link: top.map(|op| Link::to(View::Ops, &format!("hlo_op_name=\"{}\"", ops.text(trace, op.name)))),
            ..figure(
                "Largest op",
                top.and_then(|op| percent(op.self_time, whole)),
                Unit::Percent,
                top.map_or(String::new(), |op| format!("{of_busy}: {}", format::shorten(ops.text(trace, op.name), 40))),
            )
        },
        figure(
            "Busy",
            Some(whole.as_us()),
            Unit::TimeUs,
            match passing {
                Some(_) => "self time of the ops that pass the filter, on all devices".to_owned(),
                None => "self time of all ops on all devices".to_owned(),
            },
        ),
        figure("Idle", percent(ops.idle, ops.device_time), Unit::Percent, "of the window, all devices".to_owned()),
        figure("Ops", Some(sums.count as f64), Unit::Count, counted(context, coverage.occurrences)),
        figure("Cost known", percent(known, whole).filter(|_| known > Ps::ZERO), Unit::Percent, cost_note),
    ]
}

/// Formats the number of op events. On GPUs, one execution of an op may launch several kernels, copies and fills.
fn counted(context: &Context<'_>, events: u64) -> String {
    let is_gpu = context.analysis.devices.platform == Some(Platform::Gpu);
    format!("{} {}", format::count(events), if is_gpu { "device ops" } else { "runs" })
}

struct OpFigures<'a> {
    coverage: Coverage,
    op_time: Ps,
    count: u64,
    /// Self time of custom calls whose cost is unknown.
    unknown_calls: Ps,
    top: Option<&'a Op>,
}

impl<'a> OpFigures<'a> {
    fn of(context: &Context<'a>, passing: Option<&[bool]>) -> OpFigures<'a> {
        let ops = &context.analysis.ops;
        let passes = |row: usize| passing.is_none_or(|passing| passing.get(row).copied().unwrap_or_default());
        let mut sums = OpFigures {
            coverage: Coverage::default(),
            op_time: Ps::ZERO,
            count: 0,
            unknown_calls: Ps::ZERO,
            top: None,
        };
        let mut row = 0;
        in_blocks(&ops.rows, |op| {
            row += 1;
            if !passes(row - 1) {
                return;
            }
            sums.coverage.add(op);
            sums.op_time += op.self_time;
            sums.count += 1;
            if op.is_uncosted_call() {
                sums.unknown_calls += op.self_time;
            }
        });
        sums.top = ops.rows.iter().enumerate().find(|&(row, _)| passes(row)).map(|(_, op)| op);
        sums
    }
}

/// Returns the reason why a column has no values, if there is one.
fn why_empty(context: &Context<'_>, column: &str) -> Option<String> {
    let coverage = context.coverage();
    let is_json = context.trace().format == Some(SourceFormat::ChromeJson);
    let no_hlo = context.trace().hlo.is_empty();
    let (filled, what) = match column {
        "flops" | "measured_flop_rate_gflops" | "model_flop_rate_gflops" => (coverage.flops, "FLOPs"),
        "bytes_accessed" | "measured_memory_bw_gibps" | "operational_intensity" => (coverage.bytes, "bytes"),
        "hbm_bw_gibps"
        | "cmem_read_bw_gibps"
        | "cmem_write_bw_gibps"
        | "vmem_read_bw_gibps"
        | "vmem_write_bw_gibps" => (coverage.memory, "bytes by memory"),
        "hlo_op_expression" => (coverage.expression, "the expressions of instructions"),
        "program_id" => (coverage.program, "program numbers"),
        "source_info" => (coverage.source, "source lines"),
        "bound_by" => {
            let labels = context.labels();
            let rows = 0..context.analysis.ops.rows.len();
            (rows.into_iter().any(|row| labels.of_row(OpLabel::Bound, row).is_some()), "the peaks of the device")
        }
        _ => return None,
    };
    if filled {
        return None;
    }
    Some(if is_json && context.profile.metadata.framework() == Framework::PyTorch {
        format!("PyTorch traces do not contain {what}.")
    } else if is_json {
        format!("This trace JSON does not contain {what}. The *.xplane.pb of the same capture may.")
    } else if no_hlo {
        format!("The profile does not contain {what}, because it was captured without HLO modules.")
    } else {
        format!("The profile does not contain {what}.")
    })
}

/// Draws the tree of the ops that pass the filter, or of all ops if there is no filter. Omits nodes that are too small
/// to see.
fn icicle(context: &Context<'_>, grouping: Grouping, with_idle: bool, passing: Option<&[bool]>) -> Icicle {
    let (ops, trace) = (&context.analysis.ops, context.trace());
    let filtered;
    let tree = match passing {
        None => context.outline(grouping),
        Some(_) => {
            filtered = context.outline_of(grouping, passing);
            &filtered
        }
    };
    let is_left_out = |node: &OpNode| node.is_idle && !with_idle;
    let left_out = tree.nodes.iter().find(|node| is_left_out(node)).map_or(Ps::ZERO, |idle| idle.time);
    let whole = tree.nodes.first().map_or(Ps::ZERO, |root| root.time) - left_out;
    let mut nodes: Vec<Node> = Vec::new();
    // Index of each tree node in the chart. `None` for nodes that are too small.
    let mut places: Vec<Option<u32>> = Vec::with_capacity(tree.nodes.len());
    for (index, node) in tree.nodes.iter().enumerate() {
        let parent = node.parent.map(|parent| places.get(parent as usize).copied().flatten());
        let time = if parent.is_none() { whole } else { node.time };
        let is_seen =
            !is_left_out(node) && time.as_ps() as f64 >= LEAST_SHARE * whole.as_ps() as f64 && nodes.len() < MOST_NODES;
        let place = match parent {
            None => Some(None),
            Some(Some(parent)) if is_seen => Some(Some(parent)),
            Some(_) => None,
        };
        places.push(place.and_then(|_| u32::try_from(nodes.len()).ok()));
        let Some(parent) = place else { continue };
        let name = tree.name(trace, ops, index);
        let op = node.op.and_then(|op| ops.rows.get(op as usize));
        let of = if passing.is_some() { "what passes the filter" } else { "all" };
        let mut notes =
            vec![format!("{} of {of}", format::percent(100.0 * time.as_ps() as f64 / whole.as_ps().max(1) as f64))];
        if node.occurrences > 0 {
            notes.push(counted(context, node.occurrences));
        }
        if node.known > Ps::ZERO {
            let of = if node.known < node.time - node.idle {
                let share = 100.0 * node.known.as_ps() as f64 / (node.time - node.idle).as_ps() as f64;
                format!(" (cost known for {} of the op time)", format::percent(share))
            } else {
                String::new()
            };
            notes.push(format!("{} above the roofline bound{of}", format::time_us(node.wasted.as_us())));
        } else if !node.is_idle {
            let has_roof = context.analysis.roofline.peaks.is_some();
            notes
                .push(if has_roof { "cost unknown" } else { "no roofline: the device's peaks are unknown" }.to_owned());
        }
        if let Some(op) = op {
            notes.push(format::shorten(&format::printable(ops.text(trace, op.expression)), 200));
        }
        notes.retain(|note| !note.is_empty());
        nodes.push(Node {
            label: name.to_owned(),
            parent,
            value: time.as_us(),
            class: class(op, node),
            notes,
            link: link(node, grouping, name),
        });
    }
    Icicle { title: "Self time of all devices".to_owned(), unit: Unit::TimeUs, nodes }
}

/// Returns the colour of a node: the colour of the op for a leaf, and none for a group.
fn class(op: Option<&Op>, node: &OpNode) -> ColourClass {
    match op {
        Some(op) => op.family.into(),
        None if node.is_idle => ColourClass::IDLE,
        None => ColourClass::GROUP,
    }
}

/// Returns the filter that a click on a node sets on all views.
fn link(node: &OpNode, grouping: Grouping, name: &str) -> Option<Link> {
    let quoted = |column: &str, sign: char, value: &str| format!("{column}{sign}\"{value}\"");
    let filter = match (grouping, node.depth) {
        _ if node.is_idle => return None,
        (_, 0) => String::new(),
        _ if node.op.is_some() => quoted("hlo_op_name", '=', name),
        (Grouping::Program, 1) => quoted("hlo_module", ':', name.split('(').next().unwrap_or(name)),
        (Grouping::Program, _) | (Grouping::Category, _) => quoted("category", '=', name),
        (Grouping::Scope, _) => quoted("tf_op_name", ':', name),
        (Grouping::Source, _) => quoted("source_info", ':', name),
    };
    Some(Link::to(View::Ops, &filter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use metrics::analyse;
    use run::{Run, Settings};
    use trace::TraceBuilder;

    #[test]
    fn figures_without_ops_state_that_nothing_passes() {
        let mut b = TraceBuilder::new();
        let line = b.line("/device:TPU:0", "XLA Ops");
        b.event(line, "fusion.1", 0, 30).hlo_category("loop fusion");
        let run = Run { trace: b.build(), ..Run::default() };
        let examined = analyse(&run, &Settings::default());
        let of = |filter: &str| {
            let query = PageQuery { filter: filter.to_owned(), ..PageQuery::default() };
            match blocks(Source::of_events(examined.context(&run)), &query).unwrap().remove(0) {
                Block::Figures { figures } => figures,
                other => panic!("{other:?}"),
            }
        };
        assert!(of("").len() > 3);
        let none = of("zzz");
        assert_eq!((none.len(), none[0].value, none[0].note.as_str()), (1, Some(0.0), "no op passes the filter"));
    }

    /// A scope with the same name as the idle time is shown with its own time, with and without idle
    /// time.
    #[test]
    fn a_scope_named_idle_is_not_the_idle_time() {
        let mut b = TraceBuilder::new();
        let line = b.line("/device:TPU:0", "XLA Ops");
        b.event(line, "fusion.1", 0, 30).hlo_category("loop fusion").tf_op("idle/add");
        b.event(line, "fusion.2", 90, 10).hlo_category("loop fusion").tf_op("layer/mul");
        let run = Run { trace: b.build(), ..Run::default() };
        let examined = analyse(&run, &Settings::default());
        let context = examined.context(&run);
        let spans = |with_idle: bool, passing: Option<&[bool]>| -> Vec<(String, ColourClass, f64)> {
            let chart = icicle(&context, Grouping::Scope, with_idle, passing);
            let top = chart.nodes.into_iter().filter(|node| node.parent.is_none_or(|parent| parent == 0));
            top.map(|node| (node.label, node.class, node.value)).collect()
        };
        let span = |label: &str, us: f64| (label.to_owned(), ColourClass::GROUP, us);
        let (scope, layer) = (span("idle", 30.0), span("layer", 10.0));
        assert_eq!(spans(false, None), [span("run", 40.0), scope.clone(), layer.clone()]);
        let idle = ("idle".to_owned(), ColourClass::IDLE, 60.0);
        assert_eq!(spans(true, None), [span("run", 100.0), idle, scope.clone(), layer.clone()]);
        assert_eq!(spans(false, Some(&[true; 2])), [span("run", 40.0), scope, layer]);
    }
}
