//! Compilation takes several seconds of the capture.
//!
//! The measure is the union of all compile spans in the capture. Severity: note from 2 s, warning from 10 s (JAX
//! guide). Confidence: high. Remedy: use a compilation cache, or `jax.lax.scan` over layers. The rule is skipped if the
//! capture contains no compilation. The rule is not reported for PyTorch, whose traces never contain compilations.

use super::draft::{Draft, lacks};
use super::limits::COMPILE_US;
use super::numbers::Numbers;
use super::{Rule, Verdict, compilation, recompilation};
use base::format;
use report::{Confidence, FindingSeverity, View};
use trace::Framework;

pub(super) static RULE: Rule = Rule {
    id: "compile_time",
    title: "Compilation takes a long time",
    // Rules about compilation inside steps are more specific than this rule about all compilation.
    explained_by: &[&[&recompilation::RULE, &compilation::RULE]],
    ..Rule::checked_by(check)
};

fn check(numbers: &Numbers<'_>) -> Verdict {
    let Some(compilation) = &numbers.profile.compilation else {
        // Kineto does not record torch.compile.
        if numbers.trace.framework == Framework::PyTorch {
            return Verdict::Irrelevant;
        }
        return lacks(&format!(
            "the capture contains no compilation. To measure it, start the capture before the first call, with {}.",
            numbers.words().host_events
        ));
    };
    let time = compilation.compilation_time_us;
    if time < COMPILE_US.good {
        return Verdict::Fine;
    }
    let cache = numbers.words().compilation_cache;
    let long = time >= COMPILE_US.bad;
    let severity = if long { FindingSeverity::Warning } else { FindingSeverity::Note };
    let message = format!(
        "Compilation takes {} ({} of the capture) in {} compilations.",
        format::time_us(time),
        format::percent(compilation.compilation_percent),
        format::count(compilation.num_compilation_events)
    );
    Draft::new(severity, Confidence::High, &format!("Compilation takes {}", format::time_us(time)), message)
        .remedy(&match numbers.trace.framework {
            Framework::Jax | Framework::Unknown => format!(
                "Cache compiled programs between runs with {cache}, replace Python loops over layers with \
                 jax.lax.scan, and compile ahead of time with jitted.lower(...).compile()."
            ),
            Framework::TensorFlow | Framework::PyTorch => {
                format!("Cache compiled programs between runs with {cache}, and compile repeated layers only once.")
            }
        })
        .passed("compilation_time_us", time, if long { COMPILE_US.bad } else { COMPILE_US.good })
        .evidence("num_compilation_events", compilation.num_compilation_events as f64)
        .link(View::Steps, "")
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, kernel};
    use report::FindingSeverity::{Note, Warning};
    use trace::TraceBuilder;

    #[test]
    fn fires_above_its_limit() {
        let trace = |length: i64| {
            let mut b = TraceBuilder::new();
            kernel(&mut b, "gemm", 1, 5, 100);
            let python = b.line("/host:CPU", "python");
            b.event(python, "backend_compile", 1000, length);
            b.build()
        };
        assert_eq!(finding(trace(10_000_000), &RULE).severity, Warning);
        assert_eq!(finding(trace(2_000_000), &RULE).severity, Note);
        fine(trace(1_999_999), &RULE);
    }
}
