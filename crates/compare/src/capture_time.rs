//! Measures the time of all steps of a capture, and finds the time that the typical step excludes.
//!
//! ```text
//! steps   |======|======|======x compiling x|======|======..stalled....|======|
//! typical |======|                                                            time if all steps had this length (goodput)
//! lost                         |============|             |............|
//! ```
//!
//! The lost time of a step is its duration minus the typical step. The cause of the loss is the first of these that applies:
//! * *Compilation*: the host compiles during the step.
//! * *Warm-up*: the step is one of the slow steps at the beginning.
//! * *Stall*: the step is an extreme outlier, that is, more than three interquartile ranges above the third quartile
//!   (Tukey's outer fence) and at least 5 % above the typical step.
//!
//! Partial steps are ignored.

use super::level::Level;
use super::{CaptureTime, Subject, TimeLoss, TimeLossKind};
use base::sort;
use report::{STEP_PARTS, Step, UnifiedProfile};

/// A stall exceeds the typical step by at least this share of the typical step.
const LEAST_STALL: f64 = 0.05;

/// Distance of Tukey's outer fence from the third quartile, in interquartile ranges.
const FENCE: f64 = 3.0;

/// Returns the time of all steps of a run's captures. Returns `None` if the profile has no steps,
/// or does not list them.
pub(crate) fn capture_time(run: usize, subject: &Subject) -> Option<CaptureTime> {
    let mut time = CaptureTime { run: run as u32, ..CaptureTime::default() };
    let (mut sum_us, mut typical_us) = (0.0, 0.0);
    for profile in subject.captures() {
        let typical = Level::typical(profile)?.us;
        let whole: Vec<&Step> = profile.steps.iter().filter(|step| !step.partial && step.is_comparable()).collect();
        if whole.is_empty() {
            return None;
        }
        let fence = fence(&whole, typical);
        for step in &whole {
            time.steps += 1;
            sum_us += step.duration_us;
            typical_us += typical;
            let kind = match step {
                _ if step.duration_us <= typical => continue,
                step if step.compiles => TimeLossKind::Compilation,
                step if step.warm_up => TimeLossKind::WarmUp,
                step if step.duration_us > fence => TimeLossKind::Stall,
                _ => continue,
            };
            let (part, host_range) = longest_part(profile, step.index);
            add(&mut time.losses, kind, part, host_range, step.duration_us - typical);
        }
    }
    let steps = time.steps as f64;
    (time.us_per_step, time.typical_us) = (sum_us / steps, typical_us / steps);
    if !time.us_per_step.is_finite() || time.us_per_step <= 0.0 {
        return None;
    }
    time.goodput_percent = 100.0 * (time.typical_us / time.us_per_step).min(1.0);
    sort::sort_by(&mut time.losses, |a, b| {
        b.lost_us.total_cmp(&a.lost_us).then_with(|| a.kind.label().cmp(b.kind.label()))
    });
    Some(time)
}

fn add(losses: &mut Vec<TimeLoss>, kind: TimeLossKind, part: Option<&str>, host_range: Option<&str>, lost_us: f64) {
    let is_like = |loss: &TimeLoss| (loss.part.as_deref(), loss.host_range.as_deref()) == (part, host_range);
    let known = losses.iter_mut().find(|loss| loss.kind == kind && is_like(loss));
    let loss = match known {
        Some(loss) => loss,
        None => {
            let [part, host_range] = [part, host_range].map(|name| name.map(str::to_owned));
            losses.push(TimeLoss { kind, part, host_range, ..TimeLoss::default() });
            match losses.last_mut() {
                Some(loss) => loss,
                None => return,
            }
        }
    };
    loss.steps += 1;
    loss.lost_us += lost_us;
    loss.longest_us = loss.longest_us.max(lost_us);
}

/// Returns the duration above which a step is a stall, in microseconds.
fn fence(steps: &[&Step], typical: f64) -> f64 {
    let mut counted: Vec<f64> = steps.iter().filter(|step| step.counted).map(|step| step.duration_us).collect();
    sort::sort_by(&mut counted, f64::total_cmp);
    let quartile = |share: f64| counted.get((share * counted.len() as f64) as usize).copied().unwrap_or(typical);
    let (first, third) = (quartile(0.25), quartile(0.75));
    (third + FENCE * (third - first)).max((1.0 + LEAST_STALL) * typical)
}

/// Returns the part of the step whose time exceeds the part's mean over all steps by the most. If that part is idle
/// time, also returns the range that the host was in, unless this range is the step's annotation. Both are `None` if
/// the profile has no breakdown of steps.
fn longest_part(profile: &UnifiedProfile, index: u64) -> (Option<&'static str>, Option<&str>) {
    let Some(breakdown) = profile.step_breakdown.as_ref() else { return (None, None) };
    let Some(step) = breakdown.steps.iter().find(|step| step.index == index) else { return (None, None) };
    let means = breakdown.parts.values_us();
    let excess =
        step.parts.values_us().into_iter().zip(means).map(|(step, mean)| step.unwrap_or(0.0) - mean.unwrap_or(0.0));
    let longest = STEP_PARTS.iter().zip(excess).reduce(|a, b| if b.1 > a.1 { b } else { a });
    match longest.filter(|(_, excess)| *excess > 0.0) {
        Some(((name, title), _)) => {
            // The annotation of the step itself explains nothing.
            let marks_step = |range: &&str| facts::marks_step(profile.step_timing.annotation(), range);
            let range = step.host_range.as_deref().filter(|range| title.starts_with("Idle") && !marks_step(range));
            (Some(name), range)
        }
        None => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::{StepBreakdown, StepBreakdownStep, StepParts};

    /// Creates steps of 100 us, except that the first includes compilation (500 us), the second is a warm-up step (160
    /// us), and the sixth and the eighth wait for input (200 us).
    fn profile() -> UnifiedProfile {
        let durations =
            [500.0, 160.0, 100.0, 101.0, 99.0, 200.0, 100.0, 200.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 30.0];
        let step = |(index, duration_us): (usize, f64)| Step {
            index: index as u64,
            duration_us,
            compiles: index == 0,
            warm_up: index < 2,
            partial: index == 14,
            counted: (2..14).contains(&index),
            ..Step::default()
        };
        let parts =
            |input_us: f64| StepParts { compute_us: 90.0, input_bound_us: Some(input_us), ..StepParts::default() };
        let of_step = |index: u64| StepBreakdownStep {
            index,
            parts: parts(if index == 5 || index == 7 { 110.0 } else { 10.0 }),
            host_range: Some("load_batch".to_owned()).filter(|_| index == 5 || index == 7),
            host_thread: None,
        };
        let mut profile = UnifiedProfile {
            steps: durations.into_iter().enumerate().map(step).collect(),
            step_breakdown: Some(StepBreakdown {
                parts: parts(35.0),
                steps: (2..14).map(of_step).collect(),
                ..StepBreakdown::default()
            }),
            ..UnifiedProfile::default()
        };
        profile.step_timing.avg_step_time_us = Some(1400.0 / 12.0);
        profile.step_timing.num_steps_counted = Some(12);
        profile
    }

    #[test]
    fn time_excluded_from_typical_steps_is_named_and_measured() {
        let found = capture_time(3, &Subject::new(profile())).unwrap();
        // 500 + 160 + 101 + 99 + 2 * 200 + 8 * 100 over 14 steps; the partial step is ignored. Typical: 7
        // * 100 + 101 over 8.
        assert_eq!((found.run, found.steps, (14.0 * found.us_per_step).round()), (3, 14, 2060.0));
        assert!((found.typical_us - 100.125).abs() < 1e-9, "{found:?}");
        let losses: Vec<(&str, Option<&str>, u64, f64)> =
            found.losses.iter().map(|it| (it.kind.label(), it.part.as_deref(), it.steps, it.lost_us.round())).collect();
        assert_eq!(
            losses,
            [("compilation", None, 1, 400.0), ("stall", Some("input_bound"), 2, 200.0), ("warm_up", None, 1, 60.0)]
        );
    }

    #[test]
    fn noisy_steps_are_not_stalls_and_unknown_steps_have_no_time() {
        let mut profile = profile();
        profile.steps.retain(|step| step.counted);
        for (step, duration_us) in
            profile.steps.iter_mut().zip([90.0, 95.0, 100.0, 105.0, 110.0, 115.0, 120.0, 125.0].into_iter().cycle())
        {
            step.duration_us = duration_us;
        }
        assert!(capture_time(0, &Subject::new(profile.clone())).unwrap().losses.is_empty());
        profile.steps.clear();
        assert_eq!(capture_time(0, &Subject::new(profile)), None);
    }
}
