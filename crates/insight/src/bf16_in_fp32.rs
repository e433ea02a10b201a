//! Matrix products run in float32 on a device that is much faster in bfloat16.
//!
//! Matrix products, convolutions and attention with float32 operands take at least 10 % of the op time (ours) on a
//! device with bfloat16 matrix units: TPUs, NVIDIA from compute capability 8.0, AMD from gfx908. Data types come from
//! the HLO or, without HLO, from the kernels' names. Products in TF32 are included, because their operands are float32.
//! Severity: warning. Confidence: medium, because the model may need the precision. On TPUs, the confidence is low,
//! because TPUs multiply float32 in one bfloat16 pass by default. Remedy: use bfloat16 activations. The rule is skipped
//! if the device or the data types are unknown.
//!
//! Some products request a slower precision than the default. If such products take at least 10 % of the op time
//! (ours), the finding names their precision. Precision `HIGHEST` (`jax_default_matmul_precision` = `float32`) keeps
//! float32 products off the tensor cores of NVIDIA's GPUs. Otherwise the tensor cores would compute these products as
//! TF32. A TPU needs 3 bfloat16 passes for `HIGH` and 6 for `HIGHEST`. The precision comes from the HLO, and is known
//! for dots, convolutions, fusions that contain them, and cuBLAS calls. The remedy then starts with the setting that
//! allows the faster arithmetic.

use super::draft::Draft;
use super::limits::OVERHEAD_PERCENT;
use super::numbers::Numbers;
use super::product_precision::Slower;
use super::{Rule, Verdict};
use base::{Ps, format};
use metrics::{Op, OpFamily};
use report::{Confidence, FindingSeverity, View};
use trace::Framework;

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
    let single = || products.iter().filter(|(data_type, _, _)| matches!(data_type, Some("f32" | "tf32")));
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
    let mixed = "Use mixed precision if the model allows it: keep parameters in float32, cast activations and weights to bfloat16 \
                 before the product, and accumulate in float32. Check the loss after the change.";
    let link = if numbers.is_gpu() { View::Kernels } else { View::Ops };
    let at_precision = at_precision(numbers);
    let (title, message, remedy) = match &at_precision {
        Some(found) => (found.title(), found.message(numbers, share), format!("{} {mixed}", found.remedy(numbers))),
        None => ("Matrix products run in float32".to_owned(), message, mixed.to_owned()),
    };
    // By default, a TPU multiplies float32 in one bfloat16 pass. In that mode, float32 only doubles the memory traffic.
    let is_default = numbers.is_tpu() && at_precision.is_none();
    let confidence = if is_default { Confidence::Low } else { Confidence::Medium };
    Draft::new(FindingSeverity::Warning, confidence, &title, message)
        .remedy(&remedy)
        .passed("float32_product_percent", share, OVERHEAD_PERCENT.good)
        .evidence("float32_product_us", time.as_us())
        .at_stake(numbers.of_window(share))
        .link(link, filter(largest))
        .fires()
}

/// Returns the filter that selects a kernel's rows: the kernel's name up to the first character that is not part of an
/// identifier.
fn filter(name: &str) -> &str {
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '.' | '-')).unwrap_or(name.len());
    name.get(..end).unwrap_or_default()
}

/// Float32 matrix products that request a slower precision than the default.
struct AtPrecision<'a> {
    largest: &'a Op,
    /// Arithmetic that the largest of these products requests.
    slower: Slower,
    /// Percentage of the op time that these products take.
    percent: f64,
}

/// Finds the float32 matrix products that request a slower precision than the default. `None` if these products take
/// little time.
fn at_precision<'a>(numbers: &Numbers<'a>) -> Option<AtPrecision<'a>> {
    let rows = &numbers.context.analysis.ops.rows;
    let slower: Vec<(&Op, Slower)> = rows.iter().filter_map(|op| Some((op, Slower::of(numbers, op)?))).collect();
    let percent = numbers.op_percent(slower.iter().map(|(op, _)| op.self_time).sum());
    let (largest, slower) = slower.into_iter().max_by_key(|(op, _)| op.self_time)?;
    (percent >= OVERHEAD_PERCENT.good).then_some(AtPrecision { largest, slower, percent })
}

impl AtPrecision<'_> {
    fn title(&self) -> String {
        match self.slower {
            Slower::WithoutTensorCores => "Precision HIGHEST keeps float32 products off the tensor cores".to_owned(),
            Slower::Passes(passes) => {
                format!("Precision {} makes {passes} bfloat16 passes of each float32 product", self.slower.precision())
            }
        }
    }

    fn message(&self, numbers: &Numbers<'_>, share: f64) -> String {
        let cause = match self.slower {
            Slower::WithoutTensorCores => "so they run in full float32, without TF32 and the tensor cores".to_owned(),
            Slower::Passes(passes) => format!("so each takes {passes} bfloat16 passes instead of one"),
        };
        // Products at other precisions, if any.
        let all = if share - self.percent < 1.0 {
            String::new()
        } else {
            format!(" All matrix products and convolutions with float32 operands take {}.", format::percent(share))
        };
        format!(
            "Float32 products that take {} of the op time have the precision {}, {cause}.{all} The largest is {}.",
            format::percent(self.percent),
            self.slower.precision(),
            numbers.op_with_source(self.largest),
        )
    }

    /// Returns the setting that allows the faster arithmetic.
    fn remedy(&self, numbers: &Numbers<'_>) -> String {
        match (self.slower, numbers.trace.framework) {
            (Slower::WithoutTensorCores, Framework::TensorFlow) => {
                "Allow TF32: tf.config.experimental.enable_tensor_float_32_execution(True).".to_owned()
            }
            (Slower::WithoutTensorCores, _) => {
                "Allow TF32: jax.config.update(\"jax_default_matmul_precision\", \"tensorfloat32\") or \"default\", and remove \
                 precision=HIGHEST from the calls that set it."
                    .to_owned()
            }
            (Slower::Passes(_), _) => {
                "Use the default precision, one bfloat16 pass: jax.config.update(\"jax_default_matmul_precision\", \
                 \"default\"), and remove the precision argument from the calls that set it."
                    .to_owned()
            }
        }
    }
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
        // Without embedded HLO, the type comes from the result. The result may be wider than the operands.
        let narrow = ["bf16[", "f16[", "f8e"].iter().any(|word| text(op.expression).contains(word));
        let data_type = op.data_type.map(|data_type| if narrow { "bf16" } else { data_type.name() });
        (data_type, op.self_time, text(op.name).to_owned())
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::product_precision::tests::{on_tpu, with_precision};
    use crate::testing::{HGEMM, SGEMM, finding, fine, says, two_kernels};
    use report::FindingSeverity::Warning;

    #[test]
    fn fires_above_its_limit() {
        assert_eq!(finding(two_kernels(SGEMM, 110, HGEMM, (8, 0)), &RULE).severity, Warning);
        fine(two_kernels(SGEMM, 90, HGEMM, (8, 0)), &RULE);
        let tf32 = "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x32_cublas";
        assert_eq!(finding(two_kernels(tf32, 110, HGEMM, (9, 0)), &RULE).severity, Warning);
        // Volta has no bfloat16.
        assert_eq!(says(two_kernels(SGEMM, 500, HGEMM, (7, 0)), &RULE), Verdict::Irrelevant);
    }

    #[test]
    fn a_precision_that_forbids_tf32_is_named_with_its_setting() {
        let found = finding(with_precision(900, 2), &RULE);
        assert_eq!(found.title, "Precision HIGHEST keeps float32 products off the tensor cores");
        let start =
            "Float32 products that take 90.0 % of the op time have the precision HIGHEST, so they run in full float32";
        assert!(found.message.starts_with(start), "{}", found.message);
        assert!(found.remedy.starts_with("Allow TF32: jax.config.update"), "{}", found.remedy);
        assert!(found.remedy.contains("mixed precision"), "{}", found.remedy);
        // HIGH allows TF32.
        for precision in [0, 1] {
            assert_eq!(finding(with_precision(900, precision), &RULE).title, "Matrix products run in float32");
        }
    }

    #[test]
    fn a_tpu_makes_several_passes() {
        let found = finding(on_tpu(2), &RULE);
        assert_eq!(found.title, "Precision HIGHEST makes 6 bfloat16 passes of each float32 product");
        assert_eq!(found.confidence, Confidence::Medium);
        assert!(found.remedy.starts_with("Use the default precision, one bfloat16 pass"), "{}", found.remedy);
        assert!(finding(on_tpu(1), &RULE).title.contains("HIGH makes 3 bfloat16 passes"));
        assert_eq!(finding(on_tpu(0), &RULE).confidence, Confidence::Low);
    }
}
