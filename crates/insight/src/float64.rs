//! Ops compute in float64.
//!
//! Ops with a float64 result take at least 10 % of the op time (JAX guide: limit for overheads). Severity: warning,
//! critical from 50 %. Confidence: medium, because a solver may need the precision. If a program that trains a model
//! computes in float64 only, the flag `jax_enable_x64` is the likely cause, and the remedy starts with it. If another
//! program computes in float64 only (more than 95 % of the op time, and no argument with a narrower floating-point
//! type), the severity is note and the confidence is low, because a simulation may use float64 on purpose. Remedy: use
//! float32 constants and inputs. Data types come from the HLO. The rule is skipped if they are unknown.

use super::draft::{Draft, equals, lacks};
use super::gathered_batch::users;
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, code_line, shown};
use super::{Needs, Rule, Verdict};
use base::{Ps, format};
use hlo::{Instruction, Module};
use metrics::{Argument, Op};
use report::{Confidence, FindingSeverity, View};
use trace::{Framework, Platform};

pub(super) static RULE: Rule =
    Rule { id: "float64", title: "Ops compute in float64", needs: Needs::AllOps, ..Rule::checked_by(check) };

/// Share of the op time above which a program without narrower arguments computes only in float64.
const ALL_PERCENT: f64 = 95.0;
/// Maximum number of instructions between a constant and the instruction that shows the source line.
const MOST_BETWEEN: usize = 4;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    if ops.rows.is_empty() {
        return lacks("no device op ran. Capture while the program runs on the device.");
    }
    if ops.rows.iter().all(|op| op.data_type.is_none()) {
        return numbers.lacks_in_json("the file does not contain the data types of the ops.");
    }
    let wide = || ops.rows.iter().filter(|op| op.data_type.is_some_and(|it| it.name() == "f64"));
    let time: Ps = wide().map(|op| op.self_time).sum();
    let share = numbers.op_percent(time);
    if share < OVERHEAD_PERCENT.good {
        return Verdict::Fine;
    }
    let is_everything = share > ALL_PERCENT && !has_narrow_input(numbers);
    let may_be_intended = is_everything && numbers.trains() != Some(true);
    let Some(largest) = wide().max_by_key(|op| op.self_time) else { return Verdict::Fine };
    let (severity, limit) = OVERHEAD_PERCENT.severity(share);
    let (severity, confidence) =
        if may_be_intended { (FindingSeverity::Note, Confidence::Low) } else { (severity, Confidence::Medium) };
    // A vector register of a CPU holds half as many float64 values.
    let (slower, saved) = match numbers.platform {
        Some(Platform::Cpu) => ("A CPU computes float64 about two times slower", 0.5),
        _ => ("Most devices compute float64 many times slower", 1.0),
    };
    let message = format!(
        "Ops with a float64 result take {} of the op time. The largest is {}. {slower} than float32, and each value takes twice \
         the memory.{}",
        format::percent(share),
        numbers.op_with_source(largest),
        if is_everything { " All floating-point arguments are float64.".to_owned() } else { origin(numbers) }
    );
    let remedy = match numbers.trace.framework {
        Framework::PyTorch => {
            "Create tensors as float32: torch.from_numpy of a NumPy array keeps its float64. Call .float() on inputs."
        }
        _ if is_everything => {
            "If the model does not need float64, leave jax_enable_x64 off (jax.config.update, the environment variable \
             JAX_ENABLE_X64), or create parameters and inputs as float32: with this flag, jax.random and NumPy arrays give float64. \
             Keep single values that need it, such as times in seconds, as NumPy arrays on the host."
        }
        _ => {
            "Make all constants and inputs float32 (np.float32(...), array.astype(np.float32)): NumPy creates float64 \
             arrays by default, and with jax_enable_x64 one such value makes every result that depends on it float64. \
             If you do not need float64, leave jax_enable_x64 off."
        }
    };
    let name = ops.text(numbers.trace, largest.name);
    let title = format!("Ops compute in float64 for {} of the op time", format::percent(share));
    let draft = Draft::new(severity, confidence, &title, message)
        .remedy(remedy)
        .passed("float64_percent", share, limit)
        .evidence("float64_us", time.as_us())
        .link(View::Ops, &equals("hlo_op_name", name));
    if may_be_intended { draft.fires() } else { draft.at_stake(numbers.of_window(share) * saved).fires() }
}

/// Returns true if a program that computes in float64 has a floating-point argument of another type.
fn has_narrow_input(numbers: &Numbers<'_>) -> bool {
    let narrow = ["f32[", "bf16[", "f16["];
    numbers.context.arguments().iter().any(|argument| narrow.iter().any(|kind| argument.shape.starts_with(kind)))
}

/// Names the values from which float64 spreads, as a sentence that starts with a space: an array argument, a constant array, or
/// the largest op whose operands are all narrower than its float64 result. Empty if nothing is found.
fn origin(numbers: &Numbers<'_>) -> String {
    let is_wide = |it: &&Argument| it.shape.starts_with("f64[") && !it.shape.starts_with("f64[]");
    let argument = numbers
        .context
        .arguments()
        .iter()
        .filter(is_wide)
        .max_by(|a, b| a.bytes_per_device.total_cmp(&b.bytes_per_device));
    if let Some(argument) = argument {
        return format!(" The argument {} is float64 ({}).", shown(&argument.name), shown(&argument.shape));
    }
    if let Some((constant, line)) = numbers.programs().find_map(|(_, module)| constant(module)) {
        return format!(" float64 comes from the constant array {} (read at {}).", shown(&constant), code_line(&line));
    }
    let ops = &numbers.context.analysis.ops;
    let converts = |op: &&Op| {
        let expression = ops.text(numbers.trace, op.expression);
        let Some((result, operands)) = expression.split_once('(') else { return false };
        let is_narrow = ["f32[", "bf16[", "f16[", "u8[", "s32["].iter().any(|kind| operands.contains(kind));
        let is_origin = result.contains("= f64[") && is_narrow && !operands.contains("f64[");
        is_origin && !ops.text(numbers.trace, op.source).is_empty()
    };
    let first = ops.rows.iter().filter(converts).max_by_key(|op| op.self_time);
    first.map_or(String::new(), |op| format!(" {} computes float64 from a narrower type.", numbers.op_with_source(op)))
}

/// Returns the largest constant array of float64 in a program, with the source line that reads it.
fn constant(module: &Module) -> Option<(String, String)> {
    let array =
        |it: &Instruction| it.shape.array().is_some_and(|it| it.data_type.name() == "f64" && it.elements() > 1.0);
    let constants = module.instructions().iter().filter(|it| it.is("constant") && array(it));
    let largest = constants.max_by(|a, b| a.shape.elements().total_cmp(&b.shape.elements()))?;
    // A constant has no source line. A computation may pass it on without changing its elements.
    let mut at = largest;
    for _ in 0..MOST_BETWEEN {
        let user = users(module, at).next()?;
        if let Some(line) = module.source_of(user) {
            return Some((largest.shape.text(false), line));
        }
        at = user;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_steps};
    use report::FindingSeverity::{Critical, Warning};
    use trace::{Trace, TraceBuilder};

    /// Builds steps of 1000 us. Ops with a float64 result take `wide` us of each step.
    fn steps(wide: i64) -> Trace {
        tpu_steps(12, move |b, at| {
            let line = b.line("/device:TPU:0", "XLA Ops");
            let texts = [
                "%convolution.1 = f64[8,8]{1,0} convolution(f64[8,8]{1,0} %fusion.2, f64[3,3]{1,0} %k)",
                "%fusion.2 = f64[8,8]{1,0} fusion(u8[8,8]{1,0} %image), kind=kLoop, calls=%f",
                "%dot.3 = f32[8,8]{1,0} dot(f32[8,8]{1,0} %a, f32[8,8]{1,0} %b)",
            ];
            let lines = ["model.py:19", "model.py:22", "model.py:40"];
            let mut now = at;
            for ((text, source), time) in texts.into_iter().zip(lines).zip([wide - wide / 10, wide / 10, 1000 - wide]) {
                let [text, source] = [text, source].map(|it| b.trace_mut().strings.intern(it));
                let name = ["convolution.1", "fusion.2", "dot.3"]
                    [usize::from(now > at) + usize::from(now > at + wide - wide / 10)];
                b.event(line, name, now, time).args(|args| {
                    args.long_name = text;
                    args.source = source;
                });
                now += time;
            }
        })
    }

    #[test]
    fn fires_above_its_limit() {
        let found = finding(steps(500), &RULE);
        assert_eq!(
            (found.severity, found.title.as_str()),
            (Critical, "Ops compute in float64 for 50.0 % of the op time")
        );
        assert!(
            found.message.contains("convolution.1 (model.py:19)")
                && found.message.contains("fusion.2 (model.py:22) computes float64 from a narrower type"),
            "{}",
            found.message
        );
        assert_eq!(finding(steps(100), &RULE).severity, Warning);
        fine(steps(90), &RULE);
    }

    #[test]
    fn a_simulation_may_use_float64_on_purpose_and_a_training_step_hardly_does() {
        let found = finding(steps(1000), &RULE);
        assert_eq!((found.severity, found.confidence), (FindingSeverity::Note, Confidence::Low));
        assert_eq!(found.time_at_stake_percent, None);
        let training =
            |b: &mut TraceBuilder| b.trace_mut().strings.intern("jit(train_step)/transpose(jvp(loss))/dot_general");
        let trains = tpu_steps(12, move |b, at| {
            let (path, text) = (
                training(b),
                b.trace_mut().strings.intern("%dot.3 = f64[8,8]{1,0} dot(f64[8,8]{1,0} %a, f64[8,8]{1,0} %b)"),
            );
            let line = b.line("/device:TPU:0", "XLA Ops");
            b.event(line, "dot.3", at, 1000).args(|args| (args.long_name, args.tf_op) = (text, path));
        });
        let found = finding(trains, &RULE);
        assert_eq!((found.severity, found.confidence), (Critical, Confidence::Medium));
        assert!(found.remedy.contains("leave jax_enable_x64 off"), "{}", found.remedy);
    }
}
