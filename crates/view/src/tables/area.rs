//! Which part of the timeline a table is of, as it is asked: the tables `events` and `range` are of any.

use base::Ps;
use metrics::Context;
use serde::{Deserialize, Serialize};
use timeline::statistics::Area;
use timeline::{Origin, Source, Timeline, chosen_lines};
use trace::{Interval, LineId};

use crate::table::{Column, Unit, column};

/// A part of the timeline of the whole capture, whatever window the numbers of other tables are of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AreaQuery {
    /// Where the area starts, in picoseconds from the start of the capture; the start of the capture where absent.
    #[serde(default)]
    pub from_ps: Option<i64>,
    /// Where the area ends; the end of the capture where absent.
    #[serde(default)]
    pub to_ps: Option<i64>,
    /// The lines.
    #[serde(default)]
    pub lines: LineQuery,
    /// The counters, by their indices in [`Trace::counters`](trace::Trace::counters) of what was captured or derived; where absent those of
    /// the processes of the lines.
    #[serde(default)]
    pub counters: Option<Vec<(Origin, u32)>>,
}

/// Lines of an area.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LineQuery {
    /// All lines.
    #[default]
    All,
    /// The lines that any of these patterns means; see [`chosen_lines`].
    Patterns(Vec<String>),
    /// The lines with these indices in [`Trace::lines`](trace::Trace::lines).
    Indices(Vec<u32>),
}

/// The column of names, which all forms of the table of a range have.
pub(super) const NAME: Column = column(
    "name",
    "Name",
    Unit::Text,
    "What the events have in common: by default their name, else as `--by` says (`op`, `category`, `scope`, `line`); \
     or the name of the counter.",
)
.caveat(
    "Op, category and name scope are those of the table [ops](#table-ops); other events have the HLO op, category and \
     framework path that they state themselves, if any.",
);

/// What a table of an area is made of.
#[derive(Clone)]
pub(super) struct AreaOf<'a> {
    pub context: Context<'a>,
    pub source: Source<'a>,
    pub area: Area,
    /// Start of the capture: what times count from.
    pub origin: Ps,
    /// How long the range is; of an open one the part in the capture.
    pub length: Ps,
}

impl<'a> AreaOf<'a> {
    /// A sentence where no line is meant, or no time.
    pub fn new(context: &Context<'a>, timeline: &'a Timeline, asked: &AreaQuery) -> Result<AreaOf<'a>, String> {
        let source = timeline.source(*context, Origin::Captured);
        let capture = source.by_line.extent.unwrap_or(Interval::new(Ps::ZERO, Ps::ZERO));
        let at = |ps: Option<i64>| ps.map(|ps| capture.start + Ps::new(ps));
        let (from, to) = (at(asked.from_ps), at(asked.to_ps));
        if from.zip(to).is_some_and(|(from, to)| from >= to) {
            return Err("the range ends before it starts".to_owned());
        }
        let open = Area::EVERYTHING;
        let area = Area {
            range: Interval::new(from.unwrap_or(open.start), to.unwrap_or(open.end)),
            lines: lines(source, &asked.lines)?,
        };
        let length = Interval::new(from.unwrap_or(capture.start), to.unwrap_or(capture.end)).length();
        Ok(AreaOf { context: *context, source, area, origin: capture.start, length })
    }
}

/// The lines that are asked for, in the order of the file, each once.
fn lines(source: Source<'_>, asked: &LineQuery) -> Result<Vec<LineId>, String> {
    let mut chosen = vec![false; source.trace.lines.len()];
    let mut choose = |line: usize| chosen.get_mut(line).into_iter().for_each(|chosen| *chosen = true);
    match asked {
        LineQuery::All => chosen.fill(true),
        LineQuery::Patterns(patterns) => {
            for pattern in patterns {
                chosen_lines(source.trace, pattern)?.into_iter().for_each(|line| choose(line.index()));
            }
        }
        LineQuery::Indices(indices) => indices.iter().for_each(|&line| choose(line as usize)),
    }
    Ok(source.trace.line_ids().zip(chosen).filter_map(|(line, chosen)| chosen.then_some(line)).collect())
}
