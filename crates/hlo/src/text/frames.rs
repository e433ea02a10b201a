//! Reads the tables of call stacks, which precede the computations.
//!
//! ```text
//! FileNames              FunctionNames    FileLocations                                        StackFrames
//! 1 "train.py"           1 "main"         1 {file_name_id=1 function_name_id=1 line=9 ...}     1 {file_location_id=1 parent_frame_id=0}
//! ```

use super::scan::{Scan, inside, int, text};
use crate::stack_frames::{Frame, Location, StackFrames};

/// Tables of a module.
#[derive(Default)]
pub(super) struct Tables {
    /// Number of the table that is being read, from 1.
    table: usize,
    frames: StackFrames,
}

const TABLES: [&[u8]; 4] = [b"FileNames", b"FunctionNames", b"FileLocations", b"StackFrames"];

impl Tables {
    /// Reads a line outside of computations.
    pub(super) fn line(&mut self, line: &[u8]) {
        if let Some(at) = TABLES.iter().position(|&name| name == line.trim_ascii()) {
            self.table = at + 1;
            return;
        }
        let mut scan = Scan(line);
        if scan.until(|byte| byte == b' ').is_empty() {
            return;
        }
        scan.blanks();
        let value = scan.0;
        let field = |name: &[u8]| {
            let mut list = Scan(inside(value));
            let mut pairs = std::iter::from_fn(|| list.pair());
            pairs.find(|(key, _)| *key == name).map_or(0, |(_, value)| int(value))
        };
        match self.table {
            1 => self.frames.files.push(text(value)),
            2 => self.frames.functions.push(text(value)),
            3 => self.frames.locations.push(Location {
                file: field(b"file_name_id"),
                line: field(b"line"),
                function: field(b"function_name_id"),
            }),
            4 => self
                .frames
                .frames
                .push(Frame { location: field(b"file_location_id"), caller: field(b"parent_frame_id") }),
            _ => {}
        }
    }

    /// Returns the tables. `None` if the text has no tables.
    pub(super) fn finish(mut self) -> Option<StackFrames> {
        // Some versions of XLA (jaxlib 0.10) write the numbers of callers too high by one. In this case, every frame has a
        // caller.
        let frames = &mut self.frames.frames;
        if frames.iter().all(|frame| frame.caller > 0) {
            frames.iter_mut().for_each(|frame| frame.caller -= 1);
        }
        (self.table > 0).then_some(self.frames)
    }
}
