//! Devices wait for the input pipeline.
//!
//! While devices wait, the host is in tf.data, Grain, DataLoader, or an annotated range. `input_bound_percent` is the
//! share of the window during which devices wait for the pipeline ([metrics.md](metrics.md), parts of a step).
//! Severity: warning from 10 % (XProf, input-bound), critical from 40 % (ours: without the wait, a step would take at
//! most 60 % of its time). If fewer than half of the counted steps wait for at least 10 % of their time, the title
//! states how many steps do. These steps are reported as a note even if the mean over all steps is below 10 %.
//! Confidence: high. The message names the op that limits the pipeline ([metrics.md](metrics.md), input_pipeline), and
//! the host's activity during the wait. Remedy: prepare and copy batches ahead of time, and make the limiting op
//! faster. The rule is skipped if the capture has no spans of an input pipeline, or too few ops.

use super::draft::{Draft, lacks};
use super::gap;
use super::input_limit;
use super::limits::INPUT_BOUND_PERCENT;
use super::numbers::{Numbers, Window};
use super::waiting::idle_share;
use super::{Needs, Rule, Verdict, renewed_iterator};
use base::format;
use metrics::{Breakdown, StepPart};
use report::{Confidence, FindingSeverity};

pub(super) static RULE: Rule = Rule {
    id: "data_loading",
    title: "Devices wait for input",
    needs: Needs::AllLines,
    explained_by: &[&[&renewed_iterator::RULE]],
    ..Rule::checked_by(check)
};

fn check(numbers: &Numbers<'_>) -> Verdict {
    let steps = Waiting::new(numbers);
    let found = idle_share(numbers, StepPart::InputBound, INPUT_BOUND_PERCENT.good, numbers.lacks_host_events());
    let (window, share) = match (found, numbers.window_of_parts()) {
        (Ok(found), _) => found,
        (Err(Verdict::Fine), Some(window)) => (window, numbers.part_percent(StepPart::InputBound).unwrap_or_default()),
        (Err(verdict), _) => return verdict,
    };
    if share < INPUT_BOUND_PERCENT.good && (steps.count == 0 || numbers.profile.io_operations.is_none()) {
        return match numbers.profile.io_operations {
            None if window.idle_percent() >= INPUT_BOUND_PERCENT.good => lacks_input(numbers),
            _ => Verdict::Fine,
        };
    }
    if numbers.profile.io_operations.is_none() {
        return lacks_input(numbers);
    }
    fired(numbers, window, share, &steps)
}

fn lacks_input(numbers: &Numbers<'_>) -> Verdict {
    lacks(&format!(
        "the capture contains no span of an input pipeline. Wrap the code that produces the next batch in {}.",
        numbers.words().next_batch_range
    ))
}

fn fired(numbers: &Numbers<'_>, window: Window, share: f64, steps: &Waiting) -> Verdict {
    let severity = match share {
        share if share >= INPUT_BOUND_PERCENT.bad => FindingSeverity::Critical,
        share if share >= INPUT_BOUND_PERCENT.good => FindingSeverity::Warning,
        _ => FindingSeverity::Note,
    };
    let limit = if severity == FindingSeverity::Critical { INPUT_BOUND_PERCENT.bad } else { INPUT_BOUND_PERCENT.good };
    let title = match steps.sentence() {
        Some(sentence) => sentence,
        None => format!("Devices wait for input for {} of the time", format::percent(share)),
    };
    let pipeline = numbers.profile.input_pipeline.as_ref();
    let slowest =
        pipeline.and_then(input_limit::sentence_of_stage).map_or(String::new(), |sentence| format!(" {sentence}"));
    let message = format!(
        "Devices wait for input for {} of {} ({}).{slowest}{}{}",
        format::time_us(window.us(share)),
        window.words(),
        format::percent(share),
        gap::sentence(numbers),
        numbers.host_meanwhile()
    );
    let advice = pipeline.and_then(input_limit::remedy);
    let remedy = format!(
        "Prepare batches ahead of time, in other threads or processes ({}), and copy the next batch to the device while the step \
         runs ({}).{}",
        numbers.words().loader,
        numbers.words().copy_ahead,
        advice.map_or(String::new(), |advice| format!(" {advice}"))
    );
    let draft = Draft::new(severity, Confidence::High, &title, message).remedy(&remedy);
    let draft = if share >= INPUT_BOUND_PERCENT.good {
        draft.passed("input_bound_percent", share, limit)
    } else {
        draft.evidence("input_bound_percent", share)
    };
    let draft = match steps.mean_us() {
        Some(mean_us) => draft.count("waiting_steps", steps.count).evidence("waiting_step_input_bound_us", mean_us),
        None => draft,
    };
    draft
        .evidence("input_bound_us", window.us(share))
        .evidence_where("input_held_us", pipeline.map(|it| it.held_us))
        .at_stake(share)
        .link(input_limit::VIEW, "")
        .fires()
}

/// Counted steps that wait for input.
#[derive(Default)]
struct Waiting {
    /// Number of steps that wait for at least 10 % of their time.
    count: u64,
    counted: u64,
    /// Time that the devices wait in these steps, in microseconds.
    time_us: f64,
}

impl Waiting {
    fn new(numbers: &Numbers<'_>) -> Waiting {
        let mut found = Waiting::default();
        for rows in numbers.context.analysis.step_breakdown.steps().filter(|rows| rows.iter().any(|row| row.counted)) {
            let Some(mean) = Breakdown::mean_of_step(rows, None) else { continue };
            found.counted += 1;
            // When the capture begins, the host has not yet queued work for the devices.
            let is_first = rows.iter().any(|row| row.step == Some(0));
            let time_us = mean.part_us(StepPart::InputBound);
            if !is_first && 100.0 * time_us >= INPUT_BOUND_PERCENT.good * mean.duration_us && time_us > 0.0 {
                found.count += 1;
                found.time_us += time_us;
            }
        }
        // If most steps wait, the mean over all steps describes them.
        if 2 * found.count >= found.counted { Waiting::default() } else { found }
    }

    /// Returns the mean time that the devices wait in such a step, in microseconds.
    fn mean_us(&self) -> Option<f64> {
        (self.count > 0).then(|| self.time_us / self.count as f64)
    }

    /// Describes the steps that wait: `2 of 8 steps wait for input, for 8.4 ms each`.
    fn sentence(&self) -> Option<String> {
        let (verb, each) = if self.count == 1 { ("waits", "") } else { ("wait", " each") };
        let mean = format::time_us(self.mean_us()?);
        Some(format!("{} of {} {verb} for input, for {mean}{each}", self.count, format::counted(self.counted, "step")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, gpu_steps, kernel};
    use report::FindingSeverity::{Critical, Note, Warning};
    use trace::Trace;

    /// Builds steps in which the input pipeline runs while the device waits.
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

    /// Builds steps of 1000 us. In every `each`-th step, the device waits for `next_batch` for 300 us, and `read` takes
    /// 250 us of this time.
    fn some_wait(each: i64) -> Trace {
        gpu_steps(24, move |b, at| {
            let waits = at / 1000 % each == each - 1;
            let busy = if waits { 700 } else { 995 };
            kernel(b, "gemm", at + 1, at + 5, busy - 5);
            let python = b.line("/host:CPU", "python");
            if waits {
                b.event(python, "next_batch", at + busy, 1000 - busy);
                b.event(python, "read", at + busy + 10, 250);
            }
        })
    }

    #[test]
    fn steps_that_wait_are_counted() {
        let found = finding(some_wait(6), &RULE);
        assert_eq!((found.severity, found.title.as_str()), (Note, "3 of 23 steps wait for input, for 300 µs each"));
        let message = &found.message;
        assert!(message.contains("The slowest stage is read: read works for 83.3 % of the time"), "{message}");
        assert!(found.remedy.contains("Read several files at once"), "{}", found.remedy);
        // If most steps wait, the mean is reported.
        let found = finding(some_wait(1), &RULE);
        assert_eq!(found.title, "Devices wait for input for 30.0 % of the time");
    }
}
