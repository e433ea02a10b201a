//! Measures the progress of a job between its captures: the time that its steps take, compared with the time that
//! passed.
//!
//! ```text
//! 10:00  capture at training step 1000     10:30  capture at step 9000, step time 200 ms
//! 30 min passed, 8000 steps take 26.7 min: 3.3 min are lost between the captures
//! ```
//!
//! Requires captures of one job with different start times and with the number of their first step. The step number
//! comes from the annotation or from the name of the run. A later capture with an earlier step shows a restart from a
//! checkpoint.

use super::Subject;
use super::level::Level;
use super::trend::training_step;
use base::sort;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Progress of a job from the start of its first capture to the start of its last capture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// Time from the start of the first capture to the start of the last one.
    pub wall_us: f64,
    /// Time that the steps between the captures take, at the typical step times of the captures.
    pub productive_us: f64,
    /// `100 * productive_us / wall_us`. The remaining time is lost to restarts and repeated steps, checkpoints,
    /// evaluation, compilation and slow steps. Captures do not show how the loss is divided among these causes.
    pub goodput_percent: f64,
    /// Lost device hours: lost time times the number of devices.
    pub lost_device_hours: f64,
    /// Price of the lost device hours, if the user gives the price of a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_dollars: Option<f64>,
    /// Times between consecutive captures.
    pub intervals: Vec<ProgressInterval>,
}

/// Time between the starts of two captures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgressInterval {
    /// Index of the earlier run.
    pub from: u32,
    /// Index of the later run.
    pub to: u32,
    /// Number of the first step in the earlier capture.
    pub from_step: u64,
    /// Number of the first step in the later capture.
    pub to_step: u64,
    /// Time that passed.
    pub wall_us: f64,
    /// Time that the steps between the two captures take, at the mean of both typical step times. 0 after a restart,
    /// because the job then repeats steps.
    pub productive_us: f64,
    /// True if the later capture has an earlier step: the job was restarted from a checkpoint.
    pub restarts: bool,
}

/// A capture of the job.
struct Capture<'a> {
    run: u32,
    subject: &'a Subject,
    at_us: f64,
    step: u64,
    step_time_us: f64,
}

/// Returns the progress between consecutive captures. Returns `None` if fewer than two captures have a time and a step, or if
/// the captures ran on different devices and so do not belong to one job.
pub(crate) fn progress(subjects: &[Subject]) -> Option<Progress> {
    let captures: Option<Vec<Capture<'_>>> = (0..).zip(subjects).map(|(run, subject)| capture(run, subject)).collect();
    let mut captures = captures.filter(|captures| captures.len() > 1)?;
    sort::sort_by(&mut captures, |a, b| a.at_us.total_cmp(&b.at_us).then_with(|| a.run.cmp(&b.run)));
    let place = |capture: &Capture<'_>| {
        let metadata = &capture.subject.profile.metadata;
        (metadata.platform.clone(), metadata.num_devices, metadata.framework.clone())
    };
    let first = captures.first().map(place)?;
    if captures.iter().any(|capture| place(capture) != first) {
        return None;
    }
    let intervals: Vec<ProgressInterval> = captures.windows(2).filter_map(interval).collect();
    // Captures of different jobs have the same steps.
    if intervals.len() + 1 != captures.len() || intervals.iter().all(|it| it.restarts) {
        return None;
    }
    let sum = |value: fn(&ProgressInterval) -> f64| intervals.iter().map(value).sum::<f64>();
    let (wall_us, productive_us) = (sum(|it| it.wall_us), sum(|it| it.productive_us));
    let devices = first.1 as f64;
    let lost_us = (wall_us - productive_us).max(0.0);
    let price = captures.first()?.subject.dollars_per_device_hour;
    let lost_device_hours = devices * lost_us / 3.6e9;
    Some(Progress {
        wall_us,
        productive_us,
        goodput_percent: 100.0 * (productive_us / wall_us).min(1.0),
        lost_device_hours,
        lost_dollars: price.map(|price| price * lost_device_hours),
        intervals,
    })
}

fn capture(run: u32, subject: &Subject) -> Option<Capture<'_>> {
    let profile = &subject.profile;
    let at_us = unix_us(profile.metadata.timestamp.as_deref()?)?;
    let of_annotation = || profile.steps.first()?.name.as_deref()?.trim().parse().ok();
    let is_annotated = profile.step_timing.step_count_source == "step_num";
    let step = is_annotated.then(of_annotation).flatten().or_else(|| training_step(subject))?;
    Some(Capture { run, subject, at_us, step, step_time_us: Level::typical(profile)?.us })
}

fn interval(pair: &[Capture<'_>]) -> Option<ProgressInterval> {
    let [from, to] = pair else { return None };
    let wall_us = to.at_us - from.at_us;
    let restarts = to.step < from.step;
    let steps = to.step.saturating_sub(from.step);
    let productive_us = steps as f64 * 0.5 * (from.step_time_us + to.step_time_us);
    // If more steps were made than fit in the time, they belong to another job.
    (wall_us > 0.0 && productive_us <= 1.1 * wall_us).then_some(ProgressInterval {
        from: from.run,
        to: to.run,
        from_step: from.step,
        to_step: to.step,
        wall_us,
        productive_us,
        restarts,
    })
}

/// Returns the microseconds since 1970 of `2026-05-20T08:45:02.889Z`. Times without a zone are only comparable with each
/// other.
fn unix_us(text: &str) -> Option<f64> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (date, time) = text.split_once('T')?;
    let part = |text: &str, at: usize, by: char| text.split(by).nth(at)?.parse::<f64>().ok();
    let whole = |at: usize| date.split('-').nth(at)?.parse::<i64>().ok();
    let (year, month, day) = (whole(0)?, whole(1)?, whole(2)?);
    // Years begin in March, so that the leap day is the last.
    let year = if month <= 2 { year.checked_sub(1)? } else { year };
    let since_march = (month + 9) % 12;
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * since_march + 2) / 5 + day - 719_469;
    let (hours, minutes, seconds) = (part(time, 0, ':')?, part(time, 1, ':')?, part(time, 2, ':')?);
    Some((days as f64 * 86_400.0 + hours * 3600.0 + minutes * 60.0 + seconds) * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::{Step, UnifiedProfile};

    /// Creates a capture at `time`, with steps of 200 ms that are numbered from `step`.
    fn at(time: &str, step: u64) -> Subject {
        let mut profile = UnifiedProfile::default();
        profile.metadata.timestamp = Some(format!("2026-03-01T{time}Z"));
        profile.metadata.num_devices = 4;
        profile.step_timing.step_count_source = "step_num".to_owned();
        profile.step_timing.avg_step_time_us = Some(200_000.0);
        profile.steps = (0..6)
            .map(|index| Step {
                index,
                name: Some((step + index).to_string()),
                duration_us: 200_000.0,
                counted: true,
                ..Step::default()
            })
            .collect();
        Subject { dollars_per_device_hour: Some(3.0), ..Subject::new(profile) }
    }

    #[test]
    fn time_without_steps_is_lost() {
        // In the first 1800 s, 8000 steps take 1600 s. 600 s later the job has restarted from step 7500. In the last 600 s, 3000
        // steps take all of the time.
        let captures = [at("10:00:00", 1000), at("10:30:00", 9000), at("10:40:00.000", 7500), at("10:50:00", 10_500)];
        let found = progress(&captures).unwrap();
        let lost: Vec<f64> = found.intervals.iter().map(|it| ((it.wall_us - it.productive_us) / 1e6).round()).collect();
        assert_eq!(lost, [200.0, 600.0, 0.0]);
        assert_eq!(found.intervals.iter().map(|it| it.restarts).collect::<Vec<_>>(), [false, true, false]);
        assert!((found.goodput_percent - 100.0 * 2200.0 / 3000.0).abs() < 1e-6, "{found:?}");
        assert!((found.lost_device_hours - 4.0 * 800.0 / 3600.0).abs() < 1e-9);
        assert!(found.lost_dollars.is_some_and(|it| (it - 12.0 * 800.0 / 3600.0).abs() < 1e-9));
    }

    #[test]
    fn other_runs_have_no_progress() {
        // The same step twice, more steps than fit in the time, and no time.
        assert_eq!(progress(&[at("10:00:00", 5), at("10:00:01", 1_000_000)]), None);
        assert_eq!(progress(&[at("10:10:00", 7), at("10:20:00", 3)]), None);
        assert_eq!(progress(&[at("x", 7), at("10:20:00", 9)]), None);
        assert_eq!(progress(&[at("10:00:00", 5)]), None);
    }

    #[test]
    fn times_are_read() {
        assert_eq!(unix_us("1970-01-01T00:00:00Z"), Some(0.0));
        assert_eq!(unix_us("2026-05-20T08:45:02.5Z"), Some(1_779_266_702.5e6));
        assert_eq!((unix_us("2024-02-29T00:00:00").map(|us| us / 86_400e6), unix_us("later")), (Some(19_782.0), None));
    }
}
