//! Reads `xla.StackFrameIndexProto`: newer modules store the source of an instruction as a frame in this index.

use std::cell::Cell;

use super::fields::{bytes, fields, int, text};
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

/// Reads fields 1 to 3 as numbers.
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
