//! Difference between two programs, as text or JSON.

mod json;
mod text;

use base::format::printable;
use crossprof::hlo::diff::{Difference, Places};
use crossprof::hlo::{ComputationIndex, Cost, InstructionIndex, Module, cost_by};
use crossprof::report::{Metadata, distinct_names};
use crossprof::session::CompiledProgram;
use rustc_hash::FxHashMap;

use super::find::{self, Found, Runs};
use crate::cli::args::{Hlo, HloFormat};

/// One of the compared programs.
struct Side {
    program: String,
    /// Name of the program's run.
    run: String,
    compiled: CompiledProgram,
    places: Places,
}

/// Two programs with their difference.
struct Compared {
    a: Side,
    b: Side,
    difference: Difference,
}

/// Returns the difference between `found` and the program that the command compares it with. The other program comes
/// from `against` or, if that is `None`, from the same runs.
pub(super) fn of(
    command: &Hlo,
    runs: &mut Runs<'_>,
    found: &Found,
    against: Option<&mut Runs<'_>>,
) -> Result<String, String> {
    let format = command.format();
    if !matches!(format, HloFormat::Text | HloFormat::Json) {
        return Err("--format: the difference between two programs can only be text or json".to_owned());
    }
    let metadata_a = metadata(runs, found)?;
    let a = side(found, runs)?;
    let other = |runs: &mut Runs<'_>| -> Result<(Metadata, Side), String> {
        let other = find::other(command, &found.program, runs)?;
        Ok((metadata(runs, &other)?, side(&other, runs)?))
    };
    let (metadata_b, b) = match against {
        Some(others) => other(others)?,
        None => {
            runs.only = runs.only_other.or(runs.only);
            other(runs)?
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

fn metadata(runs: &Runs<'_>, found: &Found) -> Result<Metadata, String> {
    let profile = runs.profiles.get(found.run as usize);
    profile.map(|profile| profile.metadata.clone()).ok_or_else(|| "the run cannot be read".to_owned())
}

fn side(found: &Found, runs: &mut Runs<'_>) -> Result<Side, String> {
    let compiled = runs.session.hlo_compiled(found.run, runs.settings, &found.program);
    let compiled = compiled.ok_or_else(|| format!("the program {} cannot be read", found.program.name))?;
    let places = Places::of(&compiled.module);
    Ok(Side { program: found.program.name.clone(), run: String::new(), compiled, places })
}

impl Side {
    fn module(&self) -> &Module {
        &self.compiled.module
    }

    /// Returns the cost of one execution of an instruction that runs as a separate op.
    fn cost(&self, at: InstructionIndex) -> Option<Cost> {
        let instruction = self.module().at(at).filter(|_| self.runs(at))?;
        cost_by(self.module(), instruction, self.compiled.conventions)
    }

    /// Returns the pass (forward, backward) and the name scopes of an instruction.
    fn scope(&self, at: InstructionIndex) -> String {
        self.places.scope(self.module(), at)
    }

    /// Returns true for an instruction that runs as a separate op, not inside a fusion or reduction.
    fn runs(&self, at: InstructionIndex) -> bool {
        self.places.runs(self.module(), at)
    }
}

/// Numbers of instructions in a computation that are new, gone or changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Inside {
    new: u64,
    gone: u64,
    changed: u64,
}

impl Compared {
    /// Counts the differences inside each computation. New and changed instructions are counted in the computations of
    /// `b`, and instructions that are gone in the computations of `a`.
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
