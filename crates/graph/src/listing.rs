//! The text of a computation, line by line, with the device time of each instruction and the names that are links.

use base::format::{cut, time_us};
use hlo::{ComputationIndex, Line, Module, Printed, Target, print_computation};
use serde::{Deserialize, Serialize};

use crate::numbers::Measured;

/// Maximum number of letters in a line. Longer lines are cut, for example lines of custom calls with a payload.
const LONGEST: usize = 2_000;

/// A range of lines of a computation's text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Listing {
    /// Number of lines of the whole computation.
    pub lines: u32,
    /// Index of the line with the instruction that the request names.
    pub centre: Option<u32>,
    /// Index, in the whole computation, of the line in `rows[0]`.
    pub first: u32,
    /// The lines.
    pub rows: Vec<Row>,
}

/// A line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Name of the instruction. `None` for a line without an instruction.
    pub name: Option<String>,
    /// Device time of the instruction over the window. Empty if the time was not measured.
    pub time: String,
    /// The text.
    pub text: String,
    /// Names in the text that are links, in text order.
    pub links: Vec<RowLink>,
}

/// A name in a line that links to an instruction or a computation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RowLink {
    /// First byte of the name in the text.
    pub start: u32,
    /// First byte after the name.
    pub end: u32,
    /// Name of an instruction or a computation, without `%`.
    pub name: String,
    /// True if the link leads to a computation.
    pub is_computation: bool,
}

/// The printed text of one computation.
#[derive(Debug)]
pub(crate) struct Text {
    /// The computation.
    pub computation: ComputationIndex,
    printed: Printed,
    /// First byte of each line.
    starts: Vec<usize>,
}

impl Text {
    /// Prints a computation.
    pub(crate) fn new(module: &Module, computation: ComputationIndex) -> Text {
        let printed = print_computation(module, computation);
        let ends = printed.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(ends).take(printed.lines.len()).collect();
        Text { computation, printed, starts }
    }

    /// Returns `count` lines from `first`. `centre` names the instruction whose line [`Listing::centre`] reports.
    pub(crate) fn listing(
        &self,
        module: &Module,
        measured: &Measured,
        centre: Option<&str>,
        (first, count): (u32, u32),
    ) -> Listing {
        let is_centre = |line: &Line| match line {
            Line::Instruction(index) => module.at(*index).is_some_and(|it| Some(it.name.as_str()) == centre),
            _ => false,
        };
        let lines = self.printed.lines.iter().enumerate().skip(first as usize).take(count as usize);
        Listing {
            lines: self.printed.lines.len() as u32,
            centre: centre.and_then(|_| self.printed.lines.iter().position(is_centre)).map(|at| at as u32),
            first,
            rows: lines.map(|(at, line)| self.row(module, measured, at, *line)).collect(),
        }
    }

    fn row(&self, module: &Module, measured: &Measured, at: usize, line: Line) -> Row {
        let start = self.starts.get(at).copied().unwrap_or_default();
        let end = self.starts.get(at + 1).copied().unwrap_or(self.printed.text.len());
        let text = self.printed.text.get(start..end).unwrap_or_default().trim_end_matches('\n');
        let shown = cut(text, LONGEST);
        let index = match line {
            Line::Instruction(index) => Some(index),
            _ => None,
        };
        let all = &self.printed.links;
        let from = all.partition_point(|link| link.range.start < start);
        let links = all.get(from..).unwrap_or_default().iter().take_while(|link| link.range.end <= end);
        // A shortened line lacks its middle part.
        let cut_at = || shown.find('…').unwrap_or_default();
        let readable = if shown == text { text.len() } else { cut_at() };
        let links = links.filter(|link| link.range.end - start <= readable).filter_map(|link| {
            let (name, is_computation) = match link.target {
                Target::Instruction(index) => (&module.at(index)?.name, false),
                Target::Computation(index) => (&module.computation(index)?.name, true),
            };
            let (start, end) = ((link.range.start - start) as u32, (link.range.end - start) as u32);
            Some(RowLink { start, end, name: name.clone(), is_computation })
        });
        let time = index.and_then(|index| measured.own(index)?.time);
        Row {
            name: index.and_then(|index| module.at(index)).map(|it| it.name.clone()),
            time: time.map_or(String::new(), |time| time_us(time.as_us())),
            links: links.collect(),
            text: shown,
        }
    }
}
