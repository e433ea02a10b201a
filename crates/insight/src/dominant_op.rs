//! One op takes more than half of the op time.

use super::draft::{Draft, equals, lacks};
use super::limits::{DOMINANT_OP_OF_WINDOW_PERCENT, DOMINANT_OP_PERCENT};
use super::numbers::{Numbers, plural};
use super::{Rule, Verdict};
use base::format;
use metrics::{OpClass, is_amd};
use report::{Confidence, FindingSeverity};
use trace::Platform;

pub(super) const RULE: Rule = Rule { id: "dominant_op", title: "One op dominates", check };

/// Fewest ops that a program needs for one to dominate (ours).
const FEWEST_OPS: usize = 3;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    let Some(top) = ops.rows.first() else {
        return lacks("no device op ran. Capture while the program runs on the device.");
    };
    let share = numbers.op_percent(top.self_time);
    // Separate rules cover communication and copies.
    let is_small = share <= DOMINANT_OP_PERCENT || numbers.of_window(share) < DOMINANT_OP_OF_WINDOW_PERCENT;
    if is_small || ops.rows.len() < FEWEST_OPS || top.family.class() != OpClass::Compute {
        return Verdict::Fine;
    }
    let text = |text| ops.text(numbers.trace, text);
    let name = text(top.name);
    let program = match text(top.module) {
        "" => String::new(),
        module => format!(" in {}", format::printable(&format::shorten(module, 60))),
    };
    let message = format!(
        "{}{program} ({}) takes {} of the op time: {} in {}.",
        format::printable(&format::shorten(name, 80)),
        format::printable(text(top.category)),
        format::percent(share),
        format::time_us(top.self_time.as_us()),
        plural(top.executions, "run")
    );
    Draft::new(FindingSeverity::Warning, Confidence::High, "One op takes more than half of the op time", message)
        .remedy(&format!(
            "Examine this op: its position on the roofline, data type, shapes and layout. Then change the algorithm, or use a \
             library implementation{}.",
            match numbers.platform {
                Some(Platform::Gpu) if is_amd(&numbers.profile.metadata.device_type) =>
                    " (hipBLASLt, MIOpen, a Triton kernel)",
                Some(Platform::Gpu) => " (cuBLAS, cuDNN, a Triton kernel)",
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
