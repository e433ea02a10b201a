//! `xla.StackFrameIndexProto`: newer modules say the source of an instruction by a frame in this index.

use std::cell::Cell;

use super::fields::{bytes, fields, int, text};
use crate::instruction::Metadata;

/// The tables of the index. All references are 1-based.
#[derive(Default)]
pub(super) struct StackFrames {
    files: Vec<String>,
    /// `(file, line)`
    locations: Vec<(i64, i64)>,
    /// Location of each frame.
    frames: Vec<i64>,
}

/// Reads the index.
pub(super) fn read(message: &[u8], damaged: &Cell<bool>) -> StackFrames {
    let mut index = StackFrames::default();
    for (number, value) in fields(message, damaged) {
        match number {
            1 => index.files.push(text(value)),
            3 => {
                let (file, line) = pair(bytes(value), damaged, 3);
                index.locations.push((file, line));
            }
            4 => index.frames.push(pair(bytes(value), damaged, 2).0),
            _ => {}
        }
    }
    index
}

/// The numbers of field 1 and of another field.
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

impl StackFrames {
    /// The files that the frames are in.
    pub(super) fn into_files(self) -> Vec<String> {
        self.files
    }

    /// Fills in the source of an instruction that names a frame only.
    pub(super) fn resolve(&self, metadata: &mut Metadata) {
        if metadata.stack_frame <= 0 || !metadata.source_file.is_empty() {
            return;
        }
        let location = at(&self.frames, metadata.stack_frame).and_then(|&location| at(&self.locations, location));
        if let Some(&(file, line)) = location
            && let Some(file) = at(&self.files, file)
        {
            metadata.source_file.clone_from(file);
            metadata.source_line = line;
        }
    }
}

fn at<T>(items: &[T], one_based: i64) -> Option<&T> {
    items.get(usize::try_from(one_based.checked_sub(1)?).ok()?)
}
