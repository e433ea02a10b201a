//! Judgement of a run's number relative to the baseline's number.

/// Judgement of a run's number relative to the baseline's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Better than the baseline's number.
    Better,
    /// Worse than the baseline's number.
    Worse,
    /// Same as the baseline's number.
    Same,
    /// The difference is negligible or within the noise.
    Noise,
    /// Not known.
    Unknown,
}

impl Judgement {
    /// Returns the symbol next to the words, which shows the judgement without colour.
    pub fn symbol(self) -> &'static str {
        match self {
            Judgement::Better => "▲",
            Judgement::Worse => "▼",
            Judgement::Same => "=",
            Judgement::Noise => "≈",
            Judgement::Unknown => "?",
        }
    }

    /// Returns the name of the judgement's colour.
    pub fn class(self) -> &'static str {
        match self {
            Judgement::Better => "good",
            Judgement::Worse => "bad",
            Judgement::Same | Judgement::Noise | Judgement::Unknown => "even",
        }
    }

    /// Judges the change in a part of a time. `whole_us` is the whole time. A change below 1/2000 of the whole time is
    /// negligible.
    pub fn of_part(delta_us: f64, whole_us: f64) -> Judgement {
        let is_little = delta_us != 0.0 && delta_us.abs() < 0.0005 * whole_us;
        if is_little { Judgement::Noise } else { Judgement::of_time(delta_us) }
    }

    /// Judges a change in time.
    pub fn of_time(delta_us: f64) -> Judgement {
        if delta_us > 0.0 {
            Judgement::Worse
        } else if delta_us < 0.0 {
            Judgement::Better
        } else {
            Judgement::Same
        }
    }
}
