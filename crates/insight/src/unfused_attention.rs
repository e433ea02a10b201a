//! Attention writes its scores to memory.
//!
//! Attention multiplies queries and keys, takes the softmax of these scores, and multiplies the result by the values. A
//! fused kernel computes attention block by block and never writes the scores. The size of the scores grows with the
//! square of the sequence length. The rule looks for programs that write the scores. Such a program has a batched
//! matrix product whose result has at least 4 million elements, and at least 4 times as many as its operands. The
//! program also has an exponential of an array of this size, and a product that reduces an array of this size (all
//! limits are ours: smaller scores cost little). Severity: note if the ops that read or write arrays of this size take
//! at least 10 % of the op time, warning from 20 % (the JAX guide's limit for overheads, and twice that limit).
//! Confidence: medium, because there may be no fused kernel for the mask, the bias and the device. Remedy: use
//! `jax.nn.dot_product_attention` or another fused kernel. The rule is skipped if the compiled program is missing.

use super::attention_scores::costs;
use super::draft::{Draft, equals};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, code_line, shown};
use super::{Rule, Verdict, masked_scores};
use base::format;
use metrics::is_amd;
use report::{Confidence, FindingSeverity, View};
use trace::Platform;

pub(super) static RULE: Rule = Rule {
    id: "unfused_attention",
    title: "Attention writes its scores to memory",
    explained_by: &[&[&masked_scores::RULE]],
    ..Rule::checked_by(check)
};

/// Minimum share of the op time for a warning.
const WARNING_PERCENT: f64 = 2.0 * OVERHEAD_PERCENT.good;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let Some(found) = costs(numbers).into_iter().max_by_key(|found| found.time) else { return Verdict::Fine };
    let share = numbers.op_percent(found.time);
    if share < OVERHEAD_PERCENT.good {
        return Verdict::Fine;
    }
    let is_warning = share >= WARNING_PERCENT;
    let (module, product) = found.scores.product;
    let source = module.source_of(product).map_or(String::new(), |source| format!(" at {}", code_line(&source)));
    let message = format!(
        "The attention{source} writes its scores, {}, to the device's memory. The ops that read or write them take {} \
         of the op time, {} excluding the matrix products. The largest is {}. A fused kernel keeps the scores on the \
         chip.",
        shown(&found.scores.shape),
        format::percent(share),
        format::percent(numbers.op_percent(found.without_products)),
        numbers.op_with_source(found.largest),
    );
    Draft::new(
        if is_warning { FindingSeverity::Warning } else { FindingSeverity::Note },
        Confidence::Medium,
        &format!("Attention that is not fused takes {} of the op time", format::percent(share)),
        message,
    )
    .remedy(&remedy(numbers))
    .passed("unfused_attention_percent", share, if is_warning { WARNING_PERCENT } else { OVERHEAD_PERCENT.good })
    .evidence("score_elements", found.scores.elements)
    .at_stake(numbers.of_window(numbers.op_percent(found.without_products)))
    .link(View::Ops, &equals("hlo_op_name", ops.text(numbers.trace, found.largest.name)))
    .fires()
}

fn remedy(numbers: &Numbers<'_>) -> String {
    let kernel = match numbers.platform {
        Some(Platform::Gpu) if is_amd(&numbers.profile.metadata.device_type) => {
            "Call a fused kernel, such as the attention of Transformer Engine for ROCm (Composable Kernel or AITER), with bfloat16 or \
             float16 operands."
        }
        Some(Platform::Gpu) => {
            "Call jax.nn.dot_product_attention(query, key, value, is_causal=..., implementation=\"cudnn\") with bfloat16 or float16 \
             operands."
        }
        Some(Platform::Tpu) => "Call a fused kernel, such as splash attention of jax.experimental.pallas.ops.tpu.",
        _ => "Call a fused attention kernel.",
    };
    format!(
        "{kernel} It also needs less memory. If no fused kernel supports the mask or bias, compute the scores in bfloat16."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_steps};
    use crate::testing_programs::{add_program, instruction, op_of};
    use report::FindingSeverity::{Note, Warning};
    use trace::Trace;

    /// Builds attention with 4 heads over `length` tokens, with or without a batch dimension. The softmax takes `time`
    /// us of each 1000 us step.
    fn attention(length: &'static str, time: i64, batched: bool) -> Trace {
        let shape = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
        let head = if batched { "4," } else { "" };
        let rows = shape(format!("f32[{head}{length},64]"));
        let scores = shape(format!("f32[{head}{length},{length}]"));
        tpu_steps(12, |b, at| {
            if at == 0 {
                add_program(
                    b,
                    7,
                    vec![(
                        "main",
                        vec![
                            instruction("q", "parameter", rows),
                            instruction("k", "parameter", rows).int(9, 1),
                            instruction("dot.1", "dot", scores).of(&["q", "k"]),
                            instruction("exp.2", "exponential", scores).of(&["dot.1"]),
                            instruction("dot.3", "dot", rows).of(&["exp.2", "k"]),
                            instruction("tanh.4", "tanh", rows).of(&["dot.3"]),
                        ],
                    )],
                );
            }
            op_of(b, 7, ("dot.1", "convolution"), at, 10);
            op_of(b, 7, ("exp.2", "loop fusion"), at + 10, time);
            op_of(b, 7, ("dot.3", "convolution"), at + 10 + time, 10);
            op_of(b, 7, ("tanh.4", "loop fusion"), at + 20 + time, 980 - time);
        })
    }

    #[test]
    fn fires_above_its_limits() {
        let found = finding(attention("2048", 400, true), &RULE);
        assert_eq!(
            (found.severity, found.title.as_str()),
            (Warning, "Attention that is not fused takes 42.0 % of the op time")
        );
        assert!(found.message.contains("writes its scores, f32[4,2048,2048], to"), "{}", found.message);
        assert!(found.message.contains("42.0 % of the op time, 40.0 % excluding"), "{}", found.message);
        assert_eq!(finding(attention("2048", 100, true), &RULE).severity, Note);
        fine(attention("2048", 70, true), &RULE);
        // Short scores.
        fine(attention("512", 400, true), &RULE);
        // The product of two matrices is not attention.
        fine(attention("4096", 400, false), &RULE);
    }
}
