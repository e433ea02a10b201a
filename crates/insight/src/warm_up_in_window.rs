//! The capture holds steps in which the program was still warming up.

use super::draft::Draft;
use super::numbers::{Numbers, plural};
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "warm_up_in_window", title: "Warm-up is in the capture", check };

fn check(numbers: &Numbers<'_>) -> Verdict {
    let steps = &numbers.profile.steps;
    if steps.is_empty() {
        return numbers.lacks_steps("the steps are unknown.");
    }
    let warm_up = steps.iter().filter(|step| step.warm_up).count();
    if warm_up == 0 {
        return Verdict::Fine;
    }
    let window = numbers.profile.window.as_ref();
    let counted_anyway = steps.iter().any(|step| step.warm_up && step.counted);
    let are_outside = window.is_some_and(|window| window.kind == "steps");
    let severity = if counted_anyway { FindingSeverity::Warning } else { FindingSeverity::Note };
    let what = match (counted_anyway, are_outside) {
        (true, _) if window.is_some_and(|window| window.chosen.is_some()) => "The chosen window holds some of them.",
        (true, _) => "No other complete step is there, so the step time is one of warm-up, not of the steady state.",
        (false, true) => "They are no part of the window, and so of no number but those of the whole capture.",
        (false, false) => "They are left out of the step time; the other numbers of the chosen window include them.",
    };
    let compiling = steps.iter().filter(|step| step.compiles).count() as u64;
    let slow = warm_up as u64 - compiling.min(warm_up as u64);
    let kinds = [
        (compiling, "programs are compiled for more than 10 % of the time"),
        (slow, "the program starts slowly (more than 1.5 times the median)"),
    ];
    let kinds = kinds.iter().filter(|(count, _)| *count > 0);
    let kinds: Vec<String> = kinds.map(|(count, why)| format!("in {} {why}", format::count(*count))).collect();
    let message = format!(
        "Of {}, {} warm-up: {}. {what}",
        plural(steps.len() as u64, "step"),
        if warm_up == 1 { "1 is".to_owned() } else { format!("{} are", format::count(warm_up as u64)) },
        kinds.join(", ")
    );
    Draft::new(severity, Confidence::High, "The capture holds warm-up steps", message)
        .remedy("Start the capture after the first steps, of which the first 50 or so compile and tune: trace steps 100 to 105, for example.")
        .passed("warm_up_steps", warm_up as f64, 1.0)
        .evidence("compiling_steps", compiling as f64)
        .link("steps", "warm_up=yes")
        .fires()
}
