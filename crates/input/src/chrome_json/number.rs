//! Parses numbers of trace events directly into integers. The numbers are never converted to `f64`, so times are exact
//! to the picosecond, and ids above 2^53 keep every digit.

use base::Ps;

/// Picoseconds per microsecond.
pub(super) const PS_PER_US: i64 = 1_000_000;

/// A time in the file: whole microseconds, plus picoseconds in `0..1_000_000`.
///
/// Absolute Unix times in picoseconds overflow an `i64`. This type can hold such times until the trace's anchor is
/// known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Time {
    /// Whole microseconds, rounded down.
    pub us: i64,
    /// Picoseconds after the last whole microsecond.
    pub ps: i64,
}

impl Time {
    /// Returns the picoseconds since `origin_us`, or `None` if they overflow 64 bits (106 days).
    pub(super) fn since_us(self, origin_us: i64) -> Option<Ps> {
        self.us.checked_sub(origin_us)?.checked_mul(PS_PER_US)?.checked_add(self.ps).map(Ps::new)
    }

    /// Returns the picoseconds since `earlier`. The result is negative if `earlier` is later. Returns `None` if they
    /// overflow 64 bits.
    pub(super) fn since(self, earlier: Time) -> Option<Ps> {
        let us = self.us.checked_sub(earlier.us)?.checked_mul(PS_PER_US)?;
        us.checked_add(self.ps - earlier.ps).map(Ps::new)
    }
}

/// Reason why a number is not a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The text is not a finite decimal number.
    NotANumber,
    /// The number of microseconds exceeds 64 bits.
    OutOfRange,
}

/// Parses a time in decimal microseconds. Rounds half up to picoseconds (the sixth decimal). JAX prints 17 significant
/// digits, so one picosecond becomes `9.9999999999999995e-07`.
#[inline]
pub(super) fn time(text: &[u8]) -> Result<Time, Fault> {
    match plain_time(text) {
        Some(time) => Ok(time),
        None => exact_time(text.trim_ascii()),
    }
}

/// Parses a time in the usual form: at most 18 digits, an optional fraction, no sign and no exponent.
#[inline]
fn plain_time(text: &[u8]) -> Option<Time> {
    let whole = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at_checked(whole)?;
    let us = short_count(digits)?;
    let Some((point, fraction)) = rest.split_first() else { return Some(Time { us, ps: 0 }) };
    if *point != b'.' {
        return None;
    }
    // Eight decimals are parsed at once. Further ones only need to be digits.
    let (ps, up) = match fraction.split_first_chunk::<8>() {
        Some((first, rest)) => {
            let value = eight_digits(*first).filter(|_| rest.iter().all(u8::is_ascii_digit))?;
            (value / 100, value % 100 >= 50)
        }
        None => few_decimals(fraction)?,
    };
    let ps = ps + i64::from(up);
    Some(if ps < PS_PER_US { Time { us, ps } } else { Time { us: us + 1, ps: 0 } })
}

/// Parses at most seven decimals of a number of microseconds. Returns the picoseconds, and true if the seventh decimal
/// rounds up.
#[inline]
fn few_decimals(fraction: &[u8]) -> Option<(i64, bool)> {
    let mut padded = [b'0'; 8];
    padded.get_mut(..fraction.len())?.copy_from_slice(fraction);
    let value = eight_digits(padded)?;
    Some((value / 100, value % 100 >= 50))
}

/// Parses eight decimal digits in one word by combining neighbours: digits to pairs, pairs to groups of four, and
/// groups to the whole number.
#[inline]
fn eight_digits(digits: [u8; 8]) -> Option<i64> {
    let word = u64::from_le_bytes(digits);
    // A byte is a digit if its high half is 3 and remains 3 after adding 6.
    let high = 0xf0f0_f0f0_f0f0_f0f0;
    let threes = 0x3030_3030_3030_3030;
    if word & high != threes || word.wrapping_add(0x0606_0606_0606_0606) & high != threes {
        return None;
    }
    let ones = word & 0x0f0f_0f0f_0f0f_0f0f;
    let pairs = (ones * 10 + (ones >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((((fours & 0xffff) * 10_000 + (fours >> 32)) as u32).into())
}

/// Parses a time in any decimal form, with sign, fraction, exponent and any number of digits.
///
/// If the value in microseconds is `0.d1d2d3... * 10^e`, the picoseconds are the first `e + 6` of these digits, rounded
/// by the next digit.
fn exact_time(text: &[u8]) -> Result<Time, Fault> {
    let (negative, text) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    let mark = memchr::memchr2(b'e', b'E', text).unwrap_or(text.len());
    let (mantissa, exponent) = text.split_at(mark);
    let exponent = match exponent.get(1..) {
        None => 0,
        Some(digits) => exponent_value(digits).ok_or(Fault::NotANumber)?,
    };
    let point = memchr::memchr(b'.', mantissa).unwrap_or(mantissa.len());
    let digits = || mantissa.iter().enumerate().filter(move |&(at, _)| at != point).map(|(_, &byte)| byte);
    if digits().next().is_none() || digits().any(|byte| !byte.is_ascii_digit()) {
        return Err(Fault::NotANumber);
    }
    let zeros = digits().take_while(|&byte| byte == b'0').count();
    let significant = || digits().skip(zeros);
    if significant().next().is_none() {
        return Ok(Time::default());
    }
    let length = i64::try_from(point).unwrap_or(i64::MAX) - i64::try_from(zeros).unwrap_or(i64::MAX);
    let kept = length.saturating_add(exponent).saturating_add(6);
    if kept < 0 {
        return Ok(Time::default());
    }
    // 26 digits of picoseconds exceed 64 bits of microseconds.
    let kept = usize::try_from(kept).ok().filter(|&kept| kept <= 26).ok_or(Fault::OutOfRange)?;
    let mut rest = significant().chain(std::iter::repeat(b'0'));
    let ps = rest.by_ref().take(kept).fold(0i128, |ps, byte| ps * 10 + i128::from(byte - b'0'));
    let ps = ps + i128::from(rest.next().is_some_and(|byte| byte >= b'5'));
    let ps = if negative { -ps } else { ps };
    let unit = i128::from(PS_PER_US);
    let us = i64::try_from(ps.div_euclid(unit)).map_err(|_| Fault::OutOfRange)?;
    Ok(Time { us, ps: i64::try_from(ps.rem_euclid(unit)).unwrap_or(0) })
}

/// Parses an exponent. An absurd exponent saturates.
fn exponent_value(text: &[u8]) -> Option<i64> {
    let (sign, digits) = match text.split_first()? {
        (b'-', rest) => (-1, rest),
        (b'+', rest) => (1, rest),
        _ => (1, text),
    };
    let value = digits.iter().try_fold(0i64, |value, byte| {
        byte.is_ascii_digit().then(|| value.saturating_mul(10).saturating_add(i64::from(byte - b'0')).min(1 << 40))
    })?;
    (!digits.is_empty()).then_some(sign * value)
}

/// Parses a whole number that is used as an id. The number may be decimal or hexadecimal (`0x`). Unsigned 64-bit ids
/// keep their bits, as stats in xplane files do, so all ids stay distinct. Longer numbers are not ids.
#[inline]
pub(super) fn id(text: &[u8]) -> Option<i64> {
    match short_count(text) {
        Some(id) => Some(id),
        None => any_id(text),
    }
}

/// Parses the usual form of a whole number: 1 to 18 digits, which cannot overflow.
#[inline]
fn short_count(text: &[u8]) -> Option<i64> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    text.iter().try_fold(0i64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit <= 9).then(|| value.wrapping_mul(10).wrapping_add(i64::from(digit)))
    })
}

fn any_id(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        _ => (false, text),
    };
    let hex = digits.strip_prefix(b"0x").or_else(|| digits.strip_prefix(b"0X"));
    let (digits, radix) = hex.map_or((digits, 10), |hex| (hex, 16));
    if digits.is_empty() {
        return None;
    }
    let value = digits.iter().try_fold(0u64, |value, &byte| {
        let digit = char::from(byte).to_digit(radix)?;
        value.checked_mul(u64::from(radix))?.checked_add(u64::from(digit))
    })?;
    if !negative {
        return Some(value.cast_signed());
    }
    i64::try_from(value).ok().map(|value| -value)
}

/// Parses a number of bytes or operations: a whole number, or a rounded real number (`1.5e9`). Returns `None` for other
/// text and for negative numbers.
pub(super) fn count(text: &[u8]) -> Option<i64> {
    if let Some(count) = short_count(text) {
        return Some(count);
    }
    let value = std::str::from_utf8(text).ok()?;
    if let Ok(value) = value.parse::<i64>() {
        return (value >= 0).then_some(value);
    }
    let value = base::number::json(text)?;
    (0.0..9.2e18).contains(&value).then(|| value.round() as i64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ps(text: &str) -> Result<i128, Fault> {
        time(text.as_bytes()).map(|time| i128::from(time.us) * 1_000_000 + i128::from(time.ps))
    }

    #[test]
    fn times_are_exact_to_the_picosecond() {
        let cases = [
            ("0", 0),
            ("1.5", 1_500_000),
            ("0.0006", 600),
            ("9.9999999999999995e-07", 1),
            ("1e-06", 1),
            ("4.9e-7", 0),
            ("5e-7", 1),
            ("0.00117200000000000010", 1_172),
            ("0.9999995", 1_000_000),
            ("0.9999994999", 999_999),
            ("96487413.736328006", 96_487_413_736_328),
            ("5.3532515932500003e6", 5_353_251_593_250),
            ("1682725898236567", 1_682_725_898_236_567_000_000),
            ("1751410836000000000", 1_751_410_836_000_000_000_000_000),
            ("-100", -100_000_000),
            ("-0.25", -250_000),
            (" 12 ", 12_000_000),
            ("1e-400", 0),
            ("0e999999999999999999999", 0),
            ("00000000000000000000000012.5", 12_500_000),
            ("1.", 1_000_000),
            ("0.1234567", 123_457),
            ("0.12345649", 123_456),
            ("7.12345678901234567", 7_123_457),
            ("999999999999999999.9999995", 1_000_000_000_000_000_000_000_000),
        ];
        for (text, expected) in cases {
            assert_eq!(ps(text), Ok(expected), "{text}");
        }
    }

    /// Computes the exact number of picoseconds in `digits * 10^exponent` microseconds, rounded half up.
    fn by_long_arithmetic(digits: i128, exponent: i32) -> i128 {
        let shift = exponent + 6;
        if shift >= 0 {
            return digits * 10i128.pow(shift.unsigned_abs());
        }
        let unit = 10i128.pow(shift.unsigned_abs().min(38));
        (digits + unit / 2) / unit
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn any_way_to_write_a_number_gives_the_nearest_picosecond(
            digits in 0i128..1_000_000_000_000_000_000,
            point in 0usize..30,
            exponent in -30i32..1,
            zeros in 0usize..4,
            negative in any::<bool>(),
        ) {
            // Write `digits` with the last `point` of them after the decimal point, then `e<exponent>`.
            let mut mantissa = format!("{}{digits:0>width$}", "0".repeat(zeros), width = point + 1);
            mantissa.insert(mantissa.len() - point, '.');
            let expected = by_long_arithmetic(digits, exponent - point as i32);
            let sign = if negative { "-" } else { "" };
            let expected = if negative { -expected } else { expected };
            for text in [format!("{sign}{mantissa}e{exponent}"), format!("{sign}{mantissa}0E{exponent:+03}")] {
                prop_assert_eq!(ps(&text), Ok(expected), "{}", text);
            }
            let plain = by_long_arithmetic(digits, -(point as i32));
            let plain = if negative { -plain } else { plain };
            prop_assert_eq!(ps(&format!("{sign}{mantissa}")), Ok(plain), "{}{}", sign, mantissa);
        }

        #[test]
        fn what_the_writer_prints_comes_back(picoseconds in 0i64..4_294_000_000_000_000) {
            // Below 2^32 microseconds (71 minutes), a double is off by at most a quarter of a picosecond. Above that,
            // it is off by at most half a picosecond.
            let printed = format!("{:.16e}", picoseconds as f64 / 1e6);
            prop_assert_eq!(ps(&printed), Ok(i128::from(picoseconds)), "{}", printed);
            let shortest = format!("{}", picoseconds as f64 / 1e6);
            prop_assert_eq!(ps(&shortest), Ok(i128::from(picoseconds)), "{}", shortest);
        }

        #[test]
        fn any_text_is_a_time_or_none(text in "[-+0-9.eENa ]{0,40}") {
            let _ = (time(text.as_bytes()), id(text.as_bytes()), count(text.as_bytes()));
        }
    }

    #[test]
    fn invalid_and_out_of_range_times_differ() {
        for text in [
            "NaN",
            "Infinity",
            "-Infinity",
            "null",
            "",
            ".",
            "-",
            "1e",
            "1.2.3",
            "1.23456789x",
            "1.2345678:",
            "1.234/",
            "0x10",
            "1 2",
            "true",
        ] {
            assert_eq!(ps(text), Err(Fault::NotANumber), "{text}");
        }
        for text in ["1e400", "99999999999999999999", "-1e30", "1e99999999999999999999"] {
            assert_eq!(ps(text), Err(Fault::OutOfRange), "{text}");
        }
    }

    #[test]
    fn ids_keep_every_bit() {
        assert_eq!(id(b"9007199254740993"), Some(9_007_199_254_740_993));
        assert_eq!(id(b"10159970886766084423"), Some(10_159_970_886_766_084_423u64.cast_signed()));
        assert_eq!(id(b"0x1A"), Some(26));
        assert_eq!(id(b"-3"), Some(-3));
        for text in ["", "-", "0x", "12a", "1.5", "99999999999999999999"] {
            assert_eq!(id(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn counts_may_be_written_as_real_numbers() {
        assert_eq!(count(b"1610612736000"), Some(1_610_612_736_000));
        assert_eq!(count(b"1.5e9"), Some(1_500_000_000));
        for text in ["-1", "NaN", "inf", "1e300", "x", ""] {
            assert_eq!(count(text.as_bytes()), None, "{text}");
        }
    }
}
