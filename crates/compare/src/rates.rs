//! Compares work per second, per device, per joule and per dollar.
//!
//! ```text
//! batch 32    a step takes 30 ms    1067 samples per second     baseline
//! batch 64    a step takes 50 ms    1280 samples per second     1.20x as fast, though a step takes longer
//! ```
//!
//! Each rate is tested as the time (device time, energy, money) per token or sample, with the noise
//! of the typical steps.

use super::difference::Difference;
use super::level::Level;
use super::{FairnessStatus, RateMeasure, StepTimeChange, Subject, WorkPer, WorkRate, WorkUnit};
use report::UnifiedProfile;

/// Returns the unit that all runs record: tokens if possible, then samples, then steps.
pub(crate) fn unit(subjects: &[Subject]) -> WorkUnit {
    let known = |unit: WorkUnit| subjects.iter().flat_map(Subject::captures).all(|it| per_step(it, unit).is_some());
    [WorkUnit::Token, WorkUnit::Sample].into_iter().find(|unit| known(*unit)).unwrap_or_default()
}

/// Returns the tokens or samples per step over all devices, or 1 for steps.
pub(crate) fn per_step(profile: &UnifiedProfile, unit: WorkUnit) -> Option<f64> {
    let per_second = match unit {
        WorkUnit::Token => profile.throughput.tokens_per_sec,
        WorkUnit::Sample => profile.throughput.samples_per_sec,
        WorkUnit::Step => return Some(1.0),
    };
    let units = per_second? * profile.step_timing.avg_step_time_us? / 1e6;
    (units.is_finite() && units > 0.0).then_some(units)
}

/// Returns true if one unit represents the same work in both runs, even if the number of units per step differs.
pub(crate) fn is_same_work(change: &StepTimeChange, unit: WorkUnit) -> bool {
    let is_of_batch = unit != WorkUnit::Step && change.work_evidence == ["batch_size"];
    change.work == FairnessStatus::Same || is_of_batch
}

/// Returns the rates of a run, compared with the baseline's rates. Returns `None` if the work differs. Rates in steps
/// also need a power or a price.
pub(crate) fn rate(
    change: &StepTimeChange,
    unit: WorkUnit,
    subject: &Subject,
    baseline: &Subject,
    threshold: f64,
) -> Option<WorkRate> {
    if !is_same_work(change, unit) {
        return None;
    }
    let devices = |it: &Subject| it.profile.metadata.num_devices.max(1) as f64;
    let dollars = |it: &Subject| Some(it.dollars_per_device_hour? / 3600.0 * devices(it));
    let costs = [
        (WorkPer::Second, Some([1.0; 2])),
        (WorkPer::DeviceSecond, Some([devices(subject), devices(baseline)]).filter(|[ours, theirs]| ours != theirs)),
        (WorkPer::Joule, both(subject, baseline, |it| Some(it.watts_per_device? * devices(it)))),
        (WorkPer::Dollar, both(subject, baseline, dollars)),
    ];
    let measures: Vec<RateMeasure> = costs
        .into_iter()
        .filter(|(per, _)| unit != WorkUnit::Step || *per != WorkPer::DeviceSecond)
        .filter_map(|(per, cost)| {
            let [ours, theirs] = cost?;
            let found = Difference::of_levels(&levels(subject, unit, ours)?, &levels(baseline, unit, theirs)?)?;
            let percent = |us: f64| 100.0 * (found.theirs_us / us - 1.0);
            let interval = found.margin_us().filter(|margin| *margin < found.ours_us);
            Some(RateMeasure {
                per,
                values: [1e6 / found.ours_us, 1e6 / found.theirs_us],
                interval_percent: interval
                    .map(|margin| [percent(found.ours_us + margin), percent(found.ours_us - margin)]),
                least_provable_percent: found.least_provable_us().map(|least| 100.0 * least / found.theirs_us),
                verdict: found.verdict(threshold),
            })
        })
        .filter(|it| it.values.iter().all(|value| value.is_finite() && *value > 0.0))
        .collect();
    let is_said = unit != WorkUnit::Step || measures.len() > 1;
    let per_step = both(subject, baseline, |it| per_step(it.captures().first()?, unit))?;
    (is_said && !measures.is_empty()).then_some(WorkRate { run: change.run, unit, per_step, measures })
}

fn both(subject: &Subject, baseline: &Subject, value: impl Fn(&Subject) -> Option<f64>) -> Option<[f64; 2]> {
    Some([value(subject)?, value(baseline)?]).filter(|values| values.iter().all(|value| *value > 0.0))
}

/// Returns the cost of one unit in each capture, in microseconds times `cost`.
fn levels(subject: &Subject, unit: WorkUnit, cost: f64) -> Option<Vec<Level>> {
    let of_capture = |it: &UnifiedProfile| Some(Level::typical(it)?.scaled(cost / per_step(it, unit)?));
    subject.captures().iter().map(of_capture).collect()
}
