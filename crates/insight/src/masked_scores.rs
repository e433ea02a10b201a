//! Attention computes scores that its mask drops.
//!
//! A program computes the scores of all pairs of positions, and a mask then keeps at most 30 % of them (our limit: a
//! causal mask keeps 50 %). This is the case for the sliding window of a long sequence, and for blocks that do not
//! attend to each other. Scores are recognised as in `unfused_attention`. The share of kept scores comes from the
//! compiled program: the rule evaluates the mask in 64 of its rows. A mask that depends on data, such as padding, is
//! unknown, and the rule does not fire. The impact is the time of the ops that read or write scores, without the kept
//! share. Severity: warning from 10 % of the op time (JAX guide, overheads), critical from 50 %. Confidence: high.
//! Remedy: compute only the blocks that the mask keeps. The rule is skipped if the compiled program is missing.

use super::attention_scores::{Cost, costs};
use super::draft::{Draft, equals};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, code_line, shown};
use super::{Rule, Verdict};
use base::format;
use hlo::kept_share;
use report::{Confidence, View};
use trace::Platform;

pub(super) static RULE: Rule =
    Rule { id: "masked_scores", title: "Attention computes scores that its mask drops", ..Rule::checked_by(check) };

/// Maximum share of the scores that the mask keeps.
const MOST_KEPT: f64 = 0.3;

fn check(numbers: &Numbers<'_>) -> Verdict {
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let masked = costs(numbers).into_iter().filter_map(|cost| Some((kept(&cost)?, cost)));
    let lost = |kept: f64, cost: &Cost<'_>| numbers.op_percent(cost.time) * (1.0 - kept);
    let largest = masked
        .filter(|(kept, _)| *kept <= MOST_KEPT)
        .map(|(kept, cost)| (lost(kept, &cost), kept, cost))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let Some((lost, kept, cost)) = largest.filter(|(lost, ..)| *lost >= OVERHEAD_PERCENT.good) else {
        return Verdict::Fine;
    };
    let (severity, limit) = OVERHEAD_PERCENT.severity(lost);
    let (module, product) = cost.scores.product;
    let source = module.source_of(product).map_or(String::new(), |source| format!(" at {}", code_line(&source)));
    let share = numbers.op_percent(cost.time);
    let share_kept = kept;
    let kept = format::percent(100.0 * share_kept);
    let scores = shown(&cost.scores.shape);
    let message = format!(
        "The attention{source} computes all scores, {scores}, and its mask keeps only {kept} of them. The ops that read or write \
         scores take {} of the op time. The largest is {}.",
        format::percent(share),
        numbers.op_with_source(cost.largest),
    );
    let kernel = match numbers.platform {
        Some(Platform::Gpu) => {
            "Or call a kernel that skips masked blocks: jax.nn.dot_product_attention(..., local_window_size=..., \
             implementation=\"cudnn\")."
        }
        Some(Platform::Tpu) => {
            "Or call a kernel that skips masked blocks: splash attention of jax.experimental.pallas.ops.tpu with its LocalMask."
        }
        _ => "On GPUs and TPUs, a fused kernel with a local window does the same.",
    };
    let title = format!(
        "The mask of the attention keeps only {kept} of the scores, which take {} of the op time",
        format::percent(share)
    );
    Draft::new(severity, Confidence::High, &title, message)
        .remedy(&format!(
            "Compute only the scores that the mask keeps. For a sliding window of W positions, split queries and keys into blocks of W \
             positions, and multiply each block of queries by its own block of keys and the previous one. {kernel}"
        ))
        .passed("masked_score_percent", lost, limit)
        .passed("kept_score_percent", 100.0 * share_kept, 100.0 * MOST_KEPT)
        .evidence("score_elements", cost.scores.elements)
        .at_stake(numbers.of_window(lost))
        .link(View::Ops, &equals("hlo_op_name", numbers.context.analysis.ops.text(numbers.trace, cost.largest.name)))
        .fires()
}

/// Returns the share of the scores that their mask keeps, from 0 to 1. `None` if there is no mask, or if it depends on
/// data. All layers of a program usually have the same mask, so only the first one is evaluated.
fn kept(cost: &Cost<'_>) -> Option<f64> {
    let (module, product) = cost.scores.product;
    let scores = product.shape.first_array()?;
    let &[.., rows, columns] = scores.dimensions.as_slice() else { return None };
    let is_of_scores = |dimensions: &[u64]| matches!(dimensions, [.., a, b] if (*a, *b) == (rows, columns));
    let selects = module.instructions().iter().filter(|it| it.is("select"));
    let mut masks = selects.filter(|it| it.shape.array().is_some_and(|array| is_of_scores(&array.dimensions)));
    masks.find_map(|select| kept_share(module, select))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_steps};
    use crate::testing_programs::{add_text_program, op_of};
    use crate::unfused_attention;
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds attention with 4 heads over 2048 positions. Its mask keeps `window` positions before each position, and its
    /// softmax takes `time` of 1000 us.
    fn attention(window: u32, time: i64) -> Trace {
        let (rows, scores) = ("f32[4,2048,64]", "f32[4,2048,2048]");
        let text = format!(
            "HloModule jit_f\n\nENTRY main {{\n  q = {rows} parameter(0)\n  k = {rows} parameter(1)\n  \
             dot.1 = {scores} dot(q, k), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, \
             rhs_contracting_dims={{2}}\n  \
             i = s32[2048,2048] iota(), iota_dimension=0\n  j = s32[2048,2048] iota(), iota_dimension=1\n  \
             causal = pred[2048,2048] compare(j, i), direction=LE\n  back = s32[2048,2048] subtract(i, j)\n  \
             w = s32[] constant({window})\n  ws = s32[2048,2048] broadcast(w), dimensions={{}}\n  \
             near = pred[2048,2048] compare(back, ws), direction=LT\n  mask = pred[2048,2048] and(causal, near)\n  \
             masks = pred[4,2048,2048] broadcast(mask), dimensions={{1,2}}\n  low = f32[] constant(-1e+09)\n  \
             lows = {scores} broadcast(low), dimensions={{}}\n  masked = {scores} select(masks, dot.1, lows)\n  \
             exp.2 = {scores} exponential(masked)\n  ROOT dot.3 = {rows} dot(exp.2, k), lhs_batch_dims={{0}}, \
             rhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, rhs_contracting_dims={{1}}\n}}\n"
        );
        tpu_steps(12, |b, at| {
            if at == 0 {
                add_text_program(b, 7, &text);
            }
            op_of(b, 7, ("dot.1", "convolution"), at, 10);
            op_of(b, 7, ("exp.2", "loop fusion"), at + 10, time);
            op_of(b, 7, ("dot.3", "convolution"), at + 10 + time, 10);
            op_of(b, 7, ("tanh.4", "loop fusion"), at + 20 + time, 980 - time);
        })
    }

    #[test]
    fn fires_if_the_mask_keeps_a_window() {
        let found = finding(attention(128, 680), &RULE);
        // 128 of 2048 positions, fewer in the first rows: 6.1 %.
        assert_eq!(
            found.title,
            "The mask of the attention keeps only 6.1 % of the scores, which take 70.0 % of the op time"
        );
        assert_eq!(found.severity, Critical);
        assert!(
            found.message.contains("computes all scores, f32[4,2048,2048], and its mask keeps"),
            "{}",
            found.message
        );
        assert_eq!(finding(attention(128, 100), &RULE).severity, Warning);
        fine(attention(128, 80), &RULE);
    }

    #[test]
    fn a_causal_mask_is_usual() {
        fine(attention(4096, 680), &RULE);
        assert!(unfused_attention::RULE.causes().any(|rule| *rule == RULE));
        assert_eq!(finding(attention(4096, 680), &unfused_attention::RULE).severity, Warning);
    }
}
