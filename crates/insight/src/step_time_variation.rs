//! Step times vary. The finding states how much time the long steps lose, and why.
//!
//! The measure is the standard deviation of the counted steps divided by their mean. Severity: note from 5 %, warning from 20 %
//! (ours: such variation hides a change of 5 %). For an inference engine, only forward passes that decode are compared, because
//! the time of other passes depends on the length of their prompts.
//!
//! Steps that exceed the median step by more than 5 % are grouped by cause. The cause is the part of the step that
//! exceeds its median by the most time. For idle time, the cause also names the range that the host is in while the
//! device is idle (`step_breakdown.steps[].host_range`). For other parts, the cause names the op whose self time has
//! grown most, compared with the step nearest to the median. The title names the group with the largest loss. The
//! impact is the loss of this group as a share of the time of all counted steps. If CPU ops take longer, the finding is a
//! note, appears only from 20 %, and its title names no op, because other programs use the same cores. Confidence:
//! high. The rule is skipped if there are fewer than 5 counted steps.

use super::draft::{Draft, lacks};
use super::long_steps::{Loss, comparable, losses};
use super::numbers::{Numbers, shown};
use super::{
    Needs, Rule, Verdict, compilation, data_loading, gradient_synchronization, host_overhead, idle_gaps,
    low_device_utilization, lowered_clock, many_programs, many_small_kernels, python_threads, recompilation,
    small_collectives, straggler_device, uneven_devices, unhidden_collectives,
};
use base::format;
use metrics::{StepPart, mean, stddev};
use report::{Confidence, FindingSeverity, Platform, View};

pub(super) static RULE: Rule = Rule {
    id: "step_time_variation",
    title: "Step times vary",
    needs: Needs::AllLines,
    explained_by: &[&[&lowered_clock::RULE]],
    of_all_steps: &[
        (StepPart::InputBound, &[&data_loading::RULE]),
        (StepPart::HostBound, &[&host_overhead::RULE, &many_small_kernels::RULE]),
        (StepPart::Compile, &[&compilation::RULE, &recompilation::RULE]),
        (
            StepPart::OtherIdle,
            &[
                &many_programs::RULE,
                &python_threads::RULE,
                &uneven_devices::RULE,
                &low_device_utilization::RULE,
                &idle_gaps::RULE,
            ],
        ),
        (
            StepPart::Communication,
            &[
                &small_collectives::RULE,
                &gradient_synchronization::RULE,
                &straggler_device::RULE,
                &unhidden_collectives::RULE,
            ],
        ),
    ],
    ..Rule::checked_by(check)
};

/// Minimum ratio of standard deviation to mean for a note. We chose this limit because a larger variation hides a
/// change of 5 %.
const NOTE_PERCENT: f64 = 5.0;
/// Minimum ratio of standard deviation to mean for a warning.
const WARNING_PERCENT: f64 = 20.0;
/// Minimum number of steps for a meaningful standard deviation.
const FEWEST_STEPS: u64 = 5;
/// Number of causes that the message describes.
const MOST_SENTENCES: usize = 2;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let timing = &numbers.profile.step_timing;
    let all = timing.num_steps_counted.unwrap_or(0);
    if timing.avg_step_time_us.is_none() || timing.stddev_step_time_us.is_none() {
        return numbers.lacks_steps("the rule needs 5 to 10 complete steps.");
    }
    let durations: Vec<f64> = comparable(numbers.profile).map(|step| step.duration_us).collect();
    let (counted, whole_us) = (durations.len() as u64, timing.avg_step_time_us.unwrap_or(0.0) * all as f64);
    let (Some(mean), Some(spread)) = (mean(&durations), stddev(&durations)) else {
        return lacks("the capture contains fewer than 5 forward passes that only decode.");
    };
    if counted < FEWEST_STEPS || mean <= 0.0 {
        return lacks("the rule needs at least 5 complete steps. Capture 5 to 10.");
    }
    let variation = 100.0 * spread / mean;
    if variation < NOTE_PERCENT {
        return Verdict::Fine;
    }
    let lost = variation >= WARNING_PERCENT;
    let shortest = durations.iter().copied().fold(mean, f64::min);
    let kind = if counted == all { "" } else { "decode-only " };
    let message = format!(
        "The {} counted {kind}steps take {} on average, with a standard deviation of {} ({}).",
        format::count(counted),
        format::time_us(mean),
        format::time_us(spread),
        format::percent(variation)
    );
    let passed = |draft: Draft| {
        draft
            .passed("variation_percent", variation, if lost { WARNING_PERCENT } else { NOTE_PERCENT })
            .evidence("stddev_step_time_us", spread)
            .link(View::Steps, "")
    };
    let (losses, typical) = losses(numbers);
    let is_noise = losses.first().is_some_and(|loss| is_on_shared_cores(numbers, loss));
    if is_noise && !lost {
        return Verdict::Fine;
    }
    let severity = if lost && !is_noise { FindingSeverity::Warning } else { FindingSeverity::Note };
    let Some(first) = losses.first() else {
        // No step is long. The impact is the time that the steps would save if all were as short as the shortest.
        let title = format!("Step times vary by {}", format::percent(variation));
        let draft = passed(Draft::new(severity, Confidence::High, &title, message).remedy(&usual_remedy()));
        return if lost { draft.at_stake(100.0 * (mean - shortest) / mean) } else { draft }.fires();
    };
    let cause = match first.cause() {
        _ if is_noise => ", perhaps because other programs use the same cores".to_owned(),
        cause => cause.map_or(String::new(), |cause| format!(": {cause}")),
    };
    let title = format!(
        "{} {} {}{cause}",
        first.steps(),
        if first.steps.len() > 1 { "lose" } else { "loses" },
        format::time_us(first.lost_us)
    );
    let sentences: Vec<String> =
        losses.iter().take(MOST_SENTENCES).map(|loss| loss.sentence(numbers, typical)).collect();
    let more = match losses.len().saturating_sub(MOST_SENTENCES) {
        0 => String::new(),
        1 => " Other long steps have another cause.".to_owned(),
        more => format!(" Other long steps have {more} other causes."),
    };
    let text = format!("{}{more} {message}", sentences.join(" "));
    let draft = Draft::new(severity, Confidence::High, &title, text);
    let draft = passed(draft.remedy(&remedy(numbers, first)))
        .evidence("lost_us", first.lost_us)
        // The impact is relative to the time of all counted steps.
        .at_stake(100.0 * first.lost_us / whole_us);
    let draft = match first.evidence() {
        Some(name) => draft.evidence(&name, first.excess_us),
        None => draft,
    };
    let longest = first.steps.first();
    draft
        .evidence_where("longest_step_us", longest.map(|step| step.duration_us))
        .evidence_where("longest_step_start_us", longest.map(|step| step.start_us))
        .fires()
}

/// Returns true if CPU ops take longer. Other programs use the same cores, so the profiled program is often not the
/// cause.
fn is_on_shared_cores(numbers: &Numbers<'_>, loss: &Loss<'_>) -> bool {
    numbers.profile.metadata.platform() == Some(Platform::Cpu) && loss.part.is_some_and(|part| !part.is_idle())
}

fn remedy(numbers: &Numbers<'_>, loss: &Loss<'_>) -> String {
    let step = loss
        .steps
        .first()
        .map_or_else(String::new, |step| step.name.as_deref().map_or_else(|| step.index.to_string(), shown));
    let place = loss.place.as_deref().map(shown);
    match (loss.part, place) {
        _ if is_on_shared_cores(numbers, loss) => {
            "Capture again while no other program uses the cores. If the same steps are long again, compare them with a typical \
             step on the timeline."
                .to_owned()
        }
        (Some(StepPart::InputBound), _) => format!(
            "Prepare batches ahead of time in other threads or processes ({}), so that a slow batch is ready in time.",
            numbers.words().loader
        ),
        (Some(StepPart::Compile), _) => format!(
            "Keep shapes, data types and static arguments the same in every step, and cache compiled programs between runs with \
             {}.",
            numbers.words().compilation_cache
        ),
        (Some(part), Some(place)) if part.is_idle() => {
            format!("Look at {place} in step {step} on the timeline. Call it less often, or in another thread.")
        }
        (Some(_), Some(place)) => format!(
            "Compare {place} in step {step} with a typical step. Usual causes: work that only some steps do, a collective that \
             waits for a straggler, or a lower clock rate of the device."
        ),
        _ => usual_remedy(),
    }
}

fn usual_remedy() -> String {
    "Compare the longest step with a typical one on the timeline. Usual causes: late input, garbage collection or logging on the \
     host, other programs on the machine, or work that only some steps do. To compare two runs, capture more steps."
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, kernel};
    use report::FindingSeverity::{Note, Warning};
    use trace::{Trace, TraceBuilder};

    /// Builds steps. Every second step takes `more` us longer.
    fn uneven(steps: i64, more: i64) -> Trace {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let mut at = 0;
        for step in 0..steps {
            let length = 1000 + more * (step % 2);
            b.event(python, "train", at, length).step_num(step);
            kernel(&mut b, "gemm", at + 1, at + 5, length - 100);
            at += length;
        }
        b.build()
    }

    #[test]
    fn fires_above_its_limit() {
        assert_eq!(finding(uneven(13, 600), &RULE).severity, Warning);
        assert_eq!(finding(uneven(13, 120), &RULE).severity, Note);
        fine(uneven(13, 80), &RULE);
    }

    /// On a CPU, steps with slower ops only get a note, because other programs share the cores.
    #[test]
    fn a_cpu_with_uneven_ops_is_a_note() {
        let cpu = |more: i64| {
            let mut b = TraceBuilder::new();
            let python = b.line("/host:CPU", "python");
            let worker = b.line("/host:CPU", "tf_XLAEigen/1");
            let mut at = 0;
            for step in 0..13 {
                let length = 1000 + more * (step % 2);
                b.event(python, "train", at, length).step_num(step);
                b.event(worker, "dot.1", at + 10, length - 100).hlo_op("dot.1").hlo_module("jit_step");
                at += length;
            }
            b.build()
        };
        let found = finding(cpu(600), &RULE);
        let title = "6 steps lose 3.60 ms, perhaps because other programs use the same cores";
        assert_eq!((found.severity, found.title.as_str()), (Note, title));
    }
}
