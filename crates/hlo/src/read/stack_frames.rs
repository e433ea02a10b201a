//! Reads `xla.StackFrameIndexProto`: newer modules store the source of an instruction as a frame in this index.

use std::cell::Cell;

use super::fields::{bytes, fields, int, text};
use crate::instruction::Metadata;
use crate::stack_frames::{Frame, StackFrames};

/// Reads the index.
pub(super) fn read(message: &[u8], damaged: &Cell<bool>) -> StackFrames {
    let mut index = StackFrames::default();
    for (number, value) in fields(message, damaged) {
        match number {
            1 => index.files.push(text(value)),
            3 => index.locations.push(pair(bytes(value), damaged, 3)),
            4 => {
                let (location, caller) = pair(bytes(value), damaged, 2);
                index.frames.push(Frame { location, caller });
            }
            _ => {}
        }
    }
    index
}

/// Reads the numbers of field 1 and of another field.
fn pair(message: &[u8], damaged: &Cell<bool>, second: u32) -> (i64, i64) {
    let mut pair = (0, 0);
    for (number, value) in fields(message, damaged) {
        if number == 1 {
            pair.0 = int(value);
        } else if number == second {
            pair.1 = int(value);
        }
    }
    pair
}

/// Sets the source line of each instruction: the innermost line of its stack in the user's program, else its own
/// source line, else the innermost line of its stack.
pub(super) fn resolve<'m>(frames: &StackFrames, all: impl Iterator<Item = &'m mut Metadata>) {
    let own = frames.own_lines();
    for metadata in all {
        let own = own.get(metadata.stack_frame.wrapping_sub(1) as usize).copied().flatten();
        let innermost = || frames.stack(metadata.stack_frame).next().filter(|_| metadata.source_file.is_empty());
        if let Some((file, line)) = own.or_else(innermost) {
            (metadata.source_file, metadata.source_line) = (file.to_owned(), line);
        }
    }
}
