//! Computes the window that the steps form.

use super::Breakdown;
use crate::step::steps::Steps;
use crate::step::window::{PlainWindow, Window, WindowKind};
use run::WindowChoice;
use trace::{Interval, IntervalSet};

impl Breakdown {
    /// Returns the window: the counted steps if steps are chosen and counted, or the `plain` window. `given` is the user's
    /// number of steps, if it differs from the detected number.
    pub fn window(&self, choice: &WindowChoice, steps: &Steps, plain: &PlainWindow, given: Option<u64>) -> Window {
        let of_steps = matches!(choice, WindowChoice::Main | WindowChoice::Steps { .. });
        if of_steps && self.has_steps && self.rows.iter().any(|row| row.counted) {
            return self.counted_steps(steps, plain.of_device.len());
        }
        Window::of_plain(plain, given)
    }

    fn counted_steps(&self, steps: &Steps, num_devices: usize) -> Window {
        let mut windows = vec![Vec::new(); num_devices];
        let (mut first, mut last) = (u32::MAX, 0);
        let (mut device_steps, mut counted) = (0, vec![false; steps.len()]);
        for row in self.rows.iter().filter(|row| row.counted) {
            let (Some(windows), Some(step)) = (windows.get_mut(row.device as usize), row.step) else { continue };
            windows.push(Interval::new(row.start, row.start + row.duration));
            (first, last) = (first.min(step), last.max(step));
            device_steps += 1;
            if let Some(slot) = counted.get_mut(step as usize) {
                *slot = true;
            }
        }
        let name = |step: u32| steps.names.get(step as usize).cloned().flatten().unwrap_or_else(|| step.to_string());
        Window {
            kind: WindowKind::Steps,
            of_device: windows.into_iter().map(IntervalSet::union_of).collect(),
            num_steps: Some(counted.into_iter().filter(|counted| *counted).count() as u64),
            device_steps,
            ends: (first <= last).then(|| (name(first), name(last))),
        }
    }
}
