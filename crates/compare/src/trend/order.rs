//! Determines the order of runs in time, from their names or their capture times.

use super::super::{OrderedBy, Subject};
use base::sort;

/// Run with its position in time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OrderedRun {
    /// Index of the run.
    pub index: usize,
    /// Position in time for display: `1000`, or a timestamp.
    pub label: String,
    /// Sort key of the run.
    key: PlaceKey,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PlaceKey {
    TrainingStep(u64),
    /// Date and time to the second, then the fraction.
    Time(String, String),
}

/// Returns the runs in order and the source of the order. Returns `None` if no source covers all
/// runs, or if two runs have the same position.
pub(super) fn places(subjects: &[Subject]) -> Option<(OrderedBy, Vec<OrderedRun>)> {
    let by = |place: &dyn Fn(&Subject) -> Option<(PlaceKey, String)>| {
        let places = subjects.iter().enumerate().map(|(index, subject)| {
            let (key, label) = place(subject)?;
            Some(OrderedRun { index, label, key })
        });
        let mut places: Vec<OrderedRun> = places.collect::<Option<_>>()?;
        sort::sort_by_key(&mut places, |place| place.key.clone());
        places.windows(2).all(|pair| matches!(pair, [a, b] if a.key != b.key)).then_some(places)
    };
    let by_step = by(&|subject| {
        let step = step_of(subject)?;
        Some((PlaceKey::TrainingStep(step), step.to_string()))
    });
    if let Some(places) = by_step {
        return Some((OrderedBy::TrainingStep, places));
    }
    // A capture on different devices is a different experiment, not a later run.
    let devices = |subject: &Subject| {
        let metadata = &subject.profile.metadata;
        (metadata.platform.clone(), metadata.num_devices, metadata.experiment_name.clone())
    };
    let zone = |subject: &Subject| subject.profile.metadata.timestamp.as_ref().map(|time| time.ends_with('Z'));
    let first = subjects.first()?;
    if subjects.iter().any(|subject| devices(subject) != devices(first) || zone(subject) != zone(first)) {
        return None;
    }
    let by_time = by(&|subject| {
        let timestamp = subject.profile.metadata.timestamp.as_deref()?;
        Some((time_key(timestamp)?, timestamp.to_owned()))
    });
    by_time.map(|places| (OrderedBy::Timestamp, places))
}

/// Returns the training step in the name of a run. If the name contains no training step, searches the folders of the
/// path, innermost first.
pub(crate) fn step_of(subject: &Subject) -> Option<u64> {
    let metadata = &subject.profile.metadata;
    let names = [Some(subject.name.as_str()), metadata.run_name.as_deref()];
    let folders = metadata.trace_file.rsplit(['/', '\\']);
    names.into_iter().flatten().chain(folders).find_map(training_step)
}

/// Parses the last training step in a name: `1000` for `step_00001000`, `step1000` and
/// `train-step=1000.json`.
fn training_step(name: &str) -> Option<u64> {
    let name = name.to_ascii_lowercase();
    name.rmatch_indices("step").find_map(|(at, word)| {
        // `timestep` is not a training step.
        let before = name.get(..at)?.bytes().next_back();
        if before.is_some_and(|byte| byte.is_ascii_alphanumeric()) {
            return None;
        }
        let rest = name.get(at + word.len()..)?;
        let rest = rest.strip_prefix('s').unwrap_or(rest);
        let rest = rest.strip_prefix(['_', '-', '=', ':', ' ']).unwrap_or(rest);
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        rest.get(..digits)?.parse().ok()
    })
}

/// Returns the key of `2025-01-31T10:00:00`, with or without a fraction and `Z`. Returns `None` for
/// any other text.
fn time_key(timestamp: &str) -> Option<PlaceKey> {
    let text = timestamp.strip_suffix('Z').unwrap_or(timestamp);
    let (second, fraction) = text.split_once('.').unwrap_or((text, ""));
    let pattern = b"dddd-dd-ddTdd:dd:dd";
    let fits = |(byte, want): (u8, &u8)| if *want == b'd' { byte.is_ascii_digit() } else { byte == *want };
    let is_time = second.len() == pattern.len() && second.bytes().zip(pattern).all(fits);
    let is_fraction = fraction.bytes().all(|byte| byte.is_ascii_digit());
    // Without trailing zeros, fractions sort correctly as text.
    (is_time && is_fraction).then(|| PlaceKey::Time(second.to_owned(), fraction.trim_end_matches('0').to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_hold_a_training_step() {
        for (name, step) in [
            ("step_00000100", Some(100)),
            ("step_1000", Some(1000)),
            ("Train-Step=7.json", Some(7)),
            ("qwen_step2_step 30", Some(30)),
            ("steps_5", Some(5)),
            ("step12", Some(12)),
            ("step_", None),
            ("timestep_5", None),
            ("7steps", None),
            ("step_99999999999999999999999", None),
            ("", None),
            ("stép_3", None),
        ] {
            assert_eq!(training_step(name), step, "{name}");
        }
    }

    #[test]
    fn times_are_in_order() {
        let texts =
            ["2025-01-31T10:00:00Z", "2025-01-31T10:00:00.05Z", "2025-01-31T10:00:00.5Z", "2025-01-31T10:00:01Z"];
        let keys: Vec<_> = texts.into_iter().map(|text| time_key(text).unwrap()).collect();
        assert!(keys.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(time_key("2025-01-31T10:00:00.50"), time_key("2025-01-31T10:00:00.5"));
        for other in ["", "2025-01-31", "2025-01-31T10:00:00+01:00", "2025-01-31 10:00:00", "2025-01-31T10:00:00.x"] {
            assert_eq!(time_key(other), None, "{other}");
        }
    }
}
