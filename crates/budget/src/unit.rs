//! Units of fields, which are part of their names, and units of amounts in rules.
//!
//! A unit is a dimension, a power of ten and a factor of the dimension's base (seconds, bytes, ...). An amount is converted
//! to the field's unit by moving the decimal point of its digits, so `0.07 ms` is exactly 70 in a `_us` field.

use base::format;

/// The quantity that a unit measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// Base: seconds.
    Time,
    /// Base: bytes.
    Bytes,
    /// Percent. The field's definition gives the whole.
    Percent,
    /// Base: bytes per second.
    ByteRate,
    /// Base: floating-point operations.
    Flops,
    /// Base: floating-point operations per second.
    FlopRate,
    /// Count per second.
    PerSecond,
}

/// A unit of fields and amounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The quantity that the unit measures.
    pub dimension: Dimension,
    /// Power of ten relative to the base.
    exponent: i32,
    /// Whole factor in addition to the power of ten: 60 for a minute, 1024 for a KiB.
    factor: u64,
    /// The unit as written.
    pub symbol: &'static str,
}

const fn unit(symbol: &'static str, dimension: Dimension, exponent: i32, factor: u64) -> Unit {
    Unit { dimension, exponent, factor, symbol }
}

/// All units that a rule can use. Within a dimension, they are in the order in which messages list them.
const UNITS: &[Unit] = &[
    unit("ps", Dimension::Time, -12, 1),
    unit("ns", Dimension::Time, -9, 1),
    unit("us", Dimension::Time, -6, 1),
    unit("ms", Dimension::Time, -3, 1),
    unit("s", Dimension::Time, 0, 1),
    unit("min", Dimension::Time, 0, 60),
    unit("h", Dimension::Time, 0, 3600),
    unit("B", Dimension::Bytes, 0, 1),
    unit("kB", Dimension::Bytes, 3, 1),
    unit("MB", Dimension::Bytes, 6, 1),
    unit("GB", Dimension::Bytes, 9, 1),
    unit("TB", Dimension::Bytes, 12, 1),
    unit("KiB", Dimension::Bytes, 0, 1 << 10),
    unit("MiB", Dimension::Bytes, 0, 1 << 20),
    unit("GiB", Dimension::Bytes, 0, 1 << 30),
    unit("TiB", Dimension::Bytes, 0, 1 << 40),
    unit("%", Dimension::Percent, 0, 1),
    unit("B/s", Dimension::ByteRate, 0, 1),
    unit("kB/s", Dimension::ByteRate, 3, 1),
    unit("MB/s", Dimension::ByteRate, 6, 1),
    unit("GB/s", Dimension::ByteRate, 9, 1),
    unit("TB/s", Dimension::ByteRate, 12, 1),
    unit("KiB/s", Dimension::ByteRate, 0, 1 << 10),
    unit("MiB/s", Dimension::ByteRate, 0, 1 << 20),
    unit("GiB/s", Dimension::ByteRate, 0, 1 << 30),
    unit("TiB/s", Dimension::ByteRate, 0, 1 << 40),
    unit("FLOP", Dimension::Flops, 0, 1),
    unit("GFLOP", Dimension::Flops, 9, 1),
    unit("TFLOP", Dimension::Flops, 12, 1),
    unit("PFLOP", Dimension::Flops, 15, 1),
    unit("GFLOP/s", Dimension::FlopRate, 9, 1),
    unit("TFLOP/s", Dimension::FlopRate, 12, 1),
    unit("PFLOP/s", Dimension::FlopRate, 15, 1),
    unit("/s", Dimension::PerSecond, 0, 1),
];

/// Alternative spellings of units.
const SPELLINGS: &[(&str, &str)] = &[
    ("µs", "us"),
    ("μs", "us"),
    ("sec", "s"),
    ("KB", "kB"),
    ("KB/s", "kB/s"),
    ("GFLOPS", "GFLOP/s"),
    ("TFLOPS", "TFLOP/s"),
    ("PFLOPS", "PFLOP/s"),
];

/// Suffixes of field names and their units. The first match counts.
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

/// Returns the unit with this spelling.
pub fn named(text: &str) -> Option<Unit> {
    let symbol = SPELLINGS.iter().find(|(spelling, _)| *spelling == text).map_or(text, |(_, symbol)| symbol);
    UNITS.iter().find(|unit| unit.symbol == symbol).copied()
}

/// Returns the unit in a field's name. `None` for counts and numbers without a unit. Only whole words of the name count:
/// `gaps_under_10us` is a count of gaps.
pub fn of_field(name: &str) -> Option<Unit> {
    let fits = |ending: &str| name.strip_suffix(ending).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'));
    ENDINGS.iter().find(|(ending, _)| fits(ending)).and_then(|(_, symbol)| named(symbol))
}

impl Unit {
    /// Returns the symbols of all units of the same dimension.
    pub fn alternatives(self) -> Vec<&'static str> {
        UNITS.iter().filter(|unit| unit.dimension == self.dimension).map(|unit| unit.symbol).collect()
    }

    /// Converts an amount, given as digits, to the unit `field`. `None` if the result is not finite.
    pub fn convert(self, digits: &str, field: Unit) -> Option<f64> {
        let shifted = shift(digits, self.exponent.checked_sub(field.exponent)?)?;
        let value = shifted * self.factor as f64 / field.factor as f64;
        value.is_finite().then_some(value)
    }

    /// Formats a value of this unit to three significant digits.
    pub fn show(self, value: f64) -> String {
        let base = value * self.factor as f64 * power_of_ten(self.exponent);
        match self.dimension {
            Dimension::Time => format::si(base, "s"),
            Dimension::Bytes => show_bytes(base),
            Dimension::Percent => format::percent(value),
            Dimension::ByteRate if self.factor > 1 => format!("{} {}", format::number(value), self.symbol),
            Dimension::ByteRate => format::si(base, "B/s"),
            Dimension::Flops => format::si(base, "FLOP"),
            Dimension::FlopRate => format::si(base, "FLOP/s"),
            Dimension::PerSecond => format!("{} /s", format::number(value)),
        }
    }
}

/// Formats a field's number with its unit, if it has one.
pub fn show(value: f64, unit: Option<Unit>) -> String {
    match unit {
        Some(unit) => unit.show(value),
        None if is_whole(value) => format::full(value),
        None => format::number(value),
    }
}

/// Formats a value with all digits, in the field's own unit.
pub fn show_exactly(value: f64, unit: Option<Unit>) -> String {
    let digits = format::full(value);
    unit.map_or_else(|| digits.clone(), |unit| format!("{digits} {}", unit.symbol))
}

/// Formats two numbers. Uses all digits if their short forms are equal.
pub fn show_apart(a: f64, b: f64, unit: Option<Unit>) -> (String, String) {
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

/// Parses digits with the decimal point moved right by `places`. Rounds once.
pub(super) fn shift(digits: &str, places: i32) -> Option<f64> {
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (digits, 0),
    };
    let value: f64 = format!("{mantissa}e{}", exponent.checked_add(places)?).parse().ok()?;
    value.is_finite().then_some(value)
}

fn power_of_ten(exponent: i32) -> f64 {
    shift("1", exponent).unwrap_or(1.0)
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
    fn amounts_are_converted_and_rounded_once() {
        let convert = |digits, from: &str, field| named(from).unwrap().convert(digits, of_field(field).unwrap());
        assert_eq!(convert("150", "ms", "a_us"), Some(150_000.0));
        assert_eq!(convert("0.07", "ms", "a_us"), Some(70.0));
        assert_eq!(convert("1.1e-3", "s", "a_us"), Some(1100.0));
        assert_eq!(convert("0.15", "s", "ms_per_step"), Some(150.0));
        assert_eq!(convert("2", "min", "a_us"), Some(120_000_000.0));
        assert_eq!(convert("2", "GiB", "total_bytes"), Some(2_147_483_648.0));
        assert_eq!(convert("16.5", "MB", "total_bytes"), Some(16_500_000.0));
        assert_eq!(convert("1", "GiB/s", "gb_per_s"), Some(1.073_741_824));
        assert_eq!(convert("2", "TiB/s", "hbm_gibps"), Some(2048.0));
        assert_eq!(convert("1.2", "PFLOP/s", "peak_tflops"), Some(1200.0));
        assert_eq!(convert("3", "µs", "a_us"), Some(3.0));
        assert_eq!(convert("1e308", "h", "a_us"), None);
        assert_eq!(convert("1e99999999999", "s", "a_us"), None);
        assert_eq!(named("parsec"), None);
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
