//! How busy TPU chips are by XProf's definitions, for those who compare.
//!
//! Our own busy share is [`utilization`](super::utilization)'s. XProf's *duty cycle* differs in two ways: ops that only wait
//! for the host are off duty, and the span includes the programs' own time before the first op (waits for other chips). Its
//! *idle time* uses the ops' durations on the chip's clock. Ops of SparseCores are not read.

use std::collections::BTreeMap;

use super::categories::Categorizer;
use super::devices::{Device, Devices, interval};
use crate::trace::classify::Platform;
use crate::trace::{Interval, LineId, LineKind, Trace, Union, in_blocks};
use crate::units::Ps;

/// Categories in which XProf counts a chip as off duty.
const OFF_DUTY: [&str; 8] = [
    "infeed",
    "outfeed",
    "host send",
    "host send-done",
    "host recv",
    "host recv-done",
    "async-done",
    "megacore fusion",
];

/// Sums over chips.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DutyCycle {
    /// Union of the ops that are not off duty.
    pub busy: Ps,
    /// First op's or program's start to last one's end.
    pub span: Ps,
    /// Self time of the ops on the chips' own clocks.
    pub op_time: Ps,
    /// First op's start to last op's end.
    pub op_span: Ps,
}

impl DutyCycle {
    /// Of all used chips; `None` where they are no TPUs.
    pub fn new(trace: &Trace, devices: &Devices) -> Option<DutyCycle> {
        if devices.platform != Some(Platform::Tpu) {
            return None;
        }
        let mut categories = Categorizer::new(trace);
        let mut sums = DutyCycle::default();
        for device in &devices.used {
            let mut on_duty = Union::default();
            in_blocks(&device.ops, |&id| {
                let Some(op) = trace.events.get(id) else { return };
                let category = categories.of(op.name, op.args);
                if !OFF_DUTY.contains(&categories.name(category)) {
                    on_duty.add(interval(&op));
                }
            });
            sums.busy += on_duty.finish().length();
            sums.span += span_with_modules(trace, devices, device).length();
            sums.op_time += op_time(trace, device);
            sums.op_span += device.span.length();
        }
        Some(sums)
    }

    /// XProf's `device_duty_cycle_percent`.
    pub fn percent(&self) -> Option<f64> {
        (self.span > Ps::ZERO).then(|| 100.0 * self.busy.0 as f64 / self.span.0 as f64)
    }

    /// XProf's `device_idle_time_percent`.
    pub fn idle_percent(&self) -> Option<f64> {
        let share = |span: f64| 100.0 * (1.0 - self.op_time.0 as f64 / span);
        (self.op_span > Ps::ZERO).then(|| share(self.op_span.0 as f64).clamp(0.0, 100.0))
    }
}

fn span_with_modules(trace: &Trace, devices: &Devices, device: &Device) -> Interval {
    let lines = trace.lines.iter().zip(&devices.events_by_line);
    let modules = lines
        .filter(|(line, _)| line.kind == LineKind::Modules && line.plane.index() == device.plane)
        .flat_map(|(_, events)| events.iter())
        .filter_map(|id| trace.events.get(id));
    modules
        .map(|event| interval(&event))
        .fold(device.span, |all, module| Interval::new(all.start.min(module.start), all.end.max(module.end)))
}

/// Self times on the chip's clock added up: what nests inside an op adds nothing to it, so these are the durations of the ops
/// that are in no other one. Where the profiler set the host's clock anew, neighbours overlap or have no length on it, so only
/// what lies inside an op as a whole is nested.
fn op_time(trace: &Trace, device: &Device) -> Ps {
    let mut time = Ps::ZERO;
    let mut outer: BTreeMap<LineId, Interval> = BTreeMap::new();
    in_blocks(&device.ops, |&id| {
        let Some(op) = trace.events.get(id) else { return };
        let own = interval(&op);
        let last = outer.entry(op.line).or_insert(Interval::new(own.start, own.start));
        // In the order of ops an op without length follows the one that starts where it lies, and is not inside it.
        let inside = own.end <= last.end && (own.start > last.start || own.end > own.start);
        if !inside {
            time += trace.events.device_duration.get(id).map_or(op.duration, Ps);
            *last = if own.end > last.end { own } else { *last };
        }
    });
    time
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::builder::TraceBuilder;

    #[test]
    fn waiting_for_the_host_is_off_duty_and_programs_widen_the_span() {
        let mut b = TraceBuilder::new();
        let ops = b.line("/device:TPU:0", "XLA Ops");
        let modules = b.line("/device:TPU:0", "XLA Modules");
        b.event(modules, "jit_f(1)", 0, 100);
        b.event(ops, "infeed.1", 20, 10).hlo_category("infeed");
        b.event(ops, "fusion.1", 30, 50).hlo_category("loop fusion");
        b.event(ops, "fusion.2", 90, 10).hlo_category("loop fusion");
        let trace = b.build();
        let duty = DutyCycle::new(&trace, &Devices::new(&trace)).unwrap();
        assert_eq!((duty.percent(), duty.op_span, duty.op_time), (Some(60.0), Ps(80_000_000), Ps(70_000_000)));
        assert_eq!(duty.idle_percent(), Some(12.5));
    }

    #[test]
    fn only_tpus_have_one() {
        let mut b = TraceBuilder::new();
        let stream = b.line("/device:GPU:0", "Stream #1(Compute)");
        b.event(stream, "k", 0, 10);
        let trace = b.build();
        assert_eq!(DutyCycle::new(&trace, &Devices::new(&trace)), None);
    }
}
