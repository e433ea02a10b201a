//! Matrix products, convolutions or attention run far below the peak of their data type.

use super::draft::{Draft, equals, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use metrics::{Op, OpFamily, is_amd};
use report::{Confidence, FindingSeverity};
use trace::{Framework, Platform};

pub(super) const RULE: Rule =
    Rule { id: "low_flop_rate", title: "Matrix products, convolutions or attention far below the peak", check };

/// Share of the roofline bound below which ops are slow (ours: half the rate of a tuned library kernel).
const ROOF_PERCENT: f64 = 35.0;
/// Share of the window in slow ops of one family from which the rule fires (ours: twice the JAX guide's limit for overheads).
const TIME_PERCENT: f64 = 20.0;
/// Shortest op that the rule considers; the start limits shorter ones (ours: XProf's short-kernel cutoff).
const SHORTEST_US: f64 = 10.0;

/// Families whose FLOPs can be compared with a peak, and their names in messages.
const FAMILIES: [(OpFamily, &str); 3] = [
    (OpFamily::Attention, "Attention"),
    (OpFamily::Matmul, "Matrix products"),
    (OpFamily::Convolution, "Convolutions"),
];

/// Returns the advice for a family.
fn remedy(numbers: &Numbers<'_>, family: OpFamily) -> String {
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
         64 or 128. If a mask skips half of the products, the actual rate is lower than this, because the FLOPs count all of \
         them."
    )
}

/// The slow ops of a family, and the efficiency that they reach together.
struct Slow<'a> {
    family: (OpFamily, &'static str),
    slowest: &'a Op,
    /// Share of the self time of all ops, percent.
    share: f64,
    /// Mean share of the ops' roofline bounds, weighted by time, percent.
    reached: f64,
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
        "{what} {takes} {} of the op time and {reaches} only {} of the roofline bound. The largest op is {}.{}",
        format::percent(slow.share),
        format::percent(slow.reached),
        numbers.op_with_source(slow.slowest),
        numbers.left_out(),
    );
    // FLOPs come from the compiler, or from the definition of a library call.
    Draft::new(FindingSeverity::Warning, Confidence::Medium, &format!("{what} {runs} far below the peak"), message)
        .remedy(&remedy(numbers, family))
        .passed("roofline_efficiency_percent", slow.reached, ROOF_PERCENT)
        .passed("time_percent", numbers.of_window(slow.share), TIME_PERCENT)
        .at_stake(numbers.of_window(slow.share) * (1.0 - slow.reached / 100.0))
        .link("ops", &equals("family", family.label()))
        .fires()
}

/// Returns the ops of a family if they are far below their roofline bound and take enough time.
fn slow<'a>(numbers: &Numbers<'a>, family: (OpFamily, &'static str)) -> Option<Slow<'a>> {
    let analysis = numbers.context.analysis;
    let is_long = |op: &&Op| op.family == family.0 && op.total.as_us() >= SHORTEST_US * op.occurrences as f64;
    let efficiency = |op: &'a Op| {
        let point = analysis.roofline.point(op).filter(|_| op.flops.is_some_and(|flops| flops > 0.0))?;
        Some((op, point.roofline_efficiency?))
    };
    let ops: Vec<(&Op, f64)> = analysis.ops.rows.iter().filter(is_long).filter_map(efficiency).collect();
    let time = ops.iter().map(|(op, _)| op.self_time).sum();
    let share = numbers.op_percent(time);
    let reached = ops.iter().map(|(op, reached)| reached * op.self_time.as_us()).sum::<f64>() / time.as_us();
    let (slowest, _) = ops.into_iter().max_by_key(|(op, _)| op.self_time)?;
    let found = Slow { family, slowest, share, reached: 100.0 * reached };
    (found.reached < ROOF_PERCENT && numbers.of_window(share) >= TIME_PERCENT).then_some(found)
}
