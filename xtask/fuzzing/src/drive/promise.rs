//! Promises that all results must keep, whatever the input is.

use std::fmt::Debug;

use serde_json::Value;

use super::Kept;

/// Checks that two ways of computing a result agree.
pub(super) fn equal<T: PartialEq + Debug>(what: &str, ours: &T, theirs: &T) -> Kept {
    if ours == theirs {
        return Ok(());
    }
    let (ours, theirs) = (format!("{ours:?}"), format!("{theirs:?}"));
    let same = ours.bytes().zip(theirs.bytes()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| {
        String::from_utf8_lossy(&text.as_bytes()[same.saturating_sub(150)..text.len().min(same + 150)]).into_owned()
    };
    Err(format!("The two results differ for {what}:\n  {}\n  {}", around(&ours), around(&theirs)))
}

/// Checks that no number in the value is infinite or NaN. The check reads the debug form, because serde writes such
/// numbers as null in JSON.
pub(super) fn finite<T: Debug>(what: &str, value: &T) -> Kept {
    let text = format!("{value:?}");
    let mut in_text = false;
    let mut escaped = false;
    let mut word_start = 0;
    for (at, byte) in text.bytes().enumerate() {
        if in_text {
            (in_text, escaped) = (byte != b'"' || escaped, byte == b'\\' && !escaped);
        } else if byte == b'"' {
            in_text = true;
        } else if !byte.is_ascii_alphanumeric() && byte != b'_' {
            if matches!(&text[word_start..at], "NaN" | "inf") {
                let before = String::from_utf8_lossy(&text.as_bytes()[at.saturating_sub(200)..at]).into_owned();
                return Err(format!("A number of {what} is not finite: ...{before}"));
            }
            word_start = at + 1;
        }
        if in_text {
            word_start = at + 1;
        }
    }
    Ok(())
}

/// Checks a text that is written to terminals. The text must not move the cursor or change the direction of text.
pub(super) fn plain(what: &str, text: &str) -> Kept {
    let acts = |c: &char| {
        (c.is_control() && *c != '\n')
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    match text.lines().find_map(|line| line.chars().find(acts).map(|found| (found, line))) {
        Some((found, line)) => {
            let line: String = line.chars().take(300).collect();
            Err(format!("{what} contains {found:?}: {line:?}"))
        }
        None => Ok(()),
    }
}

/// Checks that a document is valid JSON in which every number is present.
pub(super) fn json(what: &str, text: &str, nulls: bool) -> Kept {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("{what} is not JSON: {error}"))?;
    if nulls {
        return Ok(());
    }
    match path_of_null(&value) {
        Some(path) => Err(format!("{what} contains null at {path}")),
        None => Ok(()),
    }
}

fn path_of_null(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some(String::new()),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(index, item)| Some(format!("[{index}]{}", path_of_null(item)?)))
        }
        Value::Object(fields) => fields.iter().find_map(|(key, item)| Some(format!(".{key}{}", path_of_null(item)?))),
        _ => None,
    }
}

/// Checks that the percentages of a measured report are between 0 and 100. There are two exceptions: rates may exceed a
/// device's peak rates, and required memory may exceed the memory of the device.
pub(super) fn shares(what: &str, text: &str) -> Kept {
    fn outside(key: &str, value: &Value) -> Option<String> {
        match value {
            Value::Number(number) if key.ends_with("percent") || key.ends_with("_pct") => {
                let share = number.as_f64().unwrap_or(f64::NAN);
                (!(0.0..=100.0 + 1e-9).contains(&share)).then(|| format!(" = {number}"))
            }
            Value::Array(items) => items.iter().find_map(|item| outside(key, item)),
            Value::Object(fields) => {
                let measured = fields.iter().filter(|(key, _)| *key != "roofline" && *key != "memory");
                measured.into_iter().find_map(|(key, value)| Some(format!(".{key}{}", outside(key, value)?)))
            }
            _ => None,
        }
    }
    let value: Value = serde_json::from_str(text).map_err(|error| format!("{what} is not JSON: {error}"))?;
    outside("", &value)
        .map_or(Ok(()), |found| Err(format!("{what} contains a percentage outside of 0 to 100: {found}")))
}

/// Checks that markup in names stays text on a page. Mutations write such markup into names.
pub(super) fn inert(what: &str, page: &str) -> Kept {
    match page.find(crate::mutate::MARKUP) {
        Some(at) => {
            let around = String::from_utf8_lossy(&page.as_bytes()[at.saturating_sub(80)..page.len().min(at + 80)]);
            Err(format!("{what} contains markup of the input: {around}"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_promises_are_seen() {
        assert!(finite("it", &vec![1.0, f64::NAN]).is_err());
        assert!(finite("it", &(f64::NEG_INFINITY, "inf")).is_err());
        assert!(finite("it", &("NaN, \"inf", "inf", 1.0)).is_ok());
        assert!(plain("it", "a\u{202e}b").is_err() && plain("it", "a\u{1b}[2J").is_err());
        assert!(plain("it", "two\nlines").is_ok());
        assert!(json("it", "{\"a\": [1, null]}", false).is_err_and(|message| message.ends_with(".a[1]")));
        assert!(
            shares("it", "{\"a\": [{\"b_percent\": 101}]}")
                .is_err_and(|message| message.ends_with(".a.b_percent = 101"))
        );
        assert!(shares("it", "{\"a\": 101, \"percent\": 100, \"roofline\": {\"mfu_percent\": 120}}").is_ok());
        assert!(inert("it", &format!("<p>{}</p>", crate::mutate::MARKUP)).is_err());
        assert!(equal("it", &1, &2).is_err());
    }
}
