//! Follows an array through a program to the instructions that select a part of it.
//!
//! ```text
//! logits f32[4,96,320] --> subtract --> slice f32[4,1,320]      selects 1/96
//!                    '--> reduce --> broadcast --'
//! ```
//!
//! Between the array and a selection, there are only elementwise ops, broadcasts, reshapes, transposes, and reductions along
//! other dimensions.

use std::collections::{BTreeMap, BTreeSet};

use super::gathered_batch::users;
use hlo::{Instruction, InstructionIndex, Module, is_elementwise};

/// Maximum number of instructions between an array and the selection. We chose this limit because a user cannot change a
/// longer path in one place.
const MOST_BETWEEN: usize = 100;

/// Slices that count as selections in a program for several devices.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Slices {
    /// Slices at fixed positions. A device may use its own id to select its part of an array at another position, so that all
    /// devices together use the whole array.
    OfOneDevice,
    /// All slices.
    OfEachDevice,
}

/// Returns the instructions that select parts of an array, each with its part, from 0 to 1. Returns `None` if another
/// instruction may read all of the array.
pub(super) fn selections<'a>(
    module: &'a Module,
    array: &'a Instruction,
    slices: Slices,
) -> Option<Vec<(&'a Instruction, f64)>> {
    let rank = array.shape.arrays().last()?.dimensions.len();
    let mut reads = Reads { module, seen: BTreeSet::new(), selected: BTreeMap::new(), slices };
    reads.follow(array, (0..rank).map(Some).collect())?;
    reads.selected.into_iter().map(|(index, part)| Some((module.at(index)?, part))).collect()
}

/// Dimension of the examined array for each dimension of an array that was computed from it. `None` for a dimension that a
/// broadcast added.
type Dimensions = Vec<Option<usize>>;

/// The reads of an array, down to the instructions that select a part of it.
struct Reads<'a> {
    module: &'a Module,
    seen: BTreeSet<(InstructionIndex, Dimensions)>,
    /// Part of the array that each instruction selects.
    selected: BTreeMap<InstructionIndex, f64>,
    slices: Slices,
}

impl<'a> Reads<'a> {
    /// Follows a value to all its readers. Returns `None` if one of them may read all of it.
    fn follow(&mut self, value: &'a Instruction, dimensions: Dimensions) -> Option<()> {
        let module = self.module;
        let index = module.index_of(value)?;
        if !self.seen.insert((index, dimensions.clone())) {
            return Some(());
        }
        if self.seen.len() > MOST_BETWEEN {
            return None;
        }
        let computation = module.computation(value.computation)?;
        if computation.root == Some(index) {
            // The result of a fused computation is read by the users of the fusion. Other results leave the program, or return
            // to the start of a loop.
            let fusion = module
                .instructions()
                .iter()
                .find(|it| it.is("fusion") && it.called.first() == Some(&value.computation))?;
            self.follow(fusion, dimensions.clone())?;
        }
        for user in users(module, value) {
            let positions = user.operands.iter().enumerate().filter(|(_, operand)| **operand == index);
            for (position, _) in positions {
                self.read(user, position, value, &dimensions)?;
            }
        }
        Some(())
    }

    /// Follows one read of a value.
    fn read(
        &mut self,
        user: &'a Instruction,
        position: usize,
        value: &Instruction,
        dimensions: &Dimensions,
    ) -> Option<()> {
        let from = &value.shape.array()?.dimensions;
        let attributes = user.attributes();
        let along = |dimension: usize| attributes.dimensions.iter().any(|&it| usize::try_from(it) == Ok(dimension));
        if user.is("fusion") {
            let is_parameter = |it: &&Instruction| {
                it.is("parameter")
                    && it.attributes().parameter_number.and_then(|it| usize::try_from(it).ok()) == Some(position)
            };
            let parameter = hlo::fused(self.module, user).iter().find(is_parameter)?;
            return self.follow(parameter, dimensions.clone());
        }
        let to = &user.shape.array()?.dimensions;
        let mapped: Dimensions = match user.opcode.as_str() {
            _ if is_elementwise(self.module, user) && from == to => dimensions.clone(),
            "broadcast" => (0..to.len())
                .map(|dimension| {
                    let source = attributes.dimensions.iter().position(|&it| usize::try_from(it) == Ok(dimension));
                    source.and_then(|source| *dimensions.get(source)?)
                })
                .collect(),
            "transpose" => {
                let source = |&it: &i64| usize::try_from(it).ok().and_then(|it| *dimensions.get(it)?);
                attributes.dimensions.iter().map(source).collect()
            }
            "reduce" if position < user.operands.len() / 2 => {
                let kept = dimensions.iter().enumerate().filter(|(dimension, _)| !along(*dimension));
                kept.map(|(_, source)| *source).collect()
            }
            "bitcast" | "reshape" => reshaped(from, to, dimensions)?,
            "slice" | "dynamic-slice" | "gather" if position == 0 => return self.select(user, from, dimensions),
            _ => return None,
        };
        self.follow(user, mapped)
    }

    /// Adds the part that a slice or gather selects. Returns `None` if it selects along a dimension that the array lacks, or if
    /// it selects everything.
    fn select(&mut self, user: &'a Instruction, from: &[u64], dimensions: &Dimensions) -> Option<()> {
        let attributes = user.attributes();
        let mut sizes: Vec<u64> = match user.opcode.as_str() {
            "slice" => user.shape.array()?.dimensions.clone(),
            // Each device uses its own id to select its part of an array.
            "dynamic-slice" if self.slices == Slices::OfOneDevice && self.module.num_devices() > 1 => {
                return None;
            }
            "dynamic-slice" => {
                attributes.dynamic_slice_sizes.iter().map(|&it| u64::try_from(it).ok()).collect::<Option<_>>()?
            }
            _ => attributes.gather_slice_sizes.iter().map(|&it| u64::try_from(it).ok()).collect::<Option<_>>()?,
        };
        sizes.truncate(from.len());
        let selects = |(index, (size, whole)): (usize, (&u64, &u64))| (size < whole).then_some(index);
        let selecting: Vec<usize> = sizes.iter().zip(from).enumerate().filter_map(selects).collect();
        if selecting.is_empty() || selecting.iter().any(|&it| dimensions.get(it).copied().flatten().is_none()) {
            return None;
        }
        // A gather selects once for each index vector.
        let picks = match user.opcode.as_str() {
            "gather" => {
                let slice: f64 = sizes.iter().map(|&size| size as f64).product();
                user.shape.elements() / slice.max(1.0)
            }
            _ => 1.0,
        };
        let part = |index: &usize| Some(*sizes.get(*index)? as f64 / (*from.get(*index)? as f64).max(1.0));
        let part: f64 = picks * selecting.iter().filter_map(part).product::<f64>();
        let selected = self.selected.entry(self.module.index_of(user)?).or_default();
        *selected = selected.max(part.min(1.0));
        Some(())
    }
}

/// Maps dimensions through a change of shape. Returns `None` if a dimension of the examined array is split or joined.
fn reshaped(from: &[u64], to: &[u64], dimensions: &Dimensions) -> Option<Dimensions> {
    let before = |sizes: &[u64], index: usize| sizes.iter().take(index).product::<u64>();
    let mut mapped: Dimensions = vec![None; to.len()];
    for (index, size) in from.iter().enumerate().filter(|(_, size)| **size > 1) {
        let Some(Some(source)) = dimensions.get(index) else { continue };
        let same = |&it: &usize| to.get(it) == Some(size) && before(to, it) == before(from, index);
        *mapped.get_mut((0..to.len()).find(same)?)? = Some(*source);
    }
    Some(mapped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_change_along_whole_dimensions() {
        let all: Dimensions = vec![Some(0), Some(1), Some(2)];
        assert_eq!(reshaped(&[4, 96, 8], &[4, 1, 96, 8], &all), Some(vec![Some(0), None, Some(1), Some(2)]));
        assert_eq!(reshaped(&[4, 96, 8], &[384, 8], &all), None);
    }
}
