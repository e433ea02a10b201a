//! Differences between the compiled programs of two runs.
//!
//! ```text
//! run -> compared_programs -> packed ==bytes==> unpacked \
//! run -> compared_programs -> packed ==bytes==> unpacked -> program_changes -> Subject::program_changes -> compare
//! ```

use std::sync::Arc;

use base::{json, json_text};
use compare::{AspectChange, ComparedProgram, InstructionChange, ProgramChange, ProgramNumbers};
use hlo::diff::{Aspect, Changed, Difference, Places, Totals};
use hlo::{Conventions, InstructionIndex, Module, cost_by, module_fingerprint};
use memory::{MAIN, ProgramMemory};
use run::Settings;
use rustc_hash::FxHashMap;
use trace::Platform;

use super::Session;
use super::hlo_programs::{HloProgram, ops};

/// Maximum number of programs in a run that are compared. Most runs have one large program and many small programs.
const MOST_PROGRAMS: usize = 8;

/// Maximum number of instructions that are listed for one program.
const MOST_INSTRUCTIONS: usize = 40;

impl Session {
    /// Returns the programs of a run that have the most device time, or the largest programs if no time was measured.
    /// The list is empty if there is no such run, or if the run is an imported result, which has no programs.
    pub fn compared_programs(&mut self, run: u32, settings: &Settings) -> Vec<ComparedProgram> {
        let mut all = self.hlo_programs(run, settings).unwrap_or_default();
        all.retain(|program| program.stage.is_none());
        match all.iter().any(|program| program.time.is_some()) {
            true => all.retain(|program| program.time.is_some()),
            false => all.sort_by_key(|program| std::cmp::Reverse(program.instructions)),
        }
        all.truncate(MOST_PROGRAMS);
        let found = self.timeline(run, settings, |context, _| {
            let is_of_gpu = context.analysis.devices.platform == Some(Platform::Gpu);
            let compared = |program: HloProgram| {
                let (bytes, module) = context.run.programs().modules.at_stage(program.host, program.id, None)?;
                let bytes = Arc::clone(bytes);
                let memory = ProgramMemory::of(module, &bytes);
                Some(ComparedProgram {
                    is_of_gpu,
                    time: program.time,
                    peak_bytes: memory.and_then(|memory| Some(memory.space(MAIN)?.peak_bytes())),
                    ops: ops(&context, &program)
                        .map(|(name, op, _)| (name.to_owned(), op.self_time, op.executions))
                        .collect(),
                    bytes,
                    name: program.name,
                })
            };
            all.into_iter().filter_map(compared).collect()
        });
        found.unwrap_or_default()
    }
}

/// Compares the programs of a run with the programs of the baseline. Programs with the most device time come first.
/// Programs without a partner are left out.
pub fn program_changes(baseline: &[ComparedProgram], run: &[ComparedProgram]) -> Vec<ProgramChange> {
    let [baseline, run] = [baseline, run].map(|programs| programs.iter().map(Side::of).collect::<Vec<_>>());
    pairs(&baseline, &run).into_iter().map(|(theirs, ours)| change(theirs, ours)).collect()
}

/// A program with the times of its instructions.
struct Side<'a> {
    program: &'a ComparedProgram,
    module: Module,
    fingerprint: String,
    places: Places,
    conventions: Conventions,
    /// Self time of instructions per execution of the program.
    times_us: FxHashMap<InstructionIndex, f64>,
}

impl<'a> Side<'a> {
    fn of(program: &'a ComparedProgram) -> Side<'a> {
        let module = hlo::read_proto(&program.bytes);
        let indexed = || {
            let index = |name: &str| module.instruction(name).and_then(|it| module.index_of(it));
            program.ops.iter().filter_map(move |(name, time, count)| Some((index(name)?, *time, *count)))
        };
        // The body of a loop runs more often than the program, so the number of executions comes only from the entry
        // computation.
        let entry = module.entry_index();
        let is_of_entry = |at: InstructionIndex| module.at(at).map(|it| it.computation) == entry;
        let executions = indexed().filter(|(at, ..)| is_of_entry(*at)).map(|(.., count)| count).max();
        let mut times_us = FxHashMap::default();
        if let Some(executions @ 1..) = executions {
            for (at, time, _) in indexed() {
                *times_us.entry(at).or_default() += time.as_us() / executions as f64;
            }
        }
        Side {
            program,
            fingerprint: module_fingerprint(&module),
            places: Places::of(&module),
            conventions: if program.is_of_gpu { Conventions::Gpu } else { Conventions::Cpu },
            times_us,
            module,
        }
    }

    fn module_name(&self) -> &str {
        self.program.name.split_once('(').map_or(&self.program.name, |(name, _)| name)
    }

    fn numbers(&self) -> ProgramNumbers {
        let totals = Totals::of(&self.module, self.conventions);
        let mut times: Vec<(InstructionIndex, f64)> = self.times_us.iter().map(|(at, time)| (*at, *time)).collect();
        // Sorted, so that the sum does not depend on the order of a hash map.
        times.sort_unstable_by_key(|(at, _)| *at);
        ProgramNumbers {
            time_us: (!times.is_empty()).then(|| times.iter().map(|(_, time)| time).sum()),
            instructions: totals.instructions,
            fusions: totals.fusions,
            flops: totals.flops,
            bytes: totals.bytes,
            unknown_cost: totals.unknown,
            peak_memory_bytes: self.program.peak_bytes,
        }
    }

    fn time_us(&self, at: InstructionIndex) -> Option<f64> {
        self.times_us.get(&at).copied()
    }

    fn bytes(&self, at: InstructionIndex) -> Option<f64> {
        Some(cost_by(&self.module, self.module.at(at)?, self.conventions)?.bytes_accessed)
    }

    fn runs(&self, at: InstructionIndex) -> bool {
        self.places.runs(&self.module, at)
    }
}

/// Pairs programs that have the same module name. Programs with the same instructions are paired first, and then the
/// other programs in order.
fn pairs<'s, 'a>(baseline: &'s [Side<'a>], run: &'s [Side<'a>]) -> Vec<(&'s Side<'a>, &'s Side<'a>)> {
    let mut partners: Vec<Option<usize>> = vec![None; run.len()];
    for is_same in [true, false] {
        for (at, ours) in run.iter().enumerate() {
            let fits = |theirs: &Side<'_>| {
                theirs.module_name() == ours.module_name() && (!is_same || theirs.fingerprint == ours.fingerprint)
            };
            let is_free = |place: usize| !partners.contains(&Some(place));
            let found = baseline.iter().enumerate().position(|(place, theirs)| is_free(place) && fits(theirs));
            if let Some(partner @ None) = partners.get_mut(at) {
                *partner = found;
            }
        }
    }
    run.iter().zip(partners).filter_map(|(ours, partner)| Some((baseline.get(partner?)?, ours))).collect()
}

fn change(theirs: &Side<'_>, ours: &Side<'_>) -> ProgramChange {
    let difference = Difference::of(&theirs.module, &ours.module);
    ProgramChange {
        run: 0,
        program: ours.program.name.clone(),
        baseline_program: theirs.program.name.clone(),
        numbers: ours.numbers(),
        baseline_numbers: theirs.numbers(),
        same: difference.same as u64,
        changed: difference.changed.len() as u64,
        new: difference.new.len() as u64,
        gone: difference.gone.len() as u64,
        instructions: instructions(theirs, ours, &difference),
    }
}

/// An instruction that differs, as its indices in the baseline and in the run.
#[derive(Clone, Copy)]
enum Row<'d> {
    New(InstructionIndex),
    Gone(InstructionIndex),
    Changed(&'d Changed),
}

impl Row<'_> {
    /// Returns the indices of the instruction in the baseline and in the run.
    fn places(self) -> [Option<InstructionIndex>; 2] {
        match self {
            Row::New(at) => [None, Some(at)],
            Row::Gone(at) => [Some(at), None],
            Row::Changed(changed) => [Some(changed.a), Some(changed.b)],
        }
    }

    /// Returns true if the instruction itself differs, not only the names of its operands.
    fn is_essential(self) -> bool {
        match self {
            Row::Changed(changed) => changed.aspects.iter().any(|it| *it != Aspect::Operands),
            Row::New(_) | Row::Gone(_) => true,
        }
    }
}

fn instructions(theirs: &Side<'_>, ours: &Side<'_>, difference: &Difference) -> Vec<InstructionChange> {
    let new = difference.new.iter().filter(|at| ours.runs(**at)).map(|at| Row::New(*at));
    let gone = difference.gone.iter().filter(|at| theirs.runs(**at)).map(|at| Row::Gone(*at));
    let changed = difference.changed.iter().filter(|it| ours.runs(it.b)).map(Row::Changed);
    let key = |row: &Row<'_>| {
        let [a, b] = row.places();
        let larger = |a: Option<f64>, b: Option<f64>| a.unwrap_or_default().max(b.unwrap_or_default());
        let time_us = larger(a.and_then(|at| theirs.time_us(at)), b.and_then(|at| ours.time_us(at)));
        let bytes = larger(a.and_then(|at| theirs.bytes(at)), b.and_then(|at| ours.bytes(at)));
        // Whole numbers can be sorted.
        ((time_us * 1e6) as u64, row.is_essential(), bytes as u64)
    };
    let mut rows: Vec<Row<'_>> = new.chain(gone).chain(changed).collect();
    rows.sort_by_cached_key(|row| std::cmp::Reverse(key(row)));
    rows.truncate(MOST_INSTRUCTIONS);
    rows.into_iter().filter_map(|row| instruction(theirs, ours, difference, row)).collect()
}

fn instruction(theirs: &Side<'_>, ours: &Side<'_>, difference: &Difference, row: Row<'_>) -> Option<InstructionChange> {
    let [a, b] = row.places();
    let (side, at) = b.map(|b| (ours, b)).or(a.map(|a| (theirs, a)))?;
    let instruction = side.module.at(at)?;
    let name = |side: &Side<'_>, at: InstructionIndex| side.module.at(at).map(|it| it.name.clone());
    let differences = match row {
        Row::Changed(changed) => {
            let texts = |aspect: &Aspect| {
                let [baseline, run] = difference.texts(&theirs.module, &ours.module, changed, *aspect);
                AspectChange { aspect: aspect.key().to_owned(), run, baseline }
            };
            changed.aspects.iter().map(texts).collect()
        }
        Row::New(_) | Row::Gone(_) => Vec::new(),
    };
    Some(InstructionChange {
        name: b.and_then(|at| name(ours, at)),
        baseline_name: a.and_then(|at| name(theirs, at)),
        opcode: instruction.opcode.to_string(),
        shape: instruction.shape.text(true),
        scope: side.places.scope(&side.module, at),
        time_us: b.and_then(|at| ours.time_us(at)),
        baseline_time_us: a.and_then(|at| theirs.time_us(at)),
        bytes: side.bytes(at),
        differences,
    })
}

/// Packs programs into bytes, so that another worker can compare them. Returns no bytes if there are no programs.
pub fn pack_programs(programs: &[ComparedProgram]) -> Vec<u8> {
    if programs.is_empty() {
        return Vec::new();
    }
    let sizes: Vec<usize> = programs.iter().map(|program| program.bytes.len()).collect();
    // JSON contains no raw line breaks.
    let mut packed = json_text::compact(&(programs, sizes)).into_bytes();
    packed.push(b'\n');
    programs.iter().for_each(|program| packed.extend_from_slice(&program.bytes));
    packed
}

/// Unpacks programs. The list is empty if the bytes do not come from [`pack_programs`].
pub fn unpack_programs(packed: &[u8]) -> Vec<ComparedProgram> {
    let head = packed.iter().position(|byte| *byte == b'\n').unwrap_or_default();
    let (head, rest) = packed.split_at_checked(head).unwrap_or_default();
    let head = std::str::from_utf8(head).unwrap_or_default();
    let Ok((mut programs, sizes)) = json::from_str::<(Vec<ComparedProgram>, Vec<usize>)>(head) else {
        return Vec::new();
    };
    let mut rest = rest.get(1..).unwrap_or_default();
    for (program, size) in programs.iter_mut().zip(sizes) {
        let (own, after) = rest.split_at_checked(size).unwrap_or((rest, &[]));
        program.bytes = own.into();
        rest = after;
    }
    programs
}

#[cfg(test)]
mod tests {
    use base::Ps;

    use super::*;

    /// Returns a program whose ops took these times, in two executions.
    fn program(name: &str, text: &str, ops: &[(&str, i64)]) -> ComparedProgram {
        let op = |(name, us): &(&str, i64)| ((*name).to_owned(), Ps::new(us * 1_000_000), 2);
        ComparedProgram {
            name: name.to_owned(),
            time: Some(Ps::new(ops.iter().map(|(_, us)| us * 1_000_000).sum())),
            ops: ops.iter().map(op).collect(),
            bytes: text.as_bytes().into(),
            ..ComparedProgram::default()
        }
    }

    const BEFORE: &str = "HloModule jit_f\n\nENTRY main {\n  p = f32[8,8]{1,0} parameter(0)\n  e = f32[8,8]{1,0} exponential(p)\n  \
                          t = f32[8,8]{1,0} tanh(e)\n  ROOT n = f32[8,8]{1,0} negate(t)\n}\n";
    const AFTER: &str = "HloModule jit_f\n\nENTRY main {\n  p = f32[8,8]{1,0} parameter(0)\n  e.7 = f32[8,8]{0,1} exponential(p)\n  \
                         ROOT n = f32[8,8]{1,0} negate(e.7)\n}\n";

    #[test]
    fn instructions_that_differ_are_listed_by_device_time() {
        let before = [program("jit_f(3)", BEFORE, &[("e", 20), ("t", 60), ("n", 10)])];
        let after = [program("jit_f(9)", AFTER, &[("e.7", 80), ("n", 10)])];
        let [change] = &program_changes(&before, &after)[..] else { panic!("one program") };
        assert_eq!((change.program.as_str(), change.baseline_program.as_str()), ("jit_f(9)", "jit_f(3)"));
        assert_eq!((change.same, change.changed, change.new, change.gone), (1, 2, 0, 1));
        // There are two executions, so the time per execution is half of the total.
        assert_eq!((change.numbers.time_us, change.baseline_numbers.time_us), (Some(45.0), Some(45.0)));
        assert_eq!((change.numbers.instructions, change.baseline_numbers.instructions), (3, 4));
        // An elementwise op reads and writes 256 bytes.
        assert_eq!((change.numbers.bytes, change.baseline_numbers.bytes), (1024.0, 1536.0));
        let listed: Vec<_> = change
            .instructions
            .iter()
            .map(|it| (it.baseline_name.as_deref(), it.name.as_deref(), it.baseline_time_us, it.time_us))
            .collect();
        let expected = [
            (Some("e"), Some("e.7"), Some(10.0), Some(40.0)),
            (Some("t"), None, Some(30.0), None),
            (Some("n"), Some("n"), Some(5.0), Some(5.0)),
        ];
        assert_eq!(listed, expected);
        let aspects: Vec<_> = change.instructions[0].differences.iter().map(|it| it.aspect.as_str()).collect();
        assert_eq!(aspects, ["layout"]);
        let layout = &change.instructions[0].differences[0];
        assert_eq!((layout.baseline.as_str(), layout.run.as_str()), ("f32[8,8]{1,0}", "f32[8,8]{0,1}"));
    }

    #[test]
    fn programs_of_one_name_are_paired_by_their_instructions_and_then_by_time() {
        let [f, g] = [BEFORE, AFTER];
        let other = BEFORE.replace("tanh", "cosine");
        let before = [program("jit_f(1)", f, &[]), program("jit_f(2)", g, &[]), program("jit_g(3)", g, &[])];
        let after = [program("jit_f(7)", g, &[]), program("jit_f(8)", &other, &[]), program("jit_h(9)", g, &[])];
        let changes = program_changes(&before, &after);
        let pairs: Vec<_> = changes.iter().map(|it| (it.baseline_program.as_str(), it.program.as_str())).collect();
        assert_eq!(pairs, [("jit_f(2)", "jit_f(7)"), ("jit_f(1)", "jit_f(8)")]);
        assert_eq!((changes[0].same, changes[0].changed + changes[0].new + changes[0].gone), (3, 0));
        assert_eq!(changes[0].numbers.time_us, None);
    }

    #[test]
    fn packed_programs_are_unpacked() {
        let programs = vec![program("jit_f(1)", BEFORE, &[("e", 1)]), program("jit_f\n(2)", AFTER, &[])];
        assert_eq!(unpack_programs(&pack_programs(&programs)), programs);
        assert_eq!(unpack_programs(&pack_programs(&[])), []);
        for damaged in [&b""[..], b"\n", b"[]\n", b"{", b"[[],[1,2]]\nabc"] {
            assert_eq!(unpack_programs(damaged), [], "{damaged:?}");
        }
        let cut = pack_programs(&programs);
        assert_eq!(unpack_programs(&cut[..cut.len() - AFTER.len() - 5]).len(), 2);
    }
}
