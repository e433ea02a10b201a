//! The capture contains warm-up steps.
//!
//! Some steps compile or start slowly. Severity: note, or a warning if these steps are included in the statistics
//! because there are no others. Confidence: high. The rule is skipped if steps are unknown.

use super::draft::Draft;
use super::numbers::{Numbers, plural};
use super::{Rule, Verdict, recompilation};
use base::format;
use report::{Confidence, FindingSeverity, View, WindowKind};

pub(super) static RULE: Rule = Rule {
    id: "warm_up_in_window",
    title: "The capture contains warm-up",
    explained_by: &[&[&recompilation::RULE]],
    ..Rule::checked_by(check)
};

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
    let are_outside = window.is_some_and(|window| window.kind() == Some(WindowKind::Steps));
    let severity = if counted_anyway { FindingSeverity::Warning } else { FindingSeverity::Note };
    let what = match (counted_anyway, are_outside) {
        (true, _) if window.is_some_and(|window| window.chosen.is_some()) => {
            "The selected window contains some of them."
        }
        (true, _) => "There is no other complete step, so the step time describes the warm-up, not the steady state.",
        (false, true) => "They are outside the window, so only numbers about the whole capture include them.",
        (false, false) => "The step time excludes them. The other numbers of the selected window include them.",
    };
    let compiling = steps.iter().filter(|step| step.compiles).count() as u64;
    let slow = warm_up as u64 - compiling.min(warm_up as u64);
    let kinds = [(compiling, "compilation takes more than 10 % of the step"), (slow, "the step starts slowly")];
    let kinds = kinds.iter().filter(|(count, _)| *count > 0);
    let kinds: Vec<String> = kinds.map(|(count, why)| format!("in {} {why}", format::count(*count))).collect();
    let message = format!(
        "{} of {} {} warm-up: {}. {what}",
        format::count(warm_up as u64),
        plural(steps.len() as u64, "step"),
        if warm_up == 1 { "is" } else { "are" },
        kinds.join(", ")
    );
    Draft::new(severity, Confidence::High, "The capture contains warm-up steps", message)
        .remedy("Start the capture after the warm-up (about 50 steps that compile and tune). For example, trace steps 100 to 105.")
        .passed("warm_up_steps", warm_up as f64, 1.0)
        .evidence("compiling_steps", compiling as f64)
        .link(View::Steps, "warm_up=yes")
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, kernel};
    use report::FindingSeverity::Note;
    use trace::TraceBuilder;

    #[test]
    fn fires_above_its_limit() {
        let first = |length: i64| {
            let mut b = TraceBuilder::new();
            let python = b.line("/host:CPU", "python");
            let mut at = 0;
            for step in 0..12 {
                let length = if step == 0 { length } else { 1000 };
                b.event(python, "train", at, length).step_num(step);
                kernel(&mut b, "gemm", at + 1, at + 5, length - 100);
                at += length;
            }
            b.build()
        };
        assert_eq!(finding(first(1600), &RULE).severity, Note);
        fine(first(1400), &RULE);
    }
}
