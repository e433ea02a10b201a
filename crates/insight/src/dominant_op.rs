//! One op takes more than half of the op time.
//!
//! One op (an instruction of one program) takes more than half of the self time of all ops (JAX guide), and at least 20 % of
//! the window (ours: if devices mostly wait, the op is not the cause). At least three ops must run. Separate rules cover
//! communication and copies. Ops that the compiler runs during compilation are excluded. Severity: warning. Confidence: high.
//! Remedy: examine the op.

use super::draft::{Draft, equals, lacks};
use super::limits::{DOMINANT_OP_OF_WINDOW_PERCENT, DOMINANT_OP_PERCENT};
use super::numbers::{Numbers, code_line, plural};
use super::{
    Needs, Rule, Verdict, awkward_fft, batched_loop, colliding_scatter, converted_in_loop, converted_weights,
    copied_arguments, data_shuffle, decompositions, dense_experts, derivative_matrix, float64, gather_scatter,
    grouped_convolution, low_flop_rate, masked_scores, mostly_unused_result, one_hot_lookup, padded_rows,
    pairwise_reduction, per_example_gradients, product_order, random_numbers, reverse_jacobian, rewritten_state,
    sampling_over_all_classes, sorting, unfused_attention, unfused_data_formatting, whole_table_update,
};
use base::format;
use metrics::{AUTOTUNING, Op, OpClass, is_amd};
use report::{Confidence, FindingSeverity, View};
use trace::Platform;

pub(super) static RULE: Rule = Rule {
    id: "dominant_op",
    title: "One op dominates",
    needs: Needs::AllOps,
    explained_by: &[&[
        &unfused_data_formatting::RULE,
        &copied_arguments::RULE,
        &float64::RULE,
        &data_shuffle::RULE,
        &sorting::RULE,
        &gather_scatter::RULE,
        &one_hot_lookup::RULE,
        &pairwise_reduction::RULE,
        &colliding_scatter::RULE,
        &per_example_gradients::RULE,
        &reverse_jacobian::RULE,
        &product_order::RULE,
        &rewritten_state::RULE,
        &batched_loop::RULE,
        &derivative_matrix::RULE,
        &decompositions::RULE,
        &awkward_fft::RULE,
        &grouped_convolution::RULE,
        &low_flop_rate::RULE,
        &random_numbers::RULE,
        &sampling_over_all_classes::RULE,
        &mostly_unused_result::RULE,
        &masked_scores::RULE,
        &unfused_attention::RULE,
        &converted_weights::RULE,
        &converted_in_loop::RULE,
        &whole_table_update::RULE,
        &dense_experts::RULE,
        &padded_rows::RULE,
    ]],
    ..Rule::checked_by(check)
};

/// Minimum number of ops that a program needs for one to dominate.
const FEWEST_OPS: usize = 3;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    if ops.rows.is_empty() {
        return lacks("no device op ran. Capture while the program runs on the device.");
    }
    // The compiler runs candidate kernels that are not part of the program.
    let is_own = |op: &&Op| ops.text(numbers.trace, op.category) != AUTOTUNING;
    let Some(top) = ops.rows.iter().find(is_own) else { return Verdict::Fine };
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
    let source = match text(top.source) {
        "" => String::new(),
        line => format!(" ({})", code_line(line)),
    };
    let message = format!(
        "{}{source}{program} ({}) takes {} of the op time: {} in {}.",
        format::printable(&format::shorten(name, 80)),
        format::printable(text(top.category)),
        format::percent(share),
        format::time_us(top.self_time.as_us()),
        plural(top.executions, "run")
    );
    Draft::new(FindingSeverity::Warning, Confidence::High, "One op takes more than half of the op time", message)
        .remedy(&format!(
            "Ask first whether each run of this op is needed: in a loop, a result that changes slowly can be kept for several \
             iterations. Then examine its shapes, data type and layout, and its position on the roofline if peak rates are known. Change \
             the algorithm, or use a library implementation{}.",
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
        .link(View::Ops, &equals("hlo_op_name", name))
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{autotuning, finding, fine, three_ops, tpu_op, tpu_steps};
    use report::FindingSeverity::Warning;

    #[test]
    fn fires_above_its_limit() {
        assert_eq!(finding(three_ops("custom-call", 510), &RULE).severity, Warning);
        fine(three_ops("custom-call", 500), &RULE);
        fine(three_ops("all-gather", 600), &RULE);
        fine(tpu_steps(12, |b, at| tpu_op(b, "custom-call", at, 1000)), &RULE);
    }

    #[test]
    fn kernels_of_the_compiler_do_not_count() {
        fine(autotuning(550), &RULE);
    }
}
