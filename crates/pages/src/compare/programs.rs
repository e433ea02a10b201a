//! Compiled programs of each run compared with the programs of the baseline: their numbers, and the instructions that
//! differ.

use super::{Block, Grid, GridCell, delta_cell, has_many, headings, name_of, note, others, words};
use base::format;
use compare::{AspectChange, Comparison, InstructionChange, ProgramChange, ProgramNumbers};
use document::{Judgement, Place, Section};

/// Maximum number of instructions that are shown for one program. The JSON contains more instructions.
const MOST_ROWS: usize = 20;
/// Maximum number of programs whose instructions are shown for one run.
const MOST_PROGRAMS: usize = 4;
/// Length of a text in a cell.
const WIDTH: usize = 90;

/// Returns the differences. Empty unless the files of two runs contain the same program.
pub(super) fn section(comparison: &Comparison) -> Section {
    let mut blocks = Vec::new();
    for run in others(comparison) {
        let of_run: Vec<&ProgramChange> = comparison.programs.iter().filter(|it| it.run == run).collect();
        let (different, equal): (Vec<_>, Vec<_>) = of_run.into_iter().partition(|it| differs(it));
        for change in different.iter().take(MOST_PROGRAMS) {
            blocks.extend(of_program(comparison, run, change));
        }
        blocks.extend(rest(comparison, run, different.get(MOST_PROGRAMS..).unwrap_or_default(), &equal));
    }
    let place = if has_many(comparison) { Place::Appendix } else { Place::Detail };
    super::section("programs", if blocks.is_empty() { "" } else { "Compiled programs" }, place, blocks)
}

/// Returns true if an instruction or the memory differs.
fn differs(change: &ProgramChange) -> bool {
    change.changed + change.new + change.gone > 0
        || change.numbers.peak_memory_bytes != change.baseline_numbers.peak_memory_bytes
}

/// Names the programs that are not shown in detail.
fn rest(comparison: &Comparison, run: u32, more: &[&ProgramChange], equal: &[&ProgramChange]) -> Option<Block> {
    let names = |programs: &[&ProgramChange]| {
        let names: Vec<&str> = programs.iter().map(|it| it.program.as_str()).collect();
        format::shorten(&names.join(", "), 300)
    };
    let ours = name_of(comparison, run);
    let mut sentences = Vec::new();
    if !equal.is_empty() {
        let (count, names) = (format::counted(equal.len() as u64, "program"), names(equal));
        let verb = if equal.len() == 1 { "has" } else { "have" };
        sentences.push(format!("{count} of {ours} {verb} the same instructions as in the baseline: {names}."));
    }
    if !more.is_empty() {
        sentences.push(format!("These programs of {ours} also differ: {}.", names(more)));
    }
    (!sentences.is_empty()).then(|| note(&sentences))
}

fn of_program(comparison: &Comparison, run: u32, change: &ProgramChange) -> Vec<Block> {
    let [ours, baseline] = [run, comparison.baseline].map(|run| name_of(comparison, run));
    let title = match change.program == change.baseline_program {
        true => change.program.clone(),
        false => format!("{} → {}", change.baseline_program, change.program),
    };
    let title = match others(comparison).count() {
        ..=1 => title,
        _ => format!("{title}, {ours} against {baseline}"),
    };
    let mut blocks = vec![Block::Grid(Grid {
        title: format::printable(&title),
        columns: headings(&["", "Difference", baseline, ours]),
        rows: numbers(&change.baseline_numbers, &change.numbers),
    })];
    blocks.push(note(&[counts(change)]));
    let shown: Vec<&InstructionChange> = change.instructions.iter().take(MOST_ROWS).collect();
    if !shown.is_empty() {
        let times = |it: &&InstructionChange| it.time_us.or(it.baseline_time_us).is_some();
        let timed = change.instructions.iter().any(|it| times(&it));
        let largest = super::largest(shown.iter().map(|it| delta(it)));
        let mut columns = vec!["Instruction".to_owned(), "What differs".to_owned()];
        if timed {
            columns.extend(headings(&["Time per execution", baseline, ours]));
        }
        let rows = shown.iter().map(|it| row(it, timed, largest)).collect();
        blocks.push(Block::Grid(Grid { title: String::new(), columns, rows }));
    }
    blocks
}

/// Name of a number, its values in the baseline and in the run, and the function that formats them.
type Number<'n> = (&'n str, [Option<f64>; 2], fn(f64) -> String);

/// Returns one row per number that a program has.
fn numbers(theirs: &ProgramNumbers, ours: &ProgramNumbers) -> Vec<Vec<GridCell>> {
    let both = |of: fn(&ProgramNumbers) -> f64| [Some(of(theirs)), Some(of(ours))];
    let optional = |of: fn(&ProgramNumbers) -> Option<f64>| [of(theirs), of(ours)];
    let count: fn(f64) -> String = |value| format::count(value as u64);
    let bytes: fn(f64) -> String = |value| format::bytes(value as u64);
    let rows: [Number<'_>; 7] = [
        ("Time per execution", optional(|it| it.time_us), format::time_us),
        ("Instructions", both(|it| it.instructions as f64), count),
        ("Fusions", both(|it| it.fusions as f64), count),
        ("FLOPs per execution", both(|it| it.flops), |value| format::si(value, "FLOP")),
        ("Bytes per execution", both(|it| it.bytes), |value| format::si(value, "B")),
        ("Instructions of unknown cost", both(|it| it.unknown_cost as f64), count),
        ("Peak memory", optional(|it| it.peak_memory_bytes.map(|bytes| bytes as f64)), bytes),
    ];
    let known = rows.into_iter().filter(|(_, values, _)| values.iter().flatten().any(|value| *value != 0.0));
    known
        .map(|(name, values, text)| {
            let shown = values.map(|value| value.map_or_else(|| format::DASH.to_owned(), text));
            let [theirs, ours] = shown.map(|text| GridCell::text(&text));
            vec![GridCell::text(name), GridCell::text(&relative(values)), theirs, ours]
        })
        .collect()
}

/// Returns the difference in percent of the baseline's value.
fn relative([theirs, ours]: [Option<f64>; 2]) -> String {
    match (theirs, ours) {
        (Some(theirs), Some(ours)) if theirs == ours => "same".to_owned(),
        (Some(theirs), Some(ours)) if theirs > 0.0 => {
            let sign = if ours > theirs { "+" } else { words::MINUS };
            format!("{sign}{}", format::percent(100.0 * (ours - theirs).abs() / theirs))
        }
        _ => String::new(),
    }
}

fn counts(change: &ProgramChange) -> String {
    let ProgramChange { same, changed, new, gone, instructions, .. } = change;
    let [changed, new, gone] = [changed, new, gone].map(|count| format::count(*count));
    let same = format::counted(*same, "instruction");
    let mut text = format!("{same} the same, {changed} changed, {new} new, {gone} gone.");
    let all = change.changed + change.new + change.gone;
    let shown = instructions.len().min(MOST_ROWS) as u64;
    if shown < all {
        let left = format::count(all - shown);
        text.push_str(&format!(
            " The table leaves out {left}, most of them inside fusions. To list all, run crossprof hlo A --against B."
        ));
    }
    text
}

fn delta(change: &InstructionChange) -> f64 {
    change.time_us.unwrap_or_default() - change.baseline_time_us.unwrap_or_default()
}

fn row(change: &InstructionChange, timed: bool, largest: f64) -> Vec<GridCell> {
    let (name, kind) = match (&change.name, &change.baseline_name) {
        (Some(ours), Some(theirs)) if ours == theirs => (ours.clone(), ""),
        (Some(ours), Some(theirs)) => (format!("{theirs} → {ours}"), ""),
        (Some(ours), None) => (ours.clone(), "new"),
        (None, theirs) => (theirs.clone().unwrap_or_default(), "gone"),
    };
    let about = [&change.opcode, &change.shape, &change.scope].into_iter().filter(|text| !text.is_empty());
    let about: Vec<String> = about.map(|text| format::cut(text, WIDTH)).collect();
    let differs = match kind {
        "" => change.differences.iter().map(difference).collect::<Vec<_>>().join("; "),
        kind => kind.to_owned(),
    };
    let mut cells = vec![
        GridCell { note: format::printable(&about.join(", ")), ..GridCell::text(&format::printable(&name)) },
        GridCell::text(&format::printable(&differs)),
    ];
    if timed {
        let delta = delta(change);
        let is_measured = change.time_us.or(change.baseline_time_us).is_some();
        cells.push(match is_measured {
            true => delta_cell(Judgement::of_time(delta), delta, largest),
            false => GridCell::text(format::DASH),
        });
        cells.extend(
            [change.baseline_time_us, change.time_us]
                .map(|us| GridCell::text(&us.map_or_else(|| format::DASH.to_owned(), format::time_us))),
        );
    }
    cells
}

/// Describes an aspect: `layout: f32[8,8]{1,0} → f32[8,8]{0,1}`.
fn difference(change: &AspectChange) -> String {
    let AspectChange { aspect, run, baseline } = change;
    let aspect = aspect.replace('_', " ");
    let [run, baseline] = [run, baseline].map(|text| match text.as_str() {
        "" => "none".to_owned(),
        text => format::cut(text, WIDTH),
    });
    // The names of called computations and operands differ between compilations, so identical texts prove nothing.
    if run == baseline { aspect } else { format!("{aspect}: {baseline} → {run}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::compare::example;

    #[test]
    fn numbers_and_instructions_are_side_by_side() {
        let comparison = example::comparison();
        let Section { blocks, title, .. } = section(&comparison);
        assert_eq!(title, "Compiled programs");
        let [Block::Grid(numbers), Block::Note { text }, Block::Grid(instructions), Block::Note { text: equal }] =
            blocks.as_slice()
        else {
            panic!("{blocks:?}")
        };
        assert_eq!(numbers.title, "jit_f(1) → jit_f(2)");
        let texts = |row: &[GridCell]| row.iter().map(|cell| cell.text.clone()).collect::<Vec<_>>();
        let rows: Vec<_> = numbers.rows.iter().map(|row| texts(row)).collect();
        let expected = [
            ["Time per execution", "−25.0 %", "40.0 ms", "30.0 ms"],
            ["Instructions", "+5.0 %", "1\u{202f}000", "1\u{202f}050"],
            ["Fusions", "same", "90", "90"],
            ["FLOPs per execution", "same", "2.00 TFLOP", "2.00 TFLOP"],
            ["Bytes per execution", "−50.0 %", "4.00 GB", "2.00 GB"],
            ["Peak memory", "", "–", "2.00 GiB"],
        ];
        assert_eq!(rows, expected.map(|row| row.map(str::to_owned).to_vec()));
        assert!(text.starts_with("940 instructions the same, 60 changed, 50 new, 0 gone. The table leaves out 108,"));
        let rows: Vec<_> = instructions.rows.iter().map(|row| texts(row)).collect();
        assert_eq!(rows[0][..2], ["fusion.3 → fusion.7", "layout: f32[8,8]{1,0} → f32[8,8]{0,1}; contents"]);
        assert_eq!(rows[0][3..], ["20.0 ms", "8.00 ms"]);
        assert_eq!(rows[1], ["<img onerror=x>\\u{1b}[2J", "new", rows[1][2].as_str(), "–", "2.00 ms"]);
        assert_eq!(equal, "1 program of new has the same instructions as in the baseline: jit_g(3).");
    }
}
