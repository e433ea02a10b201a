//! Ticks of a time axis.

use base::Ps;
use trace::Interval;

/// Units of time, with their lengths in picoseconds.
const UNITS: [(&str, i64); 5] =
    [("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("µs", 1_000_000), ("ns", 1_000), ("ps", 1)];

/// A tick of the axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tick {
    /// Time of the tick.
    pub time: Ps,
    /// Label of the tick, which contains the time of the tick relative to `zero`.
    pub label: String,
}

/// Returns the ticks of a range, at round times relative to `zero`. Returns at most about `count` ticks.
pub fn ticks(range: Interval, zero: Ps, count: u32) -> Vec<Tick> {
    let step = step(range.length().as_ps() / i64::from(count.max(1)));
    let (_, unit) = unit_of(step);
    let first = (range.start - zero).as_ps().div_euclid(step).saturating_mul(step);
    let times = (0..=i64::from(count) + 1).map(|index| first.saturating_add(step.saturating_mul(index)));
    let marks = times.map(|from_zero| Tick { time: zero + Ps::new(from_zero), label: label(from_zero, step, unit) });
    marks.filter(|tick| tick.time >= range.start && tick.time <= range.end).collect()
}

/// Returns the next round length: 1, 2 or 5 times a power of ten.
fn step(least: i64) -> i64 {
    let mut power: i64 = 1;
    loop {
        for times in [1, 2, 5] {
            let step = power.saturating_mul(times);
            if step >= least {
                return step;
            }
        }
        power = power.saturating_mul(10);
    }
}

fn unit_of(length: i64) -> (&'static str, i64) {
    UNITS.into_iter().find(|(_, unit)| length >= *unit).unwrap_or(("ps", 1))
}

/// Formats a time in the largest unit in which the distance between ticks is a whole number. Large times are formatted
/// in a larger unit with decimals.
fn label(from_zero: i64, step: i64, unit: i64) -> String {
    let name = UNITS.into_iter().find(|(_, of)| *of == unit).map_or("ps", |(name, _)| name);
    // At a thousand or more of one unit, the next larger unit is easier to read: 1.25 s instead of 1250 ms.
    let larger =
        UNITS.into_iter().rev().find(|(_, of)| *of > unit && from_zero.saturating_abs() >= *of && step * 1_000 >= *of);
    match larger {
        Some((name, of)) => {
            let digits = digits_behind_point(step, of);
            format!("{:.digits$} {name}", from_zero as f64 / of as f64)
        }
        None => format!("{} {name}", from_zero / unit),
    }
}

fn digits_behind_point(step: i64, unit: i64) -> usize {
    let mut digits = 0;
    let mut smallest = unit;
    while smallest > 1 && step % smallest != 0 {
        smallest /= 10;
        digits += 1;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(start: i64, end: i64, count: u32) -> Vec<String> {
        let range = Interval::new(Ps::new(start), Ps::new(end));
        ticks(range, Ps::ZERO, count).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn marks_are_round_and_have_units() {
        assert_eq!(labels(0, 1_000_000_000, 4), ["0 µs", "500 µs", "1.0 ms"]);
        assert_eq!(labels(0, 10, 5), ["0 ps", "2 ps", "4 ps", "6 ps", "8 ps", "10 ps"]);
        assert_eq!(
            labels(1_200_000_000_000, 1_250_000_000_000, 5),
            ["1.20 s", "1.21 s", "1.22 s", "1.23 s", "1.24 s", "1.25 s"]
        );
        assert_eq!(labels(33_000_000, 35_000_000, 4), ["33.0 µs", "33.5 µs", "34.0 µs", "34.5 µs", "35.0 µs"]);
    }

    #[test]
    fn any_range_has_few_marks() {
        for (start, end) in [(0, 1), (i64::MIN / 2, i64::MAX / 2), (-5, 5), (0, 3_155_760_000_000_000_000)] {
            let count = labels(start, end, 8).len();
            assert!((1..=10).contains(&count), "{start} {end}: {count}");
        }
    }
}
