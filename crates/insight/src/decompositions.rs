//! Matrix decompositions take much of the time.
//!
//! Ops of `eigh`, `svd`, `qr`, `cholesky` and other decompositions (recognised by the last part of the op's path) take
//! at least 20 % of the op time (twice the JAX guide's limit for overheads). Decompositions are sequences of small,
//! dependent steps, so they use a device poorly. If the program contains them in a branch of `jax.lax.cond` but runs
//! them in each step, the message points out that the branch never skips them. Severity: note, warning from 50 %.
//! Confidence: medium, because the program may need them in each step. Remedy: decompose only every k-th step. The rule
//! is skipped if the file contains no paths.

use rustc_hash::FxHashMap;

use super::draft::{Draft, equals, lacks};
use super::limits::{EACH_STEP, OVERHEAD_PERCENT};
use super::numbers::{Numbers, shown};
use super::{Needs, Rule, Verdict};
use base::{Ps, format};
use metrics::{Op, Text, op_shapes};
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule {
    id: "decompositions",
    title: "Matrix decompositions take much of the time",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// Minimum share of the op time for a note.
const NOTE_PERCENT: f64 = 2.0 * OVERHEAD_PERCENT.good;

/// JAX primitives and program names in a path that stand for a matrix decomposition, each with its name in messages.
const DECOMPOSITIONS: [(&str, &str); 12] = [
    ("eigh", "eigendecompositions"),
    ("eig", "eigendecompositions"),
    ("svd", "singular value decompositions"),
    ("qr", "QR decompositions"),
    ("geqrf", "QR decompositions"),
    ("geqp3", "QR decompositions"),
    ("householder_product", "QR decompositions"),
    ("cholesky", "Cholesky decompositions"),
    ("lu", "LU decompositions"),
    ("schur", "Schur decompositions"),
    ("hessenberg", "Hessenberg decompositions"),
    ("tridiagonal", "tridiagonal decompositions"),
];

/// Returns the decomposition that a framework's path ends with: its primitive, and its name in a sentence. If XLA expands the
/// algorithm, the primitive is further left in the path: `jit(f)/jit(eigh)/while/body/add`.
pub(super) fn decomposition(path: &str) -> Option<(&'static str, &'static str)> {
    let find = |name: &str| DECOMPOSITIONS.iter().copied().find(|(primitive, _)| *primitive == name);
    let last = path.rsplit('/').next().unwrap_or_default();
    let inner = last.rsplit('(').next().unwrap_or(last);
    find(inner.trim_end_matches(')')).or_else(|| {
        let compiled = path.split("jit(").skip(1).filter_map(|rest| rest.split(')').next());
        compiled.filter_map(find).last()
    })
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    if ops.rows.is_empty() {
        return lacks("no device op ran. Capture while the program runs on the device.");
    }
    let text = |text| ops.text(numbers.trace, text);
    if ops.rows.iter().all(|op| op.framework_path.is_empty()) {
        return numbers.lacks_in_json("the file does not contain the paths of the ops.");
    }
    // A million ops may have a few thousand paths.
    let mut paths: FxHashMap<Text, bool> = FxHashMap::default();
    let mut decomposes = |path: Text| *paths.entry(path).or_insert_with(|| decomposition(text(path)).is_some());
    let all: Vec<&Op> = ops.rows.iter().filter(|op| decomposes(op.framework_path)).collect();
    let found = || all.iter().copied();
    let time: Ps = found().map(|op| op.self_time).sum();
    let share = numbers.op_percent(time);
    let Some(largest) = found().max_by_key(|op| op.self_time).filter(|_| share >= NOTE_PERCENT) else {
        return Verdict::Fine;
    };
    let Some((primitive, name)) = decomposition(text(largest.framework_path)) else { return Verdict::Fine };
    let (severity, limit) = match share {
        share if share >= OVERHEAD_PERCENT.bad => (FindingSeverity::Warning, OVERHEAD_PERCENT.bad),
        _ => (FindingSeverity::Note, NOTE_PERCENT),
    };
    // Other ops around the decomposition, such as a select of its result, have the same path.
    let of_kind =
        |op: &&Op| op.category == largest.category && text(op.framework_path).rsplit('/').next() == Some(primitive);
    let per_step: f64 = found().filter(of_kind).filter_map(|op| numbers.runs_per_step(op)).sum();
    let runs = if per_step >= 1.0 {
        format!(" Each step runs {primitive} {}.", times(per_step.round() as u64))
    } else {
        String::new()
    };
    let shape = op_shapes(text(largest.expression)).and_then(|it| it.operands.into_iter().next());
    let message = format!(
        "Matrix decompositions, mostly {name}, take {} of the op time.{runs} The largest is {}{}.{} A decomposition \
         consists of many small steps that depend on each other, so it uses the device poorly.",
        format::percent(share),
        numbers.op_with_source(largest),
        shape.map_or(String::new(), |shape| format!(" of {}", shown(&shape))),
        branch(numbers, largest),
    );
    let title = format!("Matrix decompositions ({primitive}) take {} of the op time", format::percent(share));
    Draft::new(severity, Confidence::Medium, &title, message)
        .remedy(
            "If the matrices change slowly, as the statistics of an optimizer do, decompose them every k-th step (10 \
             to 100) and reuse the result: pass the step number as an array and skip the decomposition with \
             jax.lax.cond, or compile it as a separate program. Decompose many matrices of one shape in one batched \
             call, or replace the decomposition with a Cholesky solve or with Newton iterations of matrix products.",
        )
        .passed("decompositions_percent", share, limit)
        .evidence_where("decompositions_per_step", Some(per_step).filter(|&runs| runs > 0.0))
        .at_stake(numbers.of_window(share))
        .link(View::Ops, &equals("hlo_op_name", text(largest.name)))
        .fires()
}

/// Formats how often something happens: `once`, `6 times`.
fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{} times", format::count(count)) }
}

/// If each step takes the branch that contains an op, states this as a sentence that starts with a space. Empty if
/// there is no branch, or if some steps skip it.
fn branch(numbers: &Numbers<'_>, op: &Op) -> String {
    let path = numbers.context.analysis.ops.text(numbers.trace, op.framework_path);
    let in_each_step = numbers.runs_per_step(op).is_some_and(|runs| runs >= EACH_STEP);
    if !path.contains("cond/branch_") || !in_each_step {
        return String::new();
    }
    " It is in a branch of jax.lax.cond, and each step takes this branch, so the condition skips nothing.".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_steps};
    use report::FindingSeverity::{Note, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us with an op of this path that takes `time` in every `each`-th step.
    fn steps(path: &'static str, time: i64, each: i64) -> Trace {
        tpu_steps(12, move |b, at| {
            let line = b.line("/device:TPU:0", "XLA Ops");
            let text = "%eigh.1 = (f32[160,160]{0,1}, f32[160]{0}) custom-call(f32[160,160]{0,1} %x.1)";
            let text = b.trace_mut().strings.intern(text);
            if (at / 1000) % each == 0 {
                b.event(line, "eigh.1", at, time)
                    .hlo_category("custom-call")
                    .tf_op(path)
                    .args(|args| args.long_name = text);
            }
            b.event(line, "dot.1", at + time, 1000 - time).hlo_category("convolution").tf_op("jit(f)/dot_general");
        })
    }

    #[test]
    fn fires_above_its_limit() {
        let found = finding(steps("jit(f)/cond/branch_1_fun/jit(eigh)/eigh", 500, 1), &RULE);
        assert_eq!(
            (found.severity, found.title.as_str()),
            (Warning, "Matrix decompositions (eigh) take 50.0 % of the op time")
        );
        let message = &found.message;
        assert!(message.contains("Each step runs eigh once. The largest is eigh.1 of f32[160,160]."), "{message}");
        assert!(message.contains("each step takes this branch"), "{message}");
        let small = finding(steps("jit(f)/svd", 200, 1), &RULE);
        assert!(small.severity == Note && !small.message.contains("branch"), "{small:?}");
        fine(steps("jit(f)/svd", 190, 1), &RULE);
        fine(steps("jit(f)/dot_general", 900, 1), &RULE);
        // Half of the steps skip the branch.
        let skipped = finding(steps("jit(f)/cond/branch_1_fun/jit(eigh)/eigh", 500, 2), &RULE);
        assert!(!skipped.message.contains("branch"), "{}", skipped.message);
    }

    #[test]
    fn paths_name_their_decomposition() {
        let primitive = |path: &str| decomposition(path).map(|(primitive, _)| primitive);
        assert_eq!(primitive("jit(f)/jit(eigh)/eigh"), Some("eigh"));
        assert_eq!(primitive("jit(f)/transpose(jvp(cholesky))"), Some("cholesky"));
        assert_eq!(primitive("jit(f)/jit(qr)/while/body/add"), Some("qr"));
        assert_eq!(primitive("jit(f)/eigh_layer/add"), None);
        assert_eq!(primitive(""), None);
    }
}
