//! Computes model and hardware FLOPs utilisation: the time that the arithmetic would take at the peak of its data
//! types, as a share of the available time.
//!
//! ```text
//!        sum over ops in the window of (model FLOPs / peak of the op's data type)
//! MFU = --------------------------------------------------------------------------
//!        sum over devices of the length of the window
//! ```
//!
//! For a program that computes everything in one data type, this is the usual definition: model FLOPs of a step divided
//! by step time, peak and number of devices. Ops that are recomputed to save memory are not part of the model's
//! arithmetic, so MFU excludes them and HFU includes them.

use super::Peaks;
use crate::op::ops::{Op, Ops};
use base::Ps;

/// A share in percent, or a sentence that names the missing data.
pub type Share = Result<f64, &'static str>;

const NO_OPS: &str = "No op ran on a device.";
const NOT_RECORDED: &str = "Some module runs have no ops: the profiler did not record their work.";
const NO_PEAK: &str = "The device's peak is unknown.";
const NO_FLOPS: &str = "No FLOPs are known. The profile contains neither op costs nor compiled programs, or it \
    contains only elementwise GPU kernels (their cost is in cycles) and custom calls without their author's estimate.";
const RECOMPUTE_UNKNOWN: &str = "Neither names nor framework paths show which ops are recomputed.";

/// MFU and HFU of a run.
#[derive(Clone, Copy, Debug)]
pub struct Utilization {
    /// Model FLOPs utilisation in percent.
    pub mfu: Share,
    /// Hardware FLOPs utilisation in percent.
    pub hfu: Share,
}

impl Default for Utilization {
    fn default() -> Self {
        Utilization { mfu: Err(NO_OPS), hfu: Err(NO_OPS) }
    }
}

/// Times in seconds that the model's arithmetic and all arithmetic would take at the peak.
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

    /// Returns the time that all occurrences of an op would take at the peak. `None` if the FLOPs or the peak for their
    /// type are unknown.
    fn of(op: &Op, peaks: &Peaks) -> Option<Ideal> {
        let (_, peak) = peaks.reached(op.data_type, op.family)?;
        let flops = op.flops.or(op.model_flops)?;
        let model = if op.rematerialized == Some(true) { 0.0 } else { op.model_flops.unwrap_or(flops) };
        Some(Ideal { model: model / peak, hardware: flops / peak })
    }
}

impl Utilization {
    /// Computes the utilisation. `leaf` returns the part of an op that is included, or `None` for a loop, whose ops
    /// have rows of their own. If the capture `lacks_ops`, the result is unknown.
    pub(super) fn new(
        ops: &Ops,
        lacks_ops: bool,
        peaks: Option<&Peaks>,
        leaf: &dyn Fn(&Op) -> Option<Op>,
    ) -> Utilization {
        let missing = |reason| Utilization { mfu: Err(reason), hfu: Err(reason) };
        if lacks_ops {
            return missing(NOT_RECORDED);
        }
        if ops.device_time <= Ps::ZERO {
            return missing(NO_OPS);
        }
        let Some(peaks) = peaks else { return missing(NO_PEAK) };
        let mut is_known = false;
        let ideal = |op: &Op| {
            let op = leaf(op)?;
            is_known |= op.rematerialized.is_some();
            Ideal::of(&op, peaks)
        };
        let ideals: Vec<Option<Ideal>> = ops.rows.iter().map(ideal).collect();
        if ideals.iter().all(Option::is_none) {
            return missing(NO_FLOPS);
        }
        let mut sum = Ideal::default();
        ideals.iter().flatten().for_each(|&ideal| sum.add(ideal));
        let percent = |seconds: f64| 100.0 * seconds / (ops.device_time.as_ps() as f64 * 1e-12);
        Utilization {
            mfu: Ok(percent(sum.model)),
            hfu: if is_known { Ok(percent(sum.hardware)) } else { Err(RECOMPUTE_UNKNOWN) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::devices::Devices;
    use crate::op::ops::Tallies;
    use crate::step::window::Limited;
    use facts::devices;
    use hlo::Modules;
    use trace::{Interval, IntervalSet, Trace, TraceBuilder};

    /// Builds a run of two chips with a warm-up and two steps of 100 us each.
    fn run() -> Trace {
        let mut b = TraceBuilder::new();
        for device in 0..2u32 {
            let line = b.line(&format!("/device:TPU:{device}"), "XLA Ops");
            b.event(line, "warm_up", 0, 400).hlo_category("convolution");
            for step in 0..2 {
                let start = 1000 + 100 * step;
                b.event(line, "fusion.1", start, 50).hlo_category("convolution fusion");
                b.event(line, "fusion.2.remat", start + 50, 20).hlo_category("convolution fusion");
            }
        }
        b.build()
    }

    /// Computes the utilisation of `length_us` microseconds from the start of the second step. Without a length,
    /// computes the utilisation for the active span.
    fn measure(length_us: Option<i64>, cost: fn(&str) -> Option<f64>) -> Utilization {
        let trace = run();
        let all = Devices::of(&trace);
        let windows: Vec<IntervalSet> = length_us.map_or_else(Vec::new, |length| {
            let [start, end] = [1100, 1100 + length].map(|us| Ps::new(us * 1_000_000));
            vec![IntervalSet::union_of([Interval::new(start, end)]); 2]
        });
        let Limited { trace: cut, devices } = Limited::new(&trace, &all, &windows);
        let trace = cut.unwrap_or(trace);
        let ops = Ops::new(&trace, &devices, &Tallies::new(&trace, &devices), &Modules::new(&trace));
        let peaks = super::super::peaks(&trace, &devices, Some("tpu-v4")).unwrap();
        assert_eq!(devices::by_key("tpu-v4").unwrap().rates.get(facts::Arithmetic::Bf16), Some(275e12));
        let leaf = |op: &Op| {
            let flops = cost(ops.text(&trace, op.name)).map(|flops| op.of_all(1) * flops);
            Some(Op { flops, ..*op })
        };
        Utilization::new(&ops, false, Some(&peaks), &leaf)
    }

    fn cost(name: &str) -> Option<f64> {
        match name {
            // The two ops need 25 us and 10 us at the peak.
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
        let found = measure(Some(100), cost);
        // The arithmetic needs 25 of 100 us, and 35 us with recomputation. The warm-up has no effect.
        close(found.mfu, 25.0);
        close(found.hfu, 35.0);
    }

    #[test]
    fn the_active_span_is_the_window_without_steps() {
        let found = measure(None, cost);
        // The arithmetic needs 200 + 2 x 25 us of the 1170 us from the first op to the last.
        close(found.mfu, 250.0 / 11.7);
        close(found.hfu, 270.0 / 11.7);
    }

    #[test]
    fn an_op_that_the_window_cuts_costs_what_is_left_of_it() {
        // The window contains half of `fusion.1`, which takes 50 us.
        let found = measure(Some(25), cost);
        close(found.mfu, 50.0);
    }

    #[test]
    fn missing_data_have_a_reason() {
        assert_eq!(measure(Some(100), |_| None).mfu, Err(NO_FLOPS));
        assert_eq!(measure(Some(100), |name| cost(name).filter(|_| name == "warm_up")).mfu, Err(NO_FLOPS));
    }
}
