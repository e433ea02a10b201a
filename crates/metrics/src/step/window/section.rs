//! Builds the window section of the report.

use super::{Window, WindowKind};
use crate::common::statistics::mean;
use crate::device::devices::Devices;
use base::{Ps, format};
use report::MainWindow;
use run::WindowChoice;
use trace::{Interval, IntervalSet};

/// The section contains a caution if the active span is shorter than this share of the capture, in percent.
const MOSTLY_ACTIVE_PERCENT: f64 = 50.0;
/// The section contains a caution if the window contains less than this share of the devices' work, in percent. We
/// chose this limit because half of the work is common: one of two steps is often cut.
pub const LEAST_WORK_PERCENT: f64 = 25.0;

/// Builds the section. Returns `None` if no device was used. `captured` are the devices over the whole capture.
pub(crate) fn section(window: &Window, choice: &WindowChoice, captured: &Devices) -> Option<MainWindow> {
    let capture = captured.capture.filter(|_| !captured.used.is_empty())?;
    let hull = window.hull().unwrap_or(Interval::new(capture.start, capture.start));
    let spans = captured.used.iter().map(|device| device.span.length().as_us()).collect::<Vec<f64>>();
    let active = IntervalSet::union_of(captured.used.iter().map(|device| device.span)).length();
    let length = capture.length();
    let active_percent =
        (length > Ps::ZERO).then(|| (100.0 * active.as_ps() as f64 / length.as_ps() as f64).clamp(0.0, 100.0));
    let work_percent = work_percent(window, captured);
    let [captured_time, active_time] = [length, active].map(|time| format::time_us(time.as_us()));
    Some(MainWindow {
        kind: window.kind.label().to_owned(),
        chosen: (*choice != WindowChoice::Main).then(|| choice.to_string()),
        sentence: sentence(window, choice, captured, &captured_time),
        caution: caution(
            active_percent.filter(|&share| share < MOSTLY_ACTIVE_PERCENT),
            work_percent.filter(|&share| share < LEAST_WORK_PERCENT && *choice == WindowChoice::Main),
            &active_time,
            &captured_time,
        ),
        start_us: (hull.start - capture.start).as_us(),
        end_us: (hull.end - capture.start).as_us(),
        duration_us: window.mean_length_us(),
        num_steps: window.num_steps,
        first_step: window.ends.as_ref().map(|(first, _)| first.clone()),
        last_step: window.ends.as_ref().map(|(_, last)| last.clone()),
        active_span_us: mean(&spans).unwrap_or(0.0),
        active_percent,
        work_percent,
    })
}

/// Returns the share of the devices' busy time that is inside the window. `None` if the devices were never busy.
fn work_percent(window: &Window, captured: &Devices) -> Option<f64> {
    let (mut all, mut inside) = (Ps::ZERO, Ps::ZERO);
    for (device, of_device) in captured.used.iter().zip(&window.of_device) {
        all += device.busy.length();
        inside += device.busy.intersection(of_device).length();
    }
    (all > Ps::ZERO).then(|| (100.0 * inside.as_ps() as f64 / all.as_ps() as f64).clamp(0.0, 100.0))
}

/// If the window leaves out most of the work, describes the work that is inside. `active` and `work` are the shares
/// that are too small.
fn caution(active: Option<f64>, work: Option<f64>, active_time: &str, captured_time: &str) -> Option<String> {
    let active = active.map(|_| format!("The devices worked for {active_time} of {captured_time} captured."));
    let work = work.map(|share| format!("Only {} of the devices' work is inside the window.", format::percent(share)));
    let said: Vec<String> = active.into_iter().chain(work).collect();
    (!said.is_empty()).then(|| said.join(" "))
}

fn sentence(window: &Window, choice: &WindowChoice, captured: &Devices, captured_time: &str) -> String {
    let length = format::time_us(window.mean_length_us());
    let steps = |count: u64| format!("{} step{}", format::count(count), if count == 1 { "" } else { "s" });
    let counted = if matches!(choice, WindowChoice::Steps { .. }) { "Step" } else { "Counted step" };
    match (window.kind, &window.ends, window.num_steps) {
        (WindowKind::Steps, Some((first, last)), _) if first == last => {
            format!("{counted} {first}: {length} of {captured_time} captured.")
        }
        (WindowKind::Steps, Some((first, last)), Some(count)) => {
            format!("{counted}s {first} to {last}: {}, {length} of {captured_time} captured.", steps(count))
        }
        (WindowKind::GivenSteps, _, Some(count)) => {
            format!("{} (given): {length} of {captured_time} captured.", steps(count))
        }
        (WindowKind::Capture, ..) => format!("The whole capture: {captured_time}."),
        (WindowKind::Range, ..) => format!("The chosen time range: {length} of {captured_time} captured."),
        _ if captured.used.len() == 1 => {
            format!("Active span, from the first op to the last: {length} of {captured_time} captured.")
        }
        _ => format!("Active span, from each device's first op to its last: {length} of {captured_time} captured."),
    }
}
