//! Splits the time of a capture into productive time and losses.
//!
//! ```text
//! capture   |  compile |=step=|=step=|  checkpoint  |=step=|=step, slow  |=step=|  |
//! device               [======][====] input          [=====][====]  [===] [====]
//! lost      |----------|             |--| |---------|             |-|          |--|
//! ```
//!
//! Reads the idle times of devices, the steps, and the hosts' compilation, checkpoints and waits for input. All times
//! are on the device's clock.

use crate::common::statistics::median;
use crate::device::devices::{Device, Devices};
use crate::host::host_threads::{self, HostTime};
use crate::host::host_work::for_each_named;
use crate::step::steps::Steps;
use base::{Ps, sort};
use report::{Goodput, GoodputPart};
use std::collections::BTreeMap;
use trace::{Interval, IntervalSet, Trace};

/// A step is slow if it exceeds the third quartile by this many interquartile ranges (Tukey's outer fence).
const FENCE: f64 = 3.0;
/// Minimum excess of a slow step over the median step, as a share of the median (the same as in comparisons of runs).
const LEAST_STALL: f64 = 0.05;

/// Names of the losses, in the order of their precedence.
const LOSSES: [&str; 3] = ["compilation", "checkpoint", "input"];

/// Measures the capture. `devices` covers the whole capture. Returns `None` if no device was used.
pub(crate) fn section(
    trace: &Trace,
    devices: &Devices,
    hosts: &BTreeMap<u16, HostTime>,
    steps: &Steps,
    dollars_per_device_hour: Option<f64>,
) -> Option<Goodput> {
    let capture = devices.capture.filter(|capture| capture.length() > Ps::ZERO)?;
    let count = devices.used.len();
    if count == 0 {
        return None;
    }
    let mut checkpoints = Vec::new();
    for_each_named(trace, devices, &facts::is_checkpoint, &mut |event| {
        checkpoints.push(Interval::new(event.start, event.end()));
    });
    let checkpoints = IntervalSet::union_of(checkpoints);
    let compiling = host_threads::compiling(hosts);
    let mut sums: BTreeMap<&'static str, Ps> = BTreeMap::new();
    for (number, device) in (0u32..).zip(&devices.used) {
        let input = hosts.get(&device.host).map(|host| host.held_by_input.clone()).unwrap_or_default();
        let causes = [&compiling, &checkpoints, &input].map(|set| device.set_from_host(set));
        for (part, time) in of_device(device, device.interval_from_host(capture), causes, steps, number) {
            *sums.entry(part).or_default() += time;
        }
    }
    let covered_us = capture.length().as_us();
    let share = |time: Ps| time.as_us() / count as f64;
    let mut parts: Vec<GoodputPart> = sums
        .into_iter()
        .filter(|(part, time)| *time > Ps::ZERO || *part == "productive")
        .map(|(part, time)| GoodputPart {
            part: part.to_owned(),
            time_us: share(time),
            percent: (100.0 * share(time) / covered_us).min(100.0),
            device_hours: time.as_us() / 3.6e9,
        })
        .collect();
    sort::sort_by(&mut parts, |a, b| {
        let key = |it: &GoodputPart| it.part != "productive";
        key(a).cmp(&key(b)).then_with(|| b.time_us.total_cmp(&a.time_us)).then_with(|| a.part.cmp(&b.part))
    });
    let goodput_percent = parts.first().map_or(0.0, |part| part.percent);
    let lost_devices = count as f64 * (1.0 - goodput_percent / 100.0);
    let device_hours = count as f64 * covered_us / 3.6e9;
    Some(Goodput {
        covered_us,
        num_devices: count as u64,
        goodput_percent,
        lost_devices,
        device_hours,
        lost_device_hours: device_hours * (1.0 - goodput_percent / 100.0),
        lost_dollars_per_hour: dollars_per_device_hour.map(|price| price * lost_devices),
        parts,
    })
}

/// Splits the time of one device. The parts add up to the length of the capture.
fn of_device(
    device: &Device,
    capture: Interval,
    causes: [IntervalSet; 3],
    steps: &Steps,
    number: u32,
) -> Vec<(&'static str, Ps)> {
    let mut rest = IntervalSet::union_of(device.busy.gaps(capture));
    let mut parts = Vec::new();
    let mut lost = IntervalSet::default();
    for (name, cause) in LOSSES.into_iter().zip(causes) {
        let own = rest.intersection(&cause);
        rest = rest.difference(&own);
        lost = lost.union(&own);
        parts.push((name, own.length()));
    }
    let windows: Vec<(Interval, bool)> = steps
        .windows
        .get(number as usize)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|window| Some((window.interval.clip(capture)?, window.open)))
        .collect();
    if windows.is_empty() {
        parts.push(("idle", rest.length()));
        parts.push(("productive", device.busy.length_within(capture)));
        return parts;
    }
    let inside = IntervalSet::union_of(windows.iter().map(|(window, _)| *window));
    let in_steps = inside.length() - inside.intersection(&lost).length();
    let remaining = |window: &Interval| (window.length() - lost.length_within(*window)).as_us();
    let whole: Vec<f64> = windows.iter().filter(|(_, open)| !open).map(|(window, _)| remaining(window)).collect();
    let stall = stall_us(whole);
    let stall = Ps::new((stall * 1e6) as i64).min(in_steps);
    parts.push(("stall", stall));
    parts.push(("productive", in_steps - stall));
    let all_lost = lost.length_within(capture);
    parts.push(("outside_steps", capture.length() - in_steps - all_lost));
    parts
}

/// Returns the time by which the slow steps exceed the median step, summed over the slow steps.
fn stall_us(mut lengths: Vec<f64>) -> f64 {
    let Some(typical) = median(&lengths) else { return 0.0 };
    sort::sort_by(&mut lengths, f64::total_cmp);
    let quartile = |share: f64| lengths.get((share * lengths.len() as f64) as usize).copied().unwrap_or(typical);
    let (first, third) = (quartile(0.25), quartile(0.75));
    let fence = (third + FENCE * (third - first)).max((1.0 + LEAST_STALL) * typical);
    lengths.iter().filter(|&&length| length > fence).map(|length| length - typical).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::TraceBuilder;

    fn measured(b: TraceBuilder) -> BTreeMap<String, f64> {
        let trace = b.build();
        let devices = Devices::of(&trace);
        let hosts = host_threads::host_times(&trace, &devices);
        let found = section(&trace, &devices, &hosts, &Steps::find(&trace, &devices), Some(2.0)).unwrap();
        let sum: f64 = found.parts.iter().map(|part| part.time_us).sum();
        assert!((sum - found.covered_us).abs() < 1e-6, "{found:?}");
        let expected = 2.0 * (1.0 - found.goodput_percent / 100.0);
        assert!(found.lost_dollars_per_hour.is_some_and(|dollars| (dollars - expected).abs() < 1e-9));
        found.parts.into_iter().map(|part| (part.part, part.time_us)).collect()
    }

    #[test]
    fn every_loss_has_its_time() {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let modules = b.line("/device:TPU:0", "XLA Modules");
        let ops = b.line("/device:TPU:0", "XLA Ops");
        b.event(python, "backend_compile", 0, 500);
        let mut at = 500;
        for step in 0..12 {
            // Step 4 waits for input, and step 6 for a checkpoint. Step 8 is slow for an unknown reason.
            let wait = match step {
                4 => 70,
                6 => 200,
                8 => 400,
                _ => 0,
            };
            b.event(modules, "jit_step(1)", at, 100).run_id(step);
            b.event(ops, "fusion.1", at, 100).hlo_category("loop fusion");
            match step {
                4 => drop(b.event(python, "next_batch", at + 100, wait)),
                6 => drop(b.event(python, "save_checkpoint", at + 100, wait)),
                _ => {}
            }
            b.event(python, "PjitFunction(step)", at + 100 + wait, 1);
            at += 100 + wait;
        }
        b.event(python, "end", at, 50);
        let parts = measured(b);
        let near = |part: &str, us: f64| {
            let found = parts.get(part).copied().unwrap_or(0.0);
            assert!((found - us).abs() <= 2.0, "{part}: {found} {parts:?}");
        };
        near("compilation", 500.0);
        near("checkpoint", 200.0);
        near("input", 70.0);
        near("stall", 400.0);
        near("productive", 1200.0);
        near("outside_steps", 50.0);
    }

    #[test]
    fn without_steps_busy_time_is_productive() {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let ops = b.line("/device:TPU:0", "XLA Ops");
        b.event(python, "start", 0, 10);
        b.event(ops, "fusion.1", 100, 100).hlo_category("loop fusion");
        b.event(ops, "fusion.2", 300, 150).hlo_category("loop fusion");
        let parts = measured(b);
        assert_eq!(parts, BTreeMap::from([("idle".to_owned(), 200.0), ("productive".to_owned(), 250.0)]));
    }
}
