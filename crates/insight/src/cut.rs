//! Finds the rules that cannot be checked if a capture was cut or ops were not recorded. Missing events make a device look
//! slower, idle or unused.

use super::numbers::Numbers;
use super::{Needs, Rule, Verdict};
use base::{Cut, cut};

/// Checks a rule. Returns `NotChecked` with the reason if the capture lacks events that the rule needs.
pub(super) fn checked(numbers: &Numbers<'_>, rule: &Rule) -> Verdict {
    let verdict = (rule.check)(numbers);
    if !matches!(verdict, Verdict::Fires(_) | Verdict::Fine) {
        return verdict;
    }
    match cut(&numbers.profile.warnings).and_then(|cut| lacking(rule.needs, cut)) {
        Some(sentence) => Verdict::NotChecked(sentence.to_owned()),
        None => verdict,
    }
}

/// Returns the reason why a rule cannot be checked in a cut capture. `None` if the rule can be checked.
fn lacking(needs: Needs, cut: Cut) -> Option<&'static str> {
    match cut {
        Cut::Earliest => (needs == Needs::Whole).then_some(
            "the file contains only the earliest part of the capture. Open the *.xplane.pb of the same run.",
        ),
        Cut::Ops => (needs >= Needs::AllOps).then_some(
            "the profiler did not record all device ops (see the warnings), and missing ops look like idle time. Capture fewer \
             steps, or record less.",
        ),
        Cut::Anywhere => (needs >= Needs::AllLines).then_some(
            "events are missing from the capture, and missing events look like idle time. Copy the file again, or capture again.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_needs_more_is_checked_after_fewer_cuts() {
        let cuts = [Cut::Earliest, Cut::Ops, Cut::Anywhere];
        let checked = |needs| cuts.map(|cut| lacking(needs, cut).is_none());
        assert_eq!(checked(Needs::Any), [true, true, true]);
        assert_eq!(checked(Needs::AllOps), [true, false, true]);
        assert_eq!(checked(Needs::AllLines), [true, false, false]);
        assert_eq!(checked(Needs::Whole), [false, false, false]);
    }
}
