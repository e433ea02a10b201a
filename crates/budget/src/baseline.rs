//! The value of `baseline` in a bound: the number of one run, or the median of a group of runs.

use serde_json::Value;

use report::SourceFormat;

/// Message if a multiple of the baseline overflows.
pub(super) const UNBOUNDED: &str = "The bound computed from the baseline is not a finite number.";

/// One number of the baseline, summarised over all baseline runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reference {
    /// Number of the only run, or the median of the numbers of several runs. For an even number of runs, the mean of
    /// the middle two.
    pub median: f64,
    /// Smallest number among the runs.
    pub least: f64,
    /// Largest number among the runs.
    pub most: f64,
    /// Number of baseline runs.
    pub runs: usize,
}

impl Reference {
    /// Summarises `number` over the runs of a baseline.
    ///
    /// # Errors
    ///
    /// Fails if there are no runs, or if a run lacks the number, because a median over the other runs would describe a
    /// different group.
    pub(super) fn of<T>(baselines: &[T], number: impl Fn(&T) -> Result<f64, String>) -> Result<Reference, String> {
        let mut numbers = baselines.iter().map(number).collect::<Result<Vec<f64>, String>>()?;
        numbers.sort_by(f64::total_cmp);
        let at = |index: usize| numbers.get(index).copied();
        let middle = numbers.len() / 2;
        let (Some(least), Some(most), Some(above)) = (at(0), numbers.last().copied(), at(middle)) else {
            return Err("No baseline was given.".to_owned());
        };
        let median = match at(middle.wrapping_sub(1)) {
            Some(below) if numbers.len() % 2 == 0 => 0.5 * below + 0.5 * above,
            _ => above,
        };
        Ok(Reference { median, least, most, runs: numbers.len() })
    }
}

/// Rewrites a message about a run as a message about the baseline.
pub(super) fn of_baseline(reason: &str) -> String {
    match reason.strip_prefix("This run ") {
        Some(rest) => format!("The baseline {rest}"),
        None => format!("Baseline: {reason}"),
    }
}

/// Returns true if another tool wrote the profile. Other tools do not look for findings.
pub(super) fn is_imported(profile: &Value) -> bool {
    let format = profile.pointer("/metadata/source_format").and_then(Value::as_str);
    format.and_then(SourceFormat::named) == Some(SourceFormat::UnifiedProfile)
}
