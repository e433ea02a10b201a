//! Grouped convolutions run far slower than the other products of the run.
//!
//! Convolutions with several feature groups (`feature_group_count`, or `batch_group_count` in their gradients) take at
//! least 20 % of the op time. The grouped convolutions reach less than a tenth of the FLOP rate of the run's matrix
//! products and other convolutions. Only ops of at least 10 us are compared (all limits are ours). If the peaks of the
//! device are known, the grouped convolutions must also be below 35 % of their roofline bound (the limit of
//! `low_flop_rate`). Otherwise, memory may be their limit, because grouped convolutions compute little per byte. The
//! impact is the time that the grouped convolutions would save at the rate of the other products. Severity: warning,
//! critical from 50 %. Confidence: medium, because FLOPs come from the compiled program. Remedy: use shifted products
//! or a dense convolution. The rule is skipped if the compiled program is missing.

use super::draft::{Draft, equals};
use super::limits::{OVERHEAD_PERCENT, SHORTEST_OP_US, SLOW_OP_PERCENT};
use super::numbers::Numbers;
use super::{Needs, Rule, Verdict};
use base::{Ps, format};
use hlo::Instruction;
use metrics::Op;
use report::{Confidence, View};
use trace::Platform;

pub(super) static RULE: Rule = Rule {
    id: "grouped_convolution",
    title: "Grouped convolutions are slow",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// Minimum share of the op time for the rule to fire (twice the JAX guide's limit for overheads).
const LEAST_PERCENT: f64 = 20.0;
/// Percentage of the other products' FLOP rate below which grouped convolutions are slow. We chose this limit because a
/// tuned kernel that reads each value once reaches a higher rate on all platforms.
const RATE_PERCENT: f64 = 10.0;

/// FLOPs and time of a group of ops.
#[derive(Default)]
struct Work<'a> {
    flops: f64,
    time: Ps,
    /// Op that takes the most time.
    largest: Option<(&'a Op, &'a Instruction)>,
    /// Mean roofline efficiency of the ops for which it is known, weighted by time.
    efficiency: Option<f64>,
}

impl<'a> Work<'a> {
    fn add(&mut self, numbers: &Numbers<'_>, op: &'a Op, product: &'a Instruction) {
        let efficiency = numbers.context.analysis.roofline.point(op).and_then(|point| point.roofline_efficiency);
        if let Some(efficiency) = efficiency {
            *self.efficiency.get_or_insert(0.0) += efficiency * op.self_time.as_us();
        }
        self.flops += op.flops.unwrap_or(0.0);
        self.time += op.self_time;
        if self.largest.is_none_or(|(largest, _)| op.self_time > largest.self_time) {
            self.largest = Some((op, product));
        }
    }

    /// Returns the FLOP rate in GFLOP/s.
    fn rate(&self) -> f64 {
        self.flops / self.time.as_us().max(f64::MIN_POSITIVE) / 1e3
    }
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let (mut grouped, mut others) = (Work::default(), Work::default());
    let is_costed = |op: &&Op| {
        op.flops.is_some_and(|flops| flops > 0.0) && op.total.as_us() >= SHORTEST_OP_US * op.occurrences as f64
    };
    for op in ops.rows.iter().filter(is_costed) {
        let Some(product) = product(numbers, op) else { continue };
        let work = if groups(product) > 1 { &mut grouped } else { &mut others };
        work.add(numbers, op, product);
    }
    let share = numbers.op_percent(grouped.time);
    let rate_percent = 100.0 * grouped.rate() / others.rate().max(f64::MIN_POSITIVE);
    let near_roofline = grouped.efficiency.is_some_and(|sum| 100.0 * sum / grouped.time.as_us() >= SLOW_OP_PERCENT);
    let Some((largest, product)) = grouped.largest else { return Verdict::Fine };
    if share < LEAST_PERCENT || others.flops <= 0.0 || rate_percent >= RATE_PERCENT || near_roofline {
        return Verdict::Fine;
    }
    let lost = numbers.of_window(share) * (1.0 - rate_percent / 100.0);
    let (severity, limit) = OVERHEAD_PERCENT.severity(lost);
    let kind = if is_depthwise(numbers, largest, product) { "Depthwise convolutions" } else { "Grouped convolutions" };
    let rate = |gflops: f64| format!("{} GFLOP/s", format::number(gflops));
    let message = format!(
        "{kind} take {} of the op time and compute at {}, while the matrix products and other convolutions of this run compute at {}. \
         The largest is {}, with {} groups of channels (feature_group_count). Each group is a small convolution, for which this backend \
         has no fast kernel.",
        format::percent(share),
        rate(grouped.rate()),
        rate(others.rate()),
        numbers.op_with_source(largest),
        format::count(groups(product).unsigned_abs()),
    );
    let title = format!(
        "{kind} take {} of the op time at {} of the rate of other products",
        format::percent(share),
        format::percent(rate_percent)
    );
    Draft::new(severity, Confidence::Medium, &title, message)
        .remedy(&remedy(numbers, product))
        .passed("grouped_percent", share, LEAST_PERCENT)
        .evidence("grouped_gflops", grouped.rate())
        .evidence("other_gflops", others.rate())
        .passed("impact_percent", lost, limit)
        .at_stake(lost)
        .link(View::Ops, &equals("hlo_op_name", ops.text(numbers.trace, largest.name)))
        .fires()
}

fn remedy(numbers: &Numbers<'_>, product: &Instruction) -> String {
    let taps: i64 = product.attributes().window.iter().map(|dimension| dimension.size.max(1)).product();
    let taps = if taps > 1 {
        format!("each of the {} taps", format::count(taps.unsigned_abs()))
    } else {
        "each tap".to_owned()
    };
    let kernels = match numbers.platform {
        Some(Platform::Gpu) => {
            " Channels last (NHWC) with bfloat16 or float16, or a Triton or Pallas kernel, may be faster too."
        }
        Some(Platform::Tpu) => " A Pallas kernel may be faster too.",
        Some(Platform::Cpu) | None => "",
    };
    format!(
        "Write a depthwise convolution as a sum: for {taps} of the kernel, multiply the shifted input by the weights \
         of its channels, and add the products. XLA fuses these multiplications into one loop. With few channels per \
         group, also measure a dense convolution (feature_group_count=1), and fewer, larger groups.{kernels}"
    )
}

fn groups(product: &Instruction) -> i64 {
    let own = product.attributes();
    own.feature_group_count.max(own.batch_group_count)
}

/// Returns true if each group has one channel.
fn is_depthwise(numbers: &Numbers<'_>, op: &Op, product: &Instruction) -> bool {
    let Some((module, _)) = numbers.instruction(op) else { return false };
    let kernel = module.operand(product, 1).and_then(|kernel| kernel.shape.array());
    let dimensions = product.attributes().convolution.as_ref();
    let features = dimensions.zip(kernel).and_then(|(own, kernel)| kernel.dimension(own.kernel_input_feature));
    features == Some(1)
}

/// Returns the grouped convolution that an op computes, else its matrix product or other convolution. The op is the instruction
/// itself, or a fusion that contains it.
fn product<'a>(numbers: &Numbers<'a>, op: &Op) -> Option<&'a Instruction> {
    let (module, instruction) = numbers.instruction(op)?;
    let is_product = |it: &&Instruction| it.is("dot") || it.is("convolution") || is_library_convolution(it);
    let all = || std::iter::once(instruction).chain(hlo::fused(module, instruction)).filter(is_product);
    all().find(|it| groups(it) > 1).or_else(|| all().next())
}

/// Returns true for a convolution that a library computes (cuDNN, MIOpen).
fn is_library_convolution(instruction: &Instruction) -> bool {
    instruction.custom_call_target().is_some_and(|target| target.starts_with("__cudnn$conv"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, says, tpu_steps};
    use crate::testing_programs::{add_program, instruction, op_of};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds steps of 1000 us with a convolution of `groups` that computes `flops` in `time`, and a product that runs
    /// at 10 GFLOP/s for the rest of the step.
    fn steps(groups: i64, time: i64, flops: i64) -> Trace {
        tpu_steps(12, move |b, at| {
            if at == 0 {
                let shape = "f32[4,28,28,96]";
                let main = vec![
                    instruction("x.1", "parameter", shape),
                    instruction("w.1", "parameter", "f32[5,5,1,96]"),
                    instruction("conv.1", "convolution", shape).of(&["x.1", "w.1"]).int(50, groups),
                    instruction("dot.1", "dot", shape).of(&["x.1", "x.1"]),
                ];
                add_program(b, 7, vec![("main", main)]);
            }
            for (name, start, time, flops) in
                [("conv.1", at, time, flops), ("dot.1", at + time, 1000 - time, (1000 - time) * 10_000)]
            {
                let line = b.line("/device:TPU:0", "XLA Ops");
                let op = b.event(line, name, start, time).hlo_category("convolution").hlo_module("jit_f");
                op.args(|args| (args.program_id, args.flops, args.bytes_accessed) = (Some(7), Some(flops), Some(1)));
            }
        })
    }

    #[test]
    fn fires_above_its_limit() {
        // The product computes 10 GFLOP/s: 10 000 FLOPs per us.
        let found = finding(steps(96, 600, 600 * 100), &RULE);
        assert_eq!(found.severity, Critical);
        assert_eq!(
            found.title,
            "Grouped convolutions take 60.0 % of the op time at 1.0 % of the rate of other products"
        );
        assert!(
            found.message.contains("at 0.10 GFLOP/s, while") && found.message.contains("96 groups"),
            "{}",
            found.message
        );
        assert_eq!(finding(steps(96, 200, 200 * 990), &RULE).severity, Warning);
        fine(steps(96, 190, 190 * 100), &RULE);
        fine(steps(96, 600, 600 * 1010), &RULE);
        // A dense convolution has one group.
        fine(steps(1, 600, 600 * 100), &RULE);
        let trace = tpu_steps(12, |b, at| op_of(b, 7, ("conv.1", "convolution"), at, 900));
        assert!(matches!(says(trace, &RULE), Verdict::NotChecked(_)));
    }
}
