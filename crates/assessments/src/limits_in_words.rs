//! Formats the limits of an assessment: "Good above 80 %, warning from 50 %, bad below."

use base::format::without_zeros;
use insight::limits::Limits;
use table::{Unit, unit};

/// Formats limits. Omits the bad limit if no value is bad.
pub(crate) fn of(limits: Limits, unit: Unit) -> String {
    let Limits { good, bad } = limits;
    let value = |limit: f64| without_zeros(&unit::short(limit, unit));
    match (good >= bad, bad.is_finite()) {
        (true, true) => format!("Good above {}, warning from {}, bad below.", value(good), value(bad)),
        (false, true) => format!("Good below {}, warning up to {}, bad above.", value(good), value(bad)),
        (true, false) => format!("Good above {}, warning below.", value(good)),
        (false, false) => format!("Good below {}, warning above.", value(good)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insight::limits::{BUSY_PERCENT, COMPILE_US};

    #[test]
    fn limits_are_round_numbers_with_units() {
        assert_eq!(of(BUSY_PERCENT, Unit::Percent), "Good above 80 %, warning from 50 %, bad below.");
        assert_eq!(of(COMPILE_US, Unit::TimeUs), "Good below 2 s, warning up to 10 s, bad above.");
        let nearly_full = Limits { good: 90.0, bad: f64::INFINITY };
        assert_eq!(of(nearly_full, Unit::Percent), "Good below 90 %, warning above.");
        let kernel = Limits { good: 100.0, bad: f64::NEG_INFINITY };
        assert_eq!(of(kernel, Unit::TimeUs), "Good above 100 µs, warning below.");
    }
}
