//! One op takes more than half of the device time.

use super::draft::{Draft, equals, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use crate::format;
use crate::metrics::categories::{OpClass, family_of};
use crate::report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "dominant_op", title: "One op dominates", check };

/// Share of the device time (seed 004: "one operation dominates, above 50 % of the time").
const LIMIT_PERCENT: f64 = 50.0;
/// A program of fewer ops has nothing to be dominated (ours).
const FEWEST_OPS: usize = 3;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let kernels = &numbers.profile.kernels.top_kernels;
    let Some(top) = kernels.first() else { return lacks("no device op ran.") };
    let share = top.percent.unwrap_or(0.0);
    // Communication and copies have rules of their own.
    if share <= LIMIT_PERCENT || kernels.len() < FEWEST_OPS || family_of(&top.category).class() != OpClass::Compute {
        return Verdict::Fine;
    }
    let name = format::printable(&format::shorten(&top.name, 80));
    let message = format!(
        "{name} ({}) takes {} of the time of all device ops, in {} runs of {} each.",
        format::printable(&top.category),
        format::percent(share),
        format::count(top.count),
        format::time_us(top.avg_us)
    );
    Draft::new(FindingSeverity::Warning, Confidence::High, "One op takes more than half of the device time", message)
        .remedy(
            "Look at this op alone: its place on the roofline, its data type, its shapes and layout. Then change the \
             algorithm or use a library's version of it (cuBLAS, cuDNN, a Pallas kernel).",
        )
        .passed("share_percent", share, LIMIT_PERCENT)
        .evidence("total_us", top.total_us)
        .at_stake(numbers.of_window(share))
        .link("ops", &equals("name", &top.name))
        .fires()
}
