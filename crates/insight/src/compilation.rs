//! Devices wait while the host compiles.

use super::draft::Draft;
use super::gap;
use super::numbers::Numbers;
use super::waiting::idle_share;
use super::{Rule, Verdict};
use base::format;
use metrics::StepPart;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "compilation", title: "Devices wait for compilation", check };

/// Share of the window (the checklist names "high compilation time" without a number; the JAX guide draws the line of overheads at
/// 10 %).
const WARNING_PERCENT: f64 = 10.0;
/// From this share on most of the time is lost to compilation (the JAX guide's limit of utilisation).
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
        "Devices wait {} of {} ({}) while what is to run next is compiled.{}",
        format::time_us(window.us(share)),
        window.words(),
        format::percent(share),
        gap::sentence(numbers)
    );
    Draft::new(severity, Confidence::High, &format!("Devices wait for compilation {} of the time", format::percent(share)), message)
        .remedy(&format!(
            "Run a few steps before the capture starts, so that everything is compiled; keep compiled programs between runs with {}.",
            numbers.words().compilation_cache
        ))
        .passed("compile_percent", share, if critical { CRITICAL_PERCENT } else { WARNING_PERCENT })
        .evidence("compile_us", window.us(share))
        .at_stake(share)
        .link_to_idle(numbers)
        .fires()
}
