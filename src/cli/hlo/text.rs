//! Programs as text, with the time of each instruction in the margin.

use std::fmt::Write as _;

use base::format::{count, percent, time_us};
use crossprof::Ps;
use crossprof::graph::{Measured, Selection, critical_path as longest};
use crossprof::hlo::{ComputationIndex, InstructionIndex, Line, Module, print, print_computation};

/// Width of the time column in the margin.
const MARGIN: usize = 11;

/// Returns the text of a program, of one computation, or of the neighbourhood of an op.
pub(super) fn program(
    module: &Module,
    measured: &Measured,
    near: Option<&Selection>,
    computation: Option<ComputationIndex>,
) -> String {
    let printed = match computation.or(near.map(|near| near.computation)) {
        Some(index) => print_computation(module, index),
        None => print(module),
    };
    let centre = near.and_then(|near| near.centre);
    let mut out = String::with_capacity(printed.text.len() + printed.lines.len() * 16);
    for (text, line) in printed.text.lines().zip(&printed.lines) {
        let index = match line {
            Line::Instruction(index) => Some(*index),
            _ => None,
        };
        if let (Some(near), Some(index)) = (near, index)
            && near.instructions.binary_search(&index).is_err()
        {
            continue;
        }
        margin(&mut out, measured, index, centre);
        out.push_str(text);
        if let Some(omitted) = near.zip(index).and_then(|(near, index)| near.omitted.get(&index)) {
            let side = |number: usize, noun: &str| {
                (number > 0).then(|| format!("{} {noun}{}", count(number as u64), if number == 1 { "" } else { "s" }))
            };
            let sides: Vec<String> =
                [side(omitted.operands, "operand"), side(omitted.users, "user")].into_iter().flatten().collect();
            let _ = write!(out, "  // not shown: {}", sides.join(", "));
        }
        out.push('\n');
    }
    out
}

/// Writes the time of an instruction into the margin, and marks the op at the centre of a neighbourhood.
fn margin(out: &mut String, measured: &Measured, index: Option<InstructionIndex>, centre: Option<InstructionIndex>) {
    if centre.is_some() {
        out.push_str(if index == centre { "> " } else { "  " });
    }
    if !measured.is_empty() {
        let time = index.and_then(|index| measured.own(index)?.time);
        let text = time.map_or(String::new(), |time| time_us(time.as_us()));
        let _ = write!(out, "{text:>MARGIN$} | ");
    }
}

/// Returns the critical path of a computation.
///
/// # Errors
///
/// Fails if no time was measured.
pub(super) fn critical_path(
    module: &Module,
    measured: &Measured,
    program: &str,
    computation: ComputationIndex,
) -> Result<String, String> {
    let path = longest(module, measured, computation).ok_or_else(|| {
        format!("--critical-path: no op of this computation of {program} has a measured time in the window")
    })?;
    let share = |time: Ps| percent(100.0 * time.as_ps() as f64 / path.total.as_ps().max(1) as f64);
    let mut out = format!(
        "Critical path of {program}: {} of {} ({}), {} ops\n\n",
        time_us(path.time.as_us()),
        time_us(path.total.as_us()),
        share(path.time),
        count(path.instructions.len() as u64)
    );
    for &index in &path.instructions {
        let Some(instruction) = module.at(index) else { continue };
        let time = measured.whole(index).and_then(|numbers| numbers.time).unwrap_or_default();
        let _ = writeln!(
            out,
            "{:>MARGIN$} {:>7}  %{}  {}",
            time_us(time.as_us()),
            share(time),
            instruction.name,
            instruction.metadata.op_name
        );
    }
    out.push_str(
        "\nThe path is the chain of dependent ops with the most device time, summed over the window and all devices. A loop is \
         one op with the time of everything inside.\n",
    );
    if path.cyclic > 0 {
        let _ = writeln!(out, "{} instructions depend on themselves and are left out.", count(path.cyclic as u64));
    }
    Ok(out)
}
