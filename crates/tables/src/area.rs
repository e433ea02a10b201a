//! Requested area of the timeline that the `events` and `range` tables cover.

use base::Ps;
use metrics::Context;
use serde::{Deserialize, Serialize};
use timeline::statistics::Area;
use timeline::{NoLine, Origin, Source, Timeline, chosen_lines};
use trace::{Interval, LineId};

use table::{Column, Unit, column};

/// Request for a part of the timeline of the whole capture, independent of the window of other
/// tables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AreaQuery {
    /// Start of the area, in picoseconds from the start of the capture. If absent, the area begins with the capture.
    #[serde(default)]
    pub from_ps: Option<i64>,
    /// End of the area, in picoseconds from the start of the capture. If absent, the area ends with the capture.
    #[serde(default)]
    pub to_ps: Option<i64>,
    /// Lines of the area.
    #[serde(default)]
    pub lines: LineQuery,
    /// Counters, by their indices in [`Trace::counters`](trace::Trace::counters) of the captured or derived trace. If
    /// absent, the area contains the counters of the processes to which the lines belong.
    #[serde(default)]
    pub counters: Option<Vec<(Origin, u32)>>,
}

/// Lines of an area.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LineQuery {
    /// All lines.
    #[default]
    All,
    /// Lines that match any of these patterns; see [`chosen_lines`].
    Patterns(Vec<String>),
    /// Lines with these indices in [`Trace::lines`](trace::Trace::lines).
    Indices(Vec<u32>),
}

/// Name column, which all forms of the range table have.
pub(super) const NAME: Column = column(
    "name",
    "Name",
    Unit::Text,
    "Common property of the events: their name by default, or the property given by `--by` (`op`, `category`, \
        `scope`, `line`). For a counter, its name.",
)
.caveat(
    "The op, category and name scope of device ops come from the [`ops` table](#table-ops). For other events, they \
        are the HLO op, category and framework path that the event records, if any.",
);

/// Reason why an area has no table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AreaError {
    /// A pattern matches no line.
    #[error(transparent)]
    NoLine(#[from] NoLine),
    /// The area selects no time.
    #[error("the range ends before it starts")]
    EndsBeforeStart,
    /// Only memory tables are available, and the requested table is not one of them.
    #[error("this is not a memory table")]
    NotOfMemory,
}

/// Input of an area table.
#[derive(Clone)]
pub(super) struct AreaOf<'a> {
    pub context: Context<'a>,
    pub timeline: &'a Timeline,
    pub source: Source<'a>,
    pub area: Area,
    /// Start of the capture, which is time 0.
    pub origin: Ps,
    /// Length of the range. If an end of the range is open, the capture's end is used.
    pub length: Ps,
}

impl<'a> AreaOf<'a> {
    /// Resolves the request.
    ///
    /// # Errors
    ///
    /// Fails if no line or no time is selected.
    pub(crate) fn new(
        context: &Context<'a>,
        timeline: &'a Timeline,
        asked: &AreaQuery,
    ) -> Result<AreaOf<'a>, AreaError> {
        let source = timeline.source(*context, Origin::Captured);
        let capture = source.by_line.extent.unwrap_or(Interval::new(Ps::ZERO, Ps::ZERO));
        let at = |ps: Option<i64>| ps.map(|ps| capture.start + Ps::new(ps));
        let (from, to) = (at(asked.from_ps), at(asked.to_ps));
        if from.zip(to).is_some_and(|(from, to)| from >= to) {
            return Err(AreaError::EndsBeforeStart);
        }
        let open = Area::EVERYTHING;
        let area = Area {
            range: Interval::new(from.unwrap_or(open.start), to.unwrap_or(open.end)),
            lines: lines(*context, source, &asked.lines)?,
        };
        let length = Interval::new(from.unwrap_or(capture.start), to.unwrap_or(capture.end)).length();
        Ok(AreaOf { context: *context, timeline, source, area, origin: capture.start, length })
    }
}

/// Returns the requested lines in the order of the file, each once.
fn lines(context: Context<'_>, source: Source<'_>, asked: &LineQuery) -> Result<Vec<LineId>, AreaError> {
    let mut chosen = vec![false; source.trace.lines.len()];
    let mut choose = |line: usize| chosen.get_mut(line).into_iter().for_each(|chosen| *chosen = true);
    match asked {
        LineQuery::All => chosen.fill(true),
        LineQuery::Patterns(patterns) => {
            for pattern in patterns {
                chosen_lines(context, pattern)?.into_iter().for_each(|line| choose(line.index()));
            }
        }
        LineQuery::Indices(indices) => indices.iter().for_each(|&line| choose(line as usize)),
    }
    Ok(source.trace.line_ids().zip(chosen).filter_map(|(line, chosen)| chosen.then_some(line)).collect())
}
