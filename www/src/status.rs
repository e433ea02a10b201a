//! Good, warning or bad: the thresholds that the headline figures are judged by.

/// How a figure does against its thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Nothing to do.
    Good,
    /// Worth a look.
    Warning,
    /// Look here first.
    Bad,
}

impl Status {
    /// The judgement of that word.
    pub fn from_word(word: &str) -> Option<Status> {
        [Status::Good, Status::Warning, Status::Bad].into_iter().find(|status| status.word() == word)
    }

    /// The word beside the colour.
    pub fn word(self) -> &'static str {
        match self {
            Status::Good => "good",
            Status::Warning => "warning",
            Status::Bad => "bad",
        }
    }
}

/// Two limits: beyond the first lies good, up to the second warning, beyond it bad.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    good: f64,
    bad: f64,
    /// The limits in words.
    pub text: &'static str,
}

/// `compute_utilization.compute_util_percent`
pub const UTILIZATION_PERCENT: Thresholds =
    Thresholds { good: 80.0, bad: 50.0, text: "good above 80 %, warning from 50 %, bad below" };
/// Mean duration of a device op in microseconds.
pub const KERNEL_US: Thresholds =
    Thresholds { good: 1000.0, bad: 100.0, text: "good above 1 ms, warning from 0.1 ms, bad below" };
/// `compute_utilization.overhead_time_us` as a share of the step.
pub const OVERHEAD_PERCENT: Thresholds =
    Thresholds { good: 10.0, bad: 20.0, text: "good below 10 %, warning up to 20 %, bad above" };
/// `compilation.compilation_time_us`
pub const COMPILATION_US: Thresholds =
    Thresholds { good: 2e6, bad: 1e7, text: "good below 2 s, warning up to 10 s, bad above" };

impl Thresholds {
    /// The status of a value. Values at a limit are a warning; what is no number has no status.
    pub fn judge(&self, value: f64) -> Option<Status> {
        if !value.is_finite() {
            return None;
        }
        // Counted so that more is worse.
        let sign = if self.good < self.bad { 1.0 } else { -1.0 };
        let value = sign * value;
        Some(if value < sign * self.good {
            Status::Good
        } else if value > sign * self.bad {
            Status::Bad
        } else {
            Status::Warning
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_limits() {
        let cases = [
            (UTILIZATION_PERCENT, 80.1, Status::Good),
            (UTILIZATION_PERCENT, 80.0, Status::Warning),
            (UTILIZATION_PERCENT, 50.0, Status::Warning),
            (UTILIZATION_PERCENT, 5.7, Status::Bad),
            (KERNEL_US, 1000.5, Status::Good),
            (KERNEL_US, 99.0, Status::Bad),
            (OVERHEAD_PERCENT, 9.9, Status::Good),
            (OVERHEAD_PERCENT, 20.0, Status::Warning),
            (OVERHEAD_PERCENT, 20.1, Status::Bad),
            (COMPILATION_US, 1.9e6, Status::Good),
            (COMPILATION_US, 1.1e7, Status::Bad),
        ];
        for (thresholds, value, status) in cases {
            assert_eq!(thresholds.judge(value), Some(status), "{value}: {}", thresholds.text);
        }
        assert_eq!(UTILIZATION_PERCENT.judge(f64::NAN), None);
    }
}
