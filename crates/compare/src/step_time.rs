//! Compares the step time of a run with the step time of the baseline.

use super::difference::between;
use super::level::Level;
use super::{FairnessStatus, StepTimeChange, Subject, us_to_ps};

/// Tests which run is faster, beyond the noise and the threshold.
pub(crate) fn step_time_change(run: usize, subject: &Subject, baseline: &Subject, threshold: f64) -> StepTimeChange {
    let mean = |subject: &Subject| {
        let mean_us = subject.profile.step_timing.avg_step_time_us;
        mean_us.filter(|mean_us| *mean_us > 0.0 && mean_us.is_finite())
    };
    let (ours, theirs) = (mean(subject), mean(baseline));
    let difference = between(subject, baseline, Level::typical);
    let captures = |subject: &Subject| subject.captures().len() as u64;
    StepTimeChange {
        run: run as u32,
        step_time_us: ours,
        baseline_us: theirs,
        delta_us: ours.zip(theirs).map(|(ours, theirs)| (us_to_ps(ours) - us_to_ps(theirs)).as_us()),
        typical_us: difference.map(|it| it.ours_us),
        baseline_typical_us: difference.map(|it| it.theirs_us),
        typical_delta_us: difference.map(|it| it.delta_us()),
        margin_us: difference.and_then(|it| it.margin_us()),
        least_provable_us: difference.and_then(|it| it.least_provable_us()),
        verdict: difference.map(|it| it.verdict(threshold)).unwrap_or_default(),
        basis: difference.map(|it| it.basis).unwrap_or_default(),
        steps: [steps(subject), steps(baseline)],
        captures: [captures(subject), captures(baseline)],
        degrees_of_freedom: difference.and_then(|it| it.noise).map(|(_, df)| df),
        explained_percent: None,
        // Set later, when the ops have been compared.
        work: FairnessStatus::Unknown,
        work_evidence: Vec::new(),
    }
}

fn steps(subject: &Subject) -> u64 {
    subject.captures().iter().filter_map(Level::typical_steps).sum()
}
