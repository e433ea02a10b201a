//! Means over steps.

use super::Part;

/// Means over steps and devices, in microseconds: `parts_us` add up to `duration_us`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mean {
    /// Steps (for a device: rows) in the mean.
    pub num_steps: u64,
    /// Length of a step.
    pub duration_us: f64,
    /// One value for each of [`Part::ALL`].
    pub parts_us: [f64; Part::COUNT],
    /// Communication in flight, hidden or not.
    pub communication_us: f64,
    /// Of it, hidden under computation.
    pub hidden_communication_us: f64,
    /// Copies in flight, hidden or not.
    pub transfer_us: f64,
    /// Of them, hidden under computation.
    pub hidden_transfer_us: f64,
    /// Ops.
    pub num_ops: f64,
    /// Mean number of streams that run an op at once, while one runs; absent where none does.
    pub concurrency: Option<f64>,
    /// Time in which a thread of the host works; absent where the trace has no host thread.
    pub host_busy_us: Option<f64>,
}

impl Mean {
    /// The time of one part.
    pub fn part_us(&self, part: Part) -> f64 {
        self.parts_us.get(part as usize).copied().unwrap_or_default()
    }

    /// The time in which the device does nothing.
    pub fn idle_us(&self) -> f64 {
        Part::ALL.into_iter().filter(|part| part.is_idle()).map(|part| self.part_us(part)).sum()
    }

    /// A part's share of the step, 0 to 100; absent where the step has no length.
    pub fn percent(&self, part: Part) -> Option<f64> {
        share(self.part_us(part), self.duration_us)
    }

    /// Idle cause with the most time, where there is any idle time.
    pub fn biggest_idle_cause(&self) -> Option<Part> {
        self.biggest(|part| part.is_idle())
    }

    /// Part with the most time, idle causes included.
    pub fn biggest_part(&self) -> Option<Part> {
        self.biggest(|_| true)
    }

    /// Share of the communication in flight that computation hides; absent without communication.
    pub fn communication_overlap_percent(&self) -> Option<f64> {
        share(self.hidden_communication_us, self.communication_us)
    }

    /// The same of copies.
    pub fn transfer_overlap_percent(&self) -> Option<f64> {
        share(self.hidden_transfer_us, self.transfer_us)
    }

    /// Of equals the first in the order of [`Part::ALL`].
    fn biggest(&self, wanted: fn(Part) -> bool) -> Option<Part> {
        let mut best: Option<Part> = None;
        for part in Part::ALL.into_iter().filter(|&part| wanted(part) && self.part_us(part) > 0.0) {
            if best.is_none_or(|best| self.part_us(part) > self.part_us(best)) {
                best = Some(part);
            }
        }
        best
    }
}

/// `100 * part / whole`.
fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| (100.0 * part / whole).clamp(0.0, 100.0))
}
