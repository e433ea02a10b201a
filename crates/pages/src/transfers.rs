//! Transfers page: bytes and bandwidth by direction, time by step, and every kind of copy.

use crate::source::nothing_ran;
use crate::{PageQuery, Source, table_block};
use base::{Ps, format};
use document::{Bar, Bars, Block, ColourClass, Figure, Link, Series, Stack, StackRow};
use metrics::{Context, Copies, CopyRow, StepCopies, StepPart, bandwidth_gb_per_sec};
use report::{UnifiedProfile, View};
use table::Unit;
use tables::TableName;
use trace::Platform;
use trace::copies::Direction;

/// Maximum number of steps in the chart. The steps table contains all steps.
const MOST_STEPS: usize = 200;

pub(super) fn blocks(source: Source<'_>, query: &PageQuery) -> Vec<Block> {
    source.measured_or_recorded(|context| of_trace(context, query), |profile| of_profile(source, profile, query))
}

fn of_profile(source: Source<'_>, profile: &UnifiedProfile, query: &PageQuery) -> Vec<Block> {
    let figures: Vec<Figure> =
        Direction::ALL.into_iter().filter_map(|it| Some(Sum::of_profile(profile, it)?.figure(it))).collect();
    let mut blocks = Vec::new();
    if !figures.is_empty() {
        blocks.push(Block::Figures { figures });
    }
    blocks.extend(source.table_block(TableName::Transfers, "Copies by direction", query));
    if blocks.is_empty() {
        blocks.push(source.not_measured("memory_operations"));
    }
    blocks
}

/// Returns the figure for the bandwidth from the host to the devices.
pub(super) fn host_to_device(source: Source<'_>) -> Option<Figure> {
    let direction = Direction::HostToDevice;
    let sum = source.measured_or_recorded(
        |context| Sum::of_trace(context, direction),
        |profile| Sum::of_profile(profile, direction),
    );
    sum.map(|sum| sum.figure(direction))
}

fn of_trace(context: &Context<'_>, query: &PageQuery) -> Vec<Block> {
    let copies = &context.analysis.copies;
    if copies.rows.is_empty() {
        return vec![nothing(copies)];
    }
    let mut blocks = vec![Block::Figures { figures: figures(context) }];
    if copies.on_device().next().is_none() {
        let text = "The trace contains only the host's calls that start transfers, but not the duration of the \
            transfers.";
        blocks.push(Block::Note { text: text.to_owned() });
    }
    blocks.extend(by_step(&copies.steps).map(Block::Stack));
    blocks.push(Block::Bars(by_row(copies)));
    blocks.push(Block::Table(table_block(context, TableName::Transfers, "", "Transfers by direction and kind", query)));
    blocks
}

fn nothing(copies: &Copies) -> Block {
    let (reason, remedy) = match copies.platform {
        Some(Platform::Cpu) => ("XLA's CPU backend computes in host memory, so nothing is copied to a device.", None),
        Some(_) => (
            "The trace contains no copies between host and devices. Copies that ran before the capture are not \
                recorded.",
            Some(
                "with jax.profiler.trace(\"/tmp/profile\"):\n    batch = jax.device_put(next(batches))\n    jax.block_until_ready(train_step(state, batch))",
            ),
        ),
        None => return nothing_ran(),
    };
    Block::Empty { reason: reason.to_owned(), remedy: remedy.map(str::to_owned) }
}

/// Returns the display name.
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

fn class(direction: Direction) -> ColourClass {
    let part = match direction {
        Direction::HostToDevice => StepPart::HostToDevice,
        Direction::DeviceToHost => StepPart::DeviceToHost,
        Direction::WithinDevice => StepPart::DeviceToDevice,
        Direction::BetweenDevices => StepPart::PeerToPeer,
        Direction::Fill | Direction::Other => StepPart::DataMovement,
    };
    part.into()
}

fn link(direction: Direction) -> Option<Link> {
    Some(Link::to(View::Transfers, &format!("direction={}", direction.label())))
}

/// Sum of all copies in one direction.
struct Sum {
    count: u64,
    time_us: f64,
    /// Number of copies with a known size. The next fields contain the bytes and the bandwidth of the copies with a
    /// known size.
    sized: u64,
    bytes: u64,
    gb_per_sec: Option<f64>,
    /// Time on which the bandwidth is based.
    sized_time_us: f64,
    sized_time: SizedTime,
}

/// Kind of time on which the bandwidth of the transfers with a known size is based.
enum SizedTime {
    /// Time during which at least one transfer is in flight, summed over this number of devices.
    InFlight(usize),
    /// Sum of the transfers' durations, as recorded in the profile.
    Durations,
}

impl Sum {
    fn of_trace(context: &Context<'_>, direction: Direction) -> Option<Sum> {
        let copies = &context.analysis.copies;
        let rows: Vec<&CopyRow> = copies.on_device().filter(|row| row.class.direction == direction).collect();
        let time: Ps = rows.iter().map(|row| row.time).sum();
        let bytes: u64 = rows.iter().filter_map(|row| row.bytes).sum();
        let sized: u64 = rows.iter().map(|row| row.sized_count).sum();
        let sized_time: Ps = rows.iter().map(|row| row.sized_time).sum();
        (!rows.is_empty()).then(|| Sum {
            count: rows.iter().map(|row| row.count).sum(),
            time_us: time.as_us(),
            sized,
            bytes,
            gb_per_sec: bandwidth_gb_per_sec(bytes, sized_time).filter(|_| sized > 0),
            sized_time_us: sized_time.as_us(),
            sized_time: SizedTime::InFlight(context.analysis.devices.used.len()),
        })
    }

    fn of_profile(profile: &UnifiedProfile, direction: Direction) -> Option<Sum> {
        let all = &profile.memory_operations.as_ref()?.transfers;
        let found = all.iter().find(|transfer| transfer.direction == direction.label())?;
        let bytes = found.total_bytes.unwrap_or_default();
        Some(Sum {
            count: found.count,
            time_us: found.total_time_us,
            sized: found.sized_count,
            bytes,
            gb_per_sec: found.bandwidth_gb_per_sec,
            // 1 GB/s is 1,000 bytes per microsecond.
            sized_time_us: found.bandwidth_gb_per_sec.map_or(0.0, |rate| bytes as f64 / (1e3 * rate)),
            sized_time: SizedTime::Durations,
        })
    }

    fn figure(&self, direction: Direction) -> Figure {
        Figure {
            label: title(direction).to_owned(),
            value: self.gb_per_sec,
            unit: Unit::GigabytesPerSecond,
            note: self.note(),
            link: link(direction),
            ..Figure::default()
        }
    }

    /// Describes the bytes and the time of the transfers. Bytes are in powers of ten, like the bandwidth, so that bytes
    /// divided by time equal the figure.
    fn note(&self) -> String {
        let noun = if self.count == 1 { "transfer" } else { "transfers" };
        let (count, time) = (format!("{} {noun}", format::count(self.count)), format::time_us(self.time_us));
        let Some(_) = self.gb_per_sec else {
            return format!(
                "{count} in {time}. The trace does not record their \
            size"
            );
        };
        let bytes = format::bytes(self.bytes);
        let is_all = self.sized >= self.count;
        let of = if is_all { String::new() } else { format!(" ({} of known size)", format::count(self.sized)) };
        let sized_time = format::time_us(self.sized_time_us);
        let moved = format!("{count}{of}: {bytes} in {sized_time}");
        match self.sized_time {
            SizedTime::Durations => format!("{moved}, added up"),
            SizedTime::InFlight(devices) => {
                let all = if devices > 1 { format!(", summed over {devices} devices") } else { String::new() };
                let overlap = if is_all && self.sized_time_us < self.time_us {
                    format!("; they overlap, so their times add up to {time}")
                } else {
                    String::new()
                };
                format!("{moved} while a transfer is in flight{all}{overlap}")
            }
        }
    }
}

fn figures(context: &Context<'_>) -> Vec<Figure> {
    let figure = |direction: Direction| match Sum::of_trace(context, direction) {
        Some(sum) => Some(sum.figure(direction)),
        None => host_calls(&context.analysis.copies, direction),
    };
    Direction::ALL.into_iter().filter_map(figure).collect()
}

/// Returns the number of host calls, if only the calls are known.
fn host_calls(copies: &Copies, direction: Direction) -> Option<Figure> {
    let row = copies.rows.iter().find(|row| row.class.direction == direction)?;
    Some(Figure {
        label: title(direction).to_owned(),
        value: None,
        unit: Unit::GigabytesPerSecond,
        note: format!(
            "{} {} took {} on the host; the transfers themselves are not in the trace",
            format::count(row.count),
            if row.count == 1 { "call" } else { "calls" },
            format::time_us(row.time.as_us())
        ),
        metric: None,
        link: link(direction),
        ..Figure::default()
    })
}

/// Draws the time of copies by step, as a mean over the devices that ran the step.
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
        Series { label: title(direction).to_owned(), class: class(direction), link: link(direction) }
    });
    let row = |step: &StepCopies| StackRow {
        label: step.name.clone().unwrap_or_else(|| step.step.to_string()),
        parts: used
            .iter()
            .map(|&at| step.time.get(at).map_or(0.0, |time| time.as_us()) / step.devices.max(1) as f64)
            .collect(),
        ..StackRow::default()
    };
    let shown = steps.iter().take(MOST_STEPS);
    let note =
        if steps.len() > MOST_STEPS { format!(", the first {MOST_STEPS} of {}", steps.len()) } else { String::new() };
    Some(Stack {
        title: format!("Time of transfers by step, mean over devices{note}"),
        unit: Unit::TimeUs,
        series: series.collect(),
        rows: shown.map(row).collect(),
        ..Stack::default()
    })
}

fn by_row(copies: &Copies) -> Bars {
    let bar = |row: &CopyRow| {
        let class_of = &row.class;
        let memory = match (class_of.source_memory.as_str(), class_of.target_memory.as_str()) {
            ("", "") => String::new(),
            ("", target) => format!(", {target}"),
            (source, "") => format!(", {source}"),
            // The direction already shows source and target.
            ("host", "device") | ("device", "host") => String::new(),
            (source, target) => format!(", {source} to {target}"),
        };
        Bar {
            label: format!("{}: {}{memory}", title(class_of.direction), class_of.kind.label()),
            value: row.time.as_us(),
            class: class(class_of.direction),
            note: row
                .bandwidth_gb_per_sec()
                .map_or(String::new(), |rate| format!("{} GB/s while in flight", format::number(rate))),
            link: link(class_of.direction),
        }
    };
    Bars {
        title: "Time by direction and kind".to_owned(),
        unit: Unit::TimeUs,
        bars: copies.rows.iter().map(bar).collect(),
        ..Bars::default()
    }
}
