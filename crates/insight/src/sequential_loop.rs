//! A loop on the device runs many short iterations in sequence.
//!
//! GPU only: each step runs at least 200 iterations of a loop of the program (`jax.lax.scan`, `while_loop`,
//! `fori_loop`), and the kernels of its body take less than 10 µs on average (both limits are ours: a kernel of this
//! length uses a small part of the device). Loops are recognised by the path of their ops. The impact is the time of
//! these kernels, plus a part of the time in gaps shorter than 0.1 ms, in proportion to the number of these kernels
//! among all kernels. Severity: warning from 10 % of the window (JAX guide, overheads), critical from 50 %. Confidence:
//! medium, because gaps are divided by the number of kernels. Remedy: compute the iterations in parallel, or do more
//! work in each iteration. The rule is skipped if there are no steps.

use std::collections::BTreeMap;

use super::draft::{Draft, equals, lacks};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, shown};
use super::{Needs, Rule, Verdict};
use base::framework_path::scopes;
use base::{Ps, format};
use metrics::Op;
use report::{Confidence, View};

pub(super) static RULE: Rule = Rule {
    id: "sequential_loop",
    title: "A loop runs many short iterations in sequence",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// Minimum number of iterations per step. We chose this limit because a loop over layers or micro-batches has fewer.
const FEWEST_ITERATIONS: f64 = 200.0;
/// Mean duration below which kernels are too short to use the device, microseconds.
const SHORT_US: f64 = 10.0;

#[derive(Default)]
struct Loop<'a> {
    ops: Vec<&'a Op>,
    time: Ps,
    executions: u64,
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.is_gpu() {
        return Verdict::Irrelevant;
    }
    let ops = &numbers.context.analysis.ops;
    if ops.rows.is_empty() {
        return lacks("no device op ran. Capture while the program runs on the device.");
    }
    if numbers.steps_in_window().is_none() {
        return numbers.lacks_steps("the steps are unknown.");
    }
    let all: u64 = ops.rows.iter().map(|op| op.executions).sum();
    let mut loops: BTreeMap<&str, Loop<'_>> = BTreeMap::new();
    for op in &ops.rows {
        let Some(path) = loop_of(ops.text(numbers.trace, op.framework_path)) else { continue };
        let runs = numbers.runs_per_step(op).unwrap_or(0.0);
        if runs >= FEWEST_ITERATIONS {
            let found = loops.entry(path).or_default();
            found.ops.push(op);
            found.time += op.self_time;
            found.executions += op.executions;
        }
    }
    loops.retain(|_, it| it.time.as_us() < SHORT_US * it.executions as f64);
    let Some((path, found)) = loops.into_iter().max_by_key(|(_, it)| it.executions) else { return Verdict::Fine };
    let kernels = numbers.of_window(numbers.op_percent(found.time));
    let gaps = numbers.short_gap_percent().unwrap_or(0.0) * found.executions as f64 / all.max(1) as f64;
    let share = (kernels + gaps).min(100.0);
    let longest = found.ops.iter().max_by_key(|op| op.self_time);
    let Some(longest) = longest.filter(|_| share >= OVERHEAD_PERCENT.good) else { return Verdict::Fine };
    let (severity, limit) = OVERHEAD_PERCENT.severity(share);
    let iterations = found.ops.iter().filter_map(|op| numbers.runs_per_step(op)).fold(0.0, f64::max).round();
    let scope = scopes(path).last().map_or(String::new(), |scope| format!(" in {}", shown(scope)));
    let message = format!(
        "A loop{scope} runs {} iterations per step, in sequence. Each iteration runs {} of {} on average, too short to use \
         the device. These kernels take {} of the time, and the gaps between them about {}. The largest op is {}.",
        format::count(iterations as u64),
        format::counted(found.ops.len() as u64, "kernel"),
        format::time_us(found.time.as_us() / found.executions.max(1) as f64),
        format::percent(kernels),
        format::percent(gaps),
        numbers.op_with_source(longest),
    );
    let title = format!(
        "A loop of {} short iterations takes about {} of the time",
        format::count(iterations as u64),
        format::percent(share)
    );
    Draft::new(severity, Confidence::Medium, &title, message)
        .remedy(
            "If each iteration is a linear or associative step (sums, products, decayed sums), use jax.lax.associative_scan, which \
             needs a logarithmic number of steps. Otherwise do more work in each iteration: a larger batch, several steps at once, \
             jax.lax.scan(..., unroll=8), or one Pallas kernel for the whole loop.",
        )
        .passed("loop_percent", share, limit)
        .evidence("iterations_per_step", iterations)
        .at_stake(share)
        .link(View::Ops, &equals("hlo_op_name", ops.text(numbers.trace, longest.name)))
        .fires()
}

/// Returns the path of the innermost loop that contains an op: `jit(f)/advantages/while` for `jit(f)/advantages/while/body/add`.
fn loop_of(path: &str) -> Option<&str> {
    let end = path.rfind("/while")? + "/while".len();
    let (inside, rest) = path.split_at_checked(end)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, gpu_steps, kernel};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    const BODY: &str = "jit(f)/advantages/while/body/add";

    /// Builds steps of 1000 us. In each step, a product takes 300 us and a loop runs kernels of 1 us, one every 2 us.
    fn steps(iterations: i64, path: &'static str) -> Trace {
        gpu_steps(12, move |b, at| {
            kernel(b, "gemm", at + 1, at + 5, 300);
            let line = b.line("/device:GPU:0", "Stream #7(Compute)");
            for iteration in 0..iterations {
                b.event(line, "add", at + 310 + 2 * iteration, 1).hlo_op("add.1").hlo_module("jit_f").tf_op(path);
            }
        })
    }

    #[test]
    fn fires_above_its_limits() {
        let found = finding(steps(300, BODY), &RULE);
        assert_eq!(found.severity, Critical);
        assert!(found.title.starts_with("A loop of 300 short iterations takes about 6"), "{}", found.title);
        let start =
            "A loop in advantages runs 300 iterations per step, in sequence. Each iteration runs 1 kernel of 1.00 µs";
        assert!(found.message.starts_with(start), "{}", found.message);
        assert_eq!(finding(steps(210, BODY), &RULE).severity, Warning);
        fine(steps(199, BODY), &RULE);
        fine(steps(300, "jit(f)/advantages/add"), &RULE);
    }

    #[test]
    fn loops_are_named_by_their_path() {
        assert_eq!(loop_of(BODY), Some("jit(f)/advantages/while"));
        assert_eq!(loop_of("jit(f)/a/while/body/b/while/cond/lt"), Some("jit(f)/a/while/body/b/while"));
        assert_eq!(
            (loop_of("jit(f)/a/while"), loop_of("jit(f)/whiled"), loop_of("")),
            (Some("jit(f)/a/while"), None, None)
        );
    }
}
