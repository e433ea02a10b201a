//! Finds the window: the part of a run that the numbers cover.
//!
//! ```text
//! capture   |.......[warm-up][=3==][=4==][compile][=6==][cut.|
//! main                       |===========|       |=====|           the counted steps
//! active            |========================================|      first op to last op
//! ```
//!
//! All sections, tables, pages and findings use the same window. By default, it consists of the counted steps of each
//! device or, if steps are unknown, of the active span of each device. The user can choose another window. Steps are
//! found and judged first, in the whole capture. Everything else is then measured inside the window ([`Limited`]): the
//! time of an op is the time that it takes inside the window, and an op is counted if it starts inside the window. Some
//! values always cover the whole capture, as their documentation says: compilation, the list of all steps, and losses.

mod limited;
mod section;

pub(crate) use limited::Limited;
pub use section::LEAST_WORK_PERCENT;
pub(crate) use section::section;

use crate::device::devices::{Device, Devices, holds};
use crate::step::steps::Steps;
use base::format::shorten;
use base::{Ps, Warning, WarningCode};
pub(crate) use report::WindowKind;
use run::WindowChoice;
use trace::{Interval, IntervalSet};

/// The measured time of every device if the window does not consist of steps.
#[derive(Clone, Debug)]
pub struct PlainWindow {
    /// Kind of the window.
    pub kind: WindowKind,
    /// The time of each device in use.
    pub of_device: Vec<Interval>,
}

/// The window of a run.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// Kind of the window.
    pub kind: WindowKind,
    /// Times of the window on each device in use.
    pub of_device: Vec<IntervalSet>,
    /// Number of steps in the window. `None` if it does not consist of steps.
    pub num_steps: Option<u64>,
    /// Divisor of means per step per device: the number of steps in the window, summed over the devices that ran them.
    /// If the window does not consist of steps, the number of devices.
    pub device_steps: u64,
    /// Names of the first and the last step, or their indices if the steps have no names.
    pub ends: Option<(String, String)>,
}

/// Returns the steps that a choice includes: the steps that the choice names, or the steps inside the range that it
/// gives. Returns `None` if the choice does not select steps itself, so that the counted steps are used. `given` is the
/// user's number of steps. Returns a warning with the reason if the choice is impossible.
pub(crate) fn chosen_steps(
    choice: &WindowChoice,
    devices: &Devices,
    steps: &Steps,
    given: Option<u64>,
) -> Result<Option<Vec<bool>>, Box<Warning>> {
    match choice {
        WindowChoice::Steps { .. } if given.is_some_and(|given| given > 0 && given != steps.len() as u64) => {
            Err(ignored("If the number of steps is given by hand, their starts are unknown."))
        }
        WindowChoice::Steps { first, last } => {
            let (first_step, last_step) = (steps.find_step(first), steps.find_step(last));
            let missing = if first_step.is_none() { first } else { last };
            let (Some(from), Some(to)) = (first_step, last_step) else {
                return Err(ignored(&format!("The run has no step {}.", shorten(missing, 60))));
            };
            if from > to {
                return Err(ignored(&format!("Step {} comes before step {}.", shorten(last, 60), shorten(first, 60))));
            }
            Ok(Some((0..steps.len()).map(|step| (from..=to).contains(&step)).collect()))
        }
        WindowChoice::Range { .. } => {
            let Some(range) = range(choice, devices) else {
                return Err(ignored("Its range is outside the capture."));
            };
            let is_inside = |step: usize| {
                let mut windows = steps.windows.iter().filter_map(|row| row.get(step).copied().flatten()).peekable();
                let inside = |at: Interval| at.start >= range.start && at.end <= range.end;
                windows.peek().is_some() && windows.all(|window| !window.open && inside(window.interval))
            };
            Ok(Some((0..steps.len()).map(is_inside).collect()))
        }
        _ => Ok(None),
    }
}

fn ignored(reason: &str) -> Box<Warning> {
    let message = format!("The chosen window was not used. {reason} Numbers cover the main window.");
    Box::new(Warning::new(WarningCode::WindowIgnored, &message))
}

fn range(choice: &WindowChoice, devices: &Devices) -> Option<Interval> {
    let &WindowChoice::Range { from_us, to_us } = choice else { return None };
    let capture = devices.capture?;
    // A cast of a float saturates.
    let at = |us: f64| Ps::new(capture.start.as_ps().saturating_add((us * 1e6) as i64));
    Interval::new(at(from_us), at(to_us)).clip(capture)
}

/// Returns the measured time of each device if no step is counted. `given` is the extent of the steps if the user gave their
/// number.
pub(crate) fn plain(choice: &WindowChoice, devices: &Devices, given: Option<&[Option<Interval>]>) -> PlainWindow {
    let all = |kind, interval| PlainWindow { kind, of_device: vec![interval; devices.used.len()] };
    match (choice, given, range(choice, devices)) {
        (WindowChoice::All, ..) => {
            all(WindowKind::Capture, devices.capture.unwrap_or(Interval::new(Ps::ZERO, Ps::ZERO)))
        }
        (_, _, Some(range)) => all(WindowKind::Range, range),
        (WindowChoice::Main, Some(given), _) => {
            let empty = |device: &Device| Interval::new(device.span.start, device.span.start);
            let extents = devices.used.iter().zip(given).map(|(device, extent)| extent.unwrap_or(empty(device)));
            PlainWindow { kind: WindowKind::GivenSteps, of_device: extents.collect() }
        }
        _ => PlainWindow { kind: WindowKind::ActiveSpan, of_device: devices.used.iter().map(|it| it.span).collect() },
    }
}

impl Window {
    /// Returns the `plain` window. `given` is the user's number of steps, if it differs from the detected number.
    pub fn of_plain(plain: &PlainWindow, given: Option<u64>) -> Window {
        let num_steps = given.filter(|_| plain.kind == WindowKind::GivenSteps);
        let devices = plain.of_device.iter().filter(|window| window.length() > Ps::ZERO).count() as u64;
        Window {
            kind: plain.kind,
            of_device: plain.of_device.iter().map(|&window| IntervalSet::union_of([window])).collect(),
            num_steps,
            device_steps: devices.saturating_mul(num_steps.unwrap_or(1)),
            ends: None,
        }
    }

    /// Returns true if the window covers all work of each device.
    pub fn covers(&self, devices: &Devices) -> bool {
        self.of_device.len() == devices.used.len()
            && devices.used.iter().zip(&self.of_device).all(|(device, window)| holds(window, device.span))
    }

    /// Returns the time from the window's earliest start on any device to its latest end on any device. `None` if the
    /// window is empty.
    pub fn hull(&self) -> Option<Interval> {
        let spans = self.of_device.iter().filter_map(IntervalSet::span);
        spans.reduce(|a, b| Interval::new(a.start.min(b.start), a.end.max(b.end)))
    }

    /// Returns the measured time of a host: from the first start of its devices' windows to the last end. If the host has no
    /// devices, uses the hull of all devices.
    pub fn of_host(&self, devices: &Devices, host: u16) -> Interval {
        let on_host = |at: usize| {
            let (device, span) = (devices.used.get(at)?, self.of_device.get(at)?.span()?);
            Some(Interval::new(device.to_host(span.start), device.to_host(span.end)))
        };
        let spans = devices.of_host(host).filter_map(on_host);
        let hull = spans.reduce(|a, b| Interval::new(a.start.min(b.start), a.end.max(b.end)));
        let capture = devices.capture.filter(|_| self.of_device.is_empty());
        hull.or_else(|| self.hull()).or(capture).unwrap_or(Interval::new(Ps::ZERO, Ps::ZERO))
    }

    /// Returns the measured time of all hosts together.
    pub fn of_hosts(&self, devices: &Devices) -> Interval {
        self.hull().or(devices.capture).unwrap_or(Interval::new(Ps::ZERO, Ps::ZERO))
    }

    /// Returns the mean length of the window over the devices that it covers, because a counted step may run on only
    /// some of the devices.
    pub fn mean_length_us(&self) -> f64 {
        let lengths = self.of_device.iter().map(IntervalSet::length).filter(|&length| length > Ps::ZERO);
        crate::common::statistics::mean(&lengths.map(Ps::as_us).collect::<Vec<f64>>()).unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only one of two devices ran the counted step, which takes 10 us.
    #[test]
    fn a_device_without_a_step_does_not_shorten_the_window() {
        let step = IntervalSet::union_of([Interval::new(Ps::new(5_000_000), Ps::new(15_000_000))]);
        let window = Window { of_device: vec![step, IntervalSet::default()], ..Window::default() };
        assert_eq!(window.mean_length_us(), 10.0);
        assert_eq!(Window::default().mean_length_us(), 0.0);
    }
}
