//! The profiler dropped events, or the file was damaged later.
//!
//! The rule fires if the profiler reports dropped events, or if bytes of the file are missing. Missing events look like
//! idle time. Severity: critical. Confidence: high.

use super::draft::Draft;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::{Severity, Warning, WarningCode, format};
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule { id: "dropped_events", title: "Events are missing", ..Rule::checked_by(check) };

fn check(numbers: &Numbers<'_>) -> Verdict {
    let lost =
        |warning: &&Warning| warning.severity == Severity::Damage || warning.is(WarningCode::ProfilerDroppedEvents);
    let warnings = || numbers.profile.warnings.iter().filter(lost);
    let Some(first) = warnings().next() else { return Verdict::Fine };
    let others = warnings().count() - 1;
    let more = if others > 0 {
        format!(" The file has {} more warnings of this kind.", format::count(others as u64))
    } else {
        String::new()
    };
    let message = format!(
        "{} Idle time and counts may be wrong, because missing events look like idle time.{more}",
        format::printable(&format::shorten(&first.message, 300))
    );
    let remedy = if first.is(WarningCode::ProfilerDroppedEvents) {
        format!("Capture fewer steps, or record less: {}.", numbers.words().no_python_calls)
    } else {
        "Copy the file again from the machine that captured it. If it is damaged there too, capture again.".to_owned()
    };
    Draft::new(FindingSeverity::Critical, Confidence::High, "Events are missing from the capture", message)
        .remedy(&remedy)
        .count("warnings", (others + 1) as u64)
        .link(View::Overview, "")
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, host_bound};
    use base::{Warning, WarningCode};
    use report::FindingSeverity::Critical;

    #[test]
    fn fires_above_its_limit() {
        let trace = |code: WarningCode| {
            let mut trace = host_bound(900);
            trace.warnings.push(Warning::new(code, "Something happened."));
            trace
        };
        assert_eq!(finding(trace(WarningCode::ProfilerDroppedEvents), &RULE).severity, Critical);
        assert_eq!(finding(trace(WarningCode::XplaneTruncated), &RULE).severity, Critical);
        fine(trace(WarningCode::ProfilerWarning), &RULE);
    }
}
