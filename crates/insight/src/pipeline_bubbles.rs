//! Stages of a pipeline wait for each other's microbatches.
//!
//! The measure is `pipeline.bubble_percent`. Severity: note from 5 %, warning from 10 %, critical from 50 % of the time
//! from the first to the last work of a step (the JAX guide's limit for overheads). The impact is the time of the
//! bubbles. The finding has the same confidence as the detected pipeline. With `p` stages of equal length and `m`
//! microbatches, the bubbles of the `gpipe` and `1f1b` schedules take `(p - 1) / (m + p - 1)` of the time. Remedy: use
//! more microbatches, an interleaved schedule, or stages of equal length. The rule is skipped if the devices do not
//! form a pipeline.

use super::draft::Draft;
use super::limits::{OVERHEAD_NOTED_PERCENT, OVERHEAD_PERCENT};
use super::numbers::Numbers;
use super::{Needs, Rule, Verdict};
use base::format;
use report::{FindingSeverity, Pipeline, View};

pub(super) static RULE: Rule = Rule {
    id: "pipeline_bubbles",
    title: "Stages of a pipeline wait for each other",
    needs: Needs::AllLines,
    ..Rule::checked_by(check)
};

/// Minimum ratio of the slowest stage's work to the mean for the remedy to name the stage. We chose this limit because
/// a smaller ratio may be noise.
const UNEVEN: f64 = 1.1;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let Some(pipeline) = &numbers.context.profile.pipeline else { return Verdict::Irrelevant };
    let share = pipeline.bubble_percent;
    if share < OVERHEAD_NOTED_PERCENT {
        return Verdict::Fine;
    }
    let (severity, limit) = match share >= OVERHEAD_PERCENT.good {
        true => OVERHEAD_PERCENT.severity(share),
        false => (FindingSeverity::Note, OVERHEAD_NOTED_PERCENT),
    };
    let message = format!(
        "{} form a pipeline. A step takes {} from the first to the last work of any stage. A stage has no work for {} of it ({}).{}{}",
        format::counted(pipeline.num_stages, "stage"),
        format::time_us(pipeline.span_us),
        format::time_us(pipeline.bubble_time_us),
        format::percent(share),
        expected(pipeline),
        uneven(pipeline),
    );
    let draft = Draft::new(
        severity,
        pipeline.confidence,
        &format!("Pipeline bubbles take {} of each step", format::percent(share)),
        message,
    )
    .remedy(&remedy(pipeline))
    .passed("bubble_percent", share, limit)
    .evidence_where("schedule_bubble_percent", pipeline.schedule_bubble_percent)
    .evidence("work_max_to_mean", pipeline.work_max_to_mean)
    .count("num_stages", pipeline.num_stages);
    draft.at_stake(share).link(View::Devices, "").fires()
}

fn expected(pipeline: &Pipeline) -> String {
    match pipeline.num_microbatches.zip(pipeline.schedule_bubble_percent) {
        Some((microbatches, percent)) => format!(
            " With {} and stages of equal length, the bubbles of the schedule would take {}.",
            if microbatches == 1 { "1 microbatch".to_owned() } else { format!("{microbatches} microbatches") },
            format::percent(percent)
        ),
        None => String::new(),
    }
}

fn uneven(pipeline: &Pipeline) -> String {
    let slowest = pipeline.stages.iter().max_by(|a, b| a.work_us.total_cmp(&b.work_us));
    match slowest.filter(|_| pipeline.work_max_to_mean >= UNEVEN) {
        Some(stage) => format!(
            " Stage {} works {} longer than the mean of all stages.",
            stage.stage,
            format::percent(100.0 * (pipeline.work_max_to_mean - 1.0))
        ),
        None => String::new(),
    }
}

fn remedy(pipeline: &Pipeline) -> String {
    let more = match pipeline.num_microbatches {
        Some(microbatches) => {
            let idle = pipeline.num_stages.saturating_sub(1) as f64;
            let doubled = 100.0 * idle / (2.0 * microbatches as f64 + idle).max(1.0);
            format!(
                "Use more microbatches. With twice as many, the bubbles would shrink to {}, assuming stages of equal length. ",
                format::percent(doubled)
            )
        }
        None => "Use more microbatches. ".to_owned(),
    };
    let balance = match pipeline.work_max_to_mean >= UNEVEN {
        true => "Move layers from the slowest stage to the others. ",
        false => "",
    };
    format!(
        "{balance}{more}An interleaved (circular) schedule, which gives each device several smaller stages, shortens the bubbles too."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, host_bound, says};
    use report::FindingSeverity::{Note, Warning};
    use trace::{Trace, TraceBuilder};

    /// Builds steps of a forward pipeline with two stages. Bubbles take `(2 - 1) / (m + 1)` of the time.
    fn two_stages(microbatches: i64) -> Trace {
        let mut b = TraceBuilder::new();
        for stage in 0..2 {
            let device = format!("/device:TPU:{stage}");
            let (modules, ops) = (b.line(&device, "XLA Modules"), b.line(&device, "XLA Ops"));
            for step in 0..4 {
                for run in 0..=microbatches {
                    let at = step * (microbatches + 1) * 100 + (run + stage) * 100;
                    // The optimizer of both stages runs at the end, and separates the steps.
                    let (name, length) = if run < microbatches { ("forward", 100) } else { ("update", 3) };
                    let at = if run < microbatches {
                        at
                    } else {
                        (step + 1) * (microbatches + 1) * 100 - 3 * (1 - stage) - 3
                    };
                    b.event(modules, &format!("jit_{name}{stage}(1)"), at, length);
                    b.event(ops, "fusion.1", at, length).hlo_category("loop fusion");
                }
            }
        }
        b.build()
    }

    #[test]
    fn fires_above_its_limits() {
        let found = finding(two_stages(5), &RULE);
        assert_eq!(found.severity, Warning, "{found:?}");
        assert_eq!(finding(two_stages(12), &RULE).severity, Note);
        fine(two_stages(30), &RULE);
        assert_eq!(says(host_bound(500), &RULE), Verdict::Irrelevant);
    }
}
