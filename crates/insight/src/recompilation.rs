//! XLA compiles while steps run that should be steady.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::waiting::NO_HOST_EVENTS;
use super::{Rule, Verdict};
use base::{Ps, format};
use metrics::{HostWork, host_spans};
use report::{Confidence, FindingSeverity};
use trace::{Framework, Interval};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "recompilation", title: "Compilation between steps", check };

/// Share of the time from the second step's start to the last one's end from which it costs (ours).
const WARNING_PERCENT: f64 = 1.0;
/// From here it is most of what happens (ours).
const CRITICAL_PERCENT: f64 = 20.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let (steps, devices) = (&numbers.context.analysis.steps, &numbers.context.analysis.devices);
    if numbers.trace.framework == Framework::PyTorch {
        return Verdict::Irrelevant;
    }
    if devices.by_line.host_names.is_empty() {
        return lacks(NO_HOST_EVENTS);
    }
    // The first step may compile: everything does at its first call.
    let later = steps.windows.iter().filter_map(|row| {
        let mut windows = row.iter().flatten().map(|window| window.interval);
        windows.next()?;
        windows.next().map(|second| (second.start, windows.next_back().unwrap_or(second).end))
    });
    let (start, end) = later.fold((Ps::MAX, Ps::new(i64::MIN)), |all, it| (all.0.min(it.0), all.1.max(it.1)));
    if start >= end {
        return numbers.lacks_steps("fewer than two steps are known.");
    }
    if numbers.profile.compilation.as_ref().is_none_or(|it| it.num_compilation_events == 0) {
        return Verdict::Fine;
    }
    let spans = host_spans(numbers.trace, devices, HostWork::Compile);
    let inside = spans.union.clip(Interval::new(start, end));
    let share = 100.0 * inside.length().as_ps() as f64 / (end - start).as_ps() as f64;
    if inside.is_empty() {
        return Verdict::Fine;
    }
    let severity = match share {
        share if share >= CRITICAL_PERCENT => FindingSeverity::Critical,
        share if share >= WARNING_PERCENT => FindingSeverity::Warning,
        _ => FindingSeverity::Note,
    };
    let message = format!(
        "After the first step, XLA compiles {}, for {} in all ({} of that time). New shapes, data types or static arguments \
         make it compile again.",
        times(inside.parts().len() as u64),
        format::time_us(inside.length().as_us()),
        format::percent(share)
    );
    Draft::new(severity, Confidence::High, "Programs are compiled while steps run", message)
        .remedy(
            "Set jax.config.update(\"jax_explain_cache_misses\", True) to see which call and why. Pad inputs to fixed shapes \
             (also the last batch), pass changing numbers as arrays instead of static arguments, and create jitted \
             functions once, outside of the loop.",
        )
        .passed("recompilation_percent", share, if share >= CRITICAL_PERCENT { CRITICAL_PERCENT } else { WARNING_PERCENT })
        .evidence("recompilation_us", inside.length().as_us())
        .at_stake(share)
        .link("steps", "")
        .fires()
}

/// `once more`, `3 more times`.
fn times(count: u64) -> String {
    if count == 1 { "once more".to_owned() } else { format!("{} more times", format::count(count)) }
}
