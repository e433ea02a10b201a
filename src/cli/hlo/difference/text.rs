//! Difference between two programs as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use base::format::{bytes, count, counted, cut, percent, printable, shorten, si};
use crossprof::hlo::diff::{Aspect, Changed};
use crossprof::hlo::{Instruction, InstructionIndex};

use super::{Compared, Inside, Side};

/// Maximum number of rows in each list. The JSON contains all rows.
const MOST_ROWS: usize = 40;
/// Maximum width of a text that is followed by other texts on its line.
const WIDTH: usize = 90;

/// Returns a text with the numbers of both programs, the differences in each name scope, and the instructions that
/// differ, largest first. Removes control characters, which names in a damaged file may contain.
pub(super) fn document(compared: &Compared) -> String {
    written(compared).lines().map(|line| printable(line) + "\n").collect()
}

fn written(compared: &Compared) -> String {
    let Compared { a, b, difference } = compared;
    let mut out = format!("A  {} of {}\nB  {} of {}\n\n", a.program, a.run, b.program, b.run);
    numbers(&mut out, a, b);
    if difference.is_empty() {
        let _ = writeln!(
            out,
            "\nNo instruction differs: all {} are the same. Values of array constants are not compared.",
            count(difference.same as u64)
        );
        return out;
    }
    let _ = writeln!(
        out,
        "\n{} the same, {} changed, {} new, {} gone.",
        counted(difference.same as u64, "instruction"),
        count(difference.changed.len() as u64),
        count(difference.new.len() as u64),
        count(difference.gone.len() as u64)
    );
    by_scope(&mut out, compared);
    list(&mut out, "New in B", b, &difference.new);
    list(&mut out, "Gone from A", a, &difference.gone);
    changes(&mut out, compared);
    out
}

/// Writes the numbers of both programs next to each other.
fn numbers(out: &mut String, a: &Side, b: &Side) {
    let _ = writeln!(out, "{:<24}{:>14}{:>14}{:>12}", "", "A", "B", "Difference");
    let mut row = |name: &str, of: [Option<f64>; 2], text: &dyn Fn(f64) -> String| {
        if of == [None, None] {
            return;
        }
        let shown = of.map(|value| value.map_or("unknown".to_owned(), text));
        let change = match of {
            [Some(before), Some(after)] if before == after => "same".to_owned(),
            [Some(before), Some(after)] if before > 0.0 => {
                let change = percent(100.0 * (after - before).abs() / before);
                format!("{}{change}", if after > before { "+" } else { "−" })
            }
            _ => String::new(),
        };
        let _ = writeln!(out, "{name:<24}{:>14}{:>14}{change:>12}", shown[0], shown[1]);
    };
    let (of_a, of_b) = (&a.compiled, &b.compiled);
    let whole = |value: f64| count(value as u64);
    row("Instructions", [of_a, of_b].map(|it| Some(it.totals.instructions as f64)), &whole);
    row("Fusions", [of_a, of_b].map(|it| Some(it.totals.fusions as f64)), &whole);
    row("FLOPs per execution", [of_a, of_b].map(|it| Some(it.totals.flops)), &|value| si(value, "FLOP"));
    row("Bytes per execution", [of_a, of_b].map(|it| Some(it.totals.bytes)), &|value| si(value, "B"));
    let peak = |value: f64| bytes(value as u64);
    row("Peak memory", [of_a, of_b].map(|it| it.peak_bytes.map(|it| it as f64)), &peak);
    let unknown = [of_a, of_b].map(|it| it.totals.unknown);
    if unknown != [0, 0] {
        let _ = writeln!(
            out,
            "These sums do not include {} in A and {} in B, whose cost is unknown (library calls).",
            counted(unknown[0], "instruction"),
            count(unknown[1])
        );
    }
}

/// Writes the number of differences in each name scope.
fn by_scope(out: &mut String, compared: &Compared) {
    let Compared { a, b, difference } = compared;
    let mut found: BTreeMap<String, Inside> = BTreeMap::new();
    difference.new.iter().for_each(|&at| found.entry(b.scope(at)).or_default().new += 1);
    difference.gone.iter().for_each(|&at| found.entry(a.scope(at)).or_default().gone += 1);
    difference.changed.iter().for_each(|it| found.entry(b.scope(it.b)).or_default().changed += 1);
    let mut rows: Vec<(String, Inside)> = found.into_iter().collect();
    rows.sort_by_key(|(_, it)| std::cmp::Reverse(it.new + it.gone + it.changed));
    let _ = writeln!(out, "\n{:<60}{:>8}{:>8}{:>9}", "Scope", "New", "Gone", "Changed");
    for (scope, it) in rows.iter().take(MOST_ROWS) {
        let scope = if scope.is_empty() { "(no scope)" } else { scope };
        let number = |value: u64| if value == 0 { String::new() } else { count(value) };
        let cells = [it.new, it.gone, it.changed].map(number);
        let _ = writeln!(out, "{:<60}{:>8}{:>8}{:>9}", shorten(scope, 58), cells[0], cells[1], cells[2]);
    }
    rest(out, rows.len());
}

fn rest(out: &mut String, rows: usize) {
    if rows > MOST_ROWS {
        let _ = writeln!(out, "and {} more: --format json lists all", count((rows - MOST_ROWS) as u64));
    }
}

/// Writes a list of the instructions that run as separate ops. Instructions with the most bytes come first. Other
/// instructions are only counted.
fn list(out: &mut String, title: &str, side: &Side, chosen: &[InstructionIndex]) {
    if chosen.is_empty() {
        return;
    }
    let mut rows: Vec<InstructionIndex> = chosen.iter().copied().filter(|&at| side.runs(at)).collect();
    let within = chosen.len() - rows.len();
    sort(&mut rows, |&at| size(side, at));
    let _ = writeln!(out, "\n{title}: {}{}", counted(rows.len() as u64, "instruction"), inner(within));
    for &at in rows.iter().take(MOST_ROWS) {
        let Some(it) = side.module().at(at) else { continue };
        let _ = writeln!(out, "  {}{}", described(side, at, it), contents(side, it));
    }
    rest(out, rows.len());
}

fn inner(within: usize) -> String {
    if within == 0 { String::new() } else { format!(", and {} inside fusions and reductions", count(within as u64)) }
}

/// Returns the name, result, cost and path of an instruction.
fn described(side: &Side, at: InstructionIndex, it: &Instruction) -> String {
    let mut text = format!("%{}  {} {}", it.name, it.opcode, cut(&it.shape.text(true), WIDTH));
    if let Some(cost) = side.cost(at).filter(|cost| cost.bytes_accessed > 0.0) {
        if cost.flops > 0.0 {
            let _ = write!(text, "  {}", si(cost.flops, "FLOP"));
        }
        let _ = write!(text, "  {}", si(cost.bytes_accessed, "B"));
    }
    if !it.metadata.op_name.is_empty() {
        let _ = write!(text, "  {}", cut(&it.metadata.op_name, WIDTH));
    }
    text
}

/// Describes the contents of a fusion that is new or gone.
fn contents(side: &Side, it: &Instruction) -> String {
    let called = it.called.first().filter(|_| it.is("fusion"));
    let Some(within) = called.and_then(|called| side.module().computation(*called)) else { return String::new() };
    let mut opcodes: BTreeMap<&str, u64> = BTreeMap::new();
    for inner in side.module().instructions_of(within).iter().filter(|it| !it.is("parameter") && !it.is("constant")) {
        *opcodes.entry(&inner.opcode).or_default() += 1;
    }
    let listed = opcodes.iter().map(|(opcode, &number)| match number {
        1 => (*opcode).to_owned(),
        _ => format!("{} {opcode}", count(number)),
    });
    format!("\n      of {}", cut(&listed.collect::<Vec<_>>().join(", "), WIDTH))
}

/// Writes the changed pairs of instructions that run as separate ops. Pairs that differ only in their operands are
/// last.
fn changes(out: &mut String, compared: &Compared) {
    let Compared { a, b, difference } = compared;
    let [of_a, of_b] = compared.inside();
    let mut rows: Vec<&Changed> = difference.changed.iter().filter(|it| b.runs(it.b)).collect();
    let within = difference.changed.len() - rows.len();
    if difference.changed.is_empty() {
        return;
    }
    sort(&mut rows, |it| (it.aspects.iter().any(|&it| it != Aspect::Operands), size(b, it.b)));
    let _ = writeln!(out, "\nChanged: {}{}", counted(rows.len() as u64, "instruction"), inner(within));
    for changed in rows.iter().take(MOST_ROWS) {
        let (Some(in_a), Some(in_b)) = (a.module().at(changed.a), b.module().at(changed.b)) else { continue };
        let renamed = if in_a.name == in_b.name { String::new() } else { format!("%{} → ", in_a.name) };
        let _ = writeln!(out, "  {renamed}{}", described(b, changed.b, in_b));
        for &aspect in &changed.aspects {
            let [before, after] = difference.texts(a.module(), b.module(), changed, aspect);
            let text = match aspect {
                Aspect::Contents => {
                    let sum = in_a.called.iter().zip(&in_b.called).fold(Inside::default(), |sum, (of, other)| {
                        let (gone, it) = (of_a.get(of).copied().unwrap_or_default(), of_b.get(other));
                        let it = it.copied().unwrap_or_default();
                        let Inside { new, changed, .. } = it;
                        Inside { new: sum.new + new, gone: sum.gone + gone.gone, changed: sum.changed + changed }
                    });
                    let Inside { new, gone, changed } = sum;
                    format!("{} new, {} gone, {} changed inside", count(new), count(gone), count(changed))
                }
                _ => format!("{} → {}", either(&before), either(&after)),
            };
            let _ = writeln!(out, "      {}: {text}", aspect.title());
        }
    }
    rest(out, rows.len());
}

fn either(text: &str) -> String {
    if text.is_empty() { "none".to_owned() } else { cut(text, WIDTH) }
}

/// Returns the number of bytes that an instruction reads and writes.
fn size(side: &Side, at: InstructionIndex) -> u64 {
    side.cost(at).map_or(0, |cost| cost.bytes_accessed as u64)
}

/// Sorts rows with the largest key first. Rows with equal keys keep their order.
fn sort<T, K: Ord>(rows: &mut [T], key: impl Fn(&T) -> K) {
    rows.sort_by_cached_key(|row| std::cmp::Reverse(key(row)));
}
