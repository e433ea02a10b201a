//! Whole arrays are copied without changing their layout.
//!
//! Copies (`copy`) whose result has the shape and the layout of their operand take at least 10 % of the op time (JAX
//! guide: limit for overheads). XLA copies an array if the program updates it while its old value is still needed. Such
//! an array is usually an argument that is not donated (for example the cache of a decoder) or the state of a loop.
//! Copies in loops that compute random bits are excluded (see `random_numbers`). Severity: warning, critical from 50 %,
//! or a note if the copies take less than 10 % of the window, because devices mostly wait. Confidence: high if the
//! operand is an argument of the program, else medium. Remedy: use `donate_argnums`. If an update outside of `jax.jit`
//! (`x.at[i].set(value)`) copies the array several times per step, the remedy is one update of all rows. The rule is
//! skipped if the compiled program is missing.

use super::draft::{Draft, equals, lacks};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, REPEATED, code_line, shown};
use super::random_draws::Draws;
use super::{Needs, Rule, Verdict, reordered_arguments, rewritten_state};
use base::{Ps, format};
use metrics::Op;
use report::{Confidence, FindingSeverity, View};
use trace::Framework;

pub(super) static RULE: Rule = Rule {
    id: "copied_arguments",
    title: "Whole arrays are copied without changing their layout",
    needs: Needs::AllOps,
    explained_by: &[&[&rewritten_state::RULE, &reordered_arguments::RULE]],
    ..Rule::checked_by(check)
};

/// Operand of a copy that does not change the layout, as written in the op's expression: `f32[8,4]{1,0} %cache.1`.
struct Copied<'a> {
    shape: &'a str,
    name: &'a str,
}

/// Parses `%copy.41 = f32[8,4]{1,0} copy(f32[8,4]{1,0} %cache.1)`. Returns `None` for other ops and for copies that change the
/// layout.
fn copied(expression: &str) -> Option<Copied<'_>> {
    let (_, rest) = expression.split_once(" = ")?;
    let (result, operand) = rest.split_once(" copy(")?;
    // Layouts of TPUs contain brackets: `{1,0:T(8,128)(2,1)}`.
    let (shape, rest) = operand.split_once(" %")?;
    let name = rest.split([')', ',']).next()?;
    (result.trim() == shape.trim()).then_some(Copied { shape: shape.trim(), name })
}

/// Returns true if an op is a copy that does not change the layout.
pub(super) fn is_plain_copy(numbers: &Numbers<'_>, op: &Op) -> bool {
    copied(numbers.context.analysis.ops.text(numbers.trace, op.expression)).is_some()
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    if ops.rows.is_empty() {
        return lacks("no device op ran. Capture while the program runs on the device.");
    }
    let text = |text| ops.text(numbers.trace, text);
    if ops.rows.iter().all(|op| op.expression.is_empty()) {
        return numbers.lacks_in_json("the file does not contain the compiled program.");
    }
    let draws = Draws::new(numbers);
    let copies = || ops.rows.iter().filter(|op| is_plain_copy(numbers, op) && draws.source(numbers, op).is_none());
    let time: Ps = copies().map(|op| op.self_time).sum();
    let share = numbers.op_percent(time);
    let Some((largest, array)) = copies()
        .max_by_key(|op| op.self_time)
        .and_then(|op| Some((op, copied(text(op.expression))?)))
        .filter(|_| share >= OVERHEAD_PERCENT.good)
    else {
        return Verdict::Fine;
    };
    let (mut severity, limit) = OVERHEAD_PERCENT.severity(share);
    if numbers.of_window(share) < OVERHEAD_PERCENT.good {
        severity = FindingSeverity::Note;
    }
    let argument = argument(numbers, largest, &array);
    let shape = array.shape.split('{').next().unwrap_or(array.shape);
    let what = match &argument {
        Some(name) => format!("the argument {} ({})", shown(name), shown(shape)),
        None => format!("{} ({})", shown(array.name), shown(shape)),
    };
    let runs = numbers.runs_per_step(largest).filter(|&runs| runs >= REPEATED);
    let each = match runs {
        Some(runs) => format!("each of its {} runs per step", format::count(runs.round() as u64)),
        None => "each run".to_owned(),
    };
    let message = format!(
        "Copies that do not change the layout take {} of the op time. The largest, {}{}, copies {what} as a whole in {each}.{} The \
         compiler adds such a copy if the program updates an array whose old value must be kept.",
        format::percent(share),
        shown(text(largest.name)),
        of_program(numbers, largest),
        others(numbers, copies(), largest),
    );
    let eager = runs.filter(|_| is_eager_update(text(largest.module)));
    let remedy = match (numbers.trace.framework, &argument) {
        _ if eager.is_some() => "Update all rows with one call: x.at[indices].set(rows) with arrays of indices and rows, instead of a \
                                 Python loop over x.at[index].set(row). Call it in a function under jax.jit that donates x \
                                 (donate_argnums), so that the update happens in place."
            .to_owned(),
        (Framework::PyTorch | Framework::TensorFlow, _) => {
            "Update the array in place, and do not use its old value after the update.".to_owned()
        }
        (_, Some(_)) => "Donate the argument (jax.jit(f, donate_argnums=...) or donate_argnames) and use only the returned array after \
                         the call. The program then updates it in place."
            .to_owned(),
        (_, None) => "If the array is an argument of the program or state that it returns, donate it (jax.jit(f, \
                      donate_argnums=...)). In a loop, do not read the old value after the update."
            .to_owned(),
    };
    let confidence = if argument.is_some() { Confidence::High } else { Confidence::Medium };
    let title = match eager {
        Some(runs) => format!(
            "{} updates per step outside of jax.jit each copy a whole array: {} of the op time",
            format::count(runs.round() as u64),
            format::percent(share)
        ),
        None => format!("Copies of whole arrays take {} of the op time", format::percent(share)),
    };
    Draft::new(severity, confidence, &title, message)
        .remedy(&remedy)
        .passed("plain_copy_percent", share, limit)
        .evidence("plain_copy_us", time.as_us())
        .at_stake(numbers.of_window(share))
        .link(View::Ops, &equals("hlo_op_name", text(largest.name)))
        .fires()
}

/// Names the other arguments that are copied and take at least a tenth of the time of the largest copy, as a sentence that starts
/// with a space. Empty if there are none.
fn others<'a>(numbers: &Numbers<'a>, copies: impl Iterator<Item = &'a Op>, largest: &Op) -> String {
    let ops = &numbers.context.analysis.ops;
    let of_argument = |op: &Op| argument(numbers, op, &copied(ops.text(numbers.trace, op.expression))?);
    let first = of_argument(largest);
    let is_large = |op: &&Op| op.self_time.as_ps() >= largest.self_time.as_ps() / 10;
    let mut names: Vec<String> = copies.filter(is_large).filter_map(of_argument).collect();
    names.retain(|name| Some(name) != first.as_ref());
    names.sort();
    names.dedup();
    match names.as_slice() {
        [] => String::new(),
        [only] => format!(" The argument {} is copied too.", shown(only)),
        [one, .., other] if names.len() == 2 => {
            format!(" The arguments {} and {} are copied too.", shown(one), shown(other))
        }
        [one, ..] => format!(" The argument {} and {} others are copied too.", shown(one), names.len() - 1),
    }
}

/// Programs that JAX compiles for an update outside of `jax.jit`, such as `x.at[i].set(value)`. JAX names such a program after
/// its primitive.
const EAGER_UPDATES: [&str; 2] = ["jit_scatter", "jit_dynamic_update_slice"];

/// Returns true for a program that only updates an array, and that Python calls directly.
fn is_eager_update(module: &str) -> bool {
    EAGER_UPDATES.iter().any(|name| module.starts_with(name))
}

/// Names the program of an op with the source line of its longest op: ` of jit_scatter (sessions.py:49)`. Empty if the program
/// is unknown.
fn of_program(numbers: &Numbers<'_>, op: &Op) -> String {
    let ops = &numbers.context.analysis.ops;
    let text = |text| ops.text(numbers.trace, text);
    let own = |it: &&Op| it.program_id == op.program_id && !text(it.source).is_empty();
    match (text(op.module), ops.rows.iter().find(own).map(|it| text(it.source))) {
        ("", _) => String::new(),
        (module, None) => format!(" of {}", shown(module)),
        (module, Some(line)) => format!(" of {} ({})", shown(module), code_line(line)),
    }
}

/// Returns the framework's name of the copied argument. `None` if the copied array is not an argument of the program.
fn argument(numbers: &Numbers<'_>, op: &Op, array: &Copied<'_>) -> Option<String> {
    let program = op.program_id?;
    let shape = array.shape.split('{').next().unwrap_or(array.shape);
    // An instruction is named after its argument, with special characters replaced and a number appended: `cache[1]` becomes
    // `cache_1_.1`.
    let plain = |name: &str| name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
    let instruction = plain(array.name);
    let of_program =
        numbers.context.arguments().iter().filter(|it| it.program_id == program && it.shape.starts_with(shape));
    of_program.map(|it| &it.name).find(|name| instruction.starts_with(&plain(name))).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_steps};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    #[test]
    fn only_copies_without_a_change_are_parsed() {
        let plain = copied("%copy.41 = f32[8,4]{1,0} copy(f32[8,4]{1,0} %cache_1_.1)").unwrap();
        assert_eq!((plain.shape, plain.name), ("f32[8,4]{1,0}", "cache_1_.1"));
        let tiled = "%copy.1 = bf16[8,4]{1,0:T(8,128)(2,1)} copy(bf16[8,4]{1,0:T(8,128)(2,1)} %x), metadata={}";
        assert_eq!(copied(tiled).map(|it| it.name), Some("x"));
        assert!(copied("%copy.2 = f32[8,4]{0,1} copy(f32[8,4]{1,0} %x)").is_none());
        assert!(copied("%add.2 = f32[8,4]{1,0} add(f32[8,4]{1,0} %x, f32[8,4]{1,0} %y)").is_none());
    }

    fn steps(copy: i64, layout: &'static str) -> Trace {
        tpu_steps(12, move |b, at| {
            let line = b.line("/device:TPU:0", "XLA Ops");
            let text = format!("%copy.41 = f32[8,4]{{1,0}} copy(f32[8,4]{layout} %cache_1_.1)");
            let text = b.trace_mut().strings.intern(&text);
            b.event(line, "copy.41", at, copy).hlo_category("data formatting").args(|args| args.long_name = text);
            b.event(line, "dot.1", at + copy, 1000 - copy).hlo_category("convolution");
        })
    }

    #[test]
    fn updates_in_a_loop_of_python_are_named() {
        let trace = tpu_steps(12, |b, at| {
            let line = b.line("/device:TPU:0", "XLA Ops");
            let texts = ["%copy.1 = f32[8,4]{1,0} copy(f32[8,4]{1,0} %args_0_.1)", "app/sessions.py:49"];
            let [copy, source] = texts.map(|it| b.trace_mut().strings.intern(it));
            for run in 0..8 {
                let op = b.event(line, "copy.1", at + 100 * run, 80).hlo_category("copy").hlo_module("jit_scatter");
                op.args(|args| (args.long_name, args.program_id) = (copy, Some(7)));
                let op = b
                    .event(line, "scatter.1", at + 100 * run + 80, 5)
                    .hlo_category("scatter")
                    .hlo_module("jit_scatter");
                op.args(|args| (args.source, args.program_id) = (source, Some(7)));
            }
        });
        let found = finding(trace, &RULE);
        assert!(
            found.title.starts_with("8 updates per step outside of jax.jit each copy a whole array"),
            "{}",
            found.title
        );
        assert!(
            found.message.contains("copy.1 of jit_scatter (sessions.py:49), copies args_0_.1"),
            "{}",
            found.message
        );
        assert!(found.message.contains("in each of its 8 runs per step"), "{}", found.message);
        assert!(found.remedy.starts_with("Update all rows with one call"), "{}", found.remedy);
    }

    #[test]
    fn fires_above_its_limit() {
        let found = finding(steps(500, "{1,0}"), &RULE);
        assert_eq!(
            (found.severity, found.title.as_str()),
            (Critical, "Copies of whole arrays take 50.0 % of the op time")
        );
        assert!(found.message.contains("copy.41, copies cache_1_.1 (f32[8,4]) as a whole"), "{}", found.message);
        assert_eq!(finding(steps(100, "{1,0}"), &RULE).severity, Warning);
        fine(steps(90, "{1,0}"), &RULE);
        fine(steps(500, "{0,1}"), &RULE);
        // These copies do not change the layout.
        fine(steps(500, "{1,0}"), &crate::unfused_data_formatting::RULE);
        assert_eq!(finding(steps(500, "{0,1}"), &crate::unfused_data_formatting::RULE).severity, Warning);
    }
}
