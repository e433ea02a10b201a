//! Reads `xla.HloProto` and `xla.HloModuleProto`: names, shapes, the graph, and the attributes that determine the
//! cost, source and communication of an instruction.
//!
//! Skips constants of more than one element, buffer assignments, control dependencies, random-number and infeed
//! settings, and data that only a compiler needs. If bytes violate the format, the reader ends the message there and
//! keeps everything before these bytes.

mod attributes;
mod fields;
mod instruction;
mod literal;
mod mesh;
mod schedule;
mod shape;
mod sharding;
mod stack_frames;

use std::cell::Cell;

use rustc_hash::FxHashMap;

use self::fields::{bytes, fields, int, ints, text as string};
use self::instruction::{Rare, low};
use super::derived;
use super::instruction::{ComputationIndex, InstructionIndex};
use super::module::{Assignment, Computation, Module};
use super::text;

/// Reads the module of an `xla.HloProto`, or HLO text.
pub fn proto(message: &[u8]) -> Module {
    if text::is_text(message) {
        return text::module(message);
    }
    let damaged = Cell::new(false);
    let found = fields(message, &damaged).find(|(number, _)| *number == 1).map(|(_, value)| bytes(value));
    let mut read = module(found.unwrap_or_default());
    read.damaged |= damaged.get();
    read
}

/// Reads an `xla.HloModuleProto`, or HLO text.
pub fn module(message: &[u8]) -> Module {
    if text::is_text(message) {
        return text::module(message);
    }
    let damaged = Cell::new(false);
    // Instructions are large, so capacity is reserved to avoid moving them.
    let mut module = Module { instructions: Vec::with_capacity(instructions_in(message)), ..Module::default() };
    let mut entry = (None, String::new());
    let mut rare = Vec::new();
    let (mut frames, mut schedule) = (None, [].as_slice());
    for (number, value) in fields(message, &damaged) {
        match number {
            1 => module.name = string(value),
            2 => entry.1 = string(value),
            3 => computation(bytes(value), &damaged, &mut module, &mut rare),
            5 => module.id = int(value),
            6 => entry.0 = Some(int(value)),
            7 => schedule = bytes(value),
            8 => aliases(bytes(value), &damaged, &mut module.aliases),
            15 => module.assignment = assignment(bytes(value), &damaged),
            17 => frames = Some(stack_frames::read(bytes(value), &damaged)),
            _ => {}
        }
    }
    link(&mut module, entry);
    module.schedule = schedule::read(schedule, &damaged, &module);
    base::sort::sort_by_key(&mut module.aliases, |alias| alias.1);
    if let Some(frames) = frames {
        derived::set_stack_frames(&mut module, frames);
    }
    module.damaged = damaged.get();
    module
}

/// Counts the instructions of all computations.
fn instructions_in(message: &[u8]) -> usize {
    let ignored = Cell::new(false);
    let computations = fields(message, &ignored).filter(|(number, _)| *number == 3);
    computations.map(|(_, value)| fields(bytes(value), &ignored).filter(|(number, _)| *number == 2).count()).sum()
}

/// Appends a computation and its instructions to the module.
fn computation<'a>(message: &'a [u8], damaged: &Cell<bool>, module: &mut Module, rare: &mut Vec<Rare<'a>>) {
    let index = |len: usize| InstructionIndex::try_from(len).unwrap_or(InstructionIndex::MAX);
    let mut computation = Computation { instructions: index(module.instructions.len())..0, ..Computation::default() };
    let mut root_id = None;
    let this = index(module.computations.len());
    for (number, value) in fields(message, damaged) {
        match number {
            1 => computation.name = string(value),
            2 => module.instructions.push(instruction::read(bytes(value), damaged, this, rare)),
            5 => computation.id = int(value),
            6 => root_id = Some(int(value)),
            _ => {}
        }
    }
    computation.instructions.end = index(module.instructions.len());
    let own = module.instructions.get(computation.instructions.start as usize..).unwrap_or_default();
    let at = |id: i64| own.iter().position(|instruction| low(instruction.id) == low(id));
    // In very old modules, which have no root field, the last instruction is the root.
    let root = root_id.map_or_else(|| own.len().checked_sub(1), at);
    computation.root = root.map(|root| index(root).saturating_add(computation.instructions.start));
    module.computations.push(computation);
}

/// Converts ids to indices. Instructions refer only to other instructions of their own computation.
fn link(module: &mut Module, (entry_id, entry_name): (Option<i64>, String)) {
    let mut computations: FxHashMap<u32, ComputationIndex> = FxHashMap::default();
    for (index, computation) in (0..).zip(&module.computations) {
        computations.entry(low(computation.id)).or_insert(index);
    }
    let by_name = || module.computations.iter().position(|computation| computation.name == entry_name);
    let by_id = entry_id.and_then(|id| computations.get(&low(id)).copied());
    module.entry = by_id.or_else(|| ComputationIndex::try_from(by_name()?).ok());

    let mut local: FxHashMap<u32, InstructionIndex> = FxHashMap::default();
    for computation in &module.computations {
        let range = computation.instructions.clone();
        let own = module.instructions.get_mut(range.start as usize..range.end as usize).unwrap_or_default();
        local.clear();
        local.extend(own.iter().map(|instruction| low(instruction.id)).zip(range));
        for instruction in own {
            replace(&mut instruction.operands, &local);
            replace(&mut instruction.called, &computations);
        }
    }
    derived::set(module);
}

/// Replaces ids with indices. Drops ids that the file lacks.
fn replace(ids: &mut Vec<u32>, indices: &FxHashMap<u32, u32>) {
    ids.retain_mut(|id| {
        indices.get(id).is_some_and(|&index| {
            *id = index;
            true
        })
    });
}

/// Reads the `(output, argument)` pairs of an `xla.HloInputOutputAliasProto`. Skips nested outputs, and elements of
/// arguments that are tuples.
fn aliases(message: &[u8], damaged: &Cell<bool>, out: &mut Vec<(i64, i64)>) {
    for (_, entry) in fields(message, damaged).filter(|(number, _)| *number == 1) {
        let (mut output, mut argument, mut part) = (Vec::new(), 0, Vec::new());
        for (number, value) in fields(bytes(entry), damaged) {
            match number {
                1 => ints(value, &mut output),
                2 => argument = int(value),
                3 => ints(value, &mut part),
                _ => {}
            }
        }
        if output.len() <= 1 && part.is_empty() {
            out.push((output.first().copied().unwrap_or(0), argument));
        }
    }
}

/// Reads an `xla.DeviceAssignmentProto`: `{1: replicas, 2: partitions, 3: for each partition {1: devices by
/// replica}}`.
fn assignment(message: &[u8], damaged: &Cell<bool>) -> Assignment {
    let mut read = Assignment::default();
    let mut by_partition: Vec<Vec<i64>> = Vec::new();
    for (number, value) in fields(message, damaged) {
        match number {
            1 => read.replicas = int(value),
            2 => read.partitions = int(value),
            3 => {
                let mut devices = Vec::new();
                fields(bytes(value), damaged)
                    .filter(|(number, _)| *number == 1)
                    .for_each(|(_, v)| ints(v, &mut devices));
                by_partition.push(devices);
            }
            _ => {}
        }
    }
    let replicas = by_partition.first().map_or(0, Vec::len);
    let is_whole = by_partition.iter().all(|devices| devices.len() == replicas);
    if is_whole
        && i64::try_from(replicas) == Ok(read.replicas)
        && i64::try_from(by_partition.len()) == Ok(read.partitions)
    {
        let ids = (0..replicas).flat_map(|replica| by_partition.iter().filter_map(move |of| of.get(replica)));
        let ids: Option<Vec<u32>> = ids.map(|&id| u32::try_from(id).ok()).collect();
        read.devices = ids.unwrap_or_default();
    }
    read
}

#[cfg(test)]
pub(crate) mod tests;
