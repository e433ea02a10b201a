//! Flax NNX takes modules apart and rebuilds them in Python on each call.
//!
//! Some functions of Flax NNX convert module graphs to trees of arrays and back (`crates/facts/src/module_graphs.csv`).
//! The rule fires if a thread that launches device work runs such functions in each step, and devices are idle while
//! these functions run for at least 10 % of the window (JAX guide, overheads). On each call of a function that
//! `nnx.jit` compiled, the conversions run for each module and optimizer that the function takes or returns. Severity:
//! warning, critical from 50 %. Confidence: high. The Python tracer slows the conversions down, so the loss is smaller
//! without the tracer. Remedy: split the module once, and use `jax.jit` on the state. The rule is not reported if the
//! Python tracer was off, and is skipped if there are no host events or no steps.

use super::draft::Draft;
use super::limits::{EACH_STEP, OVERHEAD_PERCENT};
use super::numbers::{Numbers, function};
use super::{Needs, Rule, Verdict};
use base::format;
use facts::module_graphs;
use metrics::named_calls;
use report::{Confidence, View};

pub(super) static RULE: Rule = Rule {
    id: "module_graphs",
    title: "Flax NNX rebuilds modules in each call",
    needs: Needs::AllLines,
    ..Rule::checked_by(check)
};

fn check(numbers: &Numbers<'_>) -> Verdict {
    let devices = &numbers.context.analysis.devices;
    if devices.by_line.host_names.is_empty() {
        return numbers.lacks_host_events();
    }
    if !devices.by_line.host_names.iter().any(|&name| module_graphs::is(numbers.trace.text(name))) {
        return Verdict::Irrelevant;
    }
    let Some(steps) = numbers.steps_in_window() else { return numbers.lacks_steps("the steps are unknown.") };
    let found = named_calls(numbers.trace, devices, &module_graphs::is);
    let (per_step, share) = (found.per_step(steps), found.idle_percent());
    if per_step < EACH_STEP || share < OVERHEAD_PERCENT.good {
        return Verdict::Fine;
    }
    let (severity, limit) = OVERHEAD_PERCENT.severity(share);
    let caller = found.caller.map(|call| format!(" {} makes most of these calls.", function(&call)));
    let message = format!(
        "Devices are idle for {} of the time while Flax NNX turns module graphs into trees of arrays, or back, in Python: {} per step \
         (to_tree, from_tree, flatten, unflatten).{} nnx.jit does this in each call, for each module and optimizer that it takes or returns. \
         The Python tracer makes these functions several times slower, but without it they still take time in each call.",
        format::percent(share),
        format::counted(per_step.round().max(1.0) as u64, "call"),
        caller.unwrap_or_default()
    );
    let title = format!("Flax NNX rebuilds modules in each call, which takes {} of the time", format::percent(share));
    Draft::new(severity, Confidence::High, &title, message)
        .remedy(
            "Split the modules once before the loop (graphdef, state = nnx.split((model, optimizer))), and compile a \
             function of the state with jax.jit. Let this function call nnx.merge(graphdef, state), which then runs \
             only during tracing, and return the new state. Merge again after the loop. Or bind the modules once: \
             nnx.cached_partial(train_step, model, optimizer). Fewer modules and variables (layers stacked with \
             nnx.vmap and nnx.scan) also help.",
        )
        .passed("module_graphs_percent", share, limit)
        .evidence("module_graph_calls_per_step", per_step)
        .at_stake(share)
        .link(View::Steps, "")
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, gpu_steps, host_bound, kernel, says};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us. Every `each`-th step spends `time` us in functions of `file`.
    fn steps(time: i64, each: i64, file: &'static str) -> Trace {
        gpu_steps(12, move |b, at| {
            let python = b.line("/host:CPU", "python");
            b.event(python, "PjitFunction(step)", at + 1, 3);
            kernel(b, "gemm", at + 1, at + 5, 990 - time);
            if (at / 1000) % each == 0 {
                let start = at + 996 - time;
                b.event(python, "$main.py:53 one", start, time);
                b.event(python, &format!("${file}:338 to_tree"), start, time / 2);
                b.event(python, "$graphlib.py:1783 flatten", start, time / 2);
                b.event(python, &format!("${file}:532 from_tree"), start + time / 2, time - time / 2);
            }
        })
    }

    #[test]
    fn fires_above_its_limit() {
        let found = finding(steps(700, 1, "extract.py"), &RULE);
        assert_eq!(found.severity, Critical);
        let message = &found.message;
        assert!(message.contains("2 calls per step") && message.contains(" one (main.py:53) makes most"), "{message}");
        assert_eq!(finding(steps(150, 1, "extract.py"), &RULE).severity, Warning);
        fine(steps(90, 1, "extract.py"), &RULE);
        // Only one of four steps runs such functions: 2 calls in 4 steps.
        fine(steps(700, 4, "extract.py"), &RULE);
        assert_eq!(says(host_bound(300), &RULE), Verdict::Irrelevant);
    }
}
