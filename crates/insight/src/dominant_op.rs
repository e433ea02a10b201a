//! One op takes more than half of the device time.

use super::draft::{Draft, equals, lacks};
use super::limits::{DOMINANT_OP_OF_WINDOW_PERCENT, DOMINANT_OP_PERCENT};
use super::numbers::{Numbers, plural};
use super::{Rule, Verdict};
use base::format;
use metrics::{OpClass, is_amd};
use report::{Confidence, FindingSeverity};
use trace::Platform;

/// The rule.
pub(super) const RULE: Rule = Rule { id: "dominant_op", title: "One op dominates", check };

/// A program of fewer ops has nothing to be dominated (ours).
const FEWEST_OPS: usize = 3;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    let Some(top) = ops.rows.first() else {
        return lacks("no device op ran. Capture while the program runs on the device.");
    };
    let share = numbers.op_percent(top.self_time);
    // Communication and copies have separate rules.
    let is_small = share <= DOMINANT_OP_PERCENT || numbers.of_window(share) < DOMINANT_OP_OF_WINDOW_PERCENT;
    if is_small || ops.rows.len() < FEWEST_OPS || top.family.class() != OpClass::Compute {
        return Verdict::Fine;
    }
    let text = |text| ops.text(numbers.trace, text);
    let name = text(top.name);
    let program = match text(top.module) {
        "" => String::new(),
        module => format!(" of {}", format::printable(&format::shorten(module, 60))),
    };
    let message = format!(
        "{}{program} ({}) takes {} of the time of all device ops, {} in {}.",
        format::printable(&format::shorten(name, 80)),
        format::printable(text(top.category)),
        format::percent(share),
        format::time_us(top.self_time.as_us()),
        plural(top.executions, "run")
    );
    Draft::new(FindingSeverity::Warning, Confidence::High, "One op takes more than half of the device time", message)
        .remedy(&format!(
            "Look at this op alone: its place on the roofline, its data type, its shapes and layout. Then change the \
             algorithm or use a library's version of it{}.",
            match numbers.platform {
                Some(Platform::Gpu) if is_amd(&numbers.profile.metadata.device_type) =>
                    " (hipBLASLt, MIOpen, a Pallas kernel)",
                Some(Platform::Gpu) => " (cuBLAS, cuDNN, a Pallas kernel)",
                Some(Platform::Tpu) => " (a Pallas kernel)",
                Some(Platform::Cpu) | None => "",
            }
        ))
        .passed("share_percent", share, DOMINANT_OP_PERCENT)
        .evidence("self_time_us", top.self_time.as_us())
        .at_stake(numbers.of_window(share))
        .link("ops", &equals("hlo_op_name", name))
        .fires()
}
