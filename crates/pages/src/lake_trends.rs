//! Trends of a lake: the step time of each workload by capture, the recorded changes, and the captures to open.
//!
//! ```text
//! 14 captures of 2 workloads           one row for each workload: the slower ones first, then the newest
//! jit_step, 8 × TPU v5 lite            latest step time, change, captures
//!   . . . . . | · · ·                  typical step time of each capture with its quartiles, and the recorded changes
//!   time, run, commit, ... path        captures, newest first
//! ```
//!
//! All numbers come from the file of the lake's trends. This module computes only the order of the workloads.

mod words;

use std::collections::BTreeMap;

use base::format;
use base::sort::sort_by;
use document::Section;
use document::{
    Block, CellStatus, Choice, Figure, Grid, GridCell, Judgement, Line, LineKind, Page, Place, Point, Scatter,
};
use metrics::StepPart;
use report::{LakeCapture, LakeTrends, LakeVerdict, LakeWorkload, Level, STEP_PARTS};
use table::Unit;

use crate::PageQuery;
use words::{commit, moment};

/// Option of the page: key of the workload that is shown alone.
const WORKLOAD: &str = "workload";
/// Maximum number of workloads with a chart on one page. Each point of a chart is an element of the page.
const MOST_CHARTS: usize = 8;
/// With more workloads than this, the page begins with a list to choose from.
const FEW_WORKLOADS: usize = 6;
/// Maximum number of workloads in the table and in the choice.
const MOST_WORKLOADS: usize = 500;
/// Maximum number of captures in a chart and in the table of a single workload.
const MOST_CAPTURES: usize = 500;
/// Maximum number of captures in a chart, and in a table, of one of several workloads.
const FEW_CAPTURES: (usize, usize) = (100, 10);
/// Number of parts of the step that a row names.
const PARTS: usize = 3;

/// A workload with the name that distinguishes it from the other workloads.
struct Named<'a> {
    name: String,
    of: &'a LakeWorkload,
}

/// Returns the page. An option selects a single workload.
pub fn page(trends: &LakeTrends, query: &PageQuery) -> Page {
    let ordered = ordered(trends);
    let mut blocks = Vec::new();
    let chosen = query.options.get(WORKLOAD).map_or("", String::as_str);
    let shown = ordered.iter().find(|it| it.of.key == chosen && !chosen.is_empty() && ordered.len() > 1);
    // The table of all workloads is a choice, too.
    if shown.is_some() || ordered.len() > FEW_WORKLOADS {
        let names = ordered.iter().take(MOST_WORKLOADS).map(|it| (it.of.key.clone(), it.name.clone()));
        blocks.push(Block::Choice(Choice {
            option: WORKLOAD.to_owned(),
            label: "Workload".to_owned(),
            values: [(String::new(), "all".to_owned())].into_iter().chain(names).collect(),
            chosen: shown.map_or_else(String::new, |it| it.of.key.clone()),
        }));
    }
    if let Some(workload) = shown {
        blocks.extend(of_workload(workload, (MOST_CAPTURES, MOST_CAPTURES)));
        return Page { blocks };
    }
    blocks.extend(sections(trends).into_iter().flat_map(|section| section.blocks));
    Page { blocks }
}

/// Returns the sections of a report. The first one lists all workloads.
pub fn sections(trends: &LakeTrends) -> Vec<Section> {
    let ordered = ordered(trends);
    let section = |id, title: &str, place, blocks| Section { id, title: title.to_owned(), blocks, place };
    let mut sections = vec![section("lake", "", Place::Front, vec![Block::Note { text: summary(&ordered) }])];
    if let [only] = ordered.as_slice() {
        let blocks = of_workload(only, (MOST_CAPTURES, MOST_CAPTURES));
        sections.push(section("workload", &only.name, Place::Front, blocks));
        return sections;
    }
    if let Some(first) = sections.first_mut().filter(|_| !ordered.is_empty()) {
        first.blocks.push(Block::Grid(workloads(&ordered)));
    }
    let of_each = ordered.iter().take(MOST_CHARTS).enumerate().map(|(at, workload)| {
        let place = if at == 0 { Place::Front } else { Place::Detail };
        section("workload", &workload.name, place, of_workload(workload, FEW_CAPTURES))
    });
    sections.extend(of_each);
    sections
}

/// Returns the workloads in the order of the page: first the workloads that became slower, largest change first, then
/// the others, sorted by their last capture, newest first. If several workloads have the same name, each name ends with
/// the workload's key.
fn ordered(trends: &LakeTrends) -> Vec<Named<'_>> {
    let with_captures = trends.workloads.iter().filter(|it| !it.captures.is_empty());
    let mut ordered: Vec<Named<'_>> = with_captures.map(|of| Named { name: words::name(of), of }).collect();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for named in &ordered {
        *counts.entry(named.name.clone()).or_default() += 1;
    }
    for named in ordered.iter_mut().filter(|it| counts.get(&it.name).is_some_and(|count| *count > 1)) {
        named.name += &format!(" ({})", words::shown(&named.of.key));
    }
    let slower = |it: &Named<'_>| {
        let verdict = latest(it.of).filter(|it| it.verdict == "slower");
        verdict.and_then(|it| it.change_percent).unwrap_or(0.0).max(0.0)
    };
    let last = |it: &Named<'_>| it.of.captures.last().and_then(|it| it.time.clone());
    sort_by(&mut ordered, |a, b| slower(b).total_cmp(&slower(a)).then_with(|| last(b).cmp(&last(a))));
    ordered
}

/// Returns the last recorded comparison.
fn latest(workload: &LakeWorkload) -> Option<&LakeVerdict> {
    workload.verdicts.last()
}

/// Returns the last capture whose typical step time is known.
fn last_measured(workload: &LakeWorkload) -> Option<(&LakeCapture, f64)> {
    workload.captures.iter().rev().find_map(|it| Some((it, it.typical_step_ps?)))
}

/// Describes the lake in sentences.
fn summary(ordered: &[Named<'_>]) -> String {
    let captures: usize = ordered.iter().map(|it| it.of.captures.len()).sum();
    let slower = ordered.iter().filter(|it| latest(it.of).is_some_and(|it| it.verdict == "slower")).count();
    if ordered.is_empty() {
        return "The lake contains no capture.".to_owned();
    }
    let counted = |count: usize, noun: &str| format::counted(count as u64, noun);
    let mut text = format!("{} of {}.", counted(captures, "capture"), counted(ordered.len(), "workload"));
    if ordered.iter().all(|it| it.of.verdicts.is_empty()) {
        text += " No comparison is recorded: crossprof lake regressions LAKE --record compares the last captures of each workload.";
    } else if slower > 0 {
        text += &format!(" {} became slower.", counted(slower, "workload"));
    } else {
        text += " No workload became slower in the last recorded comparison.";
    }
    if let Some(left @ 1..) = ordered.len().checked_sub(MOST_CHARTS) {
        text += &format!(
            " The charts below show the first {MOST_CHARTS}. Choose a workload to see one of the other {left}."
        );
    }
    text
}

/// Lists all workloads. A click on a name shows the workload alone.
fn workloads(ordered: &[Named<'_>]) -> Grid {
    let row = |named: &Named<'_>| {
        let workload = named.of;
        let last = workload.captures.last();
        let time_us = last_measured(workload).map(|(_, ps)| ps / 1e6);
        vec![
            GridCell {
                choice: Some((WORKLOAD.to_owned(), workload.key.clone())),
                note: words::details(workload).join(", "),
                ..GridCell::text(&words::program(workload))
            },
            GridCell::text(&format::optional_time_us(time_us)),
            change_cell(workload),
            GridCell::text(&format::count(workload.captures.len() as u64)),
            GridCell::text(&last.map_or_else(String::new, moment)),
            GridCell::text(&last.map_or_else(String::new, commit)),
        ]
    };
    let left = ordered.len().saturating_sub(MOST_WORKLOADS);
    let title = match left {
        0 => "Workloads".to_owned(),
        left => format!("Workloads (the first {MOST_WORKLOADS}; {left} more are not listed)"),
    };
    let columns = ["Workload", "Latest step time", "Change", "Captures", "Last capture", "Commit"];
    Grid { title, columns: headings(&columns), rows: ordered.iter().take(MOST_WORKLOADS).map(row).collect() }
}

/// Returns the change that the last comparison found.
fn change_cell(workload: &LakeWorkload) -> GridCell {
    let Some(verdict) = latest(workload) else { return GridCell::text(format::DASH) };
    let judgement = judgement(verdict);
    let status = match judgement {
        Judgement::Better => Some(CellStatus::Better),
        Judgement::Worse => Some(CellStatus::Worse),
        _ => None,
    };
    let text = format!("{} {}", judgement.symbol(), words::change(verdict));
    GridCell { note: words::short(verdict), status, ..GridCell::text(&text) }
}

fn judgement(verdict: &LakeVerdict) -> Judgement {
    match verdict.verdict.as_str() {
        "slower" => Judgement::Worse,
        "faster" => Judgement::Better,
        "same" | "equal" => Judgement::Same,
        "within_noise" => Judgement::Noise,
        _ => Judgement::Unknown,
    }
}

/// Returns the blocks of a workload: figures, the comparison in sentences, chart and captures. `most` limits the captures in
/// the chart and in the table.
fn of_workload(named: &Named<'_>, most: (usize, usize)) -> Vec<Block> {
    let workload = named.of;
    let heading = Block::Heading { text: named.name.clone(), note: Some(words::work(workload)) };
    let changes = changes(workload);
    let mut blocks = vec![heading, Block::Figures { figures: figures(workload) }];
    let sentences = words::sentences(workload);
    if !sentences.is_empty() {
        blocks.push(Block::Note { text: sentences.join("\n") });
    }
    let chart = chart(named, &changes, most.0);
    if chart.points.len() > 1 {
        blocks.push(Block::Scatter(chart));
    }
    blocks.push(Block::Grid(captures(workload, &changes, most.1)));
    blocks
}

fn figures(workload: &LakeWorkload) -> Vec<Figure> {
    let measured = last_measured(workload);
    let mut figures = vec![Figure {
        label: "Latest step time".to_owned(),
        value: measured.map(|(_, ps)| ps / 1e6),
        unit: Unit::TimeUs,
        note: measured.map_or_else(
            || "No capture contains steps.".to_owned(),
            |(capture, _)| format!("{}{}", moment(capture), words::of_commit(capture)),
        ),
        ..Figure::default()
    }];
    let verdict = latest(workload);
    figures.push(Figure {
        label: "Change".to_owned(),
        value: verdict.and_then(|it| it.change_percent),
        unit: Unit::Percent,
        note: verdict.map_or_else(|| "No comparison is recorded.".to_owned(), words::short),
        level: match verdict.map(judgement) {
            Some(Judgement::Worse) => Some(Level::Bad),
            Some(Judgement::Better) => Some(Level::Good),
            _ => None,
        },
        ..Figure::default()
    });
    let ends = workload.captures.first().zip(workload.captures.last());
    figures.push(Figure {
        label: "Captures".to_owned(),
        value: Some(workload.captures.len() as f64),
        unit: Unit::Count,
        note: ends.map_or_else(String::new, |(first, last)| words::period(first, last)),
        ..Figure::default()
    });
    figures
}

/// Returns the recorded changes, each with the index of the first capture after it. Later comparisons find the same
/// change again, so only the last comparison that found it is kept.
fn changes(workload: &LakeWorkload) -> Vec<(usize, &LakeVerdict)> {
    let place = |id: &str| workload.captures.iter().position(|it| !id.is_empty() && it.id == id);
    let mut found: Vec<(usize, &LakeVerdict)> = Vec::new();
    for verdict in workload.verdicts.iter().filter(|it| matches!(it.verdict.as_str(), "slower" | "faster")) {
        let ids = [verdict.first_bad_capture_id.as_deref(), verdict.first_capture_id.as_deref()];
        let ids = ids.into_iter().flatten().chain([verdict.capture_id.as_str()]);
        if let Some(at) = ids.into_iter().find_map(place) {
            found.retain(|(other, _)| *other != at);
            found.push((at, verdict));
        }
    }
    found
}

/// Draws the typical step time of the last captures, each with the quartiles of its steps. Also marks the changes.
fn chart(named: &Named<'_>, changes: &[(usize, &LakeVerdict)], most: usize) -> Scatter {
    let workload = named.of;
    let skipped = workload.captures.len().saturating_sub(most);
    let measured = || {
        let all = workload.captures.iter().enumerate().skip(skipped);
        all.filter_map(|(at, capture)| Some((at, capture, capture.typical_step_ps? / 1e9)))
    };
    let x = |at: usize| at as f64 + 1.0;
    let points = measured().map(|(at, capture, ms)| Point {
        label: moment(capture),
        x: x(at),
        y: ms,
        size: 0.1,
        extent: None,
        class: StepPart::Compute.into(),
        notes: words::notes(capture),
        link: None,
    });
    let mut lines = vec![Line {
        label: String::new(),
        kind: LineKind::Measured,
        points: measured().map(|(at, _, ms)| (x(at), ms)).collect(),
    }];
    lines.extend(measured().filter_map(|(at, capture, _)| {
        let points = vec![(x(at), capture.p25_step_time_ps? / 1e9), (x(at), capture.p75_step_time_ps? / 1e9)];
        Some(Line { label: String::new(), kind: LineKind::Interval, points })
    }));
    let ends = measured().fold((f64::MAX, f64::MIN), |(low, high), (.., ms)| (low.min(ms), high.max(ms)));
    lines.extend(changes.iter().filter(|(at, _)| *at >= skipped && ends.0 <= ends.1).map(|&(at, verdict)| Line {
        label: format!("{} {}", judgement(verdict).symbol(), words::change(verdict)),
        kind: LineKind::Mark,
        points: vec![(x(at), 0.0), (x(at), ends.1)],
    }));
    let last = if skipped > 0 { format!("last {most} captures") } else { "captures".to_owned() };
    Scatter {
        title: format!("Step time of {}", named.name),
        x_label: format!("{last}, in the order of their time"),
        y_label: "ms per typical step, with the quartiles of the steps".to_owned(),
        logarithmic: false,
        points: points.collect(),
        lines,
    }
}

/// Lists the last captures, newest first.
fn captures(workload: &LakeWorkload, changes: &[(usize, &LakeVerdict)], most: usize) -> Grid {
    let row = |(at, capture): (usize, &LakeCapture)| {
        let change = changes.iter().find(|(place, _)| *place == at).map(|(_, verdict)| *verdict);
        let status = change.map(judgement).map(|it| match it {
            Judgement::Better => CellStatus::Better,
            _ => CellStatus::Worse,
        });
        let step = GridCell {
            note: words::quartiles(capture),
            status,
            ..GridCell::text(&format::optional_time_us(capture.typical_step_ps.map(|ps| ps / 1e6)))
        };
        let event = change.map_or_else(String::new, |verdict| format!("{} here", words::change(verdict)));
        vec![
            GridCell::text(&moment(capture)),
            GridCell::text(&capture.run),
            GridCell::text(&commit(capture)),
            step,
            GridCell::text(&event),
            GridCell::text(&parts(capture)),
            GridCell::text(&words::findings(capture)),
            GridCell::text(&capture.path),
        ]
    };
    let count = workload.captures.len();
    let title = match count.checked_sub(most) {
        Some(left @ 1..) => format!("Last {most} captures, newest first ({} earlier)", format::count(left as u64)),
        _ => "Captures, newest first".to_owned(),
    };
    let columns = [
        "Time",
        "Run",
        "Commit",
        "Typical step",
        "Change",
        "Largest parts of the mean step",
        "Findings",
        "Path to open",
    ];
    let rows = workload.captures.iter().enumerate().rev().take(most).map(row).collect();
    Grid { title, columns: headings(&columns), rows }
}

/// Lists the largest parts of the mean step.
fn parts(capture: &LakeCapture) -> String {
    let named = STEP_PARTS.iter().zip(&capture.parts_ps);
    let mut parts: Vec<(&str, f64)> =
        named.filter_map(|((_, title), ps)| Some((*title, ps.filter(|ps| *ps > 0.0)?))).collect();
    sort_by(&mut parts, |a, b| b.1.total_cmp(&a.1));
    let texts = parts.iter().take(PARTS).map(|(title, ps)| format!("{title} {}", format::time_us(ps / 1e6)));
    texts.collect::<Vec<_>>().join(", ")
}

fn headings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests;
