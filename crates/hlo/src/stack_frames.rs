//! Call stacks of a program's instructions.

use base::source_line;

/// Call stacks. Indices start at 1, and 0 means that there is no entry.
#[derive(Clone, Debug, Default)]
pub(super) struct StackFrames {
    pub files: Vec<String>,
    pub functions: Vec<String>,
    pub locations: Vec<Location>,
    pub frames: Vec<Frame>,
}

/// A source line of a program.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Location {
    /// Index of the file, from 1.
    pub file: i64,
    /// Line in the file.
    pub line: i64,
    /// Index of the function that contains the line, from 1.
    pub function: i64,
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
    /// call stack ends when it has as many frames as the file contains.
    pub(crate) fn stack(&self, frame: i64) -> impl Iterator<Item = (&str, i64)> {
        self.locations_of(frame).filter_map(|it| Some((at(&self.files, it.file)?.as_str(), it.line)))
    }

    /// Returns the function that contains the innermost line of a stack that is not in a library.
    pub(crate) fn own_function(&self, frame: i64) -> Option<&str> {
        let is_own = |it: &&Location| at(&self.files, it.file).is_some_and(|file| !source_line::is_library(file));
        let own = self.locations_of(frame).find(is_own)?;
        at(&self.functions, own.function).map(String::as_str)
    }

    /// Returns the functions outside of libraries, in the order of the file.
    pub(crate) fn own_functions(&self) -> impl Iterator<Item = &str> {
        let is_own = |it: &&Location| at(&self.files, it.file).is_some_and(|file| !source_line::is_library(file));
        self.locations.iter().filter(is_own).filter_map(|it| at(&self.functions, it.function).map(String::as_str))
    }

    fn locations_of(&self, frame: i64) -> impl Iterator<Item = &Location> {
        let first = at(&self.frames, frame);
        let frames = std::iter::successors(first, |frame| at(&self.frames, frame.caller)).take(self.frames.len());
        frames.filter_map(|frame| at(&self.locations, frame.location))
    }

    /// Returns for each frame the innermost line of its stack that is not in a library.
    pub(crate) fn own_lines(&self) -> Vec<Option<(&str, i64)>> {
        let is_library: Vec<bool> = self.files.iter().map(|file| source_line::is_library(file)).collect();
        let mut own: Vec<Option<(&str, i64)>> = Vec::with_capacity(self.frames.len());
        for (index, frame) in (1..).zip(&self.frames) {
            let line = at(&self.locations, frame.location).filter(|it| at(&is_library, it.file) == Some(&false));
            let line = line.and_then(|it| Some((at(&self.files, it.file)?.as_str(), it.line)));
            // Callers usually precede the frames that they call. If a caller comes later, walks the stack.
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
            stacks.functions.push(format!("f{index}"));
            stacks.locations.push(Location { file: index, line, function: index });
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

    #[test]
    fn a_module_names_the_local_function_that_it_was_compiled_from() {
        let mut frames = stacks(&[("main.py", 9, 0), ("/venv/site-packages/jax/api.py", 5, 1), ("main.py", 12, 2)]);
        frames.functions =
            ["Fit.run", "jit.<locals>.<lambda>", "Fit.run.<locals>.<lambda>"].map(str::to_owned).to_vec();
        let module =
            |name: &str| crate::Module { name: name.to_owned(), frames: frames.clone(), ..crate::Module::default() };
        assert_eq!(module("jit__lambda").local_function(), Some("Fit.run.<locals>.<lambda>"));
        assert_eq!(module("jit_run").local_function(), None);
    }
}
