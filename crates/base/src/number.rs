//! Reads decimal numbers with little code.
//!
//! The standard library can read every possible number, but its tables add 12 kB (gzipped) to the page's WebAssembly. Numbers
//! that users type and that crossprof writes have only a few digits, so integer arithmetic reads them exactly.

/// Parses a decimal number (`12`, `-0.5`, `1.25e3`) and returns the nearest float, as the standard library does.
/// Returns `None` for any other text, for more digits than a `u64` holds, for numbers above about 10^38, and for more
/// than 19 decimals.
pub fn decimal(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (number, power) = match unsigned.split_once(['e', 'E']) {
        Some((number, power)) => (number, power.parse::<i32>().ok()?),
        None => (unsigned, 0),
    };
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let all = [whole, decimals].concat();
    if all.is_empty() || !all.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let digits = all.trim_end_matches('0');
    let zeros = i32::try_from(all.len() - digits.len()).ok()?;
    let power = power.checked_sub(i32::try_from(decimals.len()).ok()?)?.checked_add(zeros)?;
    let size = match digits.trim_start_matches('0') {
        "" => 0.0,
        digits => scaled(digits.parse().ok()?, power)?,
    };
    Some(if text.starts_with('-') { -size } else { size })
}

/// Parses a number of a JSON text exactly. Uses `serde_json`, whose code the program contains anyway. Returns `None` if
/// the text is not a number or a float cannot represent it.
pub fn json(text: &[u8]) -> Option<f64> {
    serde_json::from_slice(text).ok()
}

/// Computes `digits * 10^power` with a single rounding.
fn scaled(digits: u64, power: i32) -> Option<f64> {
    if let Ok(power) = u32::try_from(power) {
        return Some(u128::from(digits).checked_mul(10u128.checked_pow(power)?)? as f64);
    }
    let divisor = u128::from(10u64.checked_pow(power.unsigned_abs())?);
    // After this shift the quotient has at least 63 bits, and a float needs only 53.
    let shift = u128::from(digits).leading_zeros();
    let shifted = u128::from(digits) << shift;
    // A remainder decides the rounding if the quotient is halfway between two floats.
    let quotient = (shifted / divisor) | u128::from(shifted % divisor > 0);
    Some(quotient as f64 / (1u128 << shift) as f64)
}

#[cfg(test)]
mod tests {
    use super::{decimal, json};

    #[test]
    fn numbers_match_the_standard_library() {
        let mut random = 1u64;
        for round in 0..200_000u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let digits = (random >> (round % 64)).to_string();
            let text = match round % 4 {
                0 => digits,
                1 => format!("{}.{digits:.19}", random % 2_000),
                2 => format!("-{digits}e{}", round / 4 % 19),
                _ => format!("{digits}e-{}", round / 4 % 20),
            };
            if let Some(number) = decimal(&text) {
                assert_eq!(Ok(number.to_bits()), text.parse().map(f64::to_bits), "{text}");
            } else {
                assert!(text.len() > 19, "{text}");
            }
        }
        for us in (0..2_000).map(|at| f64::from(at) * 1.1 / 7.0) {
            assert_eq!(decimal(&us.to_string()), Some(us));
        }
    }

    #[test]
    fn json_numbers_match_the_standard_library() {
        for text in ["0", "-0.0", "1e39", "1e-20", "123456789012345678901", "0.1", "5e-324", "1.7976931348623157e308"] {
            assert_eq!(json(text.as_bytes()).map(f64::to_bits), text.parse().ok().map(f64::to_bits), "{text}");
        }
        for text in ["", "NaN", "inf", "1e400", "+1", "1,5", "\"1\"", "1 2", "\u{fffd}"] {
            assert_eq!(json(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn halves_round_to_even() {
        for text in [
            "9007199254740993",
            "9007199254740995",
            "0.5000000000000000555",
            "1.000000000000000111",
            "4503599627370496.5",
        ] {
            assert_eq!(decimal(text), text.parse().ok(), "{text}");
        }
    }

    #[test]
    fn other_texts_are_not_numbers() {
        for text in ["", ".", "-", "e5", "1e", "1,5", "1 ", "0x1", "inf", "NaN", "--1", "+-1", "1e5.0", "1.2.3"] {
            assert_eq!(decimal(text), None, "{text}");
        }
        let read = [("5.", 5.0), (".5", 0.5), ("+3", 3.0), ("1E2", 100.0), ("0e999", 0.0), ("007.50", 7.5)];
        assert!(read.into_iter().all(|(text, number)| decimal(text) == Some(number)));
        assert_eq!(decimal("-0").map(f64::to_bits), Some((-0.0f64).to_bits()));
        for text in ["1e39", "1e-20", "1e2147483647", "1e-2147483648", "0.1e-2147483648", "123456789012345678901"] {
            assert_eq!(decimal(text), None, "{text}");
        }
    }
}
