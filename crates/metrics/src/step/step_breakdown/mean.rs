//! Computes means over steps.

use super::{StepPart, StepRow};
use base::Ps;

/// Means over steps and devices, in microseconds. `parts_us` add up to `duration_us`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeanPart {
    /// Number of steps in the mean. For a mean over one device, the number of rows.
    pub num_steps: u64,
    /// Length of a step.
    pub duration_us: f64,
    /// One value for each of [`StepPart::ALL`].
    pub parts_us: [f64; StepPart::COUNT],
    /// Communication in flight, exposed or overlapped.
    pub communication_us: f64,
    /// Communication in flight that overlaps with computation.
    pub hidden_communication_us: f64,
    /// Copies in flight, exposed or overlapped.
    pub transfer_us: f64,
    /// Copies in flight that overlap with computation.
    pub hidden_transfer_us: f64,
    /// Number of ops.
    pub num_ops: f64,
    /// Time during which a thread of the host works. `None` if the trace has no host thread.
    pub host_busy_us: Option<f64>,
}

impl MeanPart {
    /// Divides the mean of a window by `count`, the number of steps in the window that the user gave.
    pub(super) fn of_each(&self, count: u64) -> MeanPart {
        let each = |value: f64| value / count.max(1) as f64;
        MeanPart {
            num_steps: count,
            duration_us: each(self.duration_us),
            parts_us: self.parts_us.map(each),
            communication_us: each(self.communication_us),
            hidden_communication_us: each(self.hidden_communication_us),
            transfer_us: each(self.transfer_us),
            hidden_transfer_us: each(self.hidden_transfer_us),
            num_ops: each(self.num_ops),
            host_busy_us: self.host_busy_us.map(each),
        }
    }

    /// Returns the time during which the device is busy.
    pub fn busy_us(&self) -> f64 {
        StepPart::ALL.into_iter().filter(|part| !part.is_idle()).map(|part| self.part_us(part)).sum()
    }

    /// Returns the time of one part.
    pub fn part_us(&self, part: StepPart) -> f64 {
        self.parts_us.get(part as usize).copied().unwrap_or_default()
    }

    /// Returns the time during which the device is idle.
    pub fn idle_us(&self) -> f64 {
        StepPart::ALL.into_iter().filter(|part| part.is_idle()).map(|part| self.part_us(part)).sum()
    }

    /// Returns the work of the step: time during which the device is neither idle nor in exposed communication. Idle
    /// time and exposed communication both include waiting for other devices.
    pub fn work_us(&self) -> f64 {
        self.duration_us - self.idle_us() - self.part_us(StepPart::Communication)
    }

    /// Returns a part's share of the step in percent, or `None` if the step has no length.
    pub fn percent(&self, part: StepPart) -> Option<f64> {
        share(self.part_us(part), self.duration_us)
    }

    /// Returns the idle cause with the most time, or `None` if there is no idle time.
    pub fn biggest_idle_cause(&self) -> Option<StepPart> {
        self.biggest(|part| part.is_idle())
    }

    /// Returns the part with the most time, including idle causes.
    pub fn biggest_part(&self) -> Option<StepPart> {
        self.biggest(|_| true)
    }

    /// Returns the overlapped share of the communication in flight in percent, or `None` without communication.
    pub fn communication_overlap_percent(&self) -> Option<f64> {
        share(self.hidden_communication_us, self.communication_us)
    }

    /// Returns the overlapped share of the copies in flight in percent, or `None` without copies.
    pub fn transfer_overlap_percent(&self) -> Option<f64> {
        share(self.hidden_transfer_us, self.transfer_us)
    }

    /// Returns the longest of the wanted parts. If several parts take equally long, returns the first in the order of
    /// [`StepPart::ALL`].
    fn biggest(&self, wanted: fn(StepPart) -> bool) -> Option<StepPart> {
        let mut best: Option<StepPart> = None;
        for part in StepPart::ALL.into_iter().filter(|&part| wanted(part) && self.part_us(part) > 0.0) {
            if best.is_none_or(|best| self.part_us(part) > self.part_us(best)) {
                best = Some(part);
            }
        }
        best
    }
}

#[derive(Default)]
struct RowSums {
    rows: u64,
    times: [Ps; StepPart::COUNT + 6],
    num_ops: u64,
    has_host: bool,
}

impl RowSums {
    fn add(&mut self, row: &StepRow) {
        self.rows += 1;
        self.num_ops = self.num_ops.saturating_add(row.num_ops);
        self.has_host |= row.host_busy.is_some();
        let others = [
            row.duration,
            row.overlap.communication,
            row.overlap.hidden_communication,
            row.overlap.transfer,
            row.overlap.hidden_transfer,
            row.host_busy.unwrap_or_default(),
        ];
        for (sum, time) in
            self.times.iter_mut().zip(StepPart::ALL.map(|part| row.parts.get(part)).into_iter().chain(others))
        {
            *sum += time;
        }
    }
}

/// Returns the mean over the `wanted` rows, or `None` if no row is wanted. Every step of every device has the same
/// weight, as in the busy share of the window and in op times per step per device. With other weights, parts would not
/// add up if a device did not run all of the steps.
pub(super) fn of_rows(rows: &[StepRow], wanted: &dyn Fn(&StepRow) -> bool) -> Option<MeanPart> {
    let mut sums = RowSums::default();
    let mut num_steps = 0u64;
    // Rows are grouped by step.
    for step in rows.chunk_by(|a, b| a.step == b.step) {
        let before = sums.rows;
        step.iter().filter(|row| wanted(row)).for_each(|row| sums.add(row));
        num_steps += u64::from(sums.rows > before);
    }
    if num_steps == 0 {
        return None;
    }
    let count = sums.rows as f64;
    let mut means = sums.times.into_iter().map(|time| time.as_us() / count);
    let mut parts_us = [0.0; StepPart::COUNT];
    parts_us.iter_mut().for_each(|part| *part = means.next().unwrap_or_default());
    let mut next = || means.next().unwrap_or_default();
    Some(MeanPart {
        num_steps,
        parts_us,
        duration_us: next(),
        communication_us: next(),
        hidden_communication_us: next(),
        transfer_us: next(),
        hidden_transfer_us: next(),
        num_ops: sums.num_ops as f64 / count,
        host_busy_us: Some(next()).filter(|_| sums.has_host),
    })
}

/// Returns `100 * part / whole`, or `None` if the whole is 0.
fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| (100.0 * part / whole).clamp(0.0, 100.0))
}
