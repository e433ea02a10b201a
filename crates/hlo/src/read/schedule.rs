//! Reads `xla.HloScheduleProto`: the order in which each computation runs its instructions.

use std::cell::Cell;

use rustc_hash::FxHashMap;

use super::fields::{bytes, fields, int, ints};
use super::instruction::low;
use crate::instruction::InstructionIndex;
use crate::module::Module;

/// Returns the instructions of each computation in execution order. Computations that the schedule omits, such as
/// computations of fusions, keep the file's order. Returns nothing if there is no schedule, or if the schedule does not
/// fit the module.
pub(super) fn read(message: &[u8], damaged: &Cell<bool>, module: &Module) -> Vec<InstructionIndex> {
    let mut order = Vec::new();
    // map<int64, InstructionSequence { 1: instruction ids }>
    for (_, sequence) in fields(message, damaged).filter(|(number, _)| *number == 1) {
        let (mut of, mut ids) = (0, Vec::new());
        for (number, value) in fields(bytes(sequence), damaged) {
            match number {
                1 => of = low(int(value)),
                2 => fields(bytes(value), damaged).for_each(|(_, value)| ints(value, &mut ids)),
                _ => {}
            }
        }
        let Some(computation) = module.computations().iter().find(|it| low(it.id) == of) else { continue };
        if order.is_empty() {
            order = (0..).take(module.instructions().len()).collect();
        }
        let range = &computation.instructions;
        let places: FxHashMap<u32, InstructionIndex> =
            module.instructions_of(computation).iter().map(|it| low(it.id)).zip(range.clone()).collect();
        let mut free = order.get_mut(range.start as usize..range.end as usize).unwrap_or_default().iter_mut();
        let mut scheduled: Vec<_> = ids.iter().filter_map(|&id| places.get(&low(id)).copied()).collect();
        let count = scheduled.len();
        base::sort::sort_by_key(&mut scheduled, |&index| index);
        scheduled.dedup();
        if count != range.len() || scheduled.len() != count {
            return Vec::new();
        }
        ids.iter().filter_map(|&id| places.get(&low(id))).for_each(|&index| {
            if let Some(place) = free.next() {
                *place = index;
            }
        });
    }
    order
}
