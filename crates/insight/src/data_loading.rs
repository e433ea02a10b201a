//! Devices wait for the input pipeline.
//!
//! The host is in tf.data, Grain, DataLoader, or an annotated range meanwhile. `input_bound_percent` is the share of the window
//! that is idle with that cause ([metrics.md](metrics.md), parts of a step). Warning from 10 % (XProf, input-bound), critical
//! from 40 % (ours: the other 60 % of the step could take less than half as long again). Confidence high. The message describes
//! the host's activity meanwhile. Remedy: prepare and copy batches ahead of time. Not checked without spans of an input
//! pipeline, or with too few ops.

use super::draft::{Draft, lacks};
use super::gap;
use super::limits::INPUT_BOUND_PERCENT;
use super::numbers::Numbers;
use super::waiting::idle_share;
use super::{Needs, Rule, Verdict, renewed_iterator};
use base::format;
use metrics::StepPart;
use report::{Confidence, FindingSeverity};

pub(super) static RULE: Rule = Rule {
    id: "data_loading",
    title: "Devices wait for input",
    needs: Needs::AllLines,
    explained_by: &[&[&renewed_iterator::RULE]],
    ..Rule::checked_by(check)
};

fn check(numbers: &Numbers<'_>) -> Verdict {
    let (window, share) =
        match idle_share(numbers, StepPart::InputBound, INPUT_BOUND_PERCENT.good, numbers.lacks_host_events()) {
            Ok(found) => found,
            Err(verdict) => return verdict,
        };
    let Some(input) = &numbers.profile.io_operations else {
        return lacks(&format!(
            "the capture contains no span of an input pipeline. Wrap the code that produces the next batch in {}.",
            numbers.words().next_batch_range
        ));
    };
    if share < INPUT_BOUND_PERCENT.good {
        return Verdict::Fine;
    }
    let critical = share >= INPUT_BOUND_PERCENT.bad;
    let severity = if critical { FindingSeverity::Critical } else { FindingSeverity::Warning };
    let message = format!(
        "Devices wait for input for {} of {} ({}). The input pipeline runs on the host for {} of the time.{}{}",
        format::time_us(window.us(share)),
        window.words(),
        format::percent(share),
        format::percent(input.io_percent),
        gap::sentence(numbers),
        numbers.host_meanwhile()
    );
    Draft::new(
        severity,
        Confidence::High,
        &format!("Devices wait for input for {} of the time", format::percent(share)),
        message,
    )
    .remedy(&format!(
        "Prepare batches ahead of time, in other threads or processes ({}), and copy the next batch to the device while the step \
         runs ({}).",
        numbers.words().loader,
        numbers.words().copy_ahead
    ))
    .passed("input_bound_percent", share, if critical { INPUT_BOUND_PERCENT.bad } else { INPUT_BOUND_PERCENT.good })
    .evidence("input_bound_us", window.us(share))
    .evidence("io_total_time_us", input.io_total_time_us)
    .at_stake(share)
    .link_to_idle(numbers)
    .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, gpu_steps, kernel};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds such steps with the input pipeline running while the device waits.
    fn input_bound(busy: i64) -> Trace {
        gpu_steps(12, |b, at| {
            kernel(b, "gemm", at + 1, at + 5, busy);
            let python = b.line("/host:CPU", "python");
            b.event(python, "next_batch", at + busy, 1000 - busy);
        })
    }

    #[test]
    fn fires_above_its_limit() {
        assert_eq!(finding(input_bound(400), &RULE).severity, Critical);
        assert_eq!(finding(input_bound(850), &RULE).severity, Warning);
        fine(input_bound(930), &RULE);
        fine(input_bound(400), &crate::host_overhead::RULE);
    }
}
