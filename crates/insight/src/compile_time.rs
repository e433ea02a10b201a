//! Compilation takes seconds of the capture.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "compile_time", title: "Compilation takes long", check };

/// Compile time from which it is worth a look (JAX guide, key performance indicators: good below 2 s).
const NOTE_US: f64 = 2e6;
/// From this time on compilation is long (JAX guide: bad above 10 s).
const WARNING_US: f64 = 10e6;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let Some(compilation) = &numbers.profile.compilation else {
        return lacks(
            "the capture marks no compilation. Start it before the first call, with the host tracer on, to measure it.",
        );
    };
    let time = compilation.compilation_time_us;
    if time < NOTE_US {
        return Verdict::Fine;
    }
    let long = time >= WARNING_US;
    let severity = if long { FindingSeverity::Warning } else { FindingSeverity::Note };
    let message = format!(
        "XLA compiled for {} ({} of the capture), {} times.",
        format::time_us(time),
        format::percent(compilation.compilation_percent),
        format::count(compilation.num_compilation_events)
    );
    Draft::new(severity, Confidence::High, &format!("Compilation takes {}", format::time_us(time)), message)
        .remedy(
            "Keep compiled programs between runs with jax.config.update(\"jax_compilation_cache_dir\", \"...\"), replace \
             unrolled Python loops by jax.lax.scan over the layers, and compile ahead with jitted.lower(...).compile().",
        )
        .passed("compilation_time_us", time, if long { WARNING_US } else { NOTE_US })
        .evidence("num_compilation_events", compilation.num_compilation_events as f64)
        .link("steps", "")
        .fires()
}
