//! Devices wait while the host compiles programs.
//!
//! `compile_percent` is the share of the window during which devices are idle because the host compiles. Severity: warning from
//! 10 %, critical from 50 % (the pattern comes from the checklist, the limits from the JAX guide's limits for overheads).
//! Confidence: high. Remedy: warm up before the capture, or use a persistent compilation cache.

use super::draft::Draft;
use super::gap;
use super::limits::OVERHEAD_PERCENT;
use super::numbers::Numbers;
use super::waiting::idle_share;
use super::{Rule, Verdict, recompilation};
use base::format;
use metrics::StepPart;
use report::{Confidence, FindingSeverity};

pub(super) static RULE: Rule = Rule {
    id: "compilation",
    title: "Devices wait for compilation",
    explained_by: &[&[&recompilation::RULE]],
    parts: &[&recompilation::RULE],
    ..Rule::checked_by(check)
};

fn check(numbers: &Numbers<'_>) -> Verdict {
    let (window, share) =
        match idle_share(numbers, StepPart::Compile, OVERHEAD_PERCENT.good, numbers.lacks_host_events()) {
            Ok(found) => found,
            Err(verdict) => return verdict,
        };
    if share < OVERHEAD_PERCENT.good {
        return Verdict::Fine;
    }
    let critical = share >= OVERHEAD_PERCENT.bad;
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
        .passed("compile_percent", share, if critical { OVERHEAD_PERCENT.bad } else { OVERHEAD_PERCENT.good })
        .evidence("compile_us", window.us(share))
        .at_stake(share)
        .link_to_idle(numbers)
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{compiling, finding, fine};
    use report::FindingSeverity::{Critical, Warning};

    #[test]
    fn fires_above_its_limit() {
        assert_eq!(finding(compiling(300, 690), &RULE).severity, Critical);
        assert_eq!(finding(compiling(800, 190), &RULE).severity, Warning);
        fine(compiling(930, 60), &RULE);
    }
}
