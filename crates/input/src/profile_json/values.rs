//! Cleans up the values of a document: makes texts printable, and removes numbers that are too large for a measurement.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use base::Severity;
use base::format::printable;
use report::{Confidence, FindingSeverity};

/// Largest value that a measurement may have. Sums, products and ratios of larger numbers could become infinite.
const LARGEST: f64 = 1e30;
/// Numbers below this limit become 0, because a division by such a number could give infinity.
const SMALLEST: f64 = 1e-60;

/// Escapes control characters in every text, and also characters that reorder the text around them. As a result,
/// warnings and remedies can neither control a terminal nor look like other text.
pub(super) fn make_printable(value: &mut Value) {
    match value {
        Value::String(text) => *text = printable(text),
        Value::Array(entries) => entries.iter_mut().for_each(make_printable),
        Value::Object(fields) => fields.values_mut().for_each(make_printable),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Replaces numbers that are too large with null. Returns the number of replacements.
pub(super) fn take_immeasurable(value: &mut Value) -> u64 {
    match value {
        Value::Number(number) => {
            let size = number.as_f64().map_or(f64::INFINITY, f64::abs);
            if size > LARGEST {
                *value = Value::Null;
                return 1;
            }
            if size > 0.0 && size < SMALLEST {
                *value = 0.0.into();
            }
            0
        }
        Value::Array(entries) => entries.iter_mut().map(take_immeasurable).sum(),
        Value::Object(fields) => fields.values_mut().map(take_immeasurable).sum(),
        Value::Null | Value::Bool(_) | Value::String(_) => 0,
    }
}

/// Replaces each unknown severity and confidence with the lowest value. Returns the number of replacements.
pub(super) fn settle_words(document: &mut Value) -> u64 {
    settle(document, "findings", "severity", FindingSeverity::Note)
        + settle(document, "findings", "confidence", Confidence::Low)
        + settle(document, "warnings", "severity", Severity::Note)
}

fn settle<T: Serialize + DeserializeOwned>(document: &mut Value, list: &str, field: &str, fallback: T) -> u64 {
    let entries = document.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
    let words = entries.filter_map(|entry| entry.get_mut(field)).filter(|word| word.is_string());
    let unknown = words.filter(|word| T::deserialize(&**word).is_err());
    let Ok(fallback) = serde_json::to_value(fallback) else { return 0 };
    unknown.map(|word| *word = fallback.clone()).count() as u64
}
#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_made_printable() {
        let mut value = json!({"a": ["\u{0}x\u{61c}", {"b": "\u{1b}[31m"}], "plain": "é"});
        make_printable(&mut value);
        assert_eq!(value, json!({"a": ["\\u{0}x\\u{61c}", {"b": "\\u{1b}[31m"}], "plain": "é"}));
    }

    #[test]
    fn numbers_too_large_for_a_measurement_are_absent() {
        let mut value = json!({"a": [1e308, -1e31, 1e30, u64::MAX], "b": 1e-300, "c": -0.5});
        assert_eq!(take_immeasurable(&mut value), 2);
        assert_eq!(value, json!({"a": [null, null, 1e30, u64::MAX], "b": 0.0, "c": -0.5}));
    }
}
