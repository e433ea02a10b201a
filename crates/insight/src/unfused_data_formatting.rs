//! Transposes, copies and reshapes run as separate ops.
//!
//! Ops of this kind take at least 10 % of the op time (JAX guide: limit for overheads). Copies that do not change the
//! layout are excluded (see `copied_arguments` and `sliced_arguments`). Severity: warning, or a note if the ops take
//! less than 10 % of the window, because devices then mostly wait. On a CPU, the severity is also note, because XLA
//! merges copies with computations there. Confidence: high. Remedy: store arrays in the layout that the ops compute in.

use super::draft::{Draft, lacks};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::Numbers;
use super::{Rule, Verdict, copied_arguments, derivative_matrix, reverse_jacobian, rewritten_state, sliced_arguments};
use base::{Ps, format};
use facts::hlo_categories::{COPY, DATA_FORMATTING, RESHAPE, TRANSPOSE};
use metrics::{Op, OpFamily};
use report::{Confidence, FindingSeverity};
use trace::{Framework, Platform};

pub(super) static RULE: Rule = Rule {
    id: "unfused_data_formatting",
    title: "Layout changes are not fused",
    explained_by: &[&[&derivative_matrix::RULE, &reverse_jacobian::RULE, &rewritten_state::RULE]],
    ..Rule::checked_by(check)
};

/// XLA's category for transposes, copies and reshapes, and the names of these ops in traces without categories.
const CATEGORIES: [&str; 5] = [DATA_FORMATTING, TRANSPOSE, RESHAPE, COPY, "copy fusion"];

fn check(numbers: &Numbers<'_>) -> Verdict {
    if numbers.platform.is_none() {
        return lacks("no device op ran. Capture while the program runs on the device.");
    }
    let is_formatting = |category: &str| CATEGORIES.contains(&category);
    let ops = &numbers.context.analysis.ops;
    let text = |text| ops.text(numbers.trace, text);
    let is_plain_copy = |op: &&Op| {
        copied_arguments::is_plain_copy(numbers, op) || sliced_arguments::sliced_argument(numbers, op).is_some()
    };
    let plain: Vec<&Op> = ops.rows.iter().filter(is_plain_copy).collect();
    let plain_time: Ps = plain.iter().filter(|op| is_formatting(text(op.category))).map(|op| op.self_time).sum();
    let share = numbers.category_percent(&is_formatting) - numbers.op_percent(plain_time);
    if share < OVERHEAD_PERCENT.good {
        return Verdict::Fine;
    }
    let is_plain = |name: &str| plain.iter().any(|op| text(op.name) == name);
    let kernels = &numbers.profile.kernels.top_kernels;
    let top = kernels.iter().find(|kernel| is_formatting(&kernel.category) && !is_plain(&kernel.name));
    let (view, filter) = numbers.link_to(&is_formatting);
    let message = format!(
        "Transposes, copies and reshapes that run as separate ops take {} of the op time.{}",
        format::percent(share),
        top.map_or(String::new(), |top| format!(
            " The largest is {} with {}.",
            format::printable(&format::shorten(&top.name, 60)),
            format::optional_percent(top.percent)
        ))
    );
    let severity = match numbers.of_window(share) {
        of_window if of_window < OVERHEAD_PERCENT.good => FindingSeverity::Note,
        // XLA for CPUs merges copies with computations, so their time is not all lost.
        _ if numbers.platform == Some(Platform::Cpu) => FindingSeverity::Note,
        _ => FindingSeverity::Warning,
    };
    Draft::new(severity, Confidence::High, "Layout changes take much of the op time", message)
        .remedy(&format!(
            "Store arrays in the layout that the ops compute in: {}the contracted axis last for matrix products. Use einsum instead \
             of transpose and reshape around a product, and remove transposes that cancel each other.",
            channels_last(numbers).map_or(String::new(), |option| format!("channels last for convolutions ({option}), and "))
        ))
        .passed("data_formatting_percent", share, OVERHEAD_PERCENT.good)
        .at_stake(numbers.of_window(share))
        .link(view, &filter)
        .fires()
}

/// Returns the option that stores channels last. `None` if the program has no convolutions.
fn channels_last(numbers: &Numbers<'_>) -> Option<&'static str> {
    let mut ops = numbers.context.analysis.ops.rows.iter();
    ops.any(|op| op.family == OpFamily::Convolution).then_some(match numbers.trace.framework {
        Framework::PyTorch => "memory_format=torch.channels_last",
        Framework::TensorFlow => "data_format=\"channels_last\"",
        Framework::Jax | Framework::Unknown => "dimension_numbers NHWC or NDHWC",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, three_ops, tpu_op, tpu_steps};
    use report::FindingSeverity::{Note, Warning};
    use trace::TraceBuilder;

    #[test]
    fn fires_above_its_limit() {
        assert_eq!(finding(three_ops("data formatting", 100), &RULE).severity, Warning);
        fine(three_ops("data formatting", 99), &RULE);
        // If devices mostly wait, these ops cost little.
        let idle = tpu_steps(12, |b, at| {
            tpu_op(b, "data formatting", at, 30);
            tpu_op(b, "convolution fusion", at + 30, 70);
        });
        assert_eq!(finding(idle, &RULE).severity, Note);
    }
    #[test]
    fn on_a_cpu_it_is_a_note() {
        let mut b = TraceBuilder::new();
        let line = b.line("/host:CPU", "tf_XLAEigen/1");
        for at in (0..12).map(|step| 1000 * step) {
            b.event(line, "copy_bitcast_fusion.1", at, 500).hlo_op("copy_bitcast_fusion.1").hlo_module("jit_f");
            b.event(line, "dot.2", at + 500, 500).hlo_op("dot.2").hlo_module("jit_f");
        }
        let found = finding(b.build(), &RULE);
        assert_eq!(found.severity, Note);
        assert!(found.message.contains("take 50.0 % of the op time"), "{}", found.message);
    }
}
