//! Critical path of a computation: the chain of dependent instructions with the most device time.

use base::Ps;
use hlo::{ComputationIndex, InstructionIndex, Module};

use crate::numbers::Measured;

/// The critical path of a computation.
///
/// In the path, each instruction is an operand of the next. Of all such chains, the path has the largest sum of device
/// times. The time of an instruction is its self time over the window and all devices, plus the time of the
/// computations that it calls. A while loop, a conditional or a call is therefore one instruction with the time of
/// everything inside. Instructions without measured time have time zero. The computation needs at least the time of the
/// path, even if any number of ops can run at once. The computation may need more time, because the path ignores
/// control dependencies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CriticalPath {
    /// Instructions with measured time on the path, in execution order.
    pub instructions: Vec<InstructionIndex>,
    /// Sum of the times of these instructions.
    pub time: Ps,
    /// Sum of the times of all instructions of the computation.
    pub total: Ps,
    /// Number of instructions that depend on themselves. Such instructions occur only in damaged programs, and the path
    /// leaves them out.
    pub cyclic: usize,
}

/// Returns the critical path of a computation. `None` if no instruction has a measured time.
pub fn critical_path(module: &Module, measured: &Measured, of: ComputationIndex) -> Option<CriticalPath> {
    let computation = module.computation(of)?;
    let range = computation.instructions.clone();
    let all = module.instructions_of(computation);
    let place = |index: InstructionIndex| index.checked_sub(range.start).map(|at| at as usize);
    let time = |at: usize| {
        let numbers = measured.whole(range.start + at as u32);
        numbers.and_then(|numbers| numbers.time).unwrap_or_default().max(Ps::ZERO)
    };
    // Operands usually precede their users. If some do not, the order comes from the graph.
    let order = topological(all.len(), |at, out: &mut Vec<usize>| {
        let operands = all.get(at).map(|it| it.operands.as_slice()).unwrap_or_default();
        out.extend(operands.iter().filter_map(|&operand| place(operand)).filter(|&at| at < all.len()));
    });
    let mut best: Vec<(Ps, Option<usize>)> = vec![(Ps::ZERO, None); all.len()];
    let mut is_done = vec![false; all.len()];
    let mut end: Option<usize> = None;
    for &at in &order {
        let Some(instruction) = all.get(at) else { continue };
        let mut longest = (Ps::ZERO, None);
        for before in instruction.operands.iter().filter_map(|&operand| place(operand)) {
            let Some(&(sum, _)) = best.get(before).filter(|_| is_done.get(before) == Some(&true)) else { continue };
            if longest.1.is_none() || sum > longest.0 {
                longest = (sum, Some(before));
            }
        }
        let own = (longest.0 + time(at), longest.1);
        if end.and_then(|end| best.get(end)).is_none_or(|known| own.0 > known.0) {
            end = Some(at);
        }
        if let (Some(slot), Some(done)) = (best.get_mut(at), is_done.get_mut(at)) {
            (*slot, *done) = (own, true);
        }
    }
    let path_time = best.get(end?)?.0;
    if path_time <= Ps::ZERO {
        return None;
    }
    let mut instructions = Vec::new();
    let mut at = end;
    while let Some(current) = at {
        if time(current) > Ps::ZERO {
            instructions.push(range.start + current as u32);
        }
        at = best.get(current).and_then(|&(_, before)| before);
    }
    instructions.reverse();
    let total = (0..all.len()).map(time).sum();
    Some(CriticalPath { instructions, time: path_time, total, cyclic: all.len() - order.len() })
}

/// Returns the numbers `0..count` in topological order: each number follows the numbers that `before` appends for it.
/// Leaves out numbers on a cycle, and numbers that depend on a cycle.
fn topological(count: usize, before: impl Fn(usize, &mut Vec<usize>)) -> Vec<usize> {
    let mut waiting = vec![0usize; count];
    let mut starts = vec![0usize; count + 1];
    let mut buffer = Vec::new();
    for at in 0..count {
        buffer.clear();
        before(at, &mut buffer);
        if let Some(waits) = waiting.get_mut(at) {
            *waits = buffer.len();
        }
        for &other in &buffer {
            if let Some(start) = starts.get_mut(other + 1) {
                *start += 1;
            }
        }
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    let mut next = starts.clone();
    let mut after = vec![0usize; sum];
    for at in 0..count {
        buffer.clear();
        before(at, &mut buffer);
        for &other in &buffer {
            let Some(place) = next.get_mut(other) else { continue };
            if let Some(slot) = after.get_mut(*place) {
                *slot = at;
            }
            *place += 1;
        }
    }
    let mut order: Vec<usize> =
        waiting.iter().enumerate().filter(|(_, waits)| **waits == 0).map(|(at, _)| at).collect();
    let mut done = 0;
    while let Some(&at) = order.get(done) {
        done += 1;
        let (from, to) = (starts.get(at).copied().unwrap_or(0), starts.get(at + 1).copied().unwrap_or(0));
        for &user in after.get(from..to).unwrap_or_default() {
            let Some(waits) = waiting.get_mut(user) else { continue };
            *waits -= 1;
            if *waits == 0 {
                order.push(user);
            }
        }
    }
    order
}
