//! One device works longer in each step than the others, which wait for it.

use super::draft::{Draft, equals, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::{format, sort};
use metrics::{MeanPart, StepPart, WindowKind, median};
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule = Rule { id: "straggler_device", title: "One device is slower than the others", check };

/// Time by which the slowest device works longer than the median one, as a share of the step, from which the finding is a note
/// (ours: half of the limit for a warning).
const NOTE_PERCENT: f64 = 5.0;
/// Share of the step from which the finding is a warning (the JAX guide's limit for overheads is 10 %).
const WARNING_PERCENT: f64 = 10.0;
/// Share of the step from which the finding is critical (ours: most of the step).
const CRITICAL_PERCENT: f64 = 50.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let devices = &numbers.context.analysis.devices.used;
    if devices.len() < 2 || !numbers.communicates() {
        // Devices that do not communicate do not wait for each other.
        return Verdict::Irrelevant;
    }
    let breakdown = &numbers.context.analysis.step_breakdown;
    let (WindowKind::Steps, Some(mean)) = (breakdown.window, breakdown.mean.as_ref()) else {
        return numbers.lacks_steps("the steps are unknown.");
    };
    let work: Vec<Option<f64>> = breakdown.mean_of_device.iter().map(|mean| mean.as_ref().map(work_us)).collect();
    let connected = numbers.context.analysis.collectives.connected();
    let mut groups: Vec<u32> = connected.clone();
    sort::sort_by(&mut groups, Ord::cmp);
    groups.dedup();
    if groups.len() == devices.len() {
        return lacks(
            "the capture lacks the devices that these devices exchange data with. Open the profiles of all hosts together.",
        );
    }
    // For each group of devices that wait for each other: the slowest device, and the median of all.
    let behind = groups.into_iter().filter_map(|group| {
        let members = || connected.iter().zip(&work).zip(devices).filter(|((of, _), _)| **of == group);
        let known: Vec<f64> = members().filter_map(|((_, work), _)| *work).collect();
        let slowest = members().filter_map(|((_, work), device)| Some(((*work)?, device)));
        let (most, device) = slowest.max_by(|a, b| a.0.total_cmp(&b.0))?;
        (known.len() > 1).then_some((most, median(&known)?, device))
    });
    let Some((most, middle, device)) = behind.max_by(|a, b| (a.0 - a.1).total_cmp(&(b.0 - b.1))) else {
        return lacks("fewer than two devices have complete steps. Capture several steps.");
    };
    if mean.duration_us <= 0.0 {
        return lacks("no step is complete. Capture several steps.");
    }
    let late = 100.0 * (most - middle) / mean.duration_us;
    if late < NOTE_PERCENT {
        return Verdict::Fine;
    }
    let costs = late >= WARNING_PERCENT;
    let severity = match late {
        CRITICAL_PERCENT.. => FindingSeverity::Critical,
        WARNING_PERCENT.. => FindingSeverity::Warning,
        _ => FindingSeverity::Note,
    };
    let name = format::printable(&device.name);
    let message = format!(
        "The other devices wait for {name} for {} ({}) of each step. Outside communication it works for {} per step, while the \
         median device of its group works for {}.",
        format::time_us(most - middle),
        format::percent(late),
        format::time_us(most),
        format::time_us(middle)
    );
    Draft::new(severity, Confidence::Medium, &format!("The other devices wait for {name}"), message)
        .remedy(
            "Compare its ops with those of another device. More ops mean an uneven split (padding, pipeline stages, experts). \
             Longer ops mean a slower chip (clock rate, temperature, another program on it).",
        )
        .passed("behind_median_percent", late, if costs { WARNING_PERCENT } else { NOTE_PERCENT })
        .evidence("slowest_work_us", most)
        .evidence("median_work_us", middle)
        .at_stake(late)
        .link("steps", &equals("device_name", &device.name))
        .fires()
}

/// Returns the time of a step, in microseconds, in which a device is neither idle nor in communication, where it waits for
/// others.
fn work_us(mean: &MeanPart) -> f64 {
    mean.duration_us - mean.idle_us() - mean.part_us(StepPart::Communication)
}
