//! Identifies compiled programs by their instructions, and by the types and shapes of their arguments.

use crate::op::ops::{Op, Ops};
use crate::program::autotuning::AUTOTUNING;
use base::{Ps, sort};
use hlo::{Module, Modules};
use report::{Program, ProgramParameters};
use trace::Trace;

const MOST_PROGRAMS: usize = 20;
/// Maximum number of argument shapes that are listed for a program.
const MOST_SHAPES: usize = 100;

/// Builds the section from the programs of the ops in the window. `device_steps` is the window's number of steps,
/// summed over devices.
pub(crate) fn section(trace: &Trace, ops: &Ops, modules: &Modules, device_steps: u64) -> Vec<Program> {
    if modules.is_empty() || device_steps == 0 {
        return Vec::new();
    }
    // Only a few programs run, so a linear search is as fast as a map and takes half the code.
    let mut times: Vec<((Option<i64>, &str), Ps)> = Vec::new();
    for op in &ops.rows {
        let key = (op.program_id, if op.program_id.is_some() { "" } else { ops.text(trace, op.module) });
        match times.iter_mut().find(|it| it.0 == key) {
            Some((_, time)) => *time += op.self_time,
            None => times.push((key, op.self_time)),
        }
    }
    sort::sort_by_key(&mut times, |&(program, time)| (-time.as_ps(), program));
    let module = |(program, name): (Option<i64>, &str)| match program {
        Some(program) => modules.of_programs(|id| id == program).next(),
        None => modules.find_by_name(0, name),
    };
    let found = times.into_iter().filter_map(|(key, time)| Some((module(key)?, time)));
    found.take(MOST_PROGRAMS).map(|(module, time)| program(module, time.as_us() / device_steps as f64)).collect()
}

/// A program that ran but is not embedded in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct MissingProgram {
    /// Name of the program. Empty if the program's ops do not name it.
    pub name: String,
    /// Self time of the program's ops, over all devices.
    pub self_time: Ps,
}

/// Returns the programs whose ops ran in the window but whose HLO is missing from the trace, although the trace embeds
/// other programs. The programs are sorted by descending time.
pub fn missing(trace: &Trace, ops: &Ops) -> Vec<MissingProgram> {
    let mut found: Vec<(Option<i64>, MissingProgram)> = Vec::new();
    let base = |name: &str| name.split_once('(').map_or(name, |(base, _)| base).to_owned();
    // The candidates of an autotuner are separate programs, which no file contains.
    let is_own = |op: &&Op| ops.text(trace, op.category) != AUTOTUNING;
    for op in ops.rows.iter().filter(is_own).filter(|_| !trace.hlo.is_empty()) {
        let name = ops.text(trace, op.module);
        let is_embedded = match op.program_id {
            Some(id) => trace.hlo.iter().any(|proto| proto.program_id == id),
            None => name.is_empty() || trace.hlo.iter().any(|proto| base(trace.text(proto.name)) == base(name)),
        };
        if is_embedded {
            continue;
        }
        let is_same = |(id, program): &&mut (Option<i64>, MissingProgram)| *id == op.program_id && program.name == name;
        match found.iter_mut().find(is_same) {
            Some((_, program)) => program.self_time += op.self_time,
            None => found.push((op.program_id, MissingProgram { name: name.to_owned(), self_time: op.self_time })),
        }
    }
    let mut programs: Vec<MissingProgram> = found.into_iter().map(|(_, program)| program).collect();
    sort::sort_by(&mut programs, |a, b| b.self_time.cmp(&a.self_time).then_with(|| a.name.cmp(&b.name)));
    programs
}

fn program(module: &Module, self_time_us: f64) -> Program {
    let mut parameters: Vec<ProgramParameters> = Vec::new();
    let entry = module.entry().map_or(&[][..], |entry| module.instructions_of(entry));
    for parameter in entry.iter().filter(|instruction| instruction.is("parameter")) {
        for array in parameter.shape.arrays() {
            let (shape, bytes) = (hlo::Shape::Array(array.clone()).text(false), array.bytes() as u64);
            match parameters.iter_mut().find(|it| it.shape == shape) {
                Some(it) => (it.count, it.bytes) = (it.count + 1, it.bytes.saturating_add(bytes)),
                None => parameters.push(ProgramParameters { shape, count: 1, bytes }),
            }
        }
    }
    sort::sort_by(&mut parameters, |a, b| b.bytes.cmp(&a.bytes).then_with(|| a.shape.cmp(&b.shape)));
    let num_parameters = parameters.iter().map(|it| it.count).sum();
    let text: String = parameters.iter().map(|it| format!("{} {}\n", it.count, it.shape)).collect();
    let parameter_fingerprint = hlo::fingerprint(&text);
    parameters.truncate(MOST_SHAPES);
    Program {
        name: module.name().to_owned(),
        self_time_us,
        fingerprint: hlo::module_fingerprint(module),
        num_partitions: module.devices().and_then(|(_, partitions)| u64::try_from(partitions).ok()),
        num_parameters,
        parameter_fingerprint,
        parameters,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_sample(name: &str) -> Program {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/hlo");
        program(&hlo::read_module(&std::fs::read(format!("{folder}/{name}.pb")).unwrap()), 1.0)
    }

    #[test]
    fn a_program_has_the_shapes_that_it_takes() {
        let found = of_sample("jit_int8");
        assert_eq!((found.name.as_str(), found.num_parameters), ("jit__lambda", 2));
        let shapes: Vec<(&str, u64, u64)> =
            found.parameters.iter().map(|it| (it.shape.as_str(), it.count, it.bytes)).collect();
        assert_eq!(shapes, [("s8[16,32]", 1, 512), ("s8[32,8]", 1, 256)]);
        assert_eq!(found, of_sample("jit_int8"));
        let other = of_sample("jit_pool_gradient");
        assert_ne!((found.fingerprint, found.parameter_fingerprint), (other.fingerprint, other.parameter_fingerprint));
    }
}
