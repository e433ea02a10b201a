//! Matrix products run in 32-bit floating point on a device that is much faster in 16-bit.

use super::draft::Draft;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::{Ps, format};
use metrics::OpFamily;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "bf16_in_fp32", title: "Matrix products run in float32", check };

/// Share of the device time in float32 products (ours: the JAX guide's line of overheads).
const WARNING_PERCENT: f64 = 10.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    match numbers.has_bf16_units() {
        Some(true) => {}
        Some(false) => return Verdict::Irrelevant,
        None => return numbers.lacks_in_json("the file does not say which device it was."),
    }
    let products = products(numbers);
    if products.is_empty() {
        return Verdict::Irrelevant;
    }
    if products.iter().all(|(data_type, _, _)| data_type.is_none()) {
        return numbers.lacks_in_json("the data type of the products is not in the file.");
    }
    let single = || products.iter().filter(|(data_type, _, _)| *data_type == Some("f32"));
    let time: Ps = single().map(|(_, time, _)| *time).sum();
    let share = numbers.op_percent(time);
    if share < WARNING_PERCENT {
        return Verdict::Fine;
    }
    let largest = single().max_by_key(|(_, time, _)| *time).map_or("", |(_, _, name)| name.as_str());
    let message = format!(
        "Matrix products and convolutions with float32 operands take {} of the time of all device ops, most of it {}. This device \
         has matrix units for bfloat16.",
        format::percent(share),
        format::printable(&format::shorten(largest, 60))
    );
    // A TPU multiplies float32 in one bfloat16 pass unless told otherwise: then only the memory traffic is doubled.
    let confidence = if numbers.is_tpu() { Confidence::Low } else { Confidence::Medium };
    Draft::new(FindingSeverity::Warning, confidence, "Matrix products run in float32", message)
        .remedy(
            "Compute in bfloat16 where the model allows it: parameters in float32, activations and weights cast before the \
             product, sums in float32 (mixed precision). Check the loss after the change.",
        )
        .passed("float32_product_percent", share, WARNING_PERCENT)
        .evidence("float32_product_us", time.as_us())
        .at_stake(numbers.of_window(share))
        .link(if numbers.is_gpu() { "kernels" } else { "ops" }, &format::printable(&format::shorten(largest, 40)))
        .fires()
}

/// `(type of the operands, time, name)` of all products: kernels on a GPU, ops elsewhere.
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
        // Where the HLO is not embedded the type is that of the result, which may be wider than the operands.
        let narrow = ["bf16[", "f16[", "f8e"].iter().any(|word| text(op.expression).contains(word));
        let data_type = op.data_type.map(|data_type| if narrow { "bf16" } else { data_type.name() });
        (data_type, op.self_time, text(op.name).to_owned())
    })
    .collect()
}
