//! Decides whether the runs of a comparison have the same value for a condition.

use super::{FairnessStatus, Subject};

/// Returns the names of the runs without a value, for use in a sentence.
pub(crate) fn missing(subjects: &[Subject], values: &[Option<String>]) -> String {
    let without = |(subject, value): (&Subject, &Option<String>)| value.is_none().then(|| subject.name.clone());
    let names: Vec<String> = subjects.iter().zip(values).filter_map(without).collect();
    match names.len() {
        0 => "every run for every dimension".to_owned(),
        all if all == subjects.len() => "any run".to_owned(),
        _ => names.join(", "),
    }
}

/// Compares the values that the runs have for a condition. If two values differ, the result is `Differs`, even if a
/// third run has no value.
pub(crate) fn status(values: &[Option<String>]) -> FairnessStatus {
    let mut known = values.iter().flatten();
    let first = known.next();
    match (known.any(|value| Some(value) != first), values.iter().any(Option::is_none)) {
        (true, _) => FairnessStatus::Differs,
        (false, true) => FairnessStatus::Unknown,
        (false, false) => FairnessStatus::Same,
    }
}
