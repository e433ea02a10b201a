//! Devices wait while the host compiles programs.

use super::draft::Draft;
use super::gap;
use super::numbers::Numbers;
use super::waiting::idle_share;
use super::{Rule, Verdict};
use base::format;
use metrics::StepPart;
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule = Rule { id: "compilation", title: "Devices wait for compilation", check };

/// Share of the window from which the finding is a warning (the checklist names "high compilation time" without a number; the JAX
/// guide's limit for overheads is 10 %).
const WARNING_PERCENT: f64 = 10.0;
/// Share of the window from which most of the time is lost (the JAX guide's limit for utilisation).
const CRITICAL_PERCENT: f64 = 50.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let (window, share) = match idle_share(numbers, StepPart::Compile, WARNING_PERCENT, numbers.lacks_host_events()) {
        Ok(found) => found,
        Err(verdict) => return verdict,
    };
    if share < WARNING_PERCENT {
        return Verdict::Fine;
    }
    let critical = share >= CRITICAL_PERCENT;
    let severity = if critical { FindingSeverity::Critical } else { FindingSeverity::Warning };
    let message = format!(
        "Devices wait for {} of {} ({}) while the host compiles the program that runs next.{}",
        format::time_us(window.us(share)),
        window.words(),
        format::percent(share),
        gap::sentence(numbers)
    );
    Draft::new(severity, Confidence::High, &format!("Devices wait for compilation for {} of the time", format::percent(share)), message)
        .remedy(&format!(
            "Run a few steps before the capture starts, so that everything is compiled. Cache compiled programs between runs \
             with {}.",
            numbers.words().compilation_cache
        ))
        .passed("compile_percent", share, if critical { CRITICAL_PERCENT } else { WARNING_PERCENT })
        .evidence("compile_us", window.us(share))
        .at_stake(share)
        .link_to_idle(numbers)
        .fires()
}
