//! Prompts delay the next tokens of other requests.
//!
//! The measure for an inference engine is `serving.prompt_delay_percent`: the share of the time between tokens that is
//! due to forward passes with prompts. Severity: note from 10 %, warning from 30 % (ours: users notice a pause more
//! than a low rate). The delay does not lower the number of tokens per second, so the finding states no impact.
//! Confidence: high. Remedy: compute fewer prompt tokens per pass, or compute prompts on other devices. The rule is
//! skipped if the names of the forward passes are unknown, or if there are fewer than 10 intervals between tokens.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Needs, Rule, Verdict};
use base::format;
use facts::ServingPhase;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule {
    id: "delayed_tokens",
    title: "Prompts delay the next tokens",
    needs: Needs::AllLines,
    ..Rule::checked_by(check)
};

/// Minimum share of the time between tokens for a note, and for a warning.
const NOTE_PERCENT: f64 = 10.0;
const WARNING_PERCENT: f64 = 30.0;
/// Minimum number of passes that decode.
const FEWEST_PASSES: u64 = 10;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let Some(serving) = &numbers.profile.serving else { return Verdict::Irrelevant };
    let decoding = serving.phases.iter().filter(|it| it.phase != ServingPhase::Prefill.label());
    if decoding.map(|it| it.passes).sum::<u64>() < FEWEST_PASSES {
        return lacks("the capture contains fewer than 10 forward passes that decode. Capture more of them.");
    }
    let times = (serving.prompt_delay_percent, serving.median_token_interval_us, serving.max_token_interval_us);
    let (Some(delay), Some(median), Some(longest)) = times else {
        return lacks("the capture contains no two consecutive decoding passes without a prompt.");
    };
    if delay < NOTE_PERCENT {
        return Verdict::Fine;
    }
    let is_warning = delay >= WARNING_PERCENT;
    let severity = if is_warning { FindingSeverity::Warning } else { FindingSeverity::Note };
    let p95 = serving.p95_token_interval_us.unwrap_or(longest);
    let message = format!(
        "A request gets its next token after {} (median). Passes with prompts extend this time to up to {} (95th \
         percentile {}). They add {} to the time between tokens.",
        format::time_us(median),
        format::time_us(longest),
        format::time_us(p95),
        format::percent(delay)
    );
    let title = format!("Prompts delay the next tokens by up to {}", format::time_us(longest - median));
    Draft::new(severity, Confidence::High, &title, message)
        .remedy(
            "Compute fewer prompt tokens per pass (vLLM: --max-num-batched-tokens, SGLang: --chunked-prefill-size), \
             or run prefill and decoding on different devices.",
        )
        .passed("prompt_delay_percent", delay, if is_warning { WARNING_PERCENT } else { NOTE_PERCENT })
        .evidence("max_token_interval_us", longest)
        .evidence("median_token_interval_us", median)
        .link(View::Serving, "")
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, host_bound, kernel, says};
    use report::FindingSeverity::{Note, Warning};
    use trace::{Trace, TraceBuilder};

    /// Builds 13 decoding passes of 100 us. The seventh also computes a prompt, and takes `prompt` us more.
    fn passes(prompt: i64) -> Trace {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let mut start = 0;
        for pass in 0..13 {
            let (name, length) = match pass {
                6 => ("execute_context_1(512)_generation_7(7)", 100 + prompt),
                _ => ("execute_context_0(0)_generation_8(8)", 100),
            };
            b.event(python, name, start, length);
            kernel(&mut b, "gemm", start, start, length);
            start += length;
        }
        b.build()
    }

    #[test]
    fn fires_above_its_limits() {
        // One of twelve intervals is longer by x. Its share, x / (1200 + x), is above 10 % if x is at least 134.
        fine(passes(130), &RULE);
        let found = finding(passes(136), &RULE);
        assert_eq!((found.severity, found.title.as_str()), (Note, "Prompts delay the next tokens by up to 136 µs"));
        assert_eq!(finding(passes(600), &RULE).severity, Warning);
    }

    #[test]
    fn steps_of_training_are_not_checked() {
        assert!(matches!(says(host_bound(50), &RULE), Verdict::Irrelevant));
    }
}
