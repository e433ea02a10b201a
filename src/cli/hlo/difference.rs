//! Difference of two programs, as text or JSON.

mod json;
mod text;

use base::format::printable;
use base::framework_path::{scopes, training_pass};
use crossprof::Session;
use crossprof::hlo::diff::Difference;
use crossprof::hlo::{ComputationIndex, Cost, InstructionIndex, Module, cost_by};
use crossprof::report::{Metadata, distinct_names};
use crossprof::session::CompiledProgram;
use rustc_hash::FxHashMap;

use super::find::{self, Found};
use crate::cli::analyze::{self, Reports};
use crate::cli::args::{Hlo, HloFormat, Inputs};
use crate::cli::output::Outputs;

/// Opcodes whose called computations run one instruction at a time.
const RUNS: [&str; 5] = ["while", "conditional", "call", "async-start", "custom-call"];

/// One of the compared programs.
struct Side {
    /// Name of the program.
    program: String,
    /// Name of its run.
    run: String,
    compiled: CompiledProgram,
    /// True for computations whose instructions run one by one: not those inside fusions and reductions.
    runs: Vec<bool>,
    /// First instruction that calls each computation.
    callers: Vec<Option<InstructionIndex>>,
}

/// Two programs with their difference.
struct Compared {
    a: Side,
    b: Side,
    difference: Difference,
}

/// Returns the difference between the found program and the one that the command compares it with. Sets `status` to the worse
/// status of the two inputs.
pub fn of(
    command: &Hlo,
    reports: &mut Reports,
    found: &Found<'_>,
    titles: &[String],
    status: &mut u8,
) -> Result<String, String> {
    let format = command.format();
    if !matches!(format, HloFormat::Text | HloFormat::Json) {
        return Err("--format: the difference of two programs can only be text or json".to_owned());
    }
    let settings = reports.settings.clone();
    let metadata_a = metadata(reports, found)?;
    let a = side(found, &mut reports.session, &settings)?;
    let (b, metadata_b) = match &command.against {
        Some(path) => {
            let inputs =
                Inputs { files: vec![path.clone()], trace_file: Vec::new(), model: command.inputs.model.clone() };
            let mut others = analyze::reports(&inputs, &Outputs::new(&command.output))?;
            *status = (*status).max(others.status());
            if others.profiles.is_empty() {
                return Err(format!("--against {}: no program could be read", path.display()));
            }
            let titles = crossprof::export::text::titles(&others.profiles);
            let settings = others.settings.clone();
            let other = find::other(command, &found.program, &mut others.session, &settings, &titles)?;
            let metadata = metadata(&others, &other)?;
            others.print_warnings();
            (side(&other, &mut others.session, &settings)?, metadata)
        }
        None => {
            let other = find::other(command, &found.program, &mut reports.session, &settings, titles)?;
            let metadata = metadata(reports, &other)?;
            (side(&other, &mut reports.session, &settings)?, metadata)
        }
    };
    let names = match metadata_a.trace_file == metadata_b.trace_file {
        true => vec![metadata_a.name().to_owned(), metadata_b.name().to_owned()],
        false => distinct_names(&[metadata_a.naming(), metadata_b.naming()]),
    };
    let [run_a, run_b] = [0, 1].map(|at| printable(names.get(at).map_or("", String::as_str)));
    let (a, b) = (Side { run: run_a, ..a }, Side { run: run_b, ..b });
    let difference = Difference::of(&a.compiled.module, &b.compiled.module);
    let compared = Compared { a, b, difference };
    Ok(if format == HloFormat::Json { json::document(&compared) } else { text::document(&compared) })
}

fn metadata(reports: &Reports, found: &Found<'_>) -> Result<Metadata, String> {
    let profile = reports.profiles.get(found.run as usize);
    profile.map(|profile| profile.metadata.clone()).ok_or_else(|| "the run cannot be read".to_owned())
}

fn side(found: &Found<'_>, session: &mut Session, settings: &crossprof::Settings) -> Result<Side, String> {
    let compiled = session.hlo_compiled(found.run, settings, &found.program);
    let compiled = compiled.ok_or_else(|| format!("the program {} cannot be read", found.program.name))?;
    let runs = running(&compiled.module);
    let mut callers = vec![None; compiled.module.computations().len()];
    for (at, instruction) in (0..).zip(compiled.module.instructions()) {
        for &called in &instruction.called {
            if let Some(place @ None) = callers.get_mut(called as usize) {
                *place = Some(at);
            }
        }
    }
    Ok(Side { program: found.program.name.clone(), run: String::new(), compiled, runs, callers })
}

impl Side {
    fn module(&self) -> &Module {
        &self.compiled.module
    }

    /// Returns the cost of one execution of an instruction that runs by itself.
    fn cost(&self, at: InstructionIndex) -> Option<Cost> {
        let instruction = self.module().at(at).filter(|_| self.runs(at))?;
        cost_by(self.module(), instruction, self.compiled.conventions)
    }

    /// Returns the pass and the name scopes of an instruction: `forward/layer_3/attn`. An instruction of a fusion or reduction
    /// without a path has those of its caller.
    fn scope(&self, at: InstructionIndex) -> String {
        let mut next = self.module().at(at);
        // A fusion inside a fusion.
        for _ in 0..4 {
            let Some(it) = next else { break };
            let path = it.metadata.op_name.as_str();
            // The parameters of a reduction have the name of its primitive alone.
            if path.contains('/') || self.runs(at) {
                return training_pass(path).into_iter().chain(scopes(path)).collect::<Vec<_>>().join("/");
            }
            let caller = self.callers.get(it.computation as usize).copied().flatten();
            next = caller.and_then(|caller| self.module().at(caller));
        }
        String::new()
    }

    /// Returns true for an instruction that runs by itself, not inside a fusion or reduction.
    fn runs(&self, at: InstructionIndex) -> bool {
        let computation = self.module().at(at).map(|it| it.computation as usize);
        computation.and_then(|it| self.runs.get(it)) == Some(&true)
    }
}

/// Returns for each computation whether its instructions run one by one.
fn running(module: &Module) -> Vec<bool> {
    let mut runs = vec![false; module.computations().len()];
    // A cut file may name no entry.
    let entry = module.entry().or(module.computations().last()).map(std::ptr::from_ref);
    let indices = || (0..).zip(module.computations());
    let mut next: Vec<ComputationIndex> =
        indices().filter(|(_, it)| entry == Some(std::ptr::from_ref(*it))).map(|(index, _)| index).collect();
    while let Some(at) = next.pop() {
        if let (Some(place @ false), Some(computation)) = (runs.get_mut(at as usize), module.computation(at)) {
            *place = true;
            let callers = module.instructions_of(computation).iter().filter(|it| RUNS.contains(&it.opcode.as_str()));
            next.extend(callers.flat_map(|it| &it.called));
        }
    }
    runs
}

/// Number of instructions of each computation that are new, gone or changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Inside {
    new: u64,
    gone: u64,
    changed: u64,
}

impl Compared {
    /// Counts the differences in the computations of `b`, and in those of `a` for what is gone.
    fn inside(&self) -> [FxHashMap<ComputationIndex, Inside>; 2] {
        let (mut of_a, mut of_b): (FxHashMap<_, Inside>, FxHashMap<_, Inside>) = Default::default();
        let computation = |side: &Side, at: InstructionIndex| side.module().at(at).map(|it| it.computation);
        for &at in &self.difference.gone {
            computation(&self.a, at).into_iter().for_each(|it| of_a.entry(it).or_default().gone += 1);
        }
        for &at in &self.difference.new {
            computation(&self.b, at).into_iter().for_each(|it| of_b.entry(it).or_default().new += 1);
        }
        for changed in &self.difference.changed {
            computation(&self.b, changed.b).into_iter().for_each(|it| of_b.entry(it).or_default().changed += 1);
        }
        [of_a, of_b]
    }
}
