//! Connects the runs of compiled programs with annotated steps through their dispatch on the host.
//!
//! On a TPU, the call that dispatched a run has the run's id. Without ids (on CPUs and in trace JSON), the runs of a
//! program are in the order of the calls that dispatched the runs:
//!
//! ```text
//! host     [train 0             ]  [train 1             ]
//!           PjitFunction(fwd) (bwd)  PjitFunction(fwd) (bwd)
//! device         [jit_fwd )[jit_bwd   )    [jit_fwd )[jit_bwd   )
//! call            fwd 1     bwd 1           fwd 2     bwd 2
//! ```
//!
//! Runs whose calls precede the capture come first. If the order implies that a run starts before its call, the order is not
//! usable.

use std::collections::BTreeMap;

use super::annotations::Annotations;
use super::launched::Owners;
use super::launches::{Starts, starts_by_host};
use super::modules::{self, ByModule};
use super::{Mark, host_spans};
use crate::device::devices::{Device, Devices};
use crate::host::launches::{calls_of, scope_of};
use base::{Ps, sort};
use rustc_hash::FxHashMap;
use trace::{EventColumn, Interval, Platform, Trace};

/// A run of a program on a device, and the step that dispatched it.
#[derive(Clone, Copy, Debug)]
struct OwnedRun {
    interval: Interval,
    run_id: Option<i64>,
    step: u32,
}

/// Finds the step of every device op whose program's run was dispatched in an annotated step.
pub(super) fn owners(trace: &Trace, devices: &Devices, found: &Annotations) -> Owners {
    let by_module = modules::all(trace, devices);
    let starts = starts_by_host(found);
    let mut runs: Vec<Vec<OwnedRun>> = by_run_id(trace, devices, &by_module, &starts);
    if runs.iter().all(Vec::is_empty) {
        runs = by_order(trace, devices, &by_module, &starts);
    }
    let mut owners = Owners::new(trace);
    for (device, runs) in devices.used.iter().zip(&mut runs) {
        if device.platform == Platform::Cpu {
            own_by_id(trace, device, runs, &mut owners);
        } else {
            own_by_time(trace, device, runs, &mut owners);
        }
    }
    owners
}

/// Assigns each op to the step of the run with the same id.
fn own_by_id(trace: &Trace, device: &Device, runs: &[OwnedRun], owners: &mut Owners) {
    let steps: FxHashMap<i64, u32> = runs.iter().filter_map(|run| Some((run.run_id?, run.step))).collect();
    let ids = trace.events.column(EventColumn::RunId);
    for &id in device.ops.iter() {
        if let Some(&step) = ids.get(id).and_then(|run| steps.get(&run)) {
            owners.set(id, step);
        }
    }
}

/// Assigns each op to the step of the program run in which the op starts. Programs of one device do not overlap.
fn own_by_time(trace: &Trace, device: &Device, runs: &mut Vec<OwnedRun>, owners: &mut Owners) {
    sort::sort_by_key(runs, |run: &OwnedRun| run.interval);
    let mut runs = runs.iter().peekable();
    for &id in device.ops.iter() {
        let Some((start, _)) = trace.events.time(id) else { continue };
        while runs.next_if(|run| run.interval.end <= start).is_some() {}
        if let Some(run) = runs.peek().filter(|run| run.interval.start <= start) {
            owners.set(id, run.step);
        }
    }
}

/// Returns the runs of each device that have the id of a call in an annotated step.
fn by_run_id(
    trace: &Trace,
    devices: &Devices,
    by_module: &ByModule<'_>,
    starts: &BTreeMap<u16, Starts>,
) -> Vec<Vec<OwnedRun>> {
    let mut owned = vec![Vec::new(); devices.used.len()];
    if devices.platform != Some(Platform::Tpu) {
        return owned;
    }
    let calls = calls_of(trace, devices);
    for (&index, marks) in by_module.values().flatten() {
        let Some((device, owned)) = devices.used.get(index).zip(owned.get_mut(index)) else { continue };
        let Some(starts) = starts.get(&device.host) else { continue };
        for mark in marks {
            let call = mark.key.and_then(|run| calls.find(trace, scope_of(device), run));
            if let Some(step) = call.and_then(|(_, call)| starts.step_at(call.start)) {
                owned.push(OwnedRun { interval: mark.interval, run_id: mark.key, step });
            }
        }
    }
    owned
}

/// Returns the runs of each device that match a call in an annotated step. The runs of a program match the program's
/// calls in order.
fn by_order(
    trace: &Trace,
    devices: &Devices,
    by_module: &ByModule<'_>,
    starts: &BTreeMap<u16, Starts>,
) -> Vec<Vec<OwnedRun>> {
    let mut owned = vec![Vec::new(); devices.used.len()];
    let calls = host_spans::program_calls(trace, devices);
    for (module, of_device) in by_module {
        for (&index, marks) in of_device {
            let Some((device, owned)) = devices.used.get(index).zip(owned.get_mut(index)) else { continue };
            let Some(starts) = starts.get(&device.host) else { continue };
            let Some(calls) = calls.get(&(device.host, (*module).to_owned())) else { continue };
            let calls: Vec<Ps> = calls.iter().map(|&start| device.time_from_host(start)).collect();
            let Some(runs) = in_order(marks, &calls) else { continue };
            for (run, call) in runs.iter().zip(&calls) {
                if let Some(step) = starts.step_at(device.to_host(*call)) {
                    owned.push(OwnedRun { interval: run.interval, run_id: run.key, step });
                }
            }
        }
    }
    owned
}

/// Returns the runs of the calls, in the order of the calls. Returns `None` if a run would start before its call.
/// `runs` must be sorted by time.
fn in_order<'a>(runs: &'a [Mark], calls: &[Ps]) -> Option<&'a [Mark]> {
    let earlier = runs.len().saturating_sub(calls.len());
    let runs = runs.get(earlier..)?;
    let in_time = runs.iter().zip(calls).all(|(run, &call)| run.interval.start >= call);
    (in_time && !runs.is_empty()).then_some(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_follow_their_calls() {
        let mark = |&start: &i64| Mark { interval: Interval::new(Ps::new(start), Ps::new(start + 5)), key: None };
        let starts = |runs: &[i64], calls: &[i64]| {
            let runs: Vec<Mark> = runs.iter().map(mark).collect();
            let calls: Vec<Ps> = calls.iter().map(|&call| Ps::new(call)).collect();
            in_order(&runs, &calls).map(|runs| runs.iter().map(|run| run.interval.start.as_ps()).collect::<Vec<i64>>())
        };
        assert_eq!(starts(&[10, 20, 30], &[1, 2, 3]), Some(vec![10, 20, 30]));
        // The first run was called before the capture.
        assert_eq!(starts(&[10, 20, 30], &[12, 13]), Some(vec![20, 30]));
        // The last call's run was not captured.
        assert_eq!(starts(&[10, 20], &[1, 2, 3]), Some(vec![10, 20]));
        // A run would start before its call, so these runs belong to other calls.
        assert_eq!(starts(&[10, 20], &[1, 25]), None);
        assert_eq!(starts(&[], &[1]), None);
    }
}
