//! Splits the difference between two step times by part.
//!
//! ```text
//! baseline  |compute======|comm===|idle==|            100 us
//! run       |compute======|comm=|idle===========|     118 us
//!           compute +0, communication -2, idle +20 =  +18
//! ```
//!
//! Parts are exclusive and add up to the step, so their differences add up to the difference between the steps. All
//! times are whole picoseconds, so that the sums are exact. The parts of the typical step are means over the steps
//! whose mean is the typical step. If only one of two profiles records a part, the part is not assumed to be zero in
//! the other profile: causes of idle time that require launches or host threads become "idle: other" on both sides.

use super::level::Level;
use super::{PartChange, Subject, WorkUnit, us_to_ps};
use base::Ps;
use report::{STEP_PARTS, StepParts, UnifiedProfile};

/// Step whose parts are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepKind {
    /// Typical step, which verdicts and rates use.
    Typical,
    /// Mean of all counted steps.
    Mean,
}

impl StepKind {
    /// Returns the time of the step in one capture, in microseconds. Returns `None` if the steps are
    /// unknown.
    fn time_us(self, profile: &UnifiedProfile) -> Option<f64> {
        let level = match self {
            StepKind::Typical => Level::typical(profile),
            StepKind::Mean => Level::mean(profile),
        };
        level.map(|level| level.us)
    }

    /// Returns the parts of the step in one capture, in the order of [`STEP_PARTS`] and in microseconds. If the profile does
    /// not list the parts of each step, returns the parts of the mean step.
    fn parts_us(self, profile: &UnifiedProfile) -> Option<[Option<f64>; STEP_PARTS.len()]> {
        let breakdown = profile.step_breakdown.as_ref()?;
        let typical = Level::typical_indices(profile).filter(|_| self == StepKind::Typical).and_then(|indices| {
            let parts = |index: &u64| Some(&breakdown.steps.iter().find(|step| step.index == *index)?.parts);
            indices.iter().map(parts).collect::<Option<Vec<&StepParts>>>()
        });
        let Some(steps) = typical else { return Some(breakdown.parts.values_us()) };
        let values: Vec<_> = steps.iter().map(|parts| parts.values_us()).collect();
        Some(std::array::from_fn(|at| mean(values.iter().map(|values| values.get(at).copied().flatten()))))
    }
}

/// Returns the mean. Returns `None` if a value is unknown.
fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let values: Vec<f64> = values.collect::<Option<_>>()?;
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Part of a step: its name, display name and time, and true if the profile records it.
struct WaterfallPart {
    name: &'static str,
    title: &'static str,
    time: Ps,
    is_recorded: bool,
}

/// Returns the parts of `run` minus the parts of `baseline`. The deltas add up exactly to the difference between the step
/// times. Empty if either run has neither parts nor a busy time.
pub(crate) fn waterfall(run: usize, subject: &Subject, baseline: &Subject, step: StepKind) -> Vec<PartChange> {
    let (mut parts, mut base) = match (breakdown(subject, step), breakdown(baseline, step)) {
        (Some(ours), Some(theirs)) => (ours, theirs),
        _ => match (busy_and_idle(&subject.profile), busy_and_idle(&baseline.profile)) {
            (Some(ours), Some(theirs)) => (ours, theirs),
            _ => return Vec::new(),
        },
    };
    fold_unrecorded(&mut parts, &mut base);
    complete(&mut parts, subject, step);
    complete(&mut base, baseline, step);
    let change = |(part, base): (&WaterfallPart, &WaterfallPart)| PartChange {
        run: run as u32,
        part: part.name.to_owned(),
        title: part.title.to_owned(),
        class: part.name.to_owned(),
        per: WorkUnit::Step,
        baseline_us: base.time.as_us(),
        run_us: part.time.as_us(),
        delta_us_per_step: (part.time - base.time).as_us(),
    };
    let is_there = |(part, base): &(&WaterfallPart, &WaterfallPart)| part.time != Ps::ZERO || base.time != Ps::ZERO;
    parts.iter().zip(&base).filter(is_there).map(change).collect()
}

/// Converts the parts of a step to the parts of a token or sample. `per_step` is the number of units per step, of the run and
/// of the baseline.
pub(crate) fn per_unit(parts: Vec<PartChange>, unit: WorkUnit, per_step: [f64; 2]) -> Vec<PartChange> {
    let of_one = |part: PartChange| {
        let [run, baseline] =
            [(part.run_us, per_step[0]), (part.baseline_us, per_step[1])].map(|(us, of)| us_to_ps(us / of));
        PartChange {
            per: unit,
            run_us: run.as_us(),
            baseline_us: baseline.as_us(),
            delta_us_per_step: (run - baseline).as_us(),
            ..part
        }
    };
    parts.into_iter().map(of_one).collect()
}

/// Returns the parts of the step, as means over the captures.
fn breakdown(subject: &Subject, step: StepKind) -> Option<Vec<WaterfallPart>> {
    let captures: Vec<_> = subject.captures().iter().map(|it| step.parts_us(it)).collect::<Option<_>>()?;
    let of = |at: usize| mean(captures.iter().map(|values| values.get(at).copied().flatten()));
    Some(of_parts(std::array::from_fn(of)))
}

/// Parts that only some platforms have. On other platforms, these parts take no time. If the profile lacks a part that
/// requires launches or host threads, the part is unknown.
const OF_SOME_PLATFORMS: [&str; 2] = ["infeed_outfeed", "barrier"];

/// Adds names to the parts, in the order of [`STEP_PARTS`].
fn of_parts(values_us: [Option<f64>; STEP_PARTS.len()]) -> Vec<WaterfallPart> {
    let part = |((name, title), us): ((&'static str, &'static str), Option<f64>)| WaterfallPart {
        name,
        title,
        time: us_to_ps(us.unwrap_or(0.0)),
        is_recorded: us.is_some() || OF_SOME_PLATFORMS.contains(&name),
    };
    let rest = WaterfallPart { name: "not_attributed", title: "Not attributed", time: Ps::ZERO, is_recorded: true };
    STEP_PARTS.into_iter().zip(values_us).map(part).chain([rest]).collect()
}

/// Returns busy and idle time, for a profile without a breakdown.
fn busy_and_idle(profile: &UnifiedProfile) -> Option<Vec<WaterfallPart>> {
    let busy = profile.compute_utilization.as_ref()?;
    let part = |name, title, us: f64| WaterfallPart { name, title, time: us_to_ps(us), is_recorded: true };
    Some(vec![
        part("compute", "Device busy", busy.kernel_time_us),
        part("other_idle", "Device idle", busy.overhead_time_us),
        part("not_attributed", "Not attributed", 0.0),
    ])
}

/// Moves parts that only one of the two runs records to "idle: other".
fn fold_unrecorded(ours: &mut [WaterfallPart], theirs: &mut [WaterfallPart]) {
    for at in 0..ours.len() {
        let is_recorded = |parts: &[WaterfallPart]| parts.get(at).is_some_and(|part| part.is_recorded);
        if is_recorded(ours) && is_recorded(theirs) {
            continue;
        }
        for parts in [&mut *ours, &mut *theirs] {
            let time = parts.get_mut(at).map_or(Ps::ZERO, |part| std::mem::take(&mut part.time));
            if let Some(other) = parts.iter_mut().find(|part| part.name == "other_idle") {
                other.time += time;
            }
        }
    }
}

/// Makes the parts add up to the time of the step. The step time may cover different devices or steps than the parts.
fn complete(parts: &mut [WaterfallPart], subject: &Subject, step: StepKind) {
    let sum: Ps = parts.iter().map(|part| part.time).sum();
    let step_us = mean(subject.captures().iter().map(|it| step.time_us(it)));
    if let (Some(step_us), Some(last)) = (step_us, parts.last_mut()) {
        last.time = us_to_ps(step_us) - sum;
        // The remainder from rounding the parts to picoseconds is not treated as time.
        let rounding = last.time;
        if rounding.as_ps().abs() <= 20 {
            last.time = Ps::ZERO;
            if let Some(largest) = parts.iter_mut().max_by_key(|part| part.time) {
                largest.time += rounding;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::{Step, StepBreakdown, StepBreakdownStep, StepTiming};

    /// Creates five steps that compute and then wait for input. The third step waits for `longest_wait_us`, and the
    /// others wait for 20 us.
    fn run(compute_us: f64, longest_wait_us: f64) -> Subject {
        let waits = [20.0, 20.0, longest_wait_us, 20.0, 20.0];
        let parts = |us: f64| StepParts { compute_us, input_bound_us: Some(us), ..StepParts::default() };
        let step = |(index, us): (u64, f64)| {
            let step = Step { index, duration_us: compute_us + us, counted: true, ..Step::default() };
            (step, StepBreakdownStep { index, parts: parts(us), host_range: None, host_thread: None })
        };
        let (steps, of_steps): (Vec<_>, Vec<_>) = (0..).zip(waits).map(step).unzip();
        let mean = waits.iter().sum::<f64>() / 5.0;
        Subject::new(UnifiedProfile {
            step_timing: StepTiming { avg_step_time_us: Some(compute_us + mean), ..StepTiming::default() },
            steps,
            step_breakdown: Some(StepBreakdown { parts: parts(mean), steps: of_steps, ..StepBreakdown::default() }),
            ..UnifiedProfile::default()
        })
    }

    /// A step of 500 us raises the mean step to 180 us, but the typical step stays at 100 us.
    #[test]
    fn a_stall_does_not_change_the_typical_step() {
        let (before, after) = (run(60.0, 20.0), run(80.0, 420.0));
        let of = |step: StepKind| -> Vec<(String, f64, f64)> {
            let parts = waterfall(1, &after, &before, step);
            parts.into_iter().map(|it| (it.part, it.baseline_us, it.run_us)).collect()
        };
        let [compute, input] = ["compute", "input_bound"].map(str::to_owned);
        assert_eq!(of(StepKind::Typical), [(compute.clone(), 60.0, 80.0), (input.clone(), 20.0, 20.0)]);
        assert_eq!(of(StepKind::Mean), [(compute, 60.0, 80.0), (input, 20.0, 100.0)]);
    }

    /// If a profile lacks the parts of each step, the parts of the mean step are used, and their difference from the typical
    /// step is shown.
    #[test]
    fn parts_of_the_mean_step_are_made_to_add_up() {
        let mut after = run(80.0, 420.0);
        after.profile.step_breakdown.as_mut().unwrap().steps.clear();
        let parts = waterfall(1, &after, &run(60.0, 20.0), StepKind::Typical);
        let of = |name: &str| parts.iter().find(|it| it.part == name).map(|it| it.run_us);
        assert_eq!((of("input_bound"), of("not_attributed")), (Some(100.0), Some(-80.0)));
        assert_eq!(parts.iter().map(|it| it.run_us).sum::<f64>(), 100.0);
    }
}
