//! Measures how much the time of an op varies from step to step.
//!
//! Reads the counted steps of each device and the ops that start in them. The value of a step is the mean over the
//! devices that ran it. Devices wait for each other, so their times are not independent measurements.
//!
//! ```text
//! step         |  0   |  1   |  2   |
//! device 0     |===   |====  |===   |     3, 4, 3
//! device 1     |===== |====  |===   |     5, 4, 3
//! a step has       4      4      3        standard deviation of these: 0.58
//! ```

use rustc_hash::FxHashMap;

use super::listed::ListedOp;
use crate::common::statistics;
use crate::device::devices::{Device, Devices};
use crate::device::self_time::self_times;
use crate::op::ops::Ops;
use crate::step::step_breakdown::Breakdown;
use base::Ps;
use trace::{ArgsId, Interval, StrId, Trace, in_blocks};

/// Maximum number of steps that are read, beginning with the first. More steps would hardly change the result.
const MOST_STEPS: usize = 200;

/// Returns, for each listed op, the sample standard deviation of its self time over steps. Empty if fewer than two steps are
/// counted. Takes time linear in the number of ops.
pub(super) fn stddevs_us(
    trace: &Trace,
    devices: &Devices,
    breakdown: &Breakdown,
    ops: &Ops,
    listed: &[ListedOp],
) -> Vec<f64> {
    let steps = CountedSteps::new(devices, breakdown);
    if steps.devices_of.len() < 2 {
        return Vec::new();
    }
    let mut place_of_row: Vec<Option<usize>> = vec![None; ops.rows.len()];
    for (place, row) in listed.iter().enumerate().flat_map(|(place, it)| it.rows.iter().map(move |&row| (place, row))) {
        if let Some(slot) = place_of_row.get_mut(row) {
            *slot = Some(place);
        }
    }
    let place = |row: u32| place_of_row.get(row as usize).copied().flatten();
    let places: FxHashMap<(StrId, ArgsId), usize> =
        ops.entries.iter().filter_map(|&(key, row)| Some((key, place(row)?))).collect();
    let mut sums = vec![Ps::ZERO; listed.len() * steps.devices_of.len()];
    for (device, windows) in devices.used.iter().zip(&steps.windows) {
        add_device(trace, device, windows, |key, step, time| {
            let place = places.get(&key);
            if let Some(sum) = place.and_then(|place| sums.get_mut(place * steps.devices_of.len() + step)) {
                *sum += time;
            }
        });
    }
    let stddev = |sums: &[Ps]| {
        let means: Vec<f64> =
            sums.iter().zip(&steps.devices_of).map(|(sum, &devices)| sum.as_us() / f64::from(devices)).collect();
        statistics::stddev(&means).unwrap_or(0.0)
    };
    sums.chunks(steps.devices_of.len()).map(stddev).collect()
}

struct CountedSteps {
    /// For each device in use, the time and the index of each step, sorted by time.
    windows: Vec<Vec<(Interval, usize)>>,
    /// Number of devices that ran each step.
    devices_of: Vec<u32>,
}

impl CountedSteps {
    fn new(devices: &Devices, breakdown: &Breakdown) -> CountedSteps {
        let mut steps = CountedSteps { windows: vec![Vec::new(); devices.used.len()], devices_of: Vec::new() };
        let counted = breakdown.rows.iter().filter(|row| row.counted && row.step.is_some());
        let mut last = None;
        for row in counted {
            if row.step != last {
                if steps.devices_of.len() == MOST_STEPS {
                    break;
                }
                last = row.step;
                steps.devices_of.push(0);
            }
            let step = steps.devices_of.len() - 1;
            if let (Some(windows), Some(count)) =
                (steps.windows.get_mut(row.device as usize), steps.devices_of.last_mut())
            {
                windows.push((Interval::new(row.start, row.start + row.duration), step));
                *count += 1;
            }
        }
        steps
    }
}

/// Calls `add` with the self time and the step of every op of `device` that starts in one of `windows`.
fn add_device(
    trace: &Trace,
    device: &Device,
    windows: &[(Interval, usize)],
    mut add: impl FnMut((StrId, ArgsId), usize, Ps),
) {
    let own = self_times(trace, device);
    let (mut own, mut windows) = (own.iter(), windows.iter().peekable());
    in_blocks(&device.ops, |&id| {
        let (Some(event), Some(&own)) = (trace.events.get(id), own.next()) else { return };
        while windows.next_if(|(window, _)| window.end <= event.start).is_some() {}
        if let Some((_, step)) = windows.peek().filter(|(window, _)| window.start <= event.start) {
            add((event.name, event.args), *step, own);
        }
    });
}

#[cfg(test)]
mod tests {
    use crate::analyse;
    use trace::TraceBuilder;

    /// The timeline in the module's documentation, with steps of 10 us from 0. A second op runs on the first device
    /// only. The second op takes 1, 1 and 4 us in the three steps. The 4 us consist of two runs.
    #[test]
    fn an_op_varies_by_its_mean_over_the_devices_of_a_step() {
        let mut b = TraceBuilder::new();
        let hosts = b.line("/host:CPU", "python");
        let lines = [b.line("/device:TPU:0", "XLA Ops"), b.line("/device:TPU:1", "XLA Ops")];
        for step in 0..4 {
            b.event(hosts, "train", 10 * step, 9).step_num(step);
        }
        for (step, [first, second]) in (0..).zip([[3, 5], [4, 4], [3, 3], [1, 1]]) {
            b.event(lines[0], "dot.1", 10 * step, first);
            b.event(lines[1], "dot.1", 10 * step, second);
        }
        for (start, us) in [(6, 1), (16, 1), (26, 1), (28, 1)] {
            b.event(lines[0], "add.2", start, us);
        }
        let run = run::Run { trace: b.build(), ..run::Run::default() };
        let examined = analyse(&run, &run::Settings::default());
        let step_ops = examined.profile.step_ops.as_ref().unwrap();
        let stddev = |name: &str| step_ops.ops.iter().find(|op| op.name == name).unwrap().stddev_us.unwrap();
        assert_eq!(step_ops.device_steps, 6, "{step_ops:?}");
        assert!((stddev("dot.1") - (1.0f64 / 3.0).sqrt()).abs() < 1e-12, "{step_ops:?}");
        // The mean over both devices is half of the second op's time.
        assert!((stddev("add.2") - 0.5 * (1.0f64 / 3.0).sqrt()).abs() < 1e-12, "{step_ops:?}");
    }
}
