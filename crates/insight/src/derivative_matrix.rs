//! The program computes a whole matrix of second derivatives.
//!
//! Ops whose paths contain a derivative of a derivative inside `vmap` (`vmap(jvp(transpose(jvp(f))))`) take at least 20
//! % of the op time (twice the JAX guide's limit for overheads). `jax.hessian`, and `jacfwd` or `jacrev` of a gradient,
//! produce such paths: they compute one row of the matrix for each of n values. Two more conditions exclude a `vmap`
//! over a batch. The program must contain an array whose dimensions repeat the dimensions of the differentiated
//! variable (`f32[697,697]`, `f32[24,8,24,8]`), with n of at least 32 (ours: small matrices are cheap). One of the ops
//! must also have a dimension of size n. Severity: warning, critical from 80 % (ours). Confidence: medium, because the
//! program may need the whole matrix. Remedy: compute products with the matrix instead of the matrix itself. The rule
//! is skipped if the compiled program is missing.

use std::collections::BTreeSet;

use super::draft::{Draft, equals};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, shown};
use super::{Needs, Rule, Verdict};
use base::{Ps, format, framework_path};
use hlo::{Module, Shape};
use metrics::Op;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule {
    id: "derivative_matrix",
    title: "The program computes a full matrix of second derivatives",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// Minimum share of the op time for the rule to fire.
const LEAST_PERCENT: f64 = 2.0 * OVERHEAD_PERCENT.good;
/// Minimum share of the op time for a critical finding.
const CRITICAL_PERCENT: f64 = 80.0;
/// Minimum number of values with respect to which the program differentiates.
const FEWEST_VALUES: u64 = 32;

struct Matrix {
    shape: String,
    /// Number of rows.
    values: u64,
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let text = |text| ops.text(numbers.trace, text);
    let found: Vec<&Op> = ops.rows.iter().filter(|op| is_second_derivative(text(op.framework_path))).collect();
    let time: Ps = found.iter().map(|op| op.self_time).sum();
    let share = numbers.op_percent(time);
    let Some(largest) = found.iter().max_by_key(|op| op.self_time).filter(|_| share >= LEAST_PERCENT) else {
        return Verdict::Fine;
    };
    let sizes: BTreeSet<u64> = found.iter().flat_map(|op| dimensions(numbers, op)).collect();
    let matrix = largest.program_id.and_then(|id| numbers.module(id)).and_then(|module| matrix(module, &sizes));
    let Some(matrix) = matrix else { return Verdict::Fine };
    let (severity, limit) = match share {
        share if share >= CRITICAL_PERCENT => (FindingSeverity::Critical, CRITICAL_PERCENT),
        _ => (FindingSeverity::Warning, LEAST_PERCENT),
    };
    let values = format::count(matrix.values);
    let message = format!(
        "The program computes a matrix of second derivatives, {}, as jax.hessian does: derivatives of a gradient, \
         computed for {values} directions at once (vmap of jvp). Ops with such derivatives take {} of the op time. \
         The largest is {}.",
        shown(&matrix.shape),
        format::percent(share),
        numbers.op_with_source(largest)
    );
    let title = format!(
        "A matrix of second derivatives ({}) takes {} of the op time",
        shown(&matrix.shape),
        format::percent(share)
    );
    Draft::new(severity, Confidence::Medium, &title, message)
        .remedy(&format!(
            "If the program only multiplies the matrix by vectors, compute each product directly: jax.jvp(jax.grad(f), (x,), (v,))[1]. It \
             costs about two gradients instead of {values}. To solve a system, use conjugate gradients on such products \
             (jax.scipy.sparse.linalg.cg). For a diagonal or a trace, use a few random vectors."
        ))
        .passed("second_derivatives_percent", share, limit)
        .evidence("directions", matrix.values as f64)
        .at_stake(numbers.of_window(share))
        .link(View::Ops, &equals("hlo_op_name", text(largest.name)))
        .fires()
}

/// Returns true if a path contains a derivative of a derivative inside `vmap`: `vmap(jvp(jvp(f)))`,
/// `vmap(jvp(vmap(transpose(jvp(f)))))`.
fn is_second_derivative(path: &str) -> bool {
    framework_path::segments(path).any(|segment| {
        let inside = segment.split_once("vmap(").map(|(_, inside)| inside);
        let inside = inside.filter(|inside| inside.starts_with("jvp(") || inside.starts_with("transpose("));
        inside.is_some_and(|inside| inside.matches("jvp(").count() >= 2)
    })
}

fn dimensions(numbers: &Numbers<'_>, op: &Op) -> Vec<u64> {
    let Some((_, instruction)) = numbers.instruction(op) else { return Vec::new() };
    instruction.shape.arrays().into_iter().flat_map(|array| array.dimensions.iter().copied()).collect()
}

/// Returns the largest array of a program whose dimensions repeat the dimensions of a value with `n` elements. `n` is
/// one of the `sizes`.
fn matrix(module: &Module, sizes: &BTreeSet<u64>) -> Option<Matrix> {
    let arrays = module.instructions().iter().filter_map(|it| it.shape.array());
    let matrices = arrays.filter_map(|array| {
        let half = array.dimensions.len() / 2;
        let (first, second) = array.dimensions.split_at_checked(half)?;
        let values = first.iter().try_fold(1_u64, |product, size| product.checked_mul(*size))?;
        let is_matrix = first == second && values >= FEWEST_VALUES && sizes.contains(&values);
        is_matrix.then(|| Matrix { shape: Shape::Array(array.clone()).text(false), values })
    });
    matrices.max_by_key(|matrix| matrix.values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, says, tpu_steps};
    use crate::testing_programs::{add_program, instruction};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us with an op of this path that takes `time`, in a program with these arrays.
    fn steps(path: &'static str, shapes: [&'static str; 2], time: i64) -> Trace {
        tpu_steps(12, move |b, at| {
            if at == 0 {
                let main = vec![
                    instruction("x.1", "parameter", "f32[697]"),
                    instruction("fusion.1", "fusion", shapes[0]).of(&["x.1"]),
                    instruction("reshape.1", "reshape", shapes[1]).of(&["fusion.1"]),
                ];
                add_program(b, 7, vec![("main", main)]);
            }
            let line = b.line("/device:TPU:0", "XLA Ops");
            for (name, path, start, time) in
                [("fusion.1", path, at, time), ("dot.1", "jit(f)/dot_general", at + time, 1000 - time)]
            {
                let op = b.event(line, name, start, time).hlo_category("loop fusion").hlo_module("jit_f").tf_op(path);
                op.args(|args| args.program_id = Some(7));
            }
        })
    }

    const HESSIAN: &str = "jit(f)/vmap(jvp(vmap(transpose(jvp()))))/mul";
    const SHAPES: [&str; 2] = ["f32[697,64,24]", "f32[697,697]"];

    #[test]
    fn fires_above_its_limit() {
        let found = finding(steps(HESSIAN, SHAPES, 800), &RULE);
        assert_eq!(
            (found.severity, found.title.as_str()),
            (Critical, "A matrix of second derivatives (f32[697,697]) takes 80.0 % of the op time")
        );
        assert!(found.remedy.contains("jax.jvp(jax.grad(f), (x,), (v,))[1]"), "{}", found.remedy);
        assert_eq!(finding(steps(HESSIAN, SHAPES, 200), &RULE).severity, Warning);
        fine(steps(HESSIAN, SHAPES, 190), &RULE);
        // Gradients of each example, and derivatives of a batch of 64 points without a matrix of that size.
        fine(steps("jit(f)/vmap(transpose(jvp()))/mul", SHAPES, 800), &RULE);
        fine(steps(HESSIAN, ["f32[64,24]", "f32[697,697]"], 800), &RULE);
        fine(steps(HESSIAN, ["f32[697,64,24]", "f32[697,696]"], 800), &RULE);
        fine(steps(HESSIAN, ["f32[31,64,24]", "f32[31,31]"], 800), &RULE);
        // A value of two dimensions with 96 elements in total.
        assert_eq!(finding(steps(HESSIAN, ["f32[96,64]", "f32[12,8,12,8]"], 300), &RULE).severity, Warning);
        let trace = tpu_steps(12, |b, at| crate::testing::tpu_op(b, "loop fusion", at, 900));
        assert!(matches!(says(trace, &RULE), Verdict::NotChecked(_)));
    }

    #[test]
    fn second_derivatives_are_nested_in_vmap() {
        assert!(
            is_second_derivative("jit(f)/vmap(jvp(jvp()))/mul")
                && is_second_derivative("jit(f)/vmap(transpose(jvp(transpose(jvp(g)))))/add")
        );
        // A product with one vector, and a derivative of a derivative of each example.
        assert!(!is_second_derivative("jit(f)/jvp(transpose(jvp()))/mul"));
        assert!(!is_second_derivative("jit(f)/jvp(vmap(jvp()))/mul") && !is_second_derivative(""));
    }
}
