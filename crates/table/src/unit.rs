//! Units of values, and the format of numbers with a unit: three digits on the page, four in tooltips, every digit in
//! exports.

use base::format;

/// Unit of a column's values. The unit determines how the values are displayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Unit {
    /// Names and sentences.
    #[default]
    Text,
    /// Count.
    Count,
    /// Mean or ratio without a unit.
    Number,
    /// Microseconds.
    TimeUs,
    /// Percent.
    Percent,
    /// Bytes.
    Bytes,
    /// 1e9 bytes per second.
    GigabytesPerSecond,
    /// 2^30 bytes per second, the unit of XProf. Displayed in powers of ten, like all bandwidths.
    GibibytesPerSecond,
    /// 1e9 floating-point operations per second.
    GigaflopsPerSecond,
    /// Floating-point operations.
    Flops,
    /// Floating-point operations per byte.
    FlopsPerByte,
    /// Yes or no.
    Flag,
    /// Steps of a training or inference loop per second.
    StepsPerSecond,
    /// Samples per second.
    SamplesPerSecond,
    /// Tokens per second.
    TokensPerSecond,
}

/// Formats three significant digits with the unit. Counts and bytes are whole numbers.
pub fn short(value: f64, unit: Unit) -> String {
    match unit {
        Unit::TimeUs => format::time_us(value),
        Unit::Percent => format::percent(value),
        Unit::Count if is_whole(value) => format::count(value as u64),
        Unit::Bytes if value < 0.0 => format!("-{}", format::bytes(-value as u64)),
        Unit::Bytes if value >= 0.0 => format::bytes(value as u64),
        Unit::GigabytesPerSecond => format::si(value * 1e9, "B/s"),
        // Vendors state bandwidths in powers of ten.
        Unit::GibibytesPerSecond => format::si(value * (1u64 << 30) as f64, "B/s"),
        Unit::GigaflopsPerSecond => format::si(value * 1e9, "FLOP/s"),
        Unit::Flops => format::si(value, "FLOP"),
        Unit::FlopsPerByte => format!("{} FLOP/B", format::number(value)),
        Unit::StepsPerSecond | Unit::SamplesPerSecond | Unit::TokensPerSecond => {
            format!("{} {}", format::number(value), word(unit))
        }
        _ => format::number(value),
    }
}

/// Formats four significant digits with the unit, for tooltips. Counts and bytes are whole numbers.
pub fn precise(value: f64, unit: Unit) -> String {
    let si = |value: f64, unit: &str| format::si_of_digits(value, unit, PRECISE_DIGITS);
    match unit {
        Unit::TimeUs => si(value / 1e6, "s"),
        Unit::Percent => format::percent_of_decimals(value, 2),
        Unit::Count | Unit::Bytes if is_whole(value) => full(value, unit),
        Unit::Bytes => short(value, unit),
        Unit::GigabytesPerSecond => si(value * 1e9, "B/s"),
        Unit::GibibytesPerSecond => si(value * (1u64 << 30) as f64, "B/s"),
        Unit::GigaflopsPerSecond => si(value * 1e9, "FLOP/s"),
        Unit::Flops => si(value, "FLOP"),
        _ => format!("{} {}", format::number_of_digits(value, PRECISE_DIGITS), word(unit)).trim_end().to_owned(),
    }
}

/// Significant digits of [`precise`].
const PRECISE_DIGITS: usize = 4;

/// Formats every digit with the unit.
pub fn full(value: f64, unit: Unit) -> String {
    match unit {
        Unit::TimeUs => format::full_time_us(value),
        Unit::Count if is_whole(value) => format::count(value as u64),
        Unit::Bytes if is_whole(value) => format!("{} bytes", format::count(value as u64)),
        _ => format!("{} {}", format::full(value), word(unit)).trim_end().to_owned(),
    }
}

/// Returns the unit as written after a value. Empty for plain numbers.
pub fn word(unit: Unit) -> &'static str {
    match unit {
        Unit::TimeUs => "µs",
        Unit::Percent => "%",
        Unit::Bytes => "bytes",
        Unit::GigabytesPerSecond => "GB/s",
        Unit::GibibytesPerSecond => "GiB/s",
        Unit::GigaflopsPerSecond => "GFLOP/s",
        Unit::Flops => "FLOP",
        Unit::FlopsPerByte => "FLOP/B",
        Unit::StepsPerSecond => "steps/s",
        Unit::SamplesPerSecond => "samples/s",
        Unit::TokensPerSecond => "tokens/s",
        _ => "",
    }
}

fn is_whole(value: f64) -> bool {
    (0.0..9e15).contains(&value) && value.fract() == 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_always_there() {
        assert_eq!(short(33_123.456, Unit::TimeUs), "33.1 ms");
        assert_eq!(short(3.2, Unit::GigaflopsPerSecond), "3.20 GFLOP/s");
        assert_eq!(precise(33_123.456_789_012_34, Unit::TimeUs), "33.12 ms");
        assert_eq!(precise(12.345_678_901, Unit::Percent), "12.35 %");
        assert_eq!(precise(4_936.123_456_789, Unit::GibibytesPerSecond), "5.300 TB/s");
        assert_eq!(precise(1.234_567_890_123_45, Unit::Number), "1.235");
        assert_eq!(precise(1_234_567.0, Unit::Bytes), "1\u{202f}234\u{202f}567 bytes");
        assert_eq!(full(3.25, Unit::GibibytesPerSecond), "3.25 GiB/s");
        assert_eq!(short(4936.0, Unit::GibibytesPerSecond), "5.30 TB/s");
        assert_eq!(short(2048.0, Unit::Bytes), "2.00 KiB");
        assert_eq!(full(2048.0, Unit::Bytes), "2\u{202f}048 bytes");
        assert_eq!(short(7.0, Unit::Count), "7");
        assert_eq!((short(-2048.0, Unit::Bytes), short(-0.0, Unit::Bytes)), ("-2.00 KiB".to_owned(), "0 B".to_owned()));
    }
}
