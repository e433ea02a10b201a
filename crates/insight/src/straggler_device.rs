//! One device arrives last at collectives, and the devices that exchange data with it wait.
//!
//! In each run of a collective, the device that spent the shortest time in it arrived last
//! (`multi_device.device_stats[].arrivals`). The rule selects the device that the others waited for the longest, and
//! fires if this device arrives last far more often than it would if all devices arrived last equally often. The loss
//! is the time that the collectives of this device would save if the device arrived together with the second-last one.
//! The loss is limited to the exposed communication of the other devices, and stated as a share of the device's window.
//!
//! If no collective can be compared (because groups or counterparts are unknown), the rule compares the devices' work
//! in a step instead: the time during which a device is neither idle nor communicating. The loss is then the difference
//! between the work of the slowest device and the median work of the devices that exchange data with it.
//!
//! Severity: note from 1 % for arrivals (ours: below this limit, `communication.straggler` is absent too) and from 5 %
//! for work, warning from 10 %, critical from 50 % (based on the JAX guide's limit for overheads). Confidence: high if
//! the device arrives last at 75 % or more of the collectives, otherwise medium. The rule is skipped if neither
//! collectives nor steps can be compared.

use super::draft::{Draft, equals, lacks};
use super::limits::{OVERHEAD_NOTED_PERCENT, OVERHEAD_PERCENT};
use super::numbers::Numbers;
use super::{Needs, Rule, Verdict};
use base::{Ps, format, sort};
use metrics::{LateCause, MeanPart, median};
use report::{Confidence, FindingSeverity, View, WindowKind};

pub(super) static RULE: Rule = Rule {
    id: "straggler_device",
    title: "One device is slower than the others",
    needs: Needs::Whole,
    ..Rule::checked_by(check)
};

/// Minimum delay of the other devices for a note, percent of the window. Below this limit, `communication.straggler` is
/// absent too.
const DELAY_NOTED_PERCENT: f64 = 1.0;
/// Minimum share of the collectives at which a device arrives last for a high confidence.
const NEARLY_ALL: f64 = 0.75;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let analysis = numbers.context.analysis;
    if analysis.devices.used.len() < 2 || !numbers.communicates() {
        // Devices that do not communicate do not wait for each other.
        return Verdict::Irrelevant;
    }
    if analysis.collectives.group_runs.is_empty() { by_work(numbers) } else { by_arrival(numbers) }
}

/// Compares the devices by their arrivals at collectives.
fn by_arrival(numbers: &Numbers<'_>) -> Verdict {
    let analysis = numbers.context.analysis;
    let (all, devices) = (&analysis.collectives, &analysis.devices.used);
    let Some((index, share)) = all.straggler() else { return Verdict::Fine };
    let (Some(late), Some(device)) = (all.devices.get(index), devices.get(index)) else { return Verdict::Fine };
    // Waits that computation overlaps cost nothing.
    let exposed: Ps = (0..).zip(&all.devices).filter(|(at, _)| *at != index).map(|(_, it)| it.sums.exposed).sum();
    let exposed_us = exposed.as_us() / all.devices.len().saturating_sub(1).max(1) as f64;
    let lost = 100.0 * late.delay.as_us().min(exposed_us) / device.window.length().as_us().max(1e-6);
    if lost < DELAY_NOTED_PERCENT {
        return Verdict::Fine;
    }
    let name = format::printable(&device.name);
    let runs = all.group_runs.iter().filter(|run| run.last as usize == index && run.waited > Ps::ZERO);
    let (mut waits, mut least, mut most) = (0u64, Ps::MAX, Ps::ZERO);
    for run in runs {
        waits += u64::from(run.devices.saturating_sub(1));
        (least, most) = (least.min(run.delay), most.max(run.longest));
    }
    let others = all.devices.iter().enumerate().filter(|(at, it)| *at != index && it.is_late()).count();
    let score = analysis.scores.get(index);
    let cause = score.and_then(|score| score.cause).unwrap_or(LateCause::Unknown);
    let slower = score.and_then(|score| score.relative_percent).map(|percent| 100.0 - percent);
    let (least, most) = (format::time_us(least.as_us()), format::time_us(most.as_us()));
    let mean = format::time_us(late.caused.as_us() / waits.max(1) as f64);
    let waits = if least == most { least } else { format!("{least} to {most}, on average {mean},") };
    let message = format!(
        "{name} arrives last in {} of its {} collectives ({}). The other devices wait for it for {waits} each time, which costs {}. \
         {}{}",
        format::count(late.last),
        format::count(late.sums.compared),
        format::percent(100.0 * share),
        match numbers.window_of_parts() {
            Some(window) => {
                format!("{} of {} ({})", format::time_us(window.us(lost)), window.words(), format::percent(lost))
            }
            None => format!("{} of the time", format::percent(lost)),
        },
        evidence_of(cause, slower),
        match others {
            0 => String::new(),
            1 => " One other device is often late too.".to_owned(),
            _ => format!(" {others} other devices are often late too."),
        },
    );
    let (severity, limit) = severity(lost, DELAY_NOTED_PERCENT);
    let confidence = if share >= NEARLY_ALL { Confidence::High } else { Confidence::Medium };
    let draft = Draft::new(severity, confidence, &format!("The other devices wait for {name}"), message)
        .remedy(remedy(cause))
        .passed("delay_percent", lost, limit)
        .evidence("last_percent", 100.0 * share)
        .evidence("caused_wait_us", late.caused.as_us());
    let draft = match score.and_then(|score| score.relative_percent) {
        Some(relative) => draft.evidence("relative_score_percent", relative),
        None => draft,
    };
    draft.at_stake(lost).link(View::Devices, &equals("device_name", &device.name)).fires()
}

/// Describes why the device is late.
fn evidence_of(cause: LateCause, slower_percent: Option<f64>) -> String {
    let slower = slower_percent.filter(|percent| *percent > 0.0);
    match (cause, slower) {
        (LateCause::Throttling, Some(slower)) => format!(
            "It runs the same ops as the fastest device, and all of them are slower by the same ratio (score {}): the \
             chip is slower.",
            format::percent(100.0 - slower)
        ),
        (LateCause::Throttling, None) => {
            "It runs the same ops as the fastest device, and all of them are slower by the same ratio: the chip is \
             slower."
                .to_owned()
        }
        (LateCause::Compute, _) => {
            "It computes for longer than the others: its ops differ, or some of them take longer.".to_owned()
        }
        (LateCause::Input, _) => "It waits for input for longer than the others.".to_owned(),
        (LateCause::Transfer, _) => {
            "It copies to or from the host or other devices for longer than the others.".to_owned()
        }
        (LateCause::Host, _) => "It waits for its host for longer than the others.".to_owned(),
        (LateCause::Unknown, _) => "The parts of its steps do not explain the delay.".to_owned(),
    }
}

fn remedy(cause: LateCause) -> &'static str {
    match cause {
        LateCause::Throttling => {
            "Check the clock, temperature and power limit of this chip, and whether another program runs on it. If it stays slower, \
             replace it or leave it out."
        }
        LateCause::Compute => {
            "Compare its ops with those of another device. More ops mean an uneven split (padding, pipeline stages, \
             experts). A few longer ops mean other data or another kernel."
        }
        LateCause::Input => "Give its host as much input as the other hosts: equal shards, more workers, prefetching.",
        LateCause::Transfer => {
            "Look at its copies. Usual causes: a different layout of the host's memory, or data that only this device \
             copies."
        }
        LateCause::Host => {
            "Look at its host on the timeline. Usual causes: other processes, garbage collection, logging or \
             compilation."
        }
        LateCause::Unknown => "Compare its steps with those of another device on the timeline.",
    }
}

fn severity(lost: f64, noted: f64) -> (FindingSeverity, f64) {
    match lost >= OVERHEAD_PERCENT.good {
        true => OVERHEAD_PERCENT.severity(lost),
        false => (FindingSeverity::Note, noted),
    }
}

/// Compares the devices by their work in a step.
fn by_work(numbers: &Numbers<'_>) -> Verdict {
    let devices = &numbers.context.analysis.devices.used;
    let breakdown = &numbers.context.analysis.step_breakdown;
    let (WindowKind::Steps, Some(mean)) = (breakdown.window, breakdown.mean.as_ref()) else {
        return numbers.lacks_steps("the steps are unknown.");
    };
    let work: Vec<Option<f64>> =
        breakdown.mean_of_device.iter().map(|mean| mean.as_ref().map(MeanPart::work_us)).collect();
    let connected = numbers.context.analysis.collectives.connected();
    let mut groups: Vec<u32> = connected.clone();
    sort::sort_by(&mut groups, Ord::cmp);
    groups.dedup();
    if groups.len() == devices.len() {
        return lacks(
            "the capture lacks the devices that these devices exchange data with. Open the profiles of all hosts together.",
        );
    }
    // For each group of devices that wait for each other, finds the slowest device and the median of the group.
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
    let (severity, limit) = severity(late, OVERHEAD_NOTED_PERCENT);
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
        .passed("behind_median_percent", late, limit)
        .evidence("slowest_work_us", most)
        .evidence("median_work_us", middle)
        .at_stake(late)
        .link(View::Steps, &equals("device_name", &device.name))
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, gpu_steps, host_bound, op, says};
    use report::FindingSeverity::{Note, Warning};
    use trace::Trace;

    /// Builds two devices that gather from each other. The second device works `more` us longer, and the first device waits for
    /// it. If `is_compared` is false, the devices run different numbers of gathers at different times, so that the gathers
    /// cannot be compared.
    fn two_devices(more: i64, is_compared: bool) -> Trace {
        gpu_steps(12, move |b, at| {
            for (device, work, parts) in [("/device:GPU:0", 500, 1), ("/device:GPU:1", 500 + more, 2)] {
                op(b, (device, "Stream #7(Compute)"), "gemm", at + 1, at + 5, work);
                let (parts, end) = match (is_compared, parts) {
                    (true, _) => (1, 900),
                    (false, 1) => (1, 545),
                    (false, _) => (2, 900),
                };
                let length = (end - work) / parts;
                for part in 0..parts {
                    let gather = "ncclDevKernel_AllGather_RING_LL(ncclDevComm*)";
                    op(b, (device, "Stream #9(Compute)"), gather, at + 2, at + 5 + work + part * length, length - part);
                }
            }
        })
    }

    #[test]
    fn fires_above_its_limits_for_arrivals() {
        let found = finding(two_devices(110, true), &RULE);
        assert_eq!((found.severity, found.title.as_str()), (Warning, "The other devices wait for /device:GPU:1"));
        assert!(found.message.contains("arrives last in 11 of its 11 collectives"), "{}", found.message);
        assert!(
            found.message.contains("for 110 µs each time") && found.message.contains("computes for longer"),
            "{}",
            found.message
        );
        assert_eq!(finding(two_devices(90, true), &RULE).severity, Note);
        assert_eq!(finding(two_devices(11, true), &RULE).severity, Note);
        fine(two_devices(9, true), &RULE);
        assert_eq!(says(host_bound(500), &RULE), Verdict::Irrelevant);
    }

    #[test]
    fn compares_work_if_collectives_cannot_be_compared() {
        // The median of two devices is the mean of both.
        let found = finding(two_devices(220, false), &RULE);
        assert_eq!((found.severity, found.title.as_str()), (Warning, "The other devices wait for /device:GPU:1"));
        assert!(found.message.contains("Outside communication"), "{}", found.message);
        assert_eq!(finding(two_devices(110, false), &RULE).severity, Note);
        fine(two_devices(90, false), &RULE);
    }
}
