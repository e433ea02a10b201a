//! Compares the work of the devices in a step, separately from the step time.
//!
//! A step time includes noise from the host, such as launch delays, late input and waits. The work that a step launches
//! does not include this noise, so the work has its own test.
//!
//! ```text
//! step time       82  109  166  126     against   84  75  77  79      not proven
//! device work    122  124  126  123     against   74  73  75  74      +67 %, proven
//! ```

use super::difference::{Difference, between};
use super::level::Level;
use super::{StepTimeVerdict, Subject};
use base::format;
use report::{Step, UnifiedProfile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Quantity that a [`WorkChange`] compares, per step per device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkMeasure {
    /// Time during which at least one op of the step runs, in microseconds.
    #[default]
    Time,
    /// Number of ops in the step.
    Ops,
    /// Number of copies in one direction.
    Copies,
}

/// Result of the test of a [`WorkChange`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkVerdict {
    /// The run does more work than the baseline, beyond the noise and the threshold.
    More,
    /// The run does less work than the baseline, beyond the noise and the threshold.
    Less,
    /// The work differs from the baseline's by less than the threshold.
    Same,
    /// The work is identical to the work of the baseline.
    Equal,
    /// No difference is proven.
    WithinNoise,
    /// The work was not measured in one of the runs.
    #[default]
    Unknown,
}

/// Work of the devices in a step of the run, compared with a step of the baseline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkChange {
    /// Index of the run.
    pub run: u32,
    /// Measured quantity: `time` (microseconds), `ops` or `copies`.
    pub measure: WorkMeasure,
    /// Display name of the measure.
    pub title: String,
    /// Typical value of the run and of the baseline, per step per device.
    pub values: [f64; 2],
    /// Half the width of the 95 % confidence interval of the difference. Absent if the noise is
    /// unknown.
    pub margin: Option<f64>,
    /// Result of the test of the difference.
    pub verdict: WorkVerdict,
}

impl WorkChange {
    /// Returns the run's value minus the baseline's value.
    pub fn delta(&self) -> f64 {
        self.values[0] - self.values[1]
    }
}

/// Directions of copies, with their display names.
const COPIES: [(&str, &str); 4] = [
    ("h2d", "copies from the host"),
    ("d2h", "copies to the host"),
    ("d2d", "device-to-device copies"),
    ("p2p", "copies between devices"),
];

/// Returns the changes of the work per step per device: time of the ops, number of ops, and copies by direction.
pub(crate) fn changes(run: usize, subject: &Subject, baseline: &Subject, threshold: f64) -> Vec<WorkChange> {
    let of = |measure, title: &str, difference: Option<Difference>| {
        difference.map(|difference| change(run, measure, title, &difference, threshold))
    };
    let of_steps = |value: fn(&Step) -> Option<f64>| between(subject, baseline, |profile| level(profile, value));
    let time = of(WorkMeasure::Time, "device work per step", of_steps(|step| step.device_work_us));
    // A profile that lacks the time of device work defines the number of ops differently.
    let ops = of(WorkMeasure::Ops, "ops per step", of_steps(|step| step.device_work_us.map(|_| step.num_kernels)));
    let copies = COPIES.iter().filter_map(|&(direction, title)| {
        let count = |subject: &Subject| copies_per_step(&subject.profile, direction);
        let (ours_us, theirs_us) = (count(subject)?, count(baseline)?);
        let difference = Difference { ours_us, theirs_us, basis: Default::default(), noise: None };
        of(WorkMeasure::Copies, title, Some(difference)).filter(|it| it.values != [0.0, 0.0])
    });
    time.into_iter()
        .chain(ops)
        .chain(copies.filter(|_| subject.group.is_empty() && baseline.group.is_empty()))
        .collect()
}

fn change(run: usize, measure: WorkMeasure, title: &str, difference: &Difference, threshold: f64) -> WorkChange {
    let verdict = match difference.verdict(threshold) {
        StepTimeVerdict::Equal => WorkVerdict::Equal,
        StepTimeVerdict::Same => WorkVerdict::Same,
        StepTimeVerdict::Faster => WorkVerdict::Less,
        StepTimeVerdict::Slower => WorkVerdict::More,
        StepTimeVerdict::WithinNoise | StepTimeVerdict::Unstable => WorkVerdict::WithinNoise,
        StepTimeVerdict::Unknown => WorkVerdict::Unknown,
    };
    WorkChange {
        run: run as u32,
        measure,
        title: title.to_owned(),
        values: [difference.ours_us, difference.theirs_us],
        margin: difference.margin_us(),
        verdict,
    }
}

/// Returns the typical value of a quantity over the counted steps of a capture.
fn level(profile: &UnifiedProfile, value: fn(&Step) -> Option<f64>) -> Option<Level> {
    let values: Option<Vec<f64>> = profile.steps.iter().filter(|step| step.counted).map(value).collect();
    Level::of_values(&values?)
}

/// Returns the number of copies in one direction, per step per device. Returns `None` if the steps are unknown.
fn copies_per_step(profile: &UnifiedProfile, direction: &str) -> Option<f64> {
    let device_steps = profile.step_ops.as_ref()?.device_steps;
    profile.step_timing.num_steps_counted.filter(|_| device_steps > 0)?;
    let transfers = profile.memory_operations.as_ref()?.transfers.iter().filter(|it| it.direction == direction);
    Some(transfers.map(|it| it.count).sum::<u64>() as f64 / device_steps as f64)
}

/// Returns the sentence about the work of a step. Returns `None` unless the time or the number of
/// ops is known to differ.
pub(crate) fn sentence(changes: &[&WorkChange]) -> Option<String> {
    let of = |measure| changes.iter().find(|it| it.measure == measure);
    let differs = |it: &&&WorkChange| matches!(it.verdict, WorkVerdict::More | WorkVerdict::Less);
    let (time, ops) = (of(WorkMeasure::Time), of(WorkMeasure::Ops));
    let told: Vec<String> = [time.filter(differs).or(ops.filter(differs).and(time)), ops.filter(differs)]
        .into_iter()
        .flatten()
        .map(|it| of_change(it))
        .collect();
    if told.is_empty() {
        return None;
    }
    // The direction whose number of copies changes most is the most informative.
    let copies = changes.iter().filter(|it| it.measure == WorkMeasure::Copies).filter(differs);
    let most = copies.max_by(|a, b| a.delta().abs().total_cmp(&b.delta().abs()));
    let copies = most.filter(|_| ops.is_some_and(|ops| differs(&ops))).map_or_else(String::new, |it| {
        format!(" {} went from {} to {} per step.", capitalized(&it.title), number(it.values[1]), number(it.values[0]))
    });
    Some(format!("{}.{copies}", capitalized(&told.join("; "))))
}

/// Describes one change: `device work per step: 124 ms against 74.0 ms (+67.6 %, proven)`.
fn of_change(change: &WorkChange) -> String {
    let [ours, theirs] = change.values;
    let shown = |value: f64| if change.measure == WorkMeasure::Time { format::time_us(value) } else { number(value) };
    let certainty = match (change.verdict, change.margin) {
        (WorkVerdict::More | WorkVerdict::Less, Some(_)) => "proven",
        (WorkVerdict::More | WorkVerdict::Less, None) => "the noise is unknown",
        (WorkVerdict::Equal | WorkVerdict::Same, _) => "the same",
        _ => "not proven",
    };
    let percent = if theirs > 0.0 { 100.0 * (ours / theirs - 1.0) } else { f64::INFINITY };
    let sign = if percent < 0.0 { "\u{2212}" } else { "+" };
    let percent =
        if percent.is_finite() { format!("{sign}{}, ", format::percent(percent.abs())) } else { String::new() };
    format!("{}: {} against {} ({percent}{certainty})", change.title, shown(ours), shown(theirs))
}

fn number(count: f64) -> String {
    if (count - count.round()).abs() < 0.05 { format::count(count.round() as u64) } else { format::number(count) }
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::StepTiming;

    fn run(steps: &[(f64, f64, f64)]) -> Subject {
        let step = |&(duration_us, work_us, num_kernels): &(f64, f64, f64)| Step {
            duration_us,
            device_work_us: Some(work_us),
            num_kernels,
            counted: true,
            ..Step::default()
        };
        let mean = steps.iter().map(|it| it.0).sum::<f64>() / steps.len() as f64;
        let step_timing = StepTiming {
            num_steps: steps.len() as u64,
            num_steps_counted: Some(steps.len() as u64),
            avg_step_time_us: Some(mean),
            ..StepTiming::default()
        };
        Subject::new(UnifiedProfile {
            step_timing,
            steps: steps.iter().map(step).collect(),
            ..UnifiedProfile::default()
        })
    }

    #[test]
    fn noisy_steps_do_not_hide_more_work() {
        let new = run(&[(82.0, 122.0, 1555.0), (109.0, 124.0, 1555.0), (166.0, 126.0, 1555.0), (126.0, 123.0, 1555.0)]);
        let base = run(&[(84.0, 74.0, 1428.0), (75.0, 73.0, 1428.0), (77.0, 75.0, 1428.0), (79.0, 74.0, 1428.0)]);
        let step_time = between(&new, &base, Level::typical).unwrap();
        assert!(!step_time.is_proven(0.01), "{step_time:?}");
        let changes = changes(1, &new, &base, 0.01);
        let found: Vec<_> = changes.iter().map(|it| (it.measure, it.verdict)).collect();
        assert_eq!(found, [(WorkMeasure::Time, WorkVerdict::More), (WorkMeasure::Ops, WorkVerdict::More)]);
        let sentence = sentence(&changes.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(
            sentence,
            "Device work per step: 124 µs against 74.0 µs (+67.2 %, proven); ops per step: 1\u{202f}555 against 1\u{202f}428 (+8.9 %, proven)."
        );
    }

    #[test]
    fn the_same_work_is_no_sentence() {
        let steps = [(84.0, 74.0, 1428.0), (75.0, 73.0, 1428.0), (77.0, 75.0, 1428.0)];
        let changes = changes(1, &run(&steps), &run(&steps), 0.01);
        assert!(changes.iter().all(|it| it.verdict == WorkVerdict::Equal), "{changes:?}");
        assert_eq!(sentence(&changes.iter().collect::<Vec<_>>()), None);
    }
}
