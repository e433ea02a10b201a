//! Computes the parts of a module that follow from its instructions, regardless of the file's format.

use super::by_name::ByName;
use super::cost::elementwise;
use super::module::Module;
use super::stack_frames::StackFrames;

/// Sets the values that follow from the instructions: their index by name, and the flags for elementwise and fused
/// computations.
pub(crate) fn set(module: &mut Module) {
    module.by_name = ByName::new(&module.instructions);
    find_elementwise(module);
    for instruction in module.instructions.iter().filter(|it| it.is("fusion")) {
        for &called in &instruction.called {
            if let Some(computation) = module.computations.get_mut(called as usize) {
                computation.is_fused = true;
            }
        }
    }
}

/// Sets the `elementwise` flags. Callees precede their callers, so one pass is enough. A computation that calls itself
/// or a later computation is not elementwise.
fn find_elementwise(module: &mut Module) {
    for index in 0..module.computations.len() {
        let (known, rest) = module.computations.split_at(index);
        let Some(computation) = rest.first() else { return };
        let range = &computation.instructions;
        let inside = module.instructions.get(range.start as usize..range.end as usize).unwrap_or_default();
        let all = inside.iter().all(|inner| inner.is("parameter") || elementwise::within(known, inner));
        if let Some(computation) = module.computations.get_mut(index) {
            computation.elementwise = all;
        }
    }
}

/// Sets the call stacks of a module and the source line of each instruction. The source line is the innermost line of
/// the instruction's call stack that is in the user's program. If there is no such line, the instruction's own source
/// line is used, or else the innermost line of the call stack.
pub(crate) fn set_stack_frames(module: &mut Module, frames: StackFrames) {
    let own = frames.own_lines();
    for metadata in module.instructions.iter_mut().map(|instruction| &mut instruction.metadata) {
        let own = own.get(metadata.stack_frame.wrapping_sub(1) as usize).copied().flatten();
        let innermost = || frames.stack(metadata.stack_frame).next().filter(|_| metadata.source_file.is_empty());
        if let Some((file, line)) = own.or_else(innermost) {
            (metadata.source_file, metadata.source_line) = (file.to_owned(), line);
        }
    }
    module.frames = frames;
}
