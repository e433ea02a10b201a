//! Matrix products run in float32 on a device that is much faster in bfloat16.
//!
//! Matrix products, convolutions and attention with float32 operands take at least 10 % of the op time (ours) on a device with
//! bfloat16 matrix units: TPUs, NVIDIA from compute capability 8.0, AMD from gfx908. Data types come from the HLO, else from
//! the kernels' names. Warning, confidence medium: the model may need the precision. Confidence low on TPUs, which multiply
//! float32 in one bfloat16 pass by default. Remedy: bfloat16 activations. Not checked if the device or the data types are
//! unknown.

use super::draft::Draft;
use super::limits::OVERHEAD_PERCENT;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::{Ps, format};
use metrics::OpFamily;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule =
    Rule { id: "bf16_in_fp32", title: "Matrix products run in float32", ..Rule::checked_by(check) };

fn check(numbers: &Numbers<'_>) -> Verdict {
    match numbers.has_bf16_units() {
        Some(true) => {}
        Some(false) => return Verdict::Irrelevant,
        None => return numbers.lacks_in_json("the file does not name the device."),
    }
    let products = products(numbers);
    if products.is_empty() {
        return Verdict::Irrelevant;
    }
    if products.iter().all(|(data_type, _, _)| data_type.is_none()) {
        return numbers.lacks_in_json("the file does not contain the data types of the products.");
    }
    let single = || products.iter().filter(|(data_type, _, _)| *data_type == Some("f32"));
    let time: Ps = single().map(|(_, time, _)| *time).sum();
    let share = numbers.op_percent(time);
    if share < OVERHEAD_PERCENT.good {
        return Verdict::Fine;
    }
    let largest = single().max_by_key(|(_, time, _)| *time).map_or("", |(_, _, name)| name.as_str());
    let message = format!(
        "Matrix products and convolutions with float32 operands take {} of the op time, but this device has matrix units for \
         bfloat16. The largest is {}.",
        format::percent(share),
        format::printable(&format::shorten(largest, 60))
    );
    // By default, a TPU multiplies float32 in one bfloat16 pass. Then only the memory traffic is doubled.
    let confidence = if numbers.is_tpu() { Confidence::Low } else { Confidence::Medium };
    Draft::new(FindingSeverity::Warning, confidence, "Matrix products run in float32", message)
        .remedy(
            "Use mixed precision if the model allows it: keep parameters in float32, cast activations and weights to bfloat16 \
             before the product, and accumulate in float32. Check the loss after the change.",
        )
        .passed("float32_product_percent", share, OVERHEAD_PERCENT.good)
        .evidence("float32_product_us", time.as_us())
        .at_stake(numbers.of_window(share))
        .link(if numbers.is_gpu() { View::Kernels } else { View::Ops }, &format::printable(&format::shorten(largest, 40)))
        .fires()
}

/// Returns `(type of the operands, time, name)` of all products: kernels on a GPU, ops elsewhere.
fn products<'a>(numbers: &Numbers<'a>) -> Vec<(Option<&'a str>, Ps, String)> {
    let is_product =
        |family: OpFamily| matches!(family, OpFamily::Matmul | OpFamily::Convolution | OpFamily::Attention);
    let analysis = numbers.context.analysis;
    if numbers.is_gpu() {
        let stats = &analysis.kernel_stats;
        let name = |name| stats.text(numbers.trace, name).to_owned();
        let kernels = stats.kernels.iter().filter(|kernel| is_product(kernel.family));
        return kernels.map(|it| (it.data_type, it.occurrences.total, name(it.name))).collect();
    }
    let ops = analysis.ops.rows.iter().filter(|op| is_product(op.family));
    ops.map(|op| {
        let text = |text| analysis.ops.text(numbers.trace, text);
        // Without embedded HLO, the type is that of the result, which may be wider than the operands.
        let narrow = ["bf16[", "f16[", "f8e"].iter().any(|word| text(op.expression).contains(word));
        let data_type = op.data_type.map(|data_type| if narrow { "bf16" } else { data_type.name() });
        (data_type, op.self_time, text(op.name).to_owned())
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{HGEMM, SGEMM, finding, fine, says, two_kernels};
    use report::FindingSeverity::Warning;

    #[test]
    fn fires_above_its_limit() {
        assert_eq!(finding(two_kernels(SGEMM, 110, HGEMM, (8, 0)), &RULE).severity, Warning);
        fine(two_kernels(SGEMM, 90, HGEMM, (8, 0)), &RULE);
        // Volta has no bfloat16.
        assert_eq!(says(two_kernels(SGEMM, 500, HGEMM, (7, 0)), &RULE), Verdict::Irrelevant);
    }
}
