//! Lists the runs of compiled programs on a device.
//!
//! Reads the line `XLA Modules` of a TPU. On other devices, ops with the same run id form a run. GPU kernels have no
//! run id. On a GPU, a run ends when the program changes, or when the op that began the run occurs again.

use rustc_hash::FxHashMap;

use crate::device::devices::{Device, Devices, interval};
use base::sort;
use trace::{EventColumn, Interval, LineKind, StrId, Trace};

/// A compiled program: its name (with the fingerprint, on a TPU) and its id.
pub(crate) type Program = (StrId, Option<i64>);

/// A run of a program, on the host's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgramRun {
    pub program: Program,
    pub interval: Interval,
}

/// Returns the runs of programs on a device, sorted by start.
pub(crate) fn of_device(trace: &Trace, devices: &Devices, device: &Device) -> Vec<ProgramRun> {
    let lines = devices.by_line.events_of(trace, device.plane, LineKind::Modules);
    let mut runs: Vec<ProgramRun> = lines
        .filter_map(|id| trace.events.get(id))
        .map(|event| ProgramRun { program: (event.name, None), interval: interval(&event) })
        .collect();
    if runs.is_empty() {
        runs = from_ops(trace, device);
    }
    for run in &mut runs {
        run.interval = Interval::new(device.to_host(run.interval.start), device.to_host(run.interval.end));
    }
    sort::sort_by_key(&mut runs, |run| run.interval);
    runs
}

fn from_ops(trace: &Trace, device: &Device) -> Vec<ProgramRun> {
    let ids = trace.events.column(EventColumn::RunId);
    let mut runs: Vec<ProgramRun> = Vec::new();
    let mut index: FxHashMap<(Program, i64), usize> = FxHashMap::default();
    // First op of the current run without an id.
    let mut first: Option<StrId> = None;
    for &id in device.ops.iter() {
        let Some(event) = trace.events.get(id) else { continue };
        let args = trace.args.get(event.args);
        if args.hlo_module.is_empty() {
            continue;
        }
        let program = (args.hlo_module, args.program_id);
        let op = if args.hlo_op.is_empty() { event.name } else { args.hlo_op };
        let known = match ids.get(id) {
            Some(run) => {
                let next = runs.len();
                let at = *index.entry((program, run)).or_insert(next);
                runs.get_mut(at)
            }
            None => runs.last_mut().filter(|run| run.program == program && first != Some(op)),
        };
        let part = interval(&event);
        match known {
            Some(run) => run.interval = Interval::new(run.interval.start, run.interval.end.max(part.end)),
            None => {
                first = Some(op);
                runs.push(ProgramRun { program, interval: part });
            }
        }
    }
    runs
}
