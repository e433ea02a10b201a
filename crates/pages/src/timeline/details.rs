//! Details of one event: its time, the statistics of its op, its launch or the work that it launched, and all data that
//! the file contains about it.

use super::{line_of, linked};
use crate::program_graph;
use base::Ps;
use base::format::{number, printable};
use document::{Block, Figure, Grid, GridCell, Link, Page};
use metrics::Context;
use report::View;
use table::Unit;
use timeline::{EventRef, Nesting, Origin, Scene, Timeline};
use trace::{EventColumn, EventId, Interval, LineId, NumberArg, TextArg, Trace};

const DERIVED: &str = "This track is derived from the events of the file. The file itself does not contain it.";

/// Returns the blocks that describe an event.
pub(super) fn page(context: Context<'_>, kept: &Timeline, scene: &Scene<'_>, event: EventRef) -> Page {
    let source = scene.source(event.origin);
    let Some((kind, name, time)) = source.event(event.id()) else { return Page::default() };
    let trace = source.trace;
    let of = line_of(source, kind).map(|(process, line)| format!("{line} of {process}"));
    let line = trace.events.kinds().get(kind).map(|kind| kind.line).unwrap_or_default();
    let mut blocks = vec![Block::Heading { text: printable(trace.text(name)), note: of }];
    let (self_time, depth) = nested(scene, event.origin, line, event.id(), time);
    let figure = |label: &str, time: Ps, note: String| Figure {
        label: label.to_owned(),
        value: Some(time.as_us()),
        unit: Unit::TimeUs,
        note,
        ..Figure::default()
    };
    let whole = scene.viewport.all.length().as_us();
    let share = if whole > 0.0 { base::format::percent(100.0 * time.length().as_us() / whole) } else { String::new() };
    let mut figures = vec![
        figure("Duration", time.length(), format!("{share} of the capture")),
        figure("Start", time.start - scene.zero, "from the start of the capture".to_owned()),
        figure("Self time", self_time, "during which no nested event runs".to_owned()),
        Figure {
            label: "Depth".to_owned(),
            value: Some(f64::from(depth)),
            unit: Unit::Count,
            note: "events around this one".to_owned(),
            ..Figure::default()
        },
    ];
    if event.origin == Origin::Captured {
        let op = op_of(context, trace, event.id());
        figures.extend(op.map(|op| op_figure(context, trace, op)));
        let graph = op.and_then(|op| program_graph::link(&context, op));
        let links: Vec<_> = graph.map(|link| ("Graph and HLO".to_owned(), link)).into_iter().collect();
        blocks.extend((!links.is_empty()).then_some(Block::Links { links }));
    }
    blocks.push(Block::Figures { figures });
    if event.origin == Origin::Captured {
        blocks.extend(linked::block(trace, &kept.linked(context, event)));
        blocks.extend(told(trace, event.id()));
    } else {
        blocks.push(Block::Note { text: DERIVED.to_owned() });
    }
    Page { blocks }
}

/// Returns the self time of an event (without nested events) and its nesting depth. Examines the events of the line that are
/// inside or around this event.
fn nested(scene: &Scene<'_>, origin: Origin, line: LineId, id: EventId, time: Interval) -> (Ps, u32) {
    let source = scene.source(origin);
    let mut around: Vec<(Interval, EventId)> = Vec::new();
    let mut inside: Vec<Interval> = Vec::new();
    for lane in source.lanes(line) {
        let first = lane.first_from(source.trace, time.start);
        let end = lane.first_starting_at(source.trace, first, time.end.max(time.start + Ps::new(1)));
        for place in first..end {
            let Some((other, at)) = lane.event(place).zip(lane.time(source.trace, place)) else { continue };
            let is_before =
                (at.start, std::cmp::Reverse(at.end), other) < (time.start, std::cmp::Reverse(time.end), id);
            if is_before {
                around.push((at, other));
            } else if other != id {
                inside.extend(at.clip(time));
            }
        }
    }
    around.sort_unstable_by_key(|(at, id)| (at.start, std::cmp::Reverse(at.end), *id));
    let mut nesting = Nesting::default();
    for (at, _) in around {
        nesting.place(at);
    }
    let depth = nesting.place(time).depth;
    (time.length() - trace::IntervalSet::union_of(inside).length(), depth)
}

fn op_of<'a>(context: Context<'a>, trace: &Trace, id: EventId) -> Option<&'a metrics::Op> {
    let event = trace.events.get(id)?;
    let ops = &context.analysis.ops;
    let (_, row) = ops.entries.iter().find(|(key, _)| *key == (event.name, event.args))?;
    ops.rows.get(*row as usize)
}

fn op_figure(context: Context<'_>, trace: &Trace, op: &metrics::Op) -> Figure {
    let ops = &context.analysis.ops;
    let total = ops.op_time;
    let share = if total > Ps::ZERO { 100.0 * op.self_time.as_us() / total.as_us() } else { 0.0 };
    let bound = context.analysis.bound_by(op).map_or(String::new(), |bound| format!(", bound by {bound}"));
    Figure {
        label: "All runs of this op".to_owned(),
        value: Some(op.self_time.as_us()),
        unit: Unit::TimeUs,
        note: format!("{} of all ops' self time{bound}", base::format::percent(share)),
        link: Link::equal(View::Ops, "hlo_op_name", ops.text(trace, op.name)),
        ..Figure::default()
    }
}

/// Lists all arguments of an event that the trace keeps, under their names in the file.
fn told(trace: &Trace, id: EventId) -> Option<Block> {
    let event = trace.events.get(id)?;
    let mut args = trace.args_of(&event);
    let mut rows: Vec<(String, String)> = Vec::new();
    for &arg in TextArg::ALL {
        let value = *args.text_mut(arg);
        if !value.is_empty() {
            let key = key(arg.xplane_stats(), arg.json_keys(), &format!("{arg:?}"));
            rows.push((key, printable(trace.text(value))));
        }
    }
    for &arg in NumberArg::ALL {
        if let Some(value) = *args.number_mut(arg) {
            rows.push((key(arg.xplane_stats(), arg.json_keys(), &format!("{arg:?}")), value.to_string()));
        }
    }
    if let Some(memory) = args.memory {
        for (name, bytes) in [
            ("HBM read", memory.hbm_read),
            ("HBM written", memory.hbm_write),
            ("CMEM read", memory.cmem_read),
            ("CMEM written", memory.cmem_write),
            ("VMEM read", memory.vmem_read),
            ("VMEM written", memory.vmem_write),
        ] {
            if bytes > 0 {
                rows.push((format!("{name}, bytes"), number(bytes as f64)));
            }
        }
    }
    for &column in EventColumn::ALL {
        if let Some(value) = trace.events.column(column).get(id) {
            rows.push((key(column.xplane_stats(), column.json_keys(), &format!("{column:?}")), value.to_string()));
        }
    }
    (!rows.is_empty()).then(|| Block::Grid(named_values("Values in the file", &rows)))
}

/// Returns a table of values under the names that the file uses.
pub fn named_values(title: &str, values: &[(String, String)]) -> Grid {
    let row = |(name, value): &(String, String)| vec![GridCell::text(name), GridCell::text(value)];
    let columns = ["Name in the file", "Value"].map(str::to_owned).to_vec();
    Grid { title: title.to_owned(), columns, rows: values.iter().map(row).collect() }
}

fn key(xplane: &[&[u8]], json: &[&[u8]], otherwise: &str) -> String {
    let known = xplane.first().or(json.first()).and_then(|name| std::str::from_utf8(name).ok());
    known.unwrap_or(otherwise).to_owned()
}
