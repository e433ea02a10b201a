//! What is known of an op beyond its row: how near to its roof it is, its instruction, what is fused into it, its kernels, and where it ran how long.

use super::ChosenRow;
use crate::pages::{Bar, Bars, Block, Fact, Facts, Figure, Grid, GridCell};
use crate::table::{Cell, CellRef, Query, Unit, query, unit};
use crate::tables::{self, TableName};
use base::{Ps, format, source_line};
use metrics::Context;
use trace::{EventId, Interval, Platform};

/// Steps that are listed: those with the most time of it.
const MOST_STEPS: usize = 12;
/// Devices and kernels that are listed.
const MOST_ROWS: usize = 16;
/// Frames of a call stack that are listed.
const MOST_FRAMES: usize = 50;
/// Instructions of a fusion that are listed.
const MOST_INSTRUCTIONS: usize = 100;

/// An op of a run.
pub(super) struct Op<'a> {
    context: Context<'a>,
    /// Index of the op among [`metrics::Ops::rows`].
    index: usize,
    op: &'a metrics::Op,
}

impl<'a> Op<'a> {
    /// The op that a row is about, where there is just one that it can mean.
    pub fn of(context: Context<'a>, row: &ChosenRow<'_>) -> Option<Op<'a>> {
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

    fn text(&self, text: metrics::Text) -> &'a str {
        self.context.analysis.ops.text(self.context.trace(), text)
    }

    /// How much of the device's peaks it uses.
    pub fn figures(&self) -> Option<Block> {
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
            figure("Of its roof", "roofline_efficiency_percent", bound),
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

    /// Why nothing is said of its line or of what limits it, where nothing is.
    pub fn missing(&self) -> Vec<Fact> {
        let fact = |label: &str, value: String| Fact { label: label.to_owned(), value, ..Fact::default() };
        let source = self.why_no_source().map(|reason| fact("Source", reason.to_owned()));
        let bound = self.why_no_bound().map(|reason| fact("Bound by", reason));
        source.into_iter().chain(bound).collect()
    }

    fn why_no_source(&self) -> Option<&'static str> {
        if !self.text(self.op.source).is_empty() {
            return None;
        }
        let ops = &self.context.analysis.ops;
        Some(if ops.rows.iter().all(|op| self.text(op.source).is_empty()) {
            "None: this profile names no line of any op."
        } else if self.text(self.op.framework_path).is_empty() {
            "None: XLA added this op itself."
        } else {
            "None: the program names the framework's path of this op, and no line."
        })
    }

    fn why_no_bound(&self) -> Option<String> {
        let roofline = &self.context.analysis.roofline;
        if roofline.bound_label(self.op).is_some() {
            return None;
        }
        let missing = self.context.profile.not_measured.iter().find(|missing| missing.field == "roofline");
        Some(match (roofline.point(self.op), missing) {
            (None, Some(missing)) => format!("Unknown. {}", missing.reason),
            (None, None) => "Unknown: the peaks of this device are not known.".to_owned(),
            (Some(_), _) => "Unknown: neither its FLOPs nor its bytes are known.".to_owned(),
        })
    }

    /// All blocks but the figures.
    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let expression = self.text(self.op.expression);
        let mut facts: Vec<Fact> = Vec::new();
        if !expression.is_empty() {
            facts.push(Fact { label: "HLO".to_owned(), value: format::printable(expression), ..Fact::default() });
        }
        facts.extend(self.fused());
        if !facts.is_empty() {
            blocks.push(Block::Facts(Facts { title: "Instruction".to_owned(), facts }));
        }
        blocks.extend(self.stack());
        blocks.extend(self.kernels());
        let runs = self.runs();
        blocks.extend(self.devices(&runs));
        blocks.extend(self.steps(&runs));
        blocks
    }

    /// The whole call stack of the source line, libraries and all.
    fn stack(&self) -> Option<Block> {
        let trace = self.context.trace();
        let stated = trace.text(trace.args.get(self.op.args).source_stack);
        let mut stack: Vec<String> = source_line::frames(stated).rev().map(str::to_owned).collect();
        if stack.is_empty() {
            stack = self.instruction().map(|(module, instruction)| module.stack_of(instruction)).unwrap_or_default();
        }
        let frame = |frame: &String| vec![GridCell::text(&format::printable(frame))];
        let (title, columns) = ("Call stack".to_owned(), vec!["Innermost first".to_owned()]);
        let rows: Vec<Vec<GridCell>> = stack.iter().map(frame).take(MOST_FRAMES).collect();
        (rows.len() > 1).then_some(Block::Grid(Grid { title, columns, rows }))
    }

    /// Instruction of the op, where the program is embedded.
    fn instruction(&self) -> Option<(&'a hlo::Module, &'a hlo::Instruction)> {
        let modules = &self.context.run.programs().modules;
        let (name, module_name) = (self.text(self.op.name), self.text(self.op.module));
        // Hosts number their programs each by themselves; the first that has it will do.
        let mut hosts = self.context.analysis.devices.used.iter().map(|device| device.host);
        hosts.find_map(|host| {
            let module = match self.op.program_id {
                Some(program) => modules.find(host, program)?,
                None => modules.find_by_name(host, module_name)?,
            };
            Some((module, module.instruction(name)?))
        })
    }

    /// The instructions inside of it, where it is a fusion.
    fn fused(&self) -> Vec<Fact> {
        let Some((module, instruction)) = self.instruction() else { return Vec::new() };
        let inside = hlo::fused(module, instruction);
        let shown = inside.iter().filter(|it| !it.is("parameter")).take(MOST_INSTRUCTIONS);
        let fact = |it: &hlo::Instruction| Fact {
            label: it.opcode.clone(),
            value: format::shorten(&format::printable(&hlo::expression(module, it)), 300),
            definition: module.source_of(it).unwrap_or_default(),
        };
        shown.map(fact).collect()
    }

    /// The kernels that it launches.
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
                (Some(Cell::Int(value)), Some(column)) => crate::table::unit::short(*value as f64, column.unit),
                (Some(Cell::Float(value)), Some(column)) => crate::table::unit::short(*value, column.unit),
                _ => "–".to_owned(),
            };
            GridCell::text(&text)
        };
        let rows: Vec<Vec<GridCell>> =
            found.rows.iter().map(|row| columns.iter().map(|&at| cell(row, at)).collect()).collect();
        let heads = columns.iter().filter_map(|&at| found.columns.get(at)).map(|column| column.title.to_owned());
        (!rows.is_empty()).then(|| Block::Grid(Grid { title: "Kernels".to_owned(), columns: heads.collect(), rows }))
    }

    /// What one of its events is: an execution may launch several kernels.
    fn event(&self) -> &'static str {
        if self.context.analysis.devices.platform == Some(Platform::Gpu) { "kernel" } else { "run" }
    }

    /// When the op ran, by device.
    fn runs(&self) -> Vec<Vec<Interval>> {
        let (trace, analysis) = (self.context.trace(), self.context.analysis);
        let of_op = analysis.ops.entries.iter().filter(|(_, row)| *row as usize == self.index);
        let keys: Vec<_> = of_op.map(|(key, _)| *key).collect();
        let run = |id: &EventId| {
            let event = trace.events.get(*id)?;
            let is_it = keys.contains(&(event.name, event.args));
            is_it.then(|| Interval::new(event.start, event.start + event.duration))
        };
        analysis.devices.used.iter().map(|device| device.ops.iter().filter_map(run).collect()).collect()
    }

    /// How often and how long the op ran on each device.
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

    /// In which steps the op took how long, all devices together.
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
        let bar = |&(at, sum, count): &(usize, Ps, u64)| {
            let name = steps.names.get(at).and_then(Option::as_deref);
            Bar {
                label: name.map_or_else(|| format!("step {at}"), |name| format!("step {name}")),
                value: sum.as_us(),
                class: self.op.family.into(),
                note: if count == 1 {
                    format!("1 {}", self.event())
                } else {
                    format!("{} {}s", format::count(count), self.event())
                },
                link: None,
            }
        };
        let title = if is_cut { "Steps with the most time in it" } else { "Time by step" };
        Some(Block::Bars(Bars {
            title: title.to_owned(),
            unit: Unit::TimeUs,
            bars: listed.iter().map(bar).collect(),
            note: format!("The {}s that start in the step, all devices together.", self.event()),
            ..Bars::default()
        }))
    }
}

fn total(runs: &[Interval]) -> Ps {
    runs.iter().fold(Ps::ZERO, |sum, run| sum + run.length())
}
