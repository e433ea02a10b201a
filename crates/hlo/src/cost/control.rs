//! Instructions that run other computations.

use super::analysis::Analysis;
use super::moves;
use super::work::Work;
use crate::Instruction;
use crate::backend_config::trip_count;

/// Returns the work of a call, a while loop, a conditional or an asynchronous computation.
pub(super) fn work(analysis: &mut Analysis, instruction: &Instruction) -> Work {
    match instruction.opcode.as_str() {
        // It is unknown which branch runs, so each number is the maximum over the branches.
        "conditional" => {
            let branches = 0..instruction.called.len();
            branches.map(|n| analysis.called(instruction, n)).reduce(Work::or).unwrap_or(Work::UNKNOWN)
        }
        "while" => {
            let once = analysis.called(instruction, 0).plus(analysis.called(instruction, 1));
            // XLA always assumes one iteration.
            let trips = trip_count(&instruction.attributes().backend_config);
            match trips.filter(|_| analysis.conventions.corrects()) {
                Some(trips) => once.times(trips as f64),
                None => once,
            }
        }
        "async-start" if instruction.called.is_empty() => moves::default(analysis.module, instruction),
        _ => analysis.called(instruction, 0),
    }
}
