//! Units of amounts and fields.
//!
//! A unit consists of a dimension, a power of ten, and a factor relative to the dimension's base (seconds, bytes, ...). An
//! amount is converted to the field's unit by moving the decimal point of its digits, so `0.07 ms` is exactly 70 in a `_us`
//! field.

use base::number;

/// The quantity that a unit measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// Base: seconds.
    Time,
    /// Base: bytes.
    Bytes,
    /// Percent. The field's definition states what 100 % is.
    Percent,
    /// Base: bytes per second.
    ByteRate,
    /// Base: floating-point operations.
    Flops,
    /// Base: floating-point operations per second.
    FlopRate,
    /// Floating-point operations per byte.
    Intensity,
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
    /// Integer factor in addition to the power of ten: 60 for a minute, 1024 for a KiB.
    factor: u64,
    /// The unit as written.
    pub symbol: &'static str,
}

const fn unit(symbol: &'static str, dimension: Dimension, exponent: i32, factor: u64) -> Unit {
    Unit { dimension, exponent, factor, symbol }
}

/// All units. Messages list the units of a dimension in this order.
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
    unit("MFLOP", Dimension::Flops, 6, 1),
    unit("GFLOP", Dimension::Flops, 9, 1),
    unit("TFLOP", Dimension::Flops, 12, 1),
    unit("PFLOP", Dimension::Flops, 15, 1),
    unit("MFLOP/s", Dimension::FlopRate, 6, 1),
    unit("GFLOP/s", Dimension::FlopRate, 9, 1),
    unit("TFLOP/s", Dimension::FlopRate, 12, 1),
    unit("PFLOP/s", Dimension::FlopRate, 15, 1),
    unit("FLOP/B", Dimension::Intensity, 0, 1),
    unit("/s", Dimension::PerSecond, 0, 1),
];

/// Alternative spellings of units.
const SPELLINGS: &[(&str, &str)] = &[
    ("µs", "us"),
    ("μs", "us"),
    ("sec", "s"),
    ("bytes", "B"),
    ("KB", "kB"),
    ("KB/s", "kB/s"),
    ("GFLOPS", "GFLOP/s"),
    ("TFLOPS", "TFLOP/s"),
    ("PFLOPS", "PFLOP/s"),
];

impl Unit {
    /// Returns the unit with this spelling.
    pub fn named(text: &str) -> Option<Unit> {
        find(|name| name == text)
    }

    /// Returns the unit with this spelling, ignoring letter case.
    pub fn named_in_any_case(text: &str) -> Option<Unit> {
        find(|name| name.eq_ignore_ascii_case(text))
    }

    /// Returns the symbols of all units of the same dimension.
    pub fn alternatives(self) -> Vec<&'static str> {
        UNITS.iter().filter(|unit| unit.dimension == self.dimension).map(|unit| unit.symbol).collect()
    }

    /// Returns true if the unit has a factor in addition to the power of ten, such as 1024 or 60.
    pub fn has_factor(self) -> bool {
        self.factor > 1
    }

    /// Converts an amount, given as digits, to the unit `field`. `None` if the result is not finite.
    pub fn convert(self, digits: &str, field: Unit) -> Option<f64> {
        let shifted = shift(digits, self.exponent.checked_sub(field.exponent)?)?;
        let value = shifted * self.factor as f64 / field.factor as f64;
        value.is_finite().then_some(value)
    }

    /// Converts a value of this unit to the base of its dimension.
    pub fn to_base(self, value: f64) -> f64 {
        value * self.factor as f64 * shift("1", self.exponent).unwrap_or(1.0)
    }
}

fn find(is_it: impl Fn(&str) -> bool) -> Option<Unit> {
    let symbol = SPELLINGS.iter().find(|(spelling, _)| is_it(spelling)).map(|(_, symbol)| *symbol);
    UNITS.iter().find(|unit| symbol.map_or_else(|| is_it(unit.symbol), |symbol| unit.symbol == symbol)).copied()
}

/// Parses digits (`12`, `-.5`, `1.5e+3`) with the decimal point moved right by `places`. Rounds once. `None` if the result is
/// not finite.
pub fn shift(digits: &str, places: i32) -> Option<f64> {
    let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (digits, 0),
    };
    let unsigned = mantissa.strip_prefix(['-', '+']).unwrap_or(mantissa);
    let sign = if mantissa.starts_with('-') { "-" } else { "" };
    // JSON has no leading zeros, and requires digits on both sides of the point.
    let (whole, decimals) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    fn or_zero(digits: &str) -> &str {
        if digits.is_empty() { "0" } else { digits }
    }
    if whole.is_empty() && decimals.is_empty() {
        return None;
    }
    let (whole, decimals) = (or_zero(whole.trim_start_matches('0')), or_zero(decimals));
    number::json(format!("{sign}{whole}.{decimals}e{}", exponent.checked_add(places)?).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_converted_and_rounded_once() {
        let convert =
            |digits, from: &str, to: &str| Unit::named(from).unwrap().convert(digits, Unit::named(to).unwrap());
        assert_eq!(convert("150", "ms", "us"), Some(150_000.0));
        assert_eq!(convert("0.07", "ms", "us"), Some(70.0));
        assert_eq!(convert("1.1e-3", "s", "us"), Some(1100.0));
        assert_eq!(convert("0.15", "s", "ms"), Some(150.0));
        assert_eq!(convert("2", "min", "us"), Some(120_000_000.0));
        assert_eq!(convert("2", "GiB", "B"), Some(2_147_483_648.0));
        assert_eq!(convert("16.5", "MB", "bytes"), Some(16_500_000.0));
        assert_eq!(convert("1", "GiB/s", "GB/s"), Some(1.073_741_824));
        assert_eq!(convert("2", "TiB/s", "GiB/s"), Some(2048.0));
        assert_eq!(convert("1.2", "PFLOP/s", "TFLOP/s"), Some(1200.0));
        assert_eq!(convert("3", "µs", "us"), Some(3.0));
        assert_eq!(convert("1e308", "h", "us"), None);
        assert_eq!(convert("1e99999999999", "s", "us"), None);
    }

    #[test]
    fn units_have_several_spellings() {
        let symbol = |text| Unit::named(text).map(|unit| unit.symbol);
        assert_eq!((symbol("μs"), symbol("KB"), symbol("GFLOPS")), (Some("us"), Some("kB"), Some("GFLOP/s")));
        assert_eq!((symbol("parsec"), symbol("gib"), symbol("")), (None, None, None));
        let symbol = |text| Unit::named_in_any_case(text).map(|unit| unit.symbol);
        assert_eq!((symbol("GIB"), symbol("kb"), symbol("gflop/s")), (Some("GiB"), Some("kB"), Some("GFLOP/s")));
        let names: Vec<String> = UNITS.iter().map(|unit| unit.symbol.to_lowercase()).collect();
        assert!(names.iter().all(|name| names.iter().filter(|other| *other == name).count() == 1));
    }

    #[test]
    fn digits_are_read_as_the_standard_library_reads_them() {
        for digits in
            ["0", "-0", "007.50", ".5", "-.5", "5.", "1e-400", "1.7976931348623157e308", "5e-324", "1e+5", "0.1"]
        {
            assert_eq!(shift(digits, 0).map(f64::to_bits), digits.parse().ok().map(f64::to_bits), "{digits}");
        }
        for digits in ["", ".", "-", "e5", "1e", "1e309", "1e99999999999", "1,5", "inf"] {
            assert_eq!(shift(digits, 0), None, "{digits}");
        }
        assert_eq!((shift("97", -2), shift("1.5e5", 3)), (Some(0.97), Some(1.5e8)));
    }
}
