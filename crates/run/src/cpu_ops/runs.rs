//! Finds the relations between ops in each run of a program.

use rustc_hash::FxHashMap;

use super::OpEvent;
use super::program::Program;
use base::Ps;
use hlo::Modules;
use trace::{EventColumn, StrId, Trace};

/// A compiled program on a host.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct ProgramKey {
    host: u16,
    program_id: Option<i64>,
    module: StrId,
}

/// A run of a program on a device.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct RunKey {
    program: usize,
    device: Option<i64>,
    run_id: i64,
}

/// Position of an event in its run.
#[derive(Clone, Copy)]
struct RunPlace {
    run: usize,
    /// Number of the op in the program.
    op: usize,
    /// Position of the event among the op's events in the run, from 0.
    nth: usize,
}

/// The events of one op in one run of a program.
#[derive(Clone, Debug, Default)]
struct Occurrences {
    /// Indices of the op's events, sorted by start.
    events: Vec<usize>,
    /// Number of events that each execution of the op has.
    parts: usize,
}

struct ProgramRun {
    program: usize,
    /// The events of each op, by the op's number in the program.
    ops: FxHashMap<usize, Occurrences>,
}

/// All runs that can be distinguished, because their ops have a run id.
pub(super) struct Runs {
    programs: Vec<Program>,
    runs: Vec<ProgramRun>,
    /// Position of each op event in its run.
    places: Vec<Option<RunPlace>>,
    starts: Vec<Ps>,
}

impl Runs {
    /// Finds the runs of `ops`, which must be sorted by start. `host` returns the host of a line.
    pub(super) fn new(trace: &Trace, modules: &Modules, ops: &[OpEvent], host: &dyn Fn(usize) -> u16) -> Runs {
        let mut programs: FxHashMap<ProgramKey, usize> = FxHashMap::default();
        let mut keys: Vec<ProgramKey> = Vec::new();
        // The ops of each program in the order of their first event, and their numbers.
        let mut names: Vec<Vec<StrId>> = Vec::new();
        let mut numbers: FxHashMap<(usize, StrId), usize> = FxHashMap::default();
        let mut index: FxHashMap<RunKey, usize> = FxHashMap::default();
        let mut runs: Vec<ProgramRun> = Vec::new();
        let place = |(at, op): (usize, &OpEvent)| {
            let run_id = trace.events.column(EventColumn::RunId).get(op.id)?;
            let args = trace.args.get(op.args);
            let module = if args.program_id.is_some() { StrId::EMPTY } else { args.hlo_module };
            let key = ProgramKey { host: host(op.line), program_id: args.program_id, module };
            let program = *programs.entry(key).or_insert_with(|| {
                keys.push(key);
                names.push(Vec::new());
                keys.len() - 1
            });
            let names = names.get_mut(program)?;
            let number = *numbers.entry((program, op.name)).or_insert_with(|| {
                names.push(op.name);
                names.len() - 1
            });
            let key = RunKey { program, device: args.device_ordinal, run_id };
            let run = *index.entry(key).or_insert_with(|| {
                runs.push(ProgramRun { program, ops: FxHashMap::default() });
                runs.len() - 1
            });
            let events = &mut runs.get_mut(run)?.ops.entry(number).or_default().events;
            events.push(at);
            Some(RunPlace { run, op: number, nth: events.len() - 1 })
        };
        let places = ops.iter().enumerate().map(place).collect();
        let module = |key: &ProgramKey| match key.program_id {
            Some(program_id) => modules.find(key.host, program_id),
            None => modules.find_by_name(key.host, trace.text(key.module)),
        };
        let programs: Vec<Program> =
            keys.iter().zip(&names).map(|(key, names)| Program::new(trace, module(key), names)).collect();
        for run in &mut runs {
            if let Some(program) = programs.get(run.program) {
                count_parts(program, run);
            }
        }
        Runs { programs, runs, places, starts: ops.iter().map(|op| op.start).collect() }
    }

    fn place(&self, at: usize) -> Option<(RunPlace, &ProgramRun, &Program)> {
        let place = (*self.places.get(at)?)?;
        let run = self.runs.get(place.run)?;
        Some((place, run, self.programs.get(run.program)?))
    }

    fn start(&self, at: usize) -> Ps {
        self.starts.get(at).copied().unwrap_or(Ps::MAX)
    }

    /// Returns true if both events belong to one run of a known program. In that case, the program determines the
    /// nesting of their ops.
    pub(super) fn same(&self, a: usize, b: usize) -> bool {
        let run = |at| {
            let (place, _, program) = self.place(at)?;
            program.ops.get(place.op)?.computation.map(|_| place.run)
        };
        run(a).is_some() && run(a) == run(b)
    }

    /// Returns true if the op itself computes and runs no other ops. Returns false if the program is unknown.
    pub(super) fn is_leaf(&self, at: usize) -> bool {
        self.place(at).and_then(|(place, _, program)| program.ops.get(place.op)).is_some_and(|op| op.is_leaf)
    }

    /// Returns the event of the op that runs the computation of this op. If that op has several events, returns the
    /// latest one that started before this op.
    pub(super) fn around(&self, at: usize) -> Option<usize> {
        let (place, run, program) = self.place(at)?;
        let start = self.start(at);
        let latest = |caller: &usize| {
            let events = &run.ops.get(caller)?.events;
            let after = events.partition_point(|&event| self.start(event) <= start);
            events.get(after.checked_sub(1)?).copied()
        };
        program.ops.get(place.op)?.callers.iter().filter_map(latest).max_by_key(|&event| (self.start(event), event))
    }

    /// Returns the start of the first op that uses the result of this op. If that op has several events per
    /// execution, the last of these events waits for all operands.
    pub(super) fn first_use(&self, at: usize) -> Option<Ps> {
        let (place, run, program) = self.place(at)?;
        let start = self.start(at);
        let first = |user: &usize| {
            let Occurrences { events, parts } = run.ops.get(user)?;
            let waits = events.get(parts.saturating_sub(1)..)?;
            let from = waits.partition_point(|&event| self.start(event) < start);
            let first = from.div_ceil((*parts).max(1)) * (*parts).max(1);
            waits.get(first).map(|&event| self.start(event))
        };
        program.ops.get(place.op)?.users.iter().filter_map(first).min()
    }

    /// Returns the first event of the execution that an event belongs to. Returns `None` if the event itself is the
    /// first.
    pub(super) fn part_of(&self, at: usize) -> Option<usize> {
        let (place, run, _) = self.place(at)?;
        let Occurrences { events, parts } = run.ops.get(&place.op)?;
        let first = place.nth.checked_sub(place.nth % (*parts).max(1))?;
        events.get(first).copied().filter(|_| first != place.nth)
    }
}

/// Counts the events that each execution of an op has. For example, each execution of a sort has two events: the copy
/// of its operand and the sort itself. The entry computation runs once per run, so all events that an op of this
/// computation has in a run belong to one execution. Any other computation runs as often as the op with the fewest
/// events in this computation.
fn count_parts(program: &Program, run: &mut ProgramRun) {
    let mut fewest: FxHashMap<u32, usize> = FxHashMap::default();
    for (&op, occurrences) in &run.ops {
        let Some(computation) = program.ops.get(op).and_then(|op| op.computation) else { continue };
        let least = fewest.entry(computation).or_insert(usize::MAX);
        *least = occurrences.events.len().min(*least);
    }
    for (&op, occurrences) in &mut run.ops {
        let count = occurrences.events.len();
        let known = program.ops.get(op).and_then(|op| Some((op.computation?, op.is_entry)));
        let executions = match known {
            None => count,
            Some((_, true)) => 1,
            Some((computation, false)) => fewest.get(&computation).copied().unwrap_or(count),
        };
        occurrences.parts = if executions > 0 && count % executions == 0 { count / executions } else { 1 };
    }
}
