//! The writer of the file kept only the earliest events.

use super::draft::Draft;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::{WarningCode, format};
use report::{Confidence, FindingSeverity};

/// The rule. The limit itself (exactly 1,000,000 or 5,000,000 complete events: the caps of XLA's exporter to JSON) is
/// known to the decoder, which warns.
pub(super) const RULE: Rule = Rule { id: "cut_capture", title: "The capture was cut", check };

fn check(numbers: &Numbers<'_>) -> Verdict {
    let Some(warning) = numbers.profile.warnings.iter().find(|warning| warning.is(WarningCode::JsonTruncated)) else {
        return Verdict::Fine;
    };
    let count = warning.count.unwrap_or(numbers.trace.complete_events);
    let message = format!(
        "The file holds exactly {} events, the limit of the program that wrote it: only the earliest part of the capture is \
         there. Later steps are missing, and the last ones may lack events of some devices.",
        format::count(count)
    );
    Draft::new(FindingSeverity::Critical, Confidence::High, "Only the earliest part of the capture is there", message)
        .remedy(&format!(
            "Open the *.xplane.pb of the same run, which has no such limit; or capture fewer steps, without Python calls ({}).",
            numbers.words().no_python_calls
        ))
        .passed("num_events", count as f64, count as f64)
        .link("overview", "")
        .fires()
}
