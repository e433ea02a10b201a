//! Compares live memory from device memory profiles: the totals, and the lines of code that hold more or less memory
//! than they do in the baseline. Also writes the answer for runs whose files contain only memory data.

use super::headline::signed_percent;
use super::{MemoryComparison, Subject};
use base::{format, sort};
use report::{LiveMemory, LiveMemoryLine, Memory};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of lines of code that are listed for one run.
const MOST_LINES: usize = 20;

/// Change in the live memory of one line of code, compared with the baseline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryLineChange {
    /// Index of the run.
    pub run: u32,
    /// `file:line` that allocated the memory. Empty if the profile has no call stack.
    pub line: String,
    /// Function that contains the line. Empty if unknown.
    pub function: String,
    /// Change in the number of arrays and programs, compared with the baseline. Negative if there are fewer.
    pub count_change: i64,
    /// Change in bytes, compared with the baseline. Negative if there are fewer.
    pub bytes_change: i64,
}

/// Returns true if the files of all runs contain only memory data, so that only memory can be compared.
pub(super) fn is_all(subjects: &[Subject]) -> bool {
    subjects.iter().all(|subject| subject.profile.is_of_memory_alone())
}

/// Returns the live bytes of each run over all devices, if the run has a device memory profile.
pub(super) fn live_bytes(sections: &[Memory]) -> Vec<Option<u64>> {
    sections.iter().map(|section| section.live.as_ref().map(|live| live.total_bytes)).collect()
}

/// Returns the lines that hold more or less memory than in the baseline, the largest change of each
/// run first.
pub(super) fn lines(sections: &[Memory], baseline: usize) -> Vec<MemoryLineChange> {
    let Some(base) = sections.get(baseline).and_then(|section| section.live.as_ref()) else { return Vec::new() };
    let others = sections.iter().enumerate().filter(|(run, _)| *run != baseline);
    let with_live = others.filter_map(|(run, section)| Some((run, section.live.as_ref()?)));
    with_live.flat_map(|(run, live)| changes(run, live, base)).collect()
}

fn changes(run: usize, live: &LiveMemory, base: &LiveMemory) -> Vec<MemoryLineChange> {
    let ours = live.lines.iter();
    let gone = base.lines.iter().filter(|line| of_line(live, line).is_none());
    let change = |line: &LiveMemoryLine| {
        let (our, their) = (sum(live, line)?, sum(base, line)?);
        Some(MemoryLineChange {
            run: u32::try_from(run).unwrap_or(u32::MAX),
            line: line.line.clone(),
            function: line.function.clone(),
            count_change: our.0.saturating_sub(their.0),
            bytes_change: our.1.saturating_sub(their.1),
        })
    };
    let mut found: Vec<MemoryLineChange> = ours.chain(gone).filter_map(change).collect();
    found.retain(|change| change.count_change != 0 || change.bytes_change != 0);
    sort::sort_by(&mut found, |a, b| b.bytes_change.unsigned_abs().cmp(&a.bytes_change.unsigned_abs()));
    found.truncate(MOST_LINES);
    found
}

fn of_line<'a>(live: &'a LiveMemory, line: &LiveMemoryLine) -> Option<&'a LiveMemoryLine> {
    live.lines.iter().find(|it| it.line == line.line && it.function == line.function)
}

/// Returns `(count, bytes)` of a line of code in `live`. A profile lists only its largest lines. A line that is not
/// listed may still hold memory, so the result is `None`. However, if the listed lines add up to the total, the line
/// holds no memory.
fn sum(live: &LiveMemory, line: &LiveMemoryLine) -> Option<(i64, i64)> {
    let whole = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    match of_line(live, line) {
        Some(found) => Some((whole(found.count), whole(found.bytes))),
        None => lists_all(live).then_some((0, 0)),
    }
}

/// Returns true if the memory of the listed lines adds up to the total.
fn lists_all(live: &LiveMemory) -> bool {
    live.lines.iter().map(|line| u128::from(line.bytes)).sum::<u128>() >= u128::from(live.total_bytes)
}

/// Returns the answer for runs whose files contain only memory data. Compares live memory, or the memory that programs
/// need, with the memory of the baseline.
pub(super) fn sentences(memory: Option<&MemoryComparison>, subjects: &[Subject], baseline: usize) -> Vec<String> {
    let Some(memory) = memory else {
        return vec!["The files contain no memory totals that could be compared.".to_owned()];
    };
    let name = |run: usize| subjects.get(run).map_or("", |subject| subject.name.as_str());
    let figure = |of: &[Option<u64>], run: usize| of.get(run).copied().flatten();
    let mut sentences = Vec::new();
    for run in (0..subjects.len()).filter(|&run| run != baseline) {
        for (of, has) in [(&memory.live_bytes, "has live memory of"), (&memory.peak_bytes, "needs")] {
            let (Some(ours), Some(theirs)) = (figure(of, run), figure(of, baseline)) else { continue };
            sentences.push(format!(
                "{} {has} {} against {} in {}{}.",
                name(run),
                format::bytes(ours),
                format::bytes(theirs),
                name(baseline),
                relative(ours, theirs)
            ));
        }
        let largest = memory.lines.iter().find(|line| line.run as usize == run);
        sentences.extend(largest.map(|line| format!("Largest change by line of code: {}.", line.text())));
    }
    if sentences.is_empty() {
        sentences.push("The files contain different kinds of memory totals, which cannot be compared.".to_owned());
    }
    sentences
}

/// Formats a relative change: ` (+3.5 %)`. Returns an empty string if there is no difference, or if the baseline is 0.
fn relative(ours: u64, theirs: u64) -> String {
    if theirs == 0 || ours == theirs {
        return String::new();
    }
    format!(" ({})", signed_percent(100.0 * (ours as f64 / theirs as f64 - 1.0)))
}

impl MemoryLineChange {
    /// Describes the change: `+1.20 MiB, 3 more, at preprocess (load.py:18)`.
    pub fn text(&self) -> String {
        let sign = if self.bytes_change < 0 { "-" } else { "+" };
        let count = format::count(self.count_change.unsigned_abs());
        let count = match self.count_change {
            0 => String::new(),
            ..0 => format!(", {count} fewer"),
            _ => format!(", {count} more"),
        };
        let place = match (self.function.as_str(), self.line.as_str()) {
            ("", "") => "without a call stack".to_owned(),
            ("", line) => format!("at {line}"),
            (function, line) => format!("at {function} ({line})"),
        };
        format!("{sign}{}{count}, {place}", format::bytes(self.bytes_change.unsigned_abs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(total_bytes: u64, lines: &[(&str, u64, u64)]) -> Memory {
        let lines = lines.iter().map(|&(line, count, bytes)| LiveMemoryLine {
            line: line.to_owned(),
            function: "init".to_owned(),
            count,
            bytes,
            ..LiveMemoryLine::default()
        });
        let live = LiveMemory { total_bytes, lines: lines.collect(), ..LiveMemory::default() };
        Memory { live: Some(live), ..Memory::default() }
    }

    #[test]
    fn lines_that_grew_and_went_are_listed() {
        let (before, after) = (live(30, &[("a.py:1", 2, 20), ("a.py:2", 1, 10)]), live(45, &[("a.py:1", 3, 45)]));
        let texts: Vec<String> = lines(&[before, after], 0).iter().map(MemoryLineChange::text).collect();
        assert_eq!(texts, ["+25 B, 1 more, at init (a.py:1)", "-10 B, 1 fewer, at init (a.py:2)"]);
    }

    /// `before` does not list all lines of its profile, so the remaining memory may belong to `a.py:2`.
    #[test]
    fn unlisted_lines_do_not_count_as_zero() {
        let (before, after) = (live(100, &[("a.py:1", 1, 20)]), live(45, &[("a.py:1", 1, 25), ("a.py:2", 1, 20)]));
        let texts: Vec<String> = lines(&[before, after], 0).iter().map(MemoryLineChange::text).collect();
        assert_eq!(texts, ["+5 B, at init (a.py:1)"]);
    }
}
