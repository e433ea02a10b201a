//! Numbers of trace events, from decimal digits straight to integers: no `f64` stands between, so times are exact to the
//! picosecond and ids beyond 2^53 keep every digit.

use crate::units::Ps;

/// Microseconds per second and so on are powers of ten; this one is picoseconds in a microsecond.
pub(super) const PS_PER_US: i64 = 1_000_000;

/// A time of the file: whole microseconds and the picoseconds beyond, `0..1_000_000`.
///
/// Absolute Unix times do not fit `i64` picoseconds; this does, until the trace's anchor is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Time {
    /// Whole microseconds, rounded down.
    pub us: i64,
    /// Picoseconds beyond them.
    pub ps: i64,
}

impl Time {
    /// Picoseconds since `origin_us`; `None` beyond what 64 bits hold (106 days).
    pub fn since_us(self, origin_us: i64) -> Option<Ps> {
        self.us.checked_sub(origin_us)?.checked_mul(PS_PER_US)?.checked_add(self.ps).map(Ps)
    }

    /// Picoseconds since `earlier`, negative where it is later; `None` beyond what 64 bits hold.
    pub fn since(self, earlier: Time) -> Option<Ps> {
        let us = self.us.checked_sub(earlier.us)?.checked_mul(PS_PER_US)?;
        us.checked_add(self.ps - earlier.ps).map(Ps)
    }
}

/// Why a number is no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Not a finite decimal number.
    NotANumber,
    /// Beyond 64 bits of microseconds.
    OutOfRange,
}

/// A time in decimal microseconds, rounded half up at the picosecond (its sixth decimal): JAX prints 17 significant
/// digits, so one picosecond reads `9.9999999999999995e-07`.
#[inline]
pub(super) fn time(text: &[u8]) -> Result<Time, Fault> {
    match plain_time(text) {
        Some(time) => Ok(time),
        None => exact_time(text.trim_ascii()),
    }
}

/// The usual form: at most 18 digits, perhaps a fraction, no sign and no exponent.
#[inline]
fn plain_time(text: &[u8]) -> Option<Time> {
    let mut bytes = text.iter();
    let (mut us, mut digits) = (0i64, 0);
    let mut fraction = false;
    for &byte in bytes.by_ref() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            fraction = byte == b'.';
            if !fraction {
                return None;
            }
            break;
        }
        us = us.wrapping_mul(10).wrapping_add(i64::from(digit));
        digits += 1;
    }
    if digits == 0 || digits > 18 {
        return None;
    }
    if !fraction {
        return Some(Time { us, ps: 0 });
    }
    let (mut ps, mut unit, mut up) = (0, PS_PER_US, false);
    for &byte in bytes {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        if unit > 1 {
            ps = ps * 10 + i64::from(digit);
            unit /= 10;
        } else if unit == 1 {
            up = digit >= 5;
            unit = 0;
        }
    }
    ps = ps * unit.max(1) + i64::from(up);
    Some(if ps < PS_PER_US { Time { us, ps } } else { Time { us: us + 1, ps: 0 } })
}

/// Any decimal number: sign, fraction, exponent, any number of digits.
///
/// With the significant digits `d1 d2 d3 ...` and the value `0.d1d2d3... * 10^e`, the picoseconds are the first `e + 6`
/// digits, rounded by the next one.
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
    // 26 digits of picoseconds are beyond 64 bits of microseconds.
    let kept = usize::try_from(kept).ok().filter(|&kept| kept <= 26).ok_or(Fault::OutOfRange)?;
    let mut rest = significant().chain(std::iter::repeat(b'0'));
    let ps = rest.by_ref().take(kept).fold(0i128, |ps, byte| ps * 10 + i128::from(byte - b'0'));
    let ps = ps + i128::from(rest.next().is_some_and(|byte| byte >= b'5'));
    let ps = if negative { -ps } else { ps };
    let unit = i128::from(PS_PER_US);
    let us = i64::try_from(ps.div_euclid(unit)).map_err(|_| Fault::OutOfRange)?;
    Ok(Time { us, ps: i64::try_from(ps.rem_euclid(unit)).unwrap_or(0) })
}

/// An exponent's value, saturated where it is absurd.
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

/// A whole number used as an id: decimal or `0x` hexadecimal. Unsigned 64-bit ids keep their bits (as XPlane stats
/// do), so all of them are told apart; longer ones are no ids.
pub(super) fn id(text: &[u8]) -> Option<i64> {
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

/// A count of bytes or operations: a whole number, or a real one (`1.5e9`) rounded; `None` where it is neither or negative.
pub(super) fn count(text: &[u8]) -> Option<i64> {
    if !text.is_empty() && text.len() <= 18 && text.iter().all(u8::is_ascii_digit) {
        return Some(text.iter().fold(0, |value, byte| value * 10 + i64::from(byte - b'0')));
    }
    let value = std::str::from_utf8(text).ok()?;
    if let Ok(value) = value.parse::<i64>() {
        return (value >= 0).then_some(value);
    }
    let value: f64 = value.parse().ok()?;
    (0.0..9.2e18).contains(&value).then(|| value.round() as i64)
}

#[cfg(test)]
mod tests {
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
        ];
        for (text, expected) in cases {
            assert_eq!(ps(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_told_apart() {
        for text in ["NaN", "Infinity", "-Infinity", "null", "", ".", "-", "1e", "1.2.3", "0x10", "1 2", "true"] {
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
