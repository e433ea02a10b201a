//! Defines how the user chooses the part of a run that is measured.

use std::fmt;
use std::str::FromStr;

use base::format::shorten;
use base::number;

/// The part of a run that is measured. As text, a choice is written as `main`, `all`, `active`, `steps:3-98`, `steps:7`
/// or `1500-2500` (microseconds).
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum WindowChoice {
    /// The counted steps. If the steps are unknown, each device is measured from its first op to its last op.
    #[default]
    Main,
    /// The whole capture.
    All,
    /// From the first op of each device to its last op.
    Active,
    /// From a first step to a last step, both included. These steps need not be counted steps.
    Steps {
        /// Name of the first step, or its index if steps have no names.
        first: String,
        /// Name of the last step, or its index if steps have no names.
        last: String,
    },
    /// A time range that is the same for all devices.
    Range {
        /// Start of the range, in microseconds from the start of the capture.
        from_us: f64,
        /// End of the range, in microseconds from the start of the capture.
        to_us: f64,
    },
}

/// Description of valid choices, for error messages.
const EXPECTED: &str = "A window is main, all, active, steps:FIRST-LAST (or steps:N), or FROM-TO in microseconds from \
    the start of the capture.";

impl FromStr for WindowChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<WindowChoice, String> {
        let wrong = || format!("\"{}\" is not a window. {EXPECTED}", shorten(text, 60));
        match text {
            "main" => return Ok(WindowChoice::Main),
            "all" => return Ok(WindowChoice::All),
            "active" => return Ok(WindowChoice::Active),
            _ => {}
        }
        if let Some(steps) = text.strip_prefix("steps:") {
            let (first, last) = pair(steps).unwrap_or((steps, steps));
            let is_name = |name: &str| !name.is_empty() && !name.contains(char::is_whitespace);
            if !is_name(first) || !is_name(last) {
                return Err(wrong());
            }
            return Ok(WindowChoice::Steps { first: first.to_owned(), last: last.to_owned() });
        }
        let number = |text: &str| number::decimal(text).filter(|number| *number >= 0.0);
        let range = pair(text).and_then(|(from, to)| Some((number(from)?, number(to)?)));
        match range.filter(|(from, to)| to > from) {
            Some((from_us, to_us)) => Ok(WindowChoice::Range { from_us, to_us }),
            None => Err(wrong()),
        }
    }
}

/// Splits a text at the first `-` that is not a sign.
fn pair(text: &str) -> Option<(&str, &str)> {
    let (at, _) = text.char_indices().skip(1).find(|(_, c)| *c == '-')?;
    let (first, rest) = text.split_at(at);
    Some((first, rest.strip_prefix('-')?))
}

impl fmt::Display for WindowChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WindowChoice::Main => f.write_str("main"),
            WindowChoice::All => f.write_str("all"),
            WindowChoice::Active => f.write_str("active"),
            WindowChoice::Steps { first, last } if first == last => write!(f, "steps:{first}"),
            WindowChoice::Steps { first, last } => write!(f, "steps:{first}-{last}"),
            WindowChoice::Range { from_us, to_us } => write!(f, "{from_us}-{to_us}"),
        }
    }
}

impl From<WindowChoice> for String {
    fn from(choice: WindowChoice) -> String {
        choice.to_string()
    }
}

impl TryFrom<String> for WindowChoice {
    type Error = String;

    fn try_from(text: String) -> Result<WindowChoice, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_read_as_it_is_written() {
        for text in ["main", "all", "active", "steps:3-98", "steps:7", "steps:-2--1", "1500-2500", "0.5-1.25"] {
            assert_eq!(text.parse::<WindowChoice>().map(|choice| choice.to_string()).as_deref(), Ok(text));
        }
        let steps = "steps:-2--1".parse();
        assert_eq!(steps, Ok(WindowChoice::Steps { first: "-2".into(), last: "-1".into() }));
        assert_eq!("3-7".parse(), Ok(WindowChoice::Range { from_us: 3.0, to_us: 7.0 }));
    }

    #[test]
    fn an_invalid_window_is_refused() {
        for text in ["", "steps", "steps:", "steps:3-", "7-3", "3-3", "-3-7", "3", "inf-inf", "a-b", "steps:3 -4"] {
            assert!(text.parse::<WindowChoice>().is_err(), "{text}");
        }
        let message = "x".repeat(70_000).parse::<WindowChoice>().unwrap_err();
        assert!(message.starts_with("\"xxx") && message.len() < 300, "{message}");
    }
}
