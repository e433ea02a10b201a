//! Times on the command line: `1.20s`, `15ms`, `5ps`.

/// A time from the start of the capture, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Time(pub i64);

/// Units of time, each with the power of ten that is its length in picoseconds. A plain number is in microseconds.
/// Longer unit names come first, so that `ms` is not read as `s`.
const UNITS: [(&str, usize); 6] = [("ms", 9), ("us", 6), ("µs", 6), ("ns", 3), ("ps", 0), ("s", 12)];

impl std::str::FromStr for Time {
    type Err = String;

    /// Parses decimal digits exactly. Nonzero digits below a picosecond are an error.
    fn from_str(text: &str) -> Result<Time, String> {
        let wrong = || format!("{text} is not a time: write 1.2s, 15ms, 800us, 30ns, 5ps, or a number of microseconds");
        let with_unit = UNITS.iter().find_map(|&(unit, power)| Some((text.strip_suffix(unit)?, power)));
        let (number, power) = with_unit.unwrap_or((text, 6));
        let number = number.trim_end();
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let is_number = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
        if !is_number(whole) || !is_number(fraction) || whole.len() + fraction.len() == 0 {
            return Err(wrong());
        }
        let fraction = fraction.trim_end_matches('0');
        if fraction.len() > power {
            return Err(format!("{text} is finer than a picosecond"));
        }
        let digits = format!("{whole}{fraction:0<power$}");
        digits.parse().map(Time).map_err(|_| format!("{text} is longer than any capture"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        let ps = |text: &str| text.parse::<Time>().map(|time| time.0);
        assert_eq!(ps("1.20s"), Ok(1_200_000_000_000));
        assert_eq!(ps("1.25 ms"), Ok(1_250_000_000));
        assert_eq!(ps("0.000001"), Ok(1));
        assert_eq!(ps("15"), Ok(15_000_000));
        assert_eq!(ps("7us"), ps("7µs"));
        assert_eq!(
            (ps("3ns"), ps("3ps"), ps(".5us"), ps("2.s")),
            (Ok(3_000), Ok(3), Ok(500_000), Ok(2_000_000_000_000))
        );
        for wrong in ["", "s", ".", "-1us", "1h", "1e3", "1.2.3s", "0.5ps", "99999999999999999999s"] {
            assert!(ps(wrong).is_err(), "{wrong}");
        }
    }
}
