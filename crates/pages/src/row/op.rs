//! Details of an op beyond its row: its distance from the roof, its kernels, and its times by device and step. `code.rs`
//! shows its code.

use super::ChosenRow;
use crate::program_graph;
use base::{Ps, format};
use document::{Bar, Bars, Block, Fact, Figure, Grid, GridCell, Link};
use metrics::Context;
use report::View;
use table::{Cell, CellRef, Query, Unit, query, unit};
use tables::{self, TableName};
use timeline::EventRef;
use trace::{ArgsId, EventId, Interval, Platform, StrId, Trace};

/// Maximum number of steps that are listed. The steps in which the op takes the most time are kept.
const MOST_STEPS: usize = 12;
/// Maximum number of characters of a name in a link.
const LONGEST_NAME: usize = 40;
/// Maximum number of devices and of kernels that are listed.
const MOST_ROWS: usize = 16;

pub(super) struct Op<'a> {
    pub(super) context: Context<'a>,
    /// Index of the op in [`metrics::Ops::rows`].
    index: usize,
    pub(super) op: &'a metrics::Op,
}

impl<'a> Op<'a> {
    /// Returns the op of a row. Returns `None` if several ops match the row.
    pub(super) fn of(context: Context<'a>, row: &ChosenRow<'_>) -> Option<Op<'a>> {
        let (ops, trace) = (&context.analysis.ops, context.trace());
        if !matches!(row.name, TableName::Ops | TableName::Roofline | TableName::Kernels) {
            return None;
        }
        let index = match row.cell("rank") {
            Some(Cell::Int(rank)) if row.name != TableName::Kernels => usize::try_from(*rank).ok()?.checked_sub(1)?,
            _ => {
                let (name, module) = (row.text("hlo_op_name")?, row.text("hlo_module"));
                let is_it = |op: &metrics::Op| {
                    ops.text(trace, op.name) == name && module.is_none_or(|module| ops.text(trace, op.module) == module)
                };
                let mut found = (0..).zip(&ops.rows).filter(|(_, op)| is_it(op)).map(|(index, _)| index);
                let first = found.next()?;
                found.next().is_none().then_some(first)?
            }
        };
        Some(Op { context, index, op: ops.rows.get(index)? })
    }

    pub(super) fn text(&self, text: metrics::Text) -> &'a str {
        self.context.analysis.ops.text(self.context.trace(), text)
    }

    /// Returns the utilisation of the device's peaks.
    pub(super) fn figures(&self) -> Option<Block> {
        let rows = tables::rows(&self.context, TableName::Roofline, "");
        let cell = |key: &str| {
            let column = rows.columns().iter().position(|column| column.key == key)?;
            // The first row is the program.
            Some(rows.cell(self.index + 1, column))
        };
        let number = |key: &str| match cell(key)? {
            CellRef::Float(value) => Some(value),
            CellRef::Int(value) => Some(value as f64),
            _ => None,
        };
        let figure = |label: &str, key: &str, note: String| {
            let value = Some(number(key)?);
            Some(Figure { label: label.to_owned(), value, unit: Unit::Percent, note, ..Figure::default() })
        };
        let bound = match cell("bound_by") {
            Some(CellRef::Text(bound)) => format!("bound by {bound}"),
            _ => String::new(),
        };
        let rate = |key: &str, peak: &str| match (number(key), number(peak)) {
            (Some(rate), Some(peak)) => {
                format!("{} of {}", format::si(rate * 1e9, "FLOP/s"), format::si(peak * 1e9, "FLOP/s"))
            }
            _ => String::new(),
        };
        let memory = number("measured_memory_bw_gibps")
            .map_or_else(String::new, |speed| unit::short(speed, Unit::GibibytesPerSecond));
        let figures: Vec<Figure> = [
            figure("Of its roofline bound", "roofline_efficiency_percent", bound),
            figure(
                "Of peak FLOP/s",
                "compute_efficiency_percent",
                rate("measured_flop_rate_gflops", "peak_flop_rate_gflops"),
            ),
            figure("Of peak bandwidth", "max_mem_bw_utilization_percent", memory),
        ]
        .into_iter()
        .flatten()
        .collect();
        (!figures.is_empty()).then_some(Block::Figures { figures })
    }

    /// Returns links to the op in the graph of its program, to its longest run, and to all ops of its source line.
    pub(super) fn links(&self) -> Vec<(String, Link)> {
        let source = self.text(self.op.source);
        let of_line = Link::equal(View::Ops, "source_info", source).filter(|_| !source.is_empty());
        let of_line = of_line.map(|link| (format!("Ops of {}", file_and_line(source)), link));
        self.graph().into_iter().chain(self.longest_run()).chain(of_line).collect()
    }

    /// Returns a link to the op in the graph of its program.
    fn graph(&self) -> Option<(String, Link)> {
        let name = format::shorten(&format::printable(self.text(self.op.name)), LONGEST_NAME);
        Some((format!("Graph and HLO of {name}"), program_graph::link(&self.context, self.op)?))
    }

    /// Returns a link to the longest run of the op on the timeline.
    fn longest_run(&self) -> Option<(String, Link)> {
        let (trace, analysis) = (self.context.trace(), self.context.analysis);
        let keys = self.keys();
        let runs = analysis.devices.used.iter().enumerate().flat_map(|(device, it)| {
            let keys = &keys;
            it.ops.iter().filter_map(move |&id| Some((run_of(trace, keys, id)?, device, id)))
        });
        // If several runs are equally long, takes the first.
        let (run, device, id) = runs.reduce(|a, b| if b.0.length() > a.0.length() { b } else { a })?;
        let origin = analysis.captured.capture?.start;
        let link = Link {
            around_ps: Some(((run.start - origin).as_ps(), (run.end - origin).as_ps())),
            event: Some(EventRef::captured(id).key()),
            ..Link::to(View::Timeline, "")
        };
        let steps = &analysis.steps;
        let windows = steps.windows.get(device).map_or(&[][..], |windows| windows);
        let contains = |at: &usize| {
            windows
                .get(*at)
                .and_then(Option::as_ref)
                .is_some_and(|window| window.interval.start <= run.start && run.start < window.interval.end)
        };
        let step = (0..windows.len()).find(contains).map(|at| format!(" in {}", self.step(at)));
        let name = format::shorten(&format::printable(self.text(self.op.name)), LONGEST_NAME);
        Some((format!("Timeline: longest {name}{}", step.unwrap_or_default()), link))
    }

    fn step(&self, at: usize) -> String {
        let name = self.context.analysis.steps.names.get(at).and_then(Option::as_deref);
        name.map_or_else(|| format!("step {at}"), |name| format!("step {name}"))
    }

    /// Returns the reason why the bound of the op is unknown. Returns `None` if the bound is known.
    pub(super) fn unknown_bound(&self) -> Option<Fact> {
        self.why_no_bound().map(|value| Fact { label: "Bound by".to_owned(), value, ..Fact::default() })
    }

    fn why_no_bound(&self) -> Option<String> {
        let roofline = &self.context.analysis.roofline;
        if roofline.bound_label(self.op).is_some() {
            return None;
        }
        let missing = self.context.profile.not_measured.iter().find(|missing| missing.field == "roofline");
        Some(match (roofline.point(self.op), missing) {
            (None, Some(missing)) => format!("Unknown. {}", missing.reason),
            (None, None) => "Unknown, because the peaks of this device are unknown.".to_owned(),
            (Some(_), _) => "Unknown, because neither the FLOPs nor the bytes of the op are known.".to_owned(),
        })
    }

    /// Returns the kernels of the op, and its times by device and step.
    pub(super) fn blocks(&self) -> Vec<Block> {
        let runs = self.runs();
        [self.kernels(), self.devices(&runs), self.steps(&runs)].into_iter().flatten().collect()
    }

    /// Lists the kernels that the op launches.
    fn kernels(&self) -> Option<Block> {
        if self.context.analysis.kernel_stats.platform != Some(Platform::Gpu) {
            return None;
        }
        let name = self.text(self.op.name);
        let filter = (!name.contains('"')).then(|| format!("hlo_op_name=\"{name}\""))?;
        let rows = tables::rows(&self.context, TableName::Kernels, "");
        let found = query(&*rows, &Query { filter, sort: None, top: Some(MOST_ROWS as u32) });
        let keys = ["short_name", "occurrences", "total_duration_us", "block_dim", "grid_dim"];
        let columns: Vec<usize> =
            keys.iter().filter_map(|key| found.columns.iter().position(|column| column.key == *key)).collect();
        let cell = |row: &[Cell], at: usize| {
            let text = match (row.get(at), found.columns.get(at)) {
                (Some(Cell::Text(text)), _) => format::shorten(&format::printable(text), 60),
                (Some(Cell::Int(value)), Some(column)) => table::unit::short(*value as f64, column.unit),
                (Some(Cell::Float(value)), Some(column)) => table::unit::short(*value, column.unit),
                _ => "–".to_owned(),
            };
            GridCell::text(&text)
        };
        let rows: Vec<Vec<GridCell>> =
            found.rows.iter().map(|row| columns.iter().map(|&at| cell(row, at)).collect()).collect();
        let heads = columns.iter().filter_map(|&at| found.columns.get(at)).map(|column| column.title.to_owned());
        (!rows.is_empty()).then(|| Block::Grid(Grid { title: "Kernels".to_owned(), columns: heads.collect(), rows }))
    }

    /// Returns the word for one event of the op. An execution may launch several kernels.
    fn event(&self) -> &'static str {
        if self.context.analysis.devices.platform == Some(Platform::Gpu) { "kernel" } else { "run" }
    }

    /// Returns the names and arguments of the op's events.
    fn keys(&self) -> Vec<(StrId, ArgsId)> {
        let of_op = self.context.analysis.ops.entries.iter().filter(|(_, row)| *row as usize == self.index);
        of_op.map(|(key, _)| *key).collect()
    }

    /// Returns the times at which the op ran, by device.
    fn runs(&self) -> Vec<Vec<Interval>> {
        let (trace, keys) = (self.context.trace(), self.keys());
        let of = |device: &metrics::Device| device.ops.iter().filter_map(|&id| run_of(trace, &keys, id)).collect();
        self.context.analysis.devices.used.iter().map(of).collect()
    }

    /// Lists count and time of the op on each device.
    fn devices(&self, runs: &[Vec<Interval>]) -> Option<Block> {
        let used = &self.context.analysis.devices.used;
        if used.len() < 2 {
            return None;
        }
        let row = |(device, runs): (&metrics::Device, &Vec<Interval>)| {
            let sum = total(runs);
            let mean = sum.as_us() / runs.len().max(1) as f64;
            let longest = runs.iter().map(|run| run.length()).max().unwrap_or_default();
            vec![
                GridCell::text(&format::printable(&device.name)),
                GridCell::text(&format::count(runs.len() as u64)),
                GridCell::text(&format::time_us(sum.as_us())),
                GridCell::text(&if runs.is_empty() { "–".to_owned() } else { format::time_us(mean) }),
                GridCell::text(&if runs.is_empty() { "–".to_owned() } else { format::time_us(longest.as_us()) }),
            ]
        };
        let columns = ["Device", "Count", "Total", "Mean", "Longest"].map(str::to_owned).to_vec();
        let rows = used.iter().zip(runs).map(row).take(MOST_ROWS).collect();
        Some(Block::Grid(Grid { title: "By device".to_owned(), columns, rows }))
    }

    /// Lists the time of the op by step, summed over the devices.
    fn steps(&self, runs: &[Vec<Interval>]) -> Option<Block> {
        let steps = &self.context.analysis.steps;
        let mut sums = vec![(Ps::ZERO, 0u64); steps.names.len()];
        for (windows, runs) in steps.windows.iter().zip(runs) {
            let places: Vec<(Interval, usize)> =
                windows.iter().enumerate().filter_map(|(at, window)| Some((window.as_ref()?.interval, at))).collect();
            for run in runs {
                let after = places.partition_point(|(window, _)| window.start <= run.start);
                let Some((window, step)) = after.checked_sub(1).and_then(|at| places.get(at)) else { continue };
                if let Some((sum, count)) = sums.get_mut(*step).filter(|_| run.start < window.end) {
                    *sum += run.length();
                    *count += 1;
                }
            }
        }
        let mut listed: Vec<(usize, Ps, u64)> = sums
            .iter()
            .enumerate()
            .filter(|(_, (_, count))| *count > 0)
            .map(|(at, (sum, count))| (at, *sum, *count))
            .collect();
        if listed.len() < 2 {
            return None;
        }
        let is_cut = listed.len() > MOST_STEPS;
        if is_cut {
            base::sort::sort_by(&mut listed, |a, b| b.1.cmp(&a.1));
            listed.truncate(MOST_STEPS);
        }
        let bar = |&(at, sum, count): &(usize, Ps, u64)| Bar {
            label: self.step(at),
            value: sum.as_us(),
            class: self.op.family.into(),
            note: if count == 1 {
                format!("1 {}", self.event())
            } else {
                format!("{} {}s", format::count(count), self.event())
            },
            link: None,
        };
        let title = if is_cut { "Steps with the most time in the op" } else { "Time by step" };
        Some(Block::Bars(Bars {
            title: title.to_owned(),
            unit: Unit::TimeUs,
            bars: listed.iter().map(bar).collect(),
            note: format!("Counts the {}s that start in the step, on all devices.", self.event()),
            ..Bars::default()
        }))
    }
}

/// Returns the time of an event if it is a run of the op with these keys.
fn run_of(trace: &Trace, keys: &[(StrId, ArgsId)], id: EventId) -> Option<Interval> {
    let event = trace.events.get(id)?;
    let is_it = keys.contains(&(event.name, event.args));
    is_it.then(|| Interval::new(event.start, event.start + event.duration))
}

/// Returns file and line without folders: `model.py:41` for `/home/me/model.py:41`.
fn file_and_line(source: &str) -> String {
    format::shorten(&format::printable(source.rsplit(['/', '\\']).next().unwrap_or(source)), LONGEST_NAME)
}

fn total(runs: &[Interval]) -> Ps {
    runs.iter().fold(Ps::ZERO, |sum, run| sum + run.length())
}
