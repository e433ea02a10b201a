//! Units of fields, and numbers with units. The unit of a field is part of its name.

use base::format;
use expression::{Dimension, Unit};

/// Suffixes of field names and their units. The first suffix that matches is used.
const ENDINGS: &[(&str, &str)] = &[
    ("ms_per_step", "ms"),
    ("gb_per_sec", "GB/s"),
    ("gb_per_s", "GB/s"),
    ("gibps", "GiB/s"),
    ("tflops", "TFLOP/s"),
    ("gflops", "GFLOP/s"),
    ("flops", "FLOP"),
    ("per_sec", "/s"),
    ("per_sec_per_device", "/s"),
    ("us", "us"),
    ("percent", "%"),
    ("pct", "%"),
    ("bytes", "B"),
    ("bytes_accessed", "B"),
];

/// Returns the unit in a field's name. `None` for counts and numbers without a unit. Considers only whole words of the name:
/// `gaps_under_10us` is a count of gaps.
pub(crate) fn of_field(name: &str) -> Option<Unit> {
    let fits = |ending: &str| name.strip_suffix(ending).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'));
    ENDINGS.iter().find(|(ending, _)| fits(ending)).and_then(|(_, symbol)| Unit::named(symbol))
}

/// Formats a value to three significant digits with its unit.
fn show_in(unit: Unit, value: f64) -> String {
    let base = unit.to_base(value);
    match unit.dimension {
        Dimension::Time => format::si(base, "s"),
        Dimension::Bytes => show_bytes(base),
        Dimension::Percent => format::percent(value),
        Dimension::ByteRate if unit.has_factor() => format!("{} {}", format::number(value), unit.symbol),
        Dimension::ByteRate => format::si(base, "B/s"),
        Dimension::Flops => format::si(base, "FLOP"),
        Dimension::FlopRate => format::si(base, "FLOP/s"),
        Dimension::Intensity | Dimension::PerSecond => format!("{} {}", format::number(value), unit.symbol),
    }
}

/// Formats a field's number with its unit, if it has one.
pub(crate) fn show(value: f64, unit: Option<Unit>) -> String {
    match unit {
        Some(unit) => show_in(unit, value),
        None if is_whole(value) => format::full(value),
        None => format::number(value),
    }
}

/// Formats a value with all of its digits, in the unit of the field.
pub(crate) fn show_exactly(value: f64, unit: Option<Unit>) -> String {
    let digits = format::full(value);
    unit.map_or_else(|| digits.clone(), |unit| format!("{digits} {}", unit.symbol))
}

/// Formats two numbers, with all of their digits if their short forms are identical.
pub(crate) fn show_apart(a: f64, b: f64, unit: Option<Unit>) -> (String, String) {
    let short = (show(a, unit), show(b, unit));
    if a != b && short.0 == short.1 { (show_exactly(a, unit), show_exactly(b, unit)) } else { short }
}

/// Returns true for a whole number that a float represents exactly.
fn is_whole(value: f64) -> bool {
    value.abs() <= 9_007_199_254_740_992.0 && value as i64 as f64 == value
}

fn show_bytes(value: f64) -> String {
    if value < 0.0 { format!("-{}", format::bytes(-value as u64)) } else { format::bytes(value as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_come_from_field_names() {
        for (field, symbol) in [
            ("avg_step_time_us", Some("us")),
            ("compute_util_percent", Some("%")),
            ("occupancy_pct", Some("%")),
            ("total_bytes", Some("B")),
            ("bytes", Some("B")),
            ("bytes_accessed", Some("B")),
            ("bandwidth_gb_per_sec", Some("GB/s")),
            ("gb_per_s", Some("GB/s")),
            ("hbm_gibps", Some("GiB/s")),
            ("peak_tflops", Some("TFLOP/s")),
            ("gflops", Some("GFLOP/s")),
            ("flops", Some("FLOP")),
            ("ms_per_step", Some("ms")),
            ("steps_per_sec", Some("/s")),
            ("tokens_per_sec_per_device", Some("/s")),
            ("gaps_under_10us", None),
            ("gaps_10_100us", None),
            ("num_steps", None),
            ("kernels_per_step", None),
            ("byte_offset", None),
            ("status", None),
        ] {
            assert_eq!(of_field(field).map(|unit| unit.symbol), symbol, "{field}");
        }
    }

    #[test]
    fn numbers_are_shown_so_that_they_differ() {
        let us = of_field("a_us");
        assert_eq!(show_apart(120_000.0, 150_000.0, us), ("120 ms".into(), "150 ms".into()));
        assert_eq!(show_apart(150_000.3, 150_000.0, us), ("150\u{202f}000.3 us".into(), "150\u{202f}000 us".into()));
        assert_eq!(show(3.0, None), "3");
        assert_eq!(show(0.333_333, None), "0.333");
        assert_eq!(show(2048.0, of_field("hbm_gibps")), "2\u{202f}048 GiB/s");
        assert_eq!(show(1200.0, of_field("peak_tflops")), "1.20 PFLOP/s");
        assert_eq!(show(-2048.0, of_field("total_bytes")), "-2.00 KiB");
        assert_eq!(show(12.5, of_field("steps_per_sec")), "12.5 /s");
    }
}
