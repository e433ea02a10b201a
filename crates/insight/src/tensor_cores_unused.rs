//! Matrix products do not use the tensor cores of a GPU, although they could.
//!
//! The rule covers GPUs with tensor or matrix cores (NVIDIA from compute capability 7.0, AMD from gfx908). The rule considers
//! kernels of matrix products, convolutions and attention whose op could use these cores, but whose name shows that they do
//! not. The measure is the share of the kernel time that these kernels take. Severity: warning from 10 % (ours). Products with
//! a vector (`gemv`), kernels that rearrange the input of a convolution (`im2col`, `tensorTransform`) and cuDNN's kernels for
//! grouped convolutions are excluded. Confidence: medium, because the rule relies on names
//! (`crates/facts/src/tensor_cores.csv`). Remedy: use 16-bit types or TF32, and dimensions that are multiples of 8. The rule is
//! skipped if the GPU is unknown.

use super::draft::{Draft, equals, lacks};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::Numbers;
use super::{Rule, Verdict, bf16_in_fp32};
use base::{Ps, format};
use metrics::{KernelRow, OpFamily, matrix_units};
use report::{Confidence, FindingSeverity, View};
use trace::Framework;

pub(super) static RULE: Rule = Rule {
    id: "tensor_cores_unused",
    title: "Tensor cores are not used",
    explained_by: &[&[&bf16_in_fp32::RULE]],
    ..Rule::checked_by(check)
};

/// Parts of the names of kernels that cannot benefit from tensor cores. Products with a vector are memory-bound, preparing a
/// convolution involves no multiplications, and the groups of a grouped convolution are too small (`grouped_convolution` judges
/// such convolutions).
const NO_PRODUCTS: [&str; 6] = ["gemv", "im2col", "im3d2col", "col2im", "tensortransform", "grouped"];

fn check(numbers: &Numbers<'_>) -> Verdict {
    if !numbers.is_gpu() {
        return Verdict::Irrelevant;
    }
    match numbers.has_tensor_cores() {
        Some(true) => {}
        Some(false) => return Verdict::Irrelevant,
        None => return numbers.lacks_in_json("the file does not name the GPU."),
    }
    let stats = &numbers.context.analysis.kernel_stats;
    let Some(all) = &stats.all else { return lacks("no kernel ran.") };
    let without = || stats.kernels.iter().filter(|kernel| could_use(kernel, stats.text(numbers.trace, kernel.name)));
    let time: Ps = without().map(|kernel| kernel.occurrences.total).sum();
    let share = if all.total > Ps::ZERO { 100.0 * time.as_ps() as f64 / all.total.as_ps() as f64 } else { 0.0 };
    if share < OVERHEAD_PERCENT.good {
        return Verdict::Fine;
    }
    let Some(largest) = without().max_by_key(|kernel| kernel.occurrences.total) else { return Verdict::Fine };
    let units = matrix_units(&numbers.profile.metadata.device_type);
    let message = format!(
        "Matrix products and convolutions that do not use the {units} take {} of the kernel time, judging by the kernels' names. \
         The largest is {}{}.",
        format::percent(share),
        format::printable(&format::shorten(stats.text(numbers.trace, largest.short_name), 60)),
        largest.data_type.map_or(String::new(), |data_type| format!(" in {data_type}"))
    );
    Draft::new(
        FindingSeverity::Warning,
        Confidence::Medium,
        &format!("Matrix products do not use the {units}"),
        message,
    )
    .remedy(&format!(
        "Compute in bfloat16 or float16{}, and make the contracted and channel dimensions multiples of 8 (16 for 8-bit \
             types), with padding if needed.",
        match (units, numbers.trace.framework) {
            ("matrix cores", _) | (_, Framework::TensorFlow) => "",
            (_, Framework::PyTorch) => ", or allow TF32 (torch.backends.cuda.matmul.allow_tf32 = True)",
            (_, Framework::Jax | Framework::Unknown) => {
                ", or allow TF32 (jax.default_matmul_precision(\"tensorfloat32\"))"
            }
        }
    ))
    .passed("without_tensor_cores_percent", share, OVERHEAD_PERCENT.good)
    .evidence("without_tensor_cores_us", time.as_us())
    .at_stake(numbers.of_window(share))
    .link(View::Kernels, &equals("kernel_name", stats.text(numbers.trace, largest.name)))
    .fires()
}

fn could_use(kernel: &KernelRow, name: &str) -> bool {
    let product = matches!(kernel.family, OpFamily::Matmul | OpFamily::Convolution | OpFamily::Attention);
    product && kernel.tensor_core_eligible == Some(true) && kernel.uses_tensor_core == Some(false) && {
        let name = name.to_lowercase();
        !NO_PRODUCTS.iter().any(|part| name.contains(part))
    }
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
        let grouped = "void cudnn::cnn::conv2d_grouped_direct_kernel<false, int, float, __nv_bfloat16>()";
        fine(two_kernels(grouped, 500, HGEMM, (8, 0)), &RULE);
        assert_eq!(says(two_kernels(SGEMM, 500, HGEMM, (6, 1)), &RULE), Verdict::Irrelevant);
    }
}
