//! Reads `xla.StackFrameIndexProto`: newer modules store the source of an instruction as a frame in this index.

use std::cell::Cell;

use super::fields::{bytes, fields, int, text};
use crate::instruction::Metadata;
use crate::stack_frames::{Frame, Location, StackFrames};

/// Reads the index.
pub(super) fn read(message: &[u8], damaged: &Cell<bool>) -> StackFrames {
    let mut index = StackFrames::default();
    for (number, value) in fields(message, damaged) {
        match number {
            1 => index.files.push(text(value)),
            2 => index.functions.push(text(value)),
            3 => {
                let [file, function, line] = numbers(bytes(value), damaged);
                index.locations.push(Location { file, line, function });
            }
            4 => {
                let [location, caller, _] = numbers(bytes(value), damaged);
                index.frames.push(Frame { location, caller });
            }
            _ => {}
        }
    }
    index
}

/// Reads the numbers of fields 1 to 3.
fn numbers(message: &[u8], damaged: &Cell<bool>) -> [i64; 3] {
    let mut found = [0; 3];
    for (number, value) in fields(message, damaged) {
        let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        if let Some(slot) = place.and_then(|place| found.get_mut(place)) {
            *slot = int(value);
        }
    }
    found
}

/// Sets the source line of each instruction to the innermost line of its stack in the user's program. If there is none,
/// uses the instruction's own source line, or else the innermost line of its stack.
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
