//! Most of the capture lies outside of what the numbers are about.

use super::draft::Draft;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule. `window.caution` says it from half of the capture on, as the head of every report does.
pub(super) const RULE: Rule =
    Rule { id: "outside_window", title: "Most of the capture lies outside of its window", check };

/// Share outside of the window from which the numbers say little of the capture (ours: nine tenths).
const WARNING_PERCENT: f64 = 90.0;
/// Share from which it is worth knowing (that of `window.caution`).
const NOTE_PERCENT: f64 = 50.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let Some(window) = numbers.profile.window.as_ref() else { return Verdict::Irrelevant };
    let Some(caution) = &window.caution else { return Verdict::Fine };
    let outside = |share: Option<f64>| share.map(|share| 100.0 - share);
    let work = outside(window.work_percent).filter(|&share| share > NOTE_PERCENT && window.chosen.is_none());
    let (share, title) = match (work, outside(window.active_percent)) {
        (Some(share), _) => {
            (share, format!("{} of the device work lies outside of the window", format::percent(share)))
        }
        (None, Some(share)) => (share, format!("No device works for {} of the capture", format::percent(share))),
        (None, None) => return Verdict::Fine,
    };
    let costs = share >= WARNING_PERCENT;
    let severity = if costs { FindingSeverity::Warning } else { FindingSeverity::Note };
    let message = format!("{caution} No other number includes the rest. {}", window.sentence);
    let remedy = match work {
        Some(_) => format!(
            "Check that the counted steps are the ones that you mean, or measure the whole capture (Measure on the page, --window all). {}.",
            numbers.words().mark_steps
        ),
        None => "Start the capture when the program runs, after imports, loading and compilation, and stop it with the last step.".to_owned(),
    };
    Draft::new(severity, Confidence::High, &title, message)
        .remedy(&remedy)
        .passed("outside_percent", share, if costs { WARNING_PERCENT } else { NOTE_PERCENT })
        .link("steps", "")
        .fires()
}
