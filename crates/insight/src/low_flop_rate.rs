//! Matrix products, convolutions or attention run far below the roofline bound.
//!
//! The rule considers ops of at least 10 us whose FLOPs and peak are known. The rule fires if the ops of a family reach
//! less than 35 % of their roofline bound (mean weighted by self time) and take at least 20 % of the window (both
//! limits are ours). The bound is the peak rate of the op's data type or the memory bandwidth. The rule reports the
//! family with the largest possible saving. The impact is the time that the ops of this family take beyond their
//! roofline bound. Severity: warning. Confidence: medium, because FLOPs come from the compiler or a library call. The
//! FLOPs of attention include the products that a mask removes. For calls to cuDNN and Transformer Engine with a causal
//! mask, only half of the products are included.
//!
//! If the precision of float32 products forbids the fast arithmetic, the products are compared with the peak of the slower
//! arithmetic that they use: float32 without tensor cores, or several bfloat16 passes. `bf16_in_fp32` reports the precision.
//!
//! If most of the slow time of attention is in custom calls, attention already runs in a fused kernel. The remedy then does not
//! suggest a fused kernel. If the ops reach at least 15 % of the bound, the finding is only a note (ours: the FlashAttention-3
//! paper measures 17 to 50 % of an H100's peak for a head dimension of 64, depending on mask, sequence length and direction).
//!
//! Remedy: change the shapes or the data type, or use another kernel. The rule is skipped if the peak is unknown.

use super::draft::{Draft, equals, lacks};
use super::limits::{OVERHEAD_PERCENT, SHORTEST_OP_US, SLOW_OP_PERCENT};
use super::numbers::{Numbers, shown};
use super::product_precision::Slower;
use super::{Rule, Verdict, derivative_matrix, grouped_convolution};
use base::{Ps, format};
use metrics::{Op, OpFamily, is_amd};
use report::{Confidence, FindingSeverity, View};
use trace::{Framework, Platform};

pub(super) static RULE: Rule = Rule {
    id: "low_flop_rate",
    title: "Matrix products, convolutions or attention run far below the peak",
    explained_by: &[&[&grouped_convolution::RULE, &derivative_matrix::RULE]],
    ..Rule::checked_by(check)
};

/// The rule fires if the slow ops of one family take at least this share of the window (twice the JAX guide's limit for
/// overheads).
const TIME_PERCENT: f64 = 2.0 * OVERHEAD_PERCENT.good;

/// Families whose FLOPs can be compared with a peak, and their names in messages.
const FAMILIES: [(OpFamily, &str); 3] = [
    (OpFamily::Attention, "Attention"),
    (OpFamily::Matmul, "Matrix products"),
    (OpFamily::Convolution, "Convolutions"),
];

/// Share of its roofline bound that a fused attention kernel should reach, percent. We chose a limit below the rates
/// that the FlashAttention-3 paper measures for a head dimension of 64 on an H100.
const FUSED_ATTENTION_PERCENT: f64 = 15.0;

/// Returns the advice for a family.
fn remedy(numbers: &Numbers<'_>, slow: &Slow<'_>) -> String {
    let family = slow.family.0;
    if family != OpFamily::Attention {
        let shapes = match family {
            OpFamily::Convolution => "channel counts that are multiples of 128, channels last (NHWC), a larger batch",
            _ => "dimensions that are multiples of 128, a larger batch, operands that are not transposed",
        };
        return format!(
            "Look at the shapes of the slowest ops on the Ops page. The compiler or library can choose a faster kernel with \
             {shapes}, and bfloat16 operands."
        );
    }
    if slow.is_fused {
        return "The ops already call a fused kernel. Such kernels are faster with a head dimension of 128 (half as \
                many heads, if the model allows it), longer sequences, a larger batch, and without a mask, because \
                they compute whole blocks at the edge of a causal mask. If you chose the block sizes, try others. \
                Compare with the published rates of the kernel for these shapes before you replace it."
            .to_owned();
    }
    let is_amd = is_amd(&numbers.profile.metadata.device_type);
    let kernels = match numbers.platform {
        Some(Platform::Gpu) if !is_amd && numbers.trace.framework != Framework::PyTorch => {
            " (jax.nn.dot_product_attention with implementation=\"cudnn\")"
        }
        Some(Platform::Gpu) if is_amd => " (Composable Kernel or AITER by Transformer Engine)",
        Some(Platform::Tpu) => " (splash attention of jax.experimental.pallas.ops.tpu)",
        _ => "",
    };
    format!(
        "Use a fused kernel made for this device and these shapes{kernels}, try other block sizes, and use a head dimension of \
         64 or 128. The FLOPs include the products that a mask removes, so the actual rate is lower with a mask."
    )
}

/// The slow ops of a family, with their combined efficiency.
struct Slow<'a> {
    family: (OpFamily, &'static str),
    slowest: &'a Op,
    /// Share of the self time of all ops, percent.
    share: f64,
    /// Mean share of their roofline bound that the ops reach, weighted by time, percent.
    reached: f64,
    /// True if most of the time is in calls of fused attention kernels.
    is_fused: bool,
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    let (ops, roofline) = (&numbers.context.analysis.ops, &numbers.context.analysis.roofline);
    if ops.rows.is_empty() {
        return lacks("no device op ran. Capture while the program runs on the device.");
    }
    if roofline.peaks.is_none() {
        return numbers.lacks_peaks();
    }
    let gains = |slow: &Slow<'_>| slow.share * (100.0 - slow.reached);
    let found = FAMILIES.into_iter().filter_map(|family| slow(numbers, family));
    let Some(slow) = found.max_by(|a, b| gains(a).total_cmp(&gains(b))) else { return Verdict::Fine };
    let (family, what) = slow.family;
    let [takes, reaches, runs] = match family {
        OpFamily::Attention => ["takes", "reaches", "runs"],
        _ => ["take", "reach", "run"],
    };
    let message = format!(
        "{what} {takes} {} of the op time and {reaches} only {} of the roofline bound. The largest op is {}{}.{}",
        format::percent(slow.share),
        format::percent(slow.reached),
        numbers.op_with_source(slow.slowest),
        called(numbers, &slow),
        numbers.left_out(),
    );
    let is_usual = slow.is_fused && slow.reached >= FUSED_ATTENTION_PERCENT;
    let severity = if is_usual { FindingSeverity::Note } else { FindingSeverity::Warning };
    // FLOPs come from the compiler, or from the definition of a library call.
    Draft::new(severity, Confidence::Medium, &format!("{what} {runs} far below the peak"), message)
        .remedy(&remedy(numbers, &slow))
        .passed("roofline_efficiency_percent", slow.reached, SLOW_OP_PERCENT)
        .passed("time_percent", numbers.of_window(slow.share), TIME_PERCENT)
        .at_stake(numbers.of_window(slow.share) * (1.0 - slow.reached / 100.0))
        .link(View::Ops, &equals("family", family.label()))
        .fires()
}

/// Names the fused kernel that the slowest op calls, if there is one: `, a call of __cudnn$fmhaSoftmax`.
fn called(numbers: &Numbers<'_>, slow: &Slow<'_>) -> String {
    let instruction = numbers.instruction(slow.slowest).filter(|_| slow.is_fused);
    let target = instruction.and_then(|(_, instruction)| instruction.custom_call_target());
    target.map_or_else(String::new, |target| format!(", a call of {}", shown(target)))
}

/// Returns the ops of a family if they are far below their roofline bound and take enough time.
fn slow<'a>(numbers: &Numbers<'a>, family: (OpFamily, &'static str)) -> Option<Slow<'a>> {
    let analysis = numbers.context.analysis;
    let is_long = |op: &&Op| op.family == family.0 && op.total.as_us() >= SHORTEST_OP_US * op.occurrences as f64;
    let efficiency = |op: &'a Op| {
        let point = analysis.roofline.point(op).filter(|_| op.flops.is_some_and(|flops| flops > 0.0))?;
        let own_peak = Slower::of(numbers, op).and_then(|slower| slower.peak(numbers));
        let of_own = own_peak.and_then(|peak| Some(point.flop_rate? / peak));
        Some((op, point.roofline_efficiency?.max(of_own.unwrap_or(0.0))))
    };
    let ops: Vec<(&Op, f64)> = analysis.ops.rows.iter().filter(is_long).filter_map(efficiency).collect();
    let time: Ps = ops.iter().map(|(op, _)| op.self_time).sum();
    let calls = ops.iter().filter(|(op, _)| op.custom_call.is_some()).map(|(op, _)| op.self_time.as_us()).sum::<f64>();
    let is_fused = family.0 == OpFamily::Attention && calls > 0.5 * time.as_us();
    let share = numbers.op_percent(time);
    let reached = ops.iter().map(|(op, reached)| reached * op.self_time.as_us()).sum::<f64>() / time.as_us();
    let (slowest, _) = ops.into_iter().max_by_key(|(op, _)| op.self_time)?;
    let found = Slow { family, slowest, share, reached: 100.0 * reached, is_fused };
    (found.reached < SLOW_OP_PERCENT && numbers.of_window(share) >= TIME_PERCENT).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::product_precision::tests::{on_tpu, with_precision};
    use crate::testing::{finding, fine, tpu_op};
    use crate::testing_programs::{add_program, instruction, op_of};
    use report::FindingSeverity::{Note, Warning};
    use trace::{StatValue, Trace, TraceBuilder};

    /// Builds TPU steps of 1000 us with a product that takes `time` and computes `flops`, on a device with 1 TFLOP/s that is
    /// busy for `busy` per step.
    fn with_products(time: i64, flops: i64, busy: i64) -> Trace {
        let mut b = TraceBuilder::new();
        for step in 0..12 {
            let modules = b.line("/device:TPU:0", "XLA Modules");
            b.event(modules, "jit_f(1)", step * 1000, 1000).run_id(step);
            let line = b.line("/device:TPU:0", "XLA Ops");
            let op = b.event(line, "convolution.1", step * 1000, time).hlo_category("convolution").hlo_module("jit_f");
            op.args(|args| (args.bytes_accessed, args.flops) = (Some(1_000), Some(flops)));
            tpu_op(&mut b, "reduce", step * 1000 + time, busy - time);
        }
        b.plane_stat("/device:TPU:0", "peak_teraflops_per_second", StatValue::Double(1.0));
        b.plane_stat("/device:TPU:0", "peak_hbm_bw_gigabytes_per_second", StatValue::Double(100.0));
        b.build()
    }

    #[test]
    fn fires_above_its_limit() {
        // In 400 us, the device can compute 400 MFLOP. 35 % of that are 140.
        assert_eq!(finding(with_products(400, 139_000_000, 900), &RULE).severity, Warning);
        fine(with_products(400, 141_000_000, 900), &RULE);
        fine(with_products(190, 1_000_000, 900), &RULE);
        // Most of such a short op is start-up time.
        fine(with_products(9, 1_000, 20), &RULE);
    }

    /// Builds TPU steps of 1000 us in which a call of an attention kernel takes 400 us and computes `flops`, on a device with
    /// 1 TFLOP/s.
    fn with_attention(flops: i64) -> Trace {
        let mut b = TraceBuilder::new();
        for step in 0..12 {
            let modules = b.line("/device:TPU:0", "XLA Modules");
            b.event(modules, "jit_f(1)", step * 1000, 1000).run_id(step);
            let line = b.line("/device:TPU:0", "XLA Ops");
            let op = b.event(line, "flash_attention.1", step * 1000, 400).hlo_category("custom-call");
            op.hlo_module("jit_f").args(|args| {
                (args.bytes_accessed, args.flops, args.program_id) = (Some(1_000), Some(flops), Some(1));
            });
            op_of(&mut b, 1, ("reduce.1", "reduce"), step * 1000 + 400, 500);
        }
        // The cost estimate by the kernel's author.
        let config = format!("{{\"cost_estimate\":{{\"flops\":{flops},\"bytes_accessed\":1000}}}}");
        let call = instruction("flash_attention.1", "custom-call", "f32[8,8]").of(&["q"]);
        let call = call.text(28, "tpu_custom_call").text(43, &config);
        add_program(&mut b, 1, vec![("main", vec![instruction("q", "parameter", "f32[8,8]"), call])]);
        b.plane_stat("/device:TPU:0", "peak_teraflops_per_second", StatValue::Double(1.0));
        b.plane_stat("/device:TPU:0", "peak_hbm_bw_gigabytes_per_second", StatValue::Double(100.0));
        b.build()
    }

    #[test]
    fn a_product_is_compared_with_the_arithmetic_that_its_precision_allows() {
        // 137 GFLOP in 900 us: 31 % of TF32's 495 TFLOP/s, more than the 67 TFLOP/s of float32 without tensor cores.
        assert_eq!(finding(with_precision(900, 0), &RULE).severity, Warning);
        fine(with_precision(900, 2), &RULE);
        // 137 GFLOP in 500 us: 30 % of 918 TFLOP/s, 90 % of a third of that.
        assert_eq!(finding(on_tpu(0), &RULE).severity, Warning);
        fine(on_tpu(1), &RULE);
    }

    #[test]
    fn a_fused_kernel_is_not_advised_to_its_users() {
        // In 400 us, the device can compute 400 MFLOP: 30 % and 10 %.
        let usual = finding(with_attention(120_000_000), &RULE);
        assert_eq!(usual.severity, Note);
        assert!(usual.message.contains("flash_attention.1, a call of tpu_custom_call."), "{}", usual.message);
        assert!(usual.remedy.starts_with("The ops already call a fused kernel."), "{}", usual.remedy);
        assert_eq!(finding(with_attention(40_000_000), &RULE).severity, Warning);
    }
}
