//! Formats the evidence of a finding for display: `recompilation_percent` of 75.9 becomes "Recompilation" and "75.9 %".

use base::format;
use report::{Evidence, Finding};

/// Formats the evidence as labels and values. Numbers for the same thing in several units share a
/// line: `Copy done: 96.9 %, 760 ms`.
pub(crate) fn lines(evidence: &[Evidence]) -> Vec<(String, String)> {
    let mut lines: Vec<(String, String)> = Vec::new();
    for it in evidence {
        let (label, value) = (label(it), value(it));
        match lines.iter_mut().find(|(known, _)| *known == label) {
            Some((_, values)) => values.push_str(&format!(", {value}")),
            None => lines.push((label, value)),
        }
    }
    lines
}

fn label(evidence: &Evidence) -> String {
    let (stem, _) = stem_and_unit(&evidence.name);
    if stem == "copy_done" {
        return "Waiting for copies".to_owned();
    }
    let words = stem.split('_').map(|word| match word {
        "h2d" => "host to device",
        "d2h" => "device to host",
        "hlo" => "HLO",
        "io" => "I/O",
        word => word,
    });
    let text = words.collect::<Vec<_>>().join(" ");
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Formats the value of a piece of evidence with its unit and the limit that it exceeded.
fn value(evidence: &Evidence) -> String {
    let (_, unit) = stem_and_unit(&evidence.name);
    let limit = evidence.threshold.map(|limit| format!(" (limit {})", with_unit(limit, unit)));
    format!("{}{}", with_unit(evidence.value, unit), limit.unwrap_or_default())
}

/// Formats a rule that could not be checked: its title as a question, and the missing input.
pub(crate) fn unchecked(finding: &Finding) -> (String, String) {
    let why = finding.message.strip_prefix("Not checked: ").unwrap_or(&finding.message);
    let mut letters = why.chars();
    let why = letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect());
    (format!("{}?", finding.title), why)
}

/// Splits the unit off the end of a name. A name that is only a unit (`bytes`) is both.
fn stem_and_unit(name: &str) -> (&str, &str) {
    match name.rsplit_once('_') {
        Some((stem, unit @ ("percent" | "pct" | "us" | "bytes" | "tflops"))) => (stem, unit),
        _ => (name, name),
    }
}

fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "percent" | "pct" => format::percent(value),
        "us" => format::time_us(value),
        "bytes" if value >= 0.0 => format::bytes(value as u64),
        "tflops" => format::si(1e12 * value, "FLOP/s"),
        // A count.
        _ if value.fract() == 0.0 && value >= 0.0 => format::count(value as u64),
        _ => format::number(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &str, value: f64, threshold: Option<f64>) -> String {
        let evidence = Evidence { name: name.to_owned(), value, threshold };
        format!("{}: {}", label(&evidence), super::value(&evidence))
    }

    #[test]
    fn numbers_of_one_thing_are_one_line() {
        let of = |name: &str, value| Evidence { name: name.to_owned(), value, threshold: None };
        let evidence = [of("copy_done_percent", 96.9), of("compute_us", 24.0), of("copy_done_us", 760.0)];
        let said = lines(&evidence).into_iter().map(|(label, value)| format!("{label}: {value}"));
        assert_eq!(said.collect::<Vec<_>>(), ["Waiting for copies: 96.9 %, 760 µs", "Compute: 24.0 µs"]);
    }

    #[test]
    fn a_name_is_words_and_its_end_is_the_unit() {
        assert_eq!(said("recompilation_percent", 75.91, Some(20.0)), "Recompilation: 75.9 % (limit 20.0 %)");
        assert_eq!(said("longest_gap_us", 54.6, None), "Longest gap: 54.6 µs");
        assert_eq!(said("bytes", 2048.0, None), "Bytes: 2.00 KiB");
        assert_eq!(said("h2d_percent", 8.0, None), "Host to device: 8.0 %");
        assert_eq!(said("needed_tflops", 2.5, None), "Needed: 2.50 TFLOP/s");
        assert_eq!(said("python_frames_per_ms", 30.0, Some(10.0)), "Python frames per ms: 30 (limit 10)");
        assert_eq!(said("", 1.0, None), ": 1");
        assert_eq!(said("slowdown", 1.5, Some(1.1)), "Slowdown: 1.50 (limit 1.10)");
    }
}
