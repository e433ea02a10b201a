//! The program that wrote the file kept only the earliest events.
//!
//! The file contains exactly 1,000,000 or 5,000,000 complete events. XLA's JSON exporter stops at these limits, and
//! keeps the earliest events. Severity: critical. Confidence: high. Remedy: open the xplane of the same run.

use super::draft::Draft;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::{WarningCode, format};
use report::{Confidence, FindingSeverity, View};

/// The decoder detects the cut from the number of complete events: exactly 1,000,000 or 5,000,000, the limits of XLA's
/// JSON exporter.
pub(super) static RULE: Rule = Rule { id: "cut_capture", title: "The capture was cut", ..Rule::checked_by(check) };

fn check(numbers: &Numbers<'_>) -> Verdict {
    let Some(warning) = numbers.profile.warnings.iter().find(|warning| warning.is(WarningCode::JsonTruncated)) else {
        return Verdict::Fine;
    };
    let count = warning.count.unwrap_or(numbers.trace.complete_events);
    let message = format!(
        "The file contains exactly {} events, the limit of the program that wrote it, so it covers only the earliest \
         part of the capture. Later steps are missing, and the last steps in the file may lack events of some \
         devices.",
        format::count(count)
    );
    Draft::new(FindingSeverity::Critical, Confidence::High, "The file contains only the earliest part of the capture", message)
        .remedy(&format!(
            "Open the *.xplane.pb of the same run, which has no such limit. Or capture fewer steps, without Python calls ({}).",
            numbers.words().no_python_calls
        ))
        .passed("num_events", count as f64, count as f64)
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
        let mut trace = host_bound(900);
        trace.warnings.push(Warning::new(WarningCode::JsonTruncated, "Cut.").with_count(1_000_000));
        assert_eq!(finding(trace, &RULE).severity, Critical);
        fine(host_bound(900), &RULE);
    }
}
