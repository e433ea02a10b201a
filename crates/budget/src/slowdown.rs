//! The slowdown of a run compared with its baseline, if the slowdown exceeds the noise. Defines `slower` in budgets and
//! in `--fail-on`.
//!
//! ```text
//! slower           the typical steps if the comparison's verdict is `slower`, or else 0 %
//! capture slower   all steps, with compilation, warm-up and stalls if they differ by more than the threshold and
//!                  than the noise of the typical steps, or else 0 %
//! ```

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use super::baseline::of_baseline;
use super::path::Path;
use base::{format, suggest};
use compare::{CaptureTime, Comparison, Options, StepTimeChange, StepTimeVerdict, Subject, TimeLossKind};
use expression::combinator::alt;
use expression::{Error, Input, Parsed, Parser, blank, expected, keyword};
use report::UnifiedProfile;

/// The compared steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowdownOf {
    /// The typical step.
    TypicalStep,
    /// All steps of the captures.
    Capture,
}

/// Slowdown of a run compared with its baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Slowdown {
    /// Slowdown in percent of the baseline's time. Zero if the slowdown may be noise.
    pub percent: f64,
    /// Describes the times of the run and the baseline, their difference, and why the difference is not noise. Ends
    /// without a full stop.
    pub sentence: String,
}

/// Writes the slowdown in the syntax of rules.
impl std::fmt::Display for SlowdownOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            SlowdownOf::TypicalStep => "slower",
            SlowdownOf::Capture => "capture slower",
        })
    }
}

impl SlowdownOf {
    /// Reads the keywords. Backtracks if the text does not begin with the keywords.
    pub(super) fn parser(input: &mut Input<'_>) -> Parsed<SlowdownOf> {
        const EXPECTED: &str = "The word slower is expected after capture, as in capture slower <= 5 %.";
        let capture = (keyword("capture"), blank, expected(keyword("slower"), EXPECTED));
        alt((keyword("slower").value(SlowdownOf::TypicalStep), capture.value(SlowdownOf::Capture))).parse_next(input)
    }

    /// Suggests a keyword if an unknown path resembles one.
    pub(super) fn meant(path: &Path) -> Option<Error> {
        let word = path.to_string();
        let near = suggest::words(&word, &["slower"]);
        let is_near = !near.is_empty();
        is_near.then(|| Error::new(path.whole_span(), format!("There is no {word}.")).suggest(near))
    }

    /// Returns the slowdown of one run of a comparison.
    ///
    /// # Errors
    ///
    /// Fails with the reason if the slowdown is unknown.
    pub fn of(self, comparison: &Comparison, change: &StepTimeChange) -> Result<Slowdown, String> {
        match self {
            SlowdownOf::TypicalStep => of_typical_step(comparison, change),
            SlowdownOf::Capture => of_capture(comparison, change),
        }
    }

    /// Returns the slowdown of a profile compared with the captures of its baseline.
    ///
    /// # Errors
    ///
    /// Fails with the reason if the slowdown is unknown.
    pub(super) fn of_documents(self, profile: &Value, baselines: &[&Value]) -> Result<Slowdown, String> {
        let read = |value: &Value| {
            UnifiedProfile::deserialize(value).map_err(|error| format!("This run cannot be compared: {error}."))
        };
        let captures = baselines.iter().map(|it| read(it)).collect::<Result<Vec<_>, _>>();
        let captures = captures.map_err(|reason| of_baseline(&reason))?;
        let baseline = Subject::of_captures("the baseline", captures).ok_or("No baseline was given.")?;
        let run = Subject { name: "this run".to_owned(), ..Subject::new(read(profile)?) };
        let comparison = compare::compare(&[baseline, run], &Options::default());
        let change = comparison.step_time.first().ok_or("This run cannot be compared.")?;
        self.of(&comparison, change)
    }
}

fn name(comparison: &Comparison, run: u32) -> &str {
    comparison.runs.get(run as usize).map_or("", |run| run.name.as_str())
}

fn of_typical_step(comparison: &Comparison, change: &StepTimeChange) -> Result<Slowdown, String> {
    let (ours, theirs) = (name(comparison, change.run), name(comparison, comparison.baseline));
    let (Some(step), Some(base)) = (change.typical_us, change.baseline_typical_us) else {
        let lacks = if change.typical_us.is_none() { ours } else { theirs };
        return Err(format!("the steps of {lacks} are unknown"));
    };
    let share = |us: f64| 100.0 * us / base;
    let noise = match change.margin_us {
        _ if step == base => String::new(),
        Some(margin) => {
            format!(
                ", 95 % interval {} to {}",
                signed(share(step - base - margin)),
                signed(share(step - base + margin))
            )
        }
        None => "; the noise is unknown: a run has fewer than two counted steps".to_owned(),
    };
    let least = change.least_provable_us.map(|least| format::percent(share(least)));
    let least = least
        .map(|least| format!("; captures like these can only show differences of {least} or more"))
        .unwrap_or_default();
    let verdict = match change.verdict {
        StepTimeVerdict::Slower => format!("{ours} is slower than {theirs}"),
        StepTimeVerdict::Faster => format!("{ours} is faster than {theirs}"),
        StepTimeVerdict::Same | StepTimeVerdict::Equal => format!("{ours} and {theirs} take the same time"),
        StepTimeVerdict::WithinNoise => format!("no proven difference between {ours} and {theirs}{least}"),
        StepTimeVerdict::Unstable => format!(
            "the captures of one run differ too much from each other to compare {ours} with {theirs}{least}; capture again"
        ),
        StepTimeVerdict::Unknown => return Err(format!("{ours} and {theirs} cannot be compared")),
    };
    let (step_text, base_text) = (format::time_us(step), format::time_us(base));
    Ok(Slowdown {
        percent: if change.verdict == StepTimeVerdict::Slower { share(step - base) } else { 0.0 },
        sentence: format!(
            "{verdict}: a typical step takes {step_text} against {base_text} ({}{noise})",
            signed(share(step - base))
        ),
    })
}

fn of_capture(comparison: &Comparison, change: &StepTimeChange) -> Result<Slowdown, String> {
    let of = |run: u32| -> Result<&CaptureTime, String> {
        let found = comparison.capture_time.iter().find(|time| time.run == run);
        found.ok_or_else(|| format!("the steps of {} are not listed", name(comparison, run)))
    };
    let (time, base) = (of(change.run)?, of(comparison.baseline)?);
    let delta_us = time.us_per_step - base.us_per_step;
    let percent = 100.0 * delta_us / base.us_per_step;
    let is_large = delta_us > comparison.threshold * base.us_per_step;
    let is_proven = change.margin_us.is_none_or(|margin| delta_us > margin);
    let (ours, theirs) = (name(comparison, change.run), name(comparison, comparison.baseline));
    let verdict = match (is_large, is_proven) {
        (true, true) => format!("the capture of {ours} is slower than that of {theirs}"),
        (true, false) => format!("no proven difference between the captures of {ours} and {theirs}"),
        (false, _) => format!("the capture of {ours} is not slower than that of {theirs}"),
    };
    let losses: BTreeSet<&str> = time.losses.iter().map(|loss| lost_to(loss.kind)).collect();
    let losses: Vec<&str> = losses.into_iter().collect();
    let lost = if losses.is_empty() { String::new() } else { format!("; {ours} loses time to {}", losses.join(", ")) };
    Ok(Slowdown {
        percent: if is_large && is_proven { percent } else { 0.0 },
        sentence: format!(
            "{verdict}: a step takes {} against {}, interruptions included ({}){lost}",
            format::time_us(time.us_per_step),
            format::time_us(base.us_per_step),
            signed(percent)
        ),
    })
}

fn lost_to(kind: TimeLossKind) -> &'static str {
    match kind {
        TimeLossKind::Compilation => "compilation",
        TimeLossKind::WarmUp => "warm-up",
        TimeLossKind::Stall => "stalls",
    }
}

/// Formats a percentage with its sign: `+3.0 %`.
fn signed(percent: f64) -> String {
    let sign = if percent < 0.0 { "\u{2212}" } else { "+" };
    format!("{sign}{}", format::percent(percent.abs()))
}
