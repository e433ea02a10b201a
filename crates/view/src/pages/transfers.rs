//! The page of transfers: bytes and bandwidth by direction, by step, and every kind of copy.

use super::{Bar, Bars, Block, Figure, Link, Page, PageQuery, Series, Stack, StackRow, table_block};
use crate::table::Unit;
use crate::tables::TableName;
use base::{Ps, format};
use metrics::{Context, Copies, CopyRow, StepCopies, bandwidth_gb_per_sec};
use trace::Platform;
use trace::copies::Direction;

/// Steps that the chart shows: the table of steps has all.
const MOST_STEPS: usize = 200;

/// The page.
pub fn page(context: &Context<'_>, query: &PageQuery) -> Page {
    let copies = &context.analysis.copies;
    if copies.rows.is_empty() {
        return Page { blocks: vec![nothing(copies)] };
    }
    let mut blocks = vec![Block::Figures { figures: figures(copies) }];
    if copies.on_device().next().is_none() {
        let text = "The trace holds only the host's calls. They start a transfer and do not tell how long it takes.";
        blocks.push(Block::Note { text: text.to_owned() });
    }
    blocks.extend(by_step(&copies.steps).map(Block::Stack));
    blocks.push(Block::Bars(by_row(copies)));
    blocks.push(Block::Table(table_block(context, TableName::Transfers, "", "Transfers by direction and kind", query)));
    Page { blocks }
}

fn nothing(copies: &Copies) -> Block {
    let (reason, remedy) = match copies.platform {
        Some(Platform::Cpu) => ("XLA's CPU backend computes in host memory: nothing is copied to a device.", None),
        Some(_) => (
            "The trace holds no copy between host and devices. What was copied before the capture began is not in it.",
            Some(
                "with jax.profiler.trace(\"/tmp/profile\"):\n    batch = jax.device_put(next(batches))\n    jax.block_until_ready(train_step(state, batch))",
            ),
        ),
        None => (
            "No op ran on a TPU, a GPU or XLA's CPU backend while the profile was taken.",
            Some("with jax.profiler.trace(\"/tmp/profile\"):\n    jax.block_until_ready(train_step(state, batch))"),
        ),
    };
    Block::Empty { reason: reason.to_owned(), remedy: remedy.map(str::to_owned) }
}

/// Names for people.
fn title(direction: Direction) -> &'static str {
    match direction {
        Direction::HostToDevice => "Host to device",
        Direction::DeviceToHost => "Device to host",
        Direction::WithinDevice => "Within a device",
        Direction::BetweenDevices => "Between devices",
        Direction::Fill => "Fills",
        Direction::Other => "Unknown direction",
    }
}

fn class(direction: Direction) -> &'static str {
    match direction {
        Direction::HostToDevice => "h2d",
        Direction::DeviceToHost => "d2h",
        Direction::WithinDevice => "d2d",
        Direction::BetweenDevices => "p2p",
        Direction::Fill | Direction::Other => "data_movement",
    }
}

fn link(direction: Direction) -> Option<Link> {
    Some(Link { view: "transfers".to_owned(), filter: format!("direction={}", direction.label()) })
}

fn figures(copies: &Copies) -> Vec<Figure> {
    let figure = |direction: Direction| {
        let rows: Vec<&CopyRow> = copies.on_device().filter(|row| row.class.direction == direction).collect();
        if rows.is_empty() {
            return host_calls(copies, direction);
        }
        let count: u64 = rows.iter().map(|row| row.count).sum();
        let time: Ps = rows.iter().map(|row| row.time).sum();
        let bytes: u64 = rows.iter().filter_map(|row| row.bytes).sum();
        let sized: u64 = rows.iter().map(|row| row.sized_count).sum();
        let sized_time: Ps = rows.iter().map(|row| row.sized_time).sum();
        let size = match sized {
            0 => "the trace does not state their size".to_owned(),
            sized if sized < count => format!("{} in the {} of known size", format::bytes(bytes), format::count(sized)),
            _ => format::bytes(bytes),
        };
        let noun = if count == 1 { "transfer" } else { "transfers" };
        Some(Figure {
            label: title(direction).to_owned(),
            value: bandwidth_gb_per_sec(bytes, sized_time).filter(|_| sized > 0),
            unit: Unit::GigabytesPerSecond,
            note: format!("{} {noun} in {}: {size}", format::count(count), format::time_us(time.as_us())),
            status: None,
            metric: None,
            link: link(direction),
        })
    };
    Direction::ALL.into_iter().filter_map(figure).collect()
}

/// Where only the host's calls are known, their number.
fn host_calls(copies: &Copies, direction: Direction) -> Option<Figure> {
    let row = copies.rows.iter().find(|row| row.class.direction == direction)?;
    Some(Figure {
        label: title(direction).to_owned(),
        value: None,
        unit: Unit::GigabytesPerSecond,
        note: format!(
            "{} calls took {} on the host; the transfers themselves are not in the trace",
            format::count(row.count),
            format::time_us(row.time.as_us())
        ),
        status: None,
        metric: None,
        link: link(direction),
    })
}

/// Time of copies by step, mean over the devices that ran it.
fn by_step(steps: &[StepCopies]) -> Option<Stack> {
    let used: Vec<usize> = (0..Direction::ALL.len())
        .filter(|&at| steps.iter().any(|step| step.time.get(at).is_some_and(|&time| time > Ps::ZERO)))
        .collect();
    if used.is_empty() {
        return None;
    }
    let direction = |at: &usize| Direction::ALL.get(*at).copied().unwrap_or(Direction::Other);
    let series = used.iter().map(|at| {
        let direction = direction(at);
        Series { label: title(direction).to_owned(), class: class(direction).to_owned(), link: link(direction) }
    });
    let row = |step: &StepCopies| StackRow {
        label: step.name.clone().unwrap_or_else(|| step.step.to_string()),
        parts: used
            .iter()
            .map(|&at| step.time.get(at).map_or(0.0, |time| time.as_us()) / step.devices.max(1) as f64)
            .collect(),
        link: None,
    };
    let shown = steps.iter().take(MOST_STEPS);
    let note =
        if steps.len() > MOST_STEPS { format!(", the first {MOST_STEPS} of {}", steps.len()) } else { String::new() };
    Some(Stack {
        title: format!("Time of transfers by step, mean over devices{note}"),
        unit: Unit::TimeUs,
        series: series.collect(),
        rows: shown.map(row).collect(),
    })
}

fn by_row(copies: &Copies) -> Bars {
    let bar = |row: &CopyRow| {
        let class_of = &row.class;
        let memory = match (class_of.source_memory.as_str(), class_of.target_memory.as_str()) {
            ("", "") => String::new(),
            ("", target) => format!(", {target}"),
            (source, "") => format!(", {source}"),
            // The direction says it.
            ("host", "device") | ("device", "host") => String::new(),
            (source, target) => format!(", {source} to {target}"),
        };
        Bar {
            label: format!("{}: {}{memory}", title(class_of.direction), class_of.kind.label()),
            value: row.time.as_us(),
            class: class(class_of.direction).to_owned(),
            note: row.bandwidth_gb_per_sec().map_or(String::new(), |rate| format!("{} GB/s", format::number(rate))),
            link: link(class_of.direction),
        }
    };
    Bars {
        title: "Time by direction and kind".to_owned(),
        unit: Unit::TimeUs,
        bars: copies.rows.iter().map(bar).collect(),
    }
}
