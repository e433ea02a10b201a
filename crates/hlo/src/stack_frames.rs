//! Call stacks of a program's instructions.

use base::source_line;

/// Call stacks. All references are 1-based; 0 means none.
#[derive(Clone, Debug, Default)]
pub(super) struct StackFrames {
    pub files: Vec<String>,
    /// `(file, line)`
    pub locations: Vec<(i64, i64)>,
    pub frames: Vec<Frame>,
}

/// A frame of a call stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// Index of the frame's location, from 1.
    pub location: i64,
    /// Index of the calling frame, from 1.
    pub caller: i64,
}

impl StackFrames {
    /// Returns file and line of a frame and of its callers, innermost first. A damaged file may contain a cycle, so a
    /// stack ends after as many frames as there are in total.
    pub fn stack(&self, frame: i64) -> impl Iterator<Item = (&str, i64)> {
        let first = at(&self.frames, frame);
        let frames = std::iter::successors(first, |frame| at(&self.frames, frame.caller)).take(self.frames.len());
        frames.filter_map(|frame| {
            let &(file, line) = at(&self.locations, frame.location)?;
            Some((at(&self.files, file)?.as_str(), line))
        })
    }

    /// Returns for each frame the innermost line of its stack that is not in a library.
    pub fn own_lines(&self) -> Vec<Option<(&str, i64)>> {
        let is_library: Vec<bool> = self.files.iter().map(|file| source_line::is_library(file)).collect();
        let mut own: Vec<Option<(&str, i64)>> = Vec::with_capacity(self.frames.len());
        for (index, frame) in (1..).zip(&self.frames) {
            let line = at(&self.locations, frame.location).filter(|(file, _)| at(&is_library, *file) == Some(&false));
            let line = line.and_then(|&(file, line)| Some((at(&self.files, file)?.as_str(), line)));
            // Callers precede the frames that they call. Otherwise, the stack is walked.
            let of_caller = || match frame.caller < index {
                true => at(&own, frame.caller).copied().flatten(),
                false => self.stack(frame.caller).find(|(file, _)| !source_line::is_library(file)),
            };
            own.push(line.or_else(of_caller));
        }
        own
    }
}

fn at<T>(items: &[T], one_based: i64) -> Option<&T> {
    items.get(usize::try_from(one_based.checked_sub(1)?).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds call stacks. `frames` contains file, line and caller of each frame.
    fn stacks(frames: &[(&str, i64, i64)]) -> StackFrames {
        let mut stacks = StackFrames::default();
        for (index, &(file, line, caller)) in (1..).zip(frames) {
            stacks.files.push(file.to_owned());
            stacks.locations.push((index, line));
            stacks.frames.push(Frame { location: index, caller });
        }
        stacks
    }

    #[test]
    fn the_innermost_line_outside_of_libraries_is_the_own_one() {
        let library = "/venv/site-packages/flax/linen/linear.py";
        // The last two frames call each other, and the caller of the frame before them comes after it.
        let stacks = stacks(&[
            ("main.py", 9, 0),
            ("model.py", 5, 1),
            (library, 287, 2),
            (library, 12, 0),
            (library, 3, 6),
            ("late.py", 1, 0),
            (library, 4, 8),
            (library, 5, 7),
        ]);
        let (main, model, late) = (Some(("main.py", 9)), Some(("model.py", 5)), Some(("late.py", 1)));
        assert_eq!(stacks.own_lines(), [main, model, model, None, late, late, None, None]);
        assert_eq!(stacks.stack(3).collect::<Vec<_>>(), [(library, 287), ("model.py", 5), ("main.py", 9)]);
        assert_eq!(stacks.stack(8).count(), 8);
        assert_eq!(stacks.stack(0).count(), 0);
    }
}
