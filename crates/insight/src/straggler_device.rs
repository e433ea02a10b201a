//! One device works longer in each step than the others, which wait for it.
//!
//! Devices that communicate: the work of the slowest device in a step (neither idle nor communication) minus the median work of
//! the devices that exchange data with it, directly or through others, as a share of the step. Note from 5 %, warning from 10 %
//! (ours, after the JAX guide's limit for overheads). Confidence medium. Not checked if steps are unknown.

use super::draft::{Draft, equals, lacks};
use super::limits::{OVERHEAD_NOTED_PERCENT, OVERHEAD_PERCENT};
use super::numbers::Numbers;
use super::{Needs, Rule, Verdict};
use base::{format, sort};
use metrics::{MeanPart, StepPart, median};
use report::{Confidence, FindingSeverity, View, WindowKind};

pub(super) static RULE: Rule = Rule {
    id: "straggler_device",
    title: "One device is slower than the others",
    needs: Needs::Whole,
    ..Rule::checked_by(check)
};

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
    if late < OVERHEAD_NOTED_PERCENT {
        return Verdict::Fine;
    }
    let costs = late >= OVERHEAD_PERCENT.good;
    let severity = match late {
        late if late >= OVERHEAD_PERCENT.bad => FindingSeverity::Critical,
        late if late >= OVERHEAD_PERCENT.good => FindingSeverity::Warning,
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
        .passed("behind_median_percent", late, if costs { OVERHEAD_PERCENT.good } else { OVERHEAD_NOTED_PERCENT })
        .evidence("slowest_work_us", most)
        .evidence("median_work_us", middle)
        .at_stake(late)
        .link(View::Steps, &equals("device_name", &device.name))
        .fires()
}

/// Returns the time of a step, in microseconds, in which a device is neither idle nor in communication, where it waits for
/// others.
fn work_us(mean: &MeanPart) -> f64 {
    mean.duration_us - mean.idle_us() - mean.part_us(StepPart::Communication)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, gpu_steps, host_bound, op, says};
    use report::FindingSeverity::{Note, Warning};
    use trace::Trace;

    /// Builds two devices that gather from each other. The second works `more` longer, and the first waits for it.
    fn two_devices(more: i64) -> Trace {
        gpu_steps(12, move |b, at| {
            for (device, work) in [("/device:GPU:0", 500), ("/device:GPU:1", 500 + more)] {
                op(b, (device, "Stream #7(Compute)"), "gemm", at + 1, at + 5, work);
                let gather = "ncclDevKernel_AllGather_RING_LL(ncclDevComm*)";
                op(b, (device, "Stream #9(Compute)"), gather, at + 2, at + 5 + work, 900 - work);
            }
        })
    }

    #[test]
    fn fires_above_its_limit() {
        // The median of two devices is between them.
        let found = finding(two_devices(220), &RULE);
        assert_eq!((found.severity, found.title.as_str()), (Warning, "The other devices wait for /device:GPU:1"));
        assert_eq!(finding(two_devices(110), &RULE).severity, Note);
        fine(two_devices(90), &RULE);
        assert_eq!(says(host_bound(500), &RULE), Verdict::Irrelevant);
    }
}
