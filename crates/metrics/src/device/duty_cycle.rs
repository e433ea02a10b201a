//! Computes the duty cycle of TPU chips by XProf's definitions, for comparison with XProf.
//!
//! crossprof's own busy share is in [`utilization`](crate::device::utilization). XProf's *duty cycle* differs from
//! crossprof's busy share in two ways. Ops that only wait for the host are off duty. The span begins with the first
//! program, even if that program waits for other chips before its first op. XProf computes the duty cycle from event
//! times. crossprof uses the chips' own times, and does not read the ops of SparseCores.

use crate::device::devices::{Device, Devices, interval};
use crate::op::categories::Categorizer;
use base::Ps;
use trace::{Interval, LineKind, Platform, Trace, Union, in_blocks};

/// Categories that XProf treats as off duty.
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
    /// Time during which at least one op is on duty.
    pub busy: Ps,
    /// The window. If the window is the device's active span, it also includes the programs before the first op and
    /// after the last op.
    pub span: Ps,
    /// Time during which at least one op runs.
    pub op_time: Ps,
    /// The window.
    pub op_span: Ps,
}

impl DutyCycle {
    /// Computes the duty cycle of all chips in use. Returns `None` if the chips are not TPUs.
    pub fn new(trace: &Trace, devices: &Devices) -> Option<DutyCycle> {
        if devices.platform != Some(Platform::Tpu) {
            return None;
        }
        let mut categories = Categorizer::new(trace, &devices.recognised);
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
            // In a damaged file an op may be outside the window.
            sums.busy += on_duty.finish().intersection(&device.busy).length();
            sums.span += span(trace, devices, device);
            sums.op_time += device.busy.length();
            sums.op_span += device.window.length();
        }
        Some(sums)
    }

    /// Returns XProf's `device_duty_cycle_percent`.
    pub fn percent(&self) -> Option<f64> {
        (self.span > Ps::ZERO).then(|| 100.0 * self.busy.as_ps() as f64 / self.span.as_ps() as f64)
    }

    /// Returns XProf's `device_idle_time_percent`.
    pub fn idle_percent(&self) -> Option<f64> {
        let share = |span: f64| 100.0 * (1.0 - self.op_time.as_ps() as f64 / span);
        (self.op_span > Ps::ZERO).then(|| share(self.op_span.as_ps() as f64).clamp(0.0, 100.0))
    }
}

/// Returns the length of the window. If the window covers the device's active span, returns XProf's span, from the
/// first program to the last.
fn span(trace: &Trace, devices: &Devices, device: &Device) -> Ps {
    let window = device.window.length();
    if device.is_whole() { span_with_modules(trace, devices, device).length().max(window) } else { window }
}

fn span_with_modules(trace: &Trace, devices: &Devices, device: &Device) -> Interval {
    let modules = devices.by_line.events_of(trace, device.plane, LineKind::Modules);
    modules
        .filter_map(|id| trace.events.get(id))
        .map(|event| interval(&event))
        .fold(device.span, |all, module| Interval::new(all.start.min(module.start), all.end.max(module.end)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{IntervalSet, TraceBuilder};

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
        let duty = DutyCycle::new(&trace, &Devices::of(&trace)).unwrap();
        assert_eq!(
            (duty.percent(), duty.op_span, duty.op_time),
            (Some(60.0), Ps::new(80_000_000), Ps::new(70_000_000))
        );
        assert_eq!(duty.idle_percent(), Some(12.5));
    }

    /// The duty cycle does not include the time of an op outside the window, which a file with damaged times may
    /// contain.
    #[test]
    fn a_chip_is_on_duty_in_its_window_only() {
        let mut b = TraceBuilder::new();
        let ops = b.line("/device:TPU:0", "XLA Ops");
        b.event(ops, "fusion.1", 0, 40).hlo_category("loop fusion");
        b.event(ops, "fusion.2", 50, 100).hlo_category("loop fusion");
        let trace = b.build();
        let mut devices = Devices::of(&trace);
        let device = &mut devices.used[0];
        device.window = IntervalSet::union_of([Interval::new(Ps::new(0), Ps::new(50_000_000))]);
        device.busy = device.busy.intersection(&device.window);
        assert_eq!(DutyCycle::new(&trace, &devices).unwrap().percent(), Some(80.0));
    }

    #[test]
    fn only_tpus_have_one() {
        let mut b = TraceBuilder::new();
        let stream = b.line("/device:GPU:0", "Stream #1(Compute)");
        b.event(stream, "k", 0, 10);
        let trace = b.build();
        assert_eq!(DutyCycle::new(&trace, &Devices::of(&trace)), None);
    }
}
