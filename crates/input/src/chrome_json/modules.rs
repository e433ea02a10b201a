//! Finds the program of each TPU op. The JSON does not record the program among the op's arguments, but another line of
//! the same device contains the program runs. An op belongs to the run that contains its midpoint.
//!
//! ```text
//! XLA Modules   [jit_f(7)          )  [jit_g(9)   )
//! XLA Ops       [fusion.1)[dot.2   )  [fusion.1  )         jit_f, jit_f, jit_g
//! ```

use rustc_hash::FxHashMap;

use trace::{ArgsId, EventKind, LineKind, PlaneKind, Platform, StrId, Trace};

/// The time of one program run on one device, in picoseconds.
#[derive(Clone, Copy)]
struct ModuleRun {
    start: i64,
    end: i64,
    /// Name of the run's event: `jit_f(7)`.
    name: StrId,
}

/// Adds the program to TPU ops that lack it. The time is linear in the number of events. Does nothing if every TPU op
/// already has its program, or if there are no runs.
pub(super) fn name_programs(trace: &mut Trace) {
    let planes: Vec<bool> = trace.planes.iter().map(|plane| is_tpu(plane.kind)).collect();
    let line_plane = |line: usize| trace.lines.get(line).map(|line| line.plane.index());
    let plane_of = |kind: &EventKind, wanted: &[LineKind]| {
        let line = trace.lines.get(kind.line.index()).filter(|line| wanted.contains(&line.kind))?;
        let plane = line_plane(kind.line.index()).unwrap_or(usize::MAX);
        (planes.get(plane) == Some(&true)).then_some((plane, line.kind))
    };
    let lacks = |args: ArgsId| {
        trace.args.set(args.index()).is_some_and(|args| args.hlo_module.is_empty() && args.program_id.is_none())
    };
    let kinds = trace.events.kinds();
    let module_plane: Vec<Option<usize>> =
        kinds.iter().map(|kind| plane_of(kind, &[LineKind::Modules]).map(|(plane, _)| plane)).collect();
    let op_plane: Vec<Option<usize>> = kinds
        .iter()
        .map(|kind| plane_of(kind, &[LineKind::DeviceOps, LineKind::AsyncOps]).filter(|_| lacks(kind.args)))
        .map(|found| found.map(|(plane, _)| plane))
        .collect();
    if module_plane.iter().all(Option::is_none) || op_plane.iter().all(Option::is_none) {
        return;
    }
    let mut runs: Vec<Vec<ModuleRun>> = vec![Vec::new(); planes.len()];
    trace.events.for_each_time(trace.events.ids(), |_, kind, interval| {
        let Some(Some(plane)) = module_plane.get(kind) else { return };
        let name = trace.events.kinds().get(kind).map(|kind| kind.name).unwrap_or_default();
        let run = ModuleRun { start: interval.start.as_ps(), end: interval.end.as_ps(), name };
        runs.get_mut(*plane).into_iter().for_each(|runs| runs.push(run));
    });
    for runs in &mut runs {
        runs.sort_by_key(|run| (run.start, run.end));
    }
    let mut named: FxHashMap<(ArgsId, StrId), ArgsId> = FxHashMap::default();
    let Trace { events, args, strings, .. } = trace;
    events.change_kinds(|index, kind, interval| {
        let runs = runs.get((*op_plane.get(index)?)?)?;
        let middle = interval.start.as_ps() + (interval.end.as_ps() - interval.start.as_ps()) / 2;
        let after = runs.partition_point(|run| run.start <= middle);
        let run = runs.get(after.checked_sub(1)?).filter(|run| middle <= run.end)?;
        let with_program = *named.entry((kind.args, run.name)).or_insert_with(|| {
            let (module, program) = program(strings.get(run.name));
            let module = strings.intern(&module);
            let own = args.get(kind.args);
            args.intern(&trace::Args { hlo_module: module, program_id: program, ..own })
        });
        Some(EventKind { args: with_program, ..kind })
    });
}

fn is_tpu(kind: PlaneKind) -> bool {
    matches!(kind, PlaneKind::Device { platform: Platform::Tpu, .. })
}

/// Splits `jit_f(12190760917235803885)` into module and program id.
fn program(name: &str) -> (String, Option<i64>) {
    let numbered = name.strip_suffix(')').and_then(|name| name.rsplit_once('('));
    let found = numbered.and_then(|(module, number)| Some((module, number.parse::<u64>().ok()?.cast_signed())));
    match found {
        Some((module, number)) if !module.is_empty() => (module.to_owned(), Some(number)),
        _ => (name.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::TraceBuilder;

    /// Tests two devices with module runs and ops. One op is before all runs, one is between two runs, and one extends
    /// past the end of its run because of rounding.
    #[test]
    fn an_op_belongs_to_the_run_around_it() {
        let mut b = TraceBuilder::new();
        let modules = b.line("/device:TPU:0", "XLA Modules");
        let ops = b.line("/device:TPU:0", "XLA Ops");
        let other_ops = b.line("/device:TPU:1", "XLA Ops");
        let host = b.line("/host:CPU", "python");
        b.event(modules, "jit_g(18446744073709551615)", 200, 50);
        b.event(modules, "jit_f(7)", 100, 50);
        b.event(modules, "plain", 300, 50);
        for (name, start, length) in [("early", 0, 10), ("a", 100, 20), ("b", 120, 31), ("between", 160, 10)] {
            b.event(ops, name, start, length);
        }
        b.event(ops, "a", 210, 10);
        b.event(ops, "c", 340, 10);
        b.event(ops, "named", 100, 20).hlo_module("jit_own");
        b.event(other_ops, "a", 110, 10);
        b.event(host, "a", 110, 10);
        let mut trace = b.build();
        name_programs(&mut trace);
        let found: Vec<(&str, Option<i64>)> = trace
            .events
            .iter()
            .skip(3)
            .map(|event| trace.args_of(&event))
            .map(|args| (trace.text(args.hlo_module), args.program_id))
            .collect();
        let none = ("", None);
        let f = ("jit_f", Some(7));
        let expected = [none, f, f, none, ("jit_g", Some(-1)), ("plain", None), ("jit_own", None), none, none];
        assert_eq!(found, expected);
        let names: Vec<&str> = trace.events.iter().map(|event| trace.text(event.name)).collect();
        assert_eq!(names.get(3..6), Some(&["early", "a", "b"][..]), "only the arguments change");
    }
}
