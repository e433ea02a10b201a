//! Model and hardware FLOPs utilisation: the time that arithmetic takes at the peak of its data types, of the time at hand.
//!
//! ```text
//!        sum over ops of the window of (model FLOPs / peak of the op's data type)
//! MFU = --------------------------------------------------------------------------
//!        sum over devices of the length of the window
//! ```
//!
//! The window are the counted steps of each device, where steps are known, else its active span: first op's start to last op's
//! end. Work of a program that computes all in one type gives the usual definition: model FLOPs of a step over step time, peak and
//! number of devices. Ops that are computed again to save memory are no part of the model's arithmetic; HFU counts them.

use rustc_hash::FxHashMap;

use super::Peaks;
use crate::metrics::devices::Devices;
use crate::metrics::ops::{Op, Ops};
use crate::metrics::step_breakdown::StepBreakdown;
use crate::trace::{ArgsId, StrId, Trace};
use crate::units::Ps;

/// A share of 100, or a sentence that says what is missing.
pub type Share = Result<f64, &'static str>;

const NO_OPS: &str = "No op ran on a device.";
const NO_PEAK: &str = "The device's peak is unknown.";
const NO_FLOPS: &str = "No FLOPs are known: the profile has neither costs nor HLO, or only elementwise GPU kernels, whose cost is in cycles.";
const NOT_IN_STEPS: &str = "No op of the counted steps has known FLOPs.";
const NOT_TOLD: &str = "Neither names nor framework paths tell which ops are computed again.";

/// What MFU and HFU are.
#[derive(Clone, Copy, Debug)]
pub struct Utilization {
    /// Model FLOPs utilisation in percent.
    pub mfu: Share,
    /// Hardware FLOPs utilisation in percent.
    pub hfu: Share,
    /// They are over the counted steps; over the active spans where false.
    pub of_steps: bool,
}

impl Default for Utilization {
    fn default() -> Self {
        Utilization { mfu: Err(NO_OPS), hfu: Err(NO_OPS), of_steps: false }
    }
}

/// Seconds at the peak: of the model's arithmetic, and of all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Ideal {
    model: f64,
    hardware: f64,
}

impl Ideal {
    fn add(&mut self, other: Ideal) {
        self.model += other.model;
        self.hardware += other.hardware;
    }

    /// Of all occurrences of an op; `None` where its FLOPs or the peak of their type are unknown.
    fn of(op: &Op, peaks: &Peaks) -> Option<Ideal> {
        let (_, peak) = peaks.reached(op.data_type, op.family)?;
        let flops = op.flops.or(op.model_flops)?;
        let model = if op.rematerialized == Some(true) { 0.0 } else { op.model_flops.unwrap_or(flops) };
        Some(Ideal { model: model / peak, hardware: flops / peak })
    }
}

impl Utilization {
    /// Measures the ops for which `leaf` gives what counts of them (`None` for a loop, whose ops are rows of their own).
    pub(super) fn new(
        trace: &Trace,
        devices: &Devices,
        ops: &Ops,
        breakdown: &StepBreakdown,
        peaks: Option<&Peaks>,
        leaf: &dyn Fn(&Op) -> Option<Op>,
    ) -> Utilization {
        let of_steps = breakdown.has_steps && breakdown.rows.iter().any(|row| row.counted && row.duration > Ps::ZERO);
        let missing = |reason| Utilization { mfu: Err(reason), hfu: Err(reason), of_steps };
        if ops.device_time <= Ps::ZERO {
            return missing(NO_OPS);
        }
        let Some(peaks) = peaks else { return missing(NO_PEAK) };
        let mut told = false;
        let ideal = |op: &Op| {
            let op = leaf(op)?;
            told |= op.rematerialized.is_some();
            Ideal::of(&op, peaks)
        };
        let ideals: Vec<Option<Ideal>> = ops.rows.iter().map(ideal).collect();
        if ideals.iter().all(Option::is_none) {
            return missing(NO_FLOPS);
        }
        let (sum, time) = if of_steps {
            match of_counted_steps(trace, devices, ops, breakdown, &ideals) {
                (Some(sum), time) => (sum, time),
                (None, _) => return missing(NOT_IN_STEPS),
            }
        } else {
            let mut sum = Ideal::default();
            ideals.iter().flatten().for_each(|&ideal| sum.add(ideal));
            (sum, ops.device_time)
        };
        let percent = |seconds: f64| 100.0 * seconds / (time.0 as f64 * 1e-12);
        Utilization {
            mfu: Ok(percent(sum.model)),
            hfu: if told { Ok(percent(sum.hardware)) } else { Err(NOT_TOLD) },
            of_steps,
        }
    }
}

/// What the ops that start in counted steps need at the peak, and the length of these steps. An occurrence needs its op's share.
fn of_counted_steps(
    trace: &Trace,
    devices: &Devices,
    ops: &Ops,
    breakdown: &StepBreakdown,
    ideals: &[Option<Ideal>],
) -> (Option<Ideal>, Ps) {
    let is_known = |row: u32| ideals.get(row as usize).is_some_and(Option::is_some);
    let known: FxHashMap<(StrId, ArgsId), u32> =
        ops.entries.iter().copied().filter(|&(_, row)| is_known(row)).collect();
    let mut counts = vec![0u64; ops.rows.len()];
    let mut time = Ps::ZERO;
    for row in breakdown.rows.iter().filter(|row| row.counted) {
        let Some(device) = devices.used.get(row.device as usize) else { continue };
        time += row.duration;
        for &id in ops_of(trace, &device.ops, row.start, row.start + row.duration) {
            let Some(event) = trace.events.get(id) else { continue };
            if let Some(count) = known.get(&(event.name, event.args)).and_then(|&row| counts.get_mut(row as usize)) {
                *count += 1;
            }
        }
    }
    let mut sum = None;
    for ((op, ideal), count) in ops.rows.iter().zip(ideals).zip(counts).filter(|&(_, count)| count > 0) {
        let share = count as f64 / op.occurrences.max(1) as f64;
        if let Some(Ideal { model, hardware }) = ideal {
            sum.get_or_insert(Ideal::default()).add(Ideal { model: model * share, hardware: hardware * share });
        }
    }
    (sum, time)
}

/// Those of a device's ops, which are in order, that start from `start` to before `end`.
fn ops_of<'o>(trace: &Trace, ops: &'o [u32], start: Ps, end: Ps) -> &'o [u32] {
    let before = |time: Ps| ops.partition_point(|&id| trace.events.time(id).is_some_and(|(start, _)| start < time));
    ops.get(before(start)..before(end)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::devices;
    use crate::hlo::Modules;
    use crate::metrics::ops::Tallies;
    use crate::metrics::step_breakdown::StepRow;
    use crate::trace::builder::TraceBuilder;

    /// Two chips, two steps of 100 us each and a warm-up before; an op takes `flops` at 100e12 FLOP/s.
    fn run() -> (Trace, Devices, StepBreakdown) {
        let mut b = TraceBuilder::new();
        let mut rows = Vec::new();
        for device in 0..2u32 {
            let line = b.line(&format!("/device:TPU:{device}"), "XLA Ops");
            b.event(line, "warm_up", 0, 400).hlo_category("convolution");
            for step in 0..2 {
                let start = 1000 + 100 * step;
                b.event(line, "fusion.1", start, 50).hlo_category("convolution fusion");
                b.event(line, "fusion.2.remat", start + 50, 20).hlo_category("convolution fusion");
                rows.push(StepRow {
                    step: Some(step as u32),
                    device,
                    start: Ps(start * 1_000_000),
                    duration: Ps(100_000_000),
                    counted: step == 1,
                    ..StepRow::default()
                });
            }
        }
        let trace = b.build();
        let devices = Devices::new(&trace);
        let mut breakdown = StepBreakdown::default();
        breakdown.rows = rows;
        breakdown.has_steps = true;
        (trace, devices, breakdown)
    }

    fn measure(breakdown: &StepBreakdown, cost: fn(&str) -> Option<f64>) -> Utilization {
        let (trace, devices, _) = run();
        let ops = Ops::new(&trace, &devices, &Tallies::new(&trace, &devices, &[]), &Modules::new(&trace));
        let peaks = super::super::peaks(&trace, &devices, Some("tpu-v4")).unwrap();
        assert_eq!(
            devices::by_key("tpu-v4").unwrap().rates.get(crate::facts::arithmetic::Arithmetic::Bf16),
            Some(275e12)
        );
        let leaf = |op: &Op| {
            let flops = cost(ops.text(&trace, op.name)).map(|flops| flops * op.occurrences as f64);
            Some(Op { flops, ..*op })
        };
        Utilization::new(&trace, &devices, &ops, breakdown, Some(&peaks), &leaf)
    }

    fn cost(name: &str) -> Option<f64> {
        match name {
            // 25 us and 10 us at the peak.
            "fusion.1" => Some(275e12 * 25e-6),
            "fusion.2.remat" => Some(275e12 * 10e-6),
            _ => Some(275e12 * 200e-6),
        }
    }

    fn close(found: Share, expected: f64) {
        let found = found.unwrap();
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn counted_steps_are_the_window() {
        let (_, _, breakdown) = run();
        let found = measure(&breakdown, cost);
        assert!(found.of_steps);
        // 25 of 100 us, 35 with what is computed again, whatever the warm-up did.
        close(found.mfu, 25.0);
        close(found.hfu, 35.0);
    }

    #[test]
    fn the_active_span_is_the_window_without_steps() {
        let found = measure(&StepBreakdown::default(), cost);
        assert!(!found.of_steps);
        // 200 + 2 x 25 of the 1170 us from the first op to the last.
        close(found.mfu, 250.0 / 11.7);
        close(found.hfu, 270.0 / 11.7);
    }

    #[test]
    fn what_is_missing_is_said() {
        let (_, _, breakdown) = run();
        assert_eq!(measure(&breakdown, |_| None).mfu, Err(NO_FLOPS));
        assert_eq!(measure(&breakdown, |name| cost(name).filter(|_| name == "warm_up")).mfu, Err(NOT_IN_STEPS));
    }
}
