//! Most of the devices' work is outside the window that the numbers cover.
//!
//! The window contains less than a quarter of the devices' busy time (`window.work_percent`), and the user did not
//! select this window. Severity: note, or a warning if at least 90 % of the busy time is outside (both limits are ours:
//! the edge of a capture often excludes one of two steps). Confidence: high. `window.caution` shows the same warning at
//! the top of every report. The caution also appears if devices worked for less than half of the capture.

use super::draft::Draft;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use metrics::LEAST_WORK_PERCENT;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule =
    Rule { id: "outside_window", title: "Most of the device work is outside the window", ..Rule::checked_by(check) };

/// Share of the work outside the window above which a note is reported (as in `window.caution`).
const NOTE_PERCENT: f64 = 100.0 - LEAST_WORK_PERCENT;
/// Minimum share of the work outside the window for a warning. The numbers then cover less than a tenth of the work.
const WARNING_PERCENT: f64 = 90.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let window = numbers.profile.window.as_ref();
    let Some((window, work)) = window.and_then(|window| Some((window, window.work_percent?))) else {
        return Verdict::Irrelevant;
    };
    let (share, caution) = (100.0 - work, window.caution.as_deref().unwrap_or_default());
    if share <= NOTE_PERCENT || window.chosen.is_some() {
        return Verdict::Fine;
    }
    let costs = share >= WARNING_PERCENT;
    let severity = if costs { FindingSeverity::Warning } else { FindingSeverity::Note };
    let message = format!("{caution} All other numbers exclude the work outside the window. {}", window.sentence);
    let title = format!("{} of the device work is outside the window", format::percent(share));
    Draft::new(severity, Confidence::High, &title, message)
        .remedy(&format!(
            "Check that the counted steps are the ones that you want to measure, or measure the whole capture (Measure on the \
             page, --window all). {}.",
            numbers.words().mark_steps
        ))
        .passed("outside_percent", share, if costs { WARNING_PERCENT } else { NOTE_PERCENT })
        .link(View::Steps, "")
        .fires()
}
