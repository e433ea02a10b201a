//! What is alive when a memory is fullest, as values that stand for themselves: of a compiled program, or of the text of an error.

use base::framework_path;
use hlo::ArrayShape;

use crate::class::{Classification, Classifier};
use crate::program::{LiveBuffer, ProgramMemory, SpaceMemory};
use crate::unpadded::part;

/// A value that is alive at the peak.
#[derive(Clone, Debug, PartialEq)]
pub struct PeakBuffer {
    /// What makes it: the instruction, with which element of its result.
    pub name: String,
    /// What it is for.
    pub class: Classification,
    /// Bytes that it takes.
    pub bytes: u64,
    /// Bytes of its value without padding.
    pub unpadded_bytes: u64,
    /// Its type and shape, where it is an array and they are known.
    pub shape: Option<ArrayShape>,
    /// Scopes of the framework's path; of an argument the path to it in its tree. Empty where unknown.
    pub scope: String,
    /// Line of the program's source, `file:line`.
    pub source: Option<String>,
}

impl PeakBuffer {
    /// Bytes that the layout adds.
    pub fn padding_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.unpadded_bytes)
    }

    /// Its type and shape as HLO text writes them, without its layout.
    pub fn shape_text(&self) -> Option<String> {
        Some(hlo::Shape::Array(self.shape.clone()?).text(false))
    }
}

/// The scopes of a path that JAX gives an instruction; of an argument all but the last part of its name, which is the array's.
pub(crate) fn scope_of(path: &str, is_argument: bool) -> String {
    if !is_argument {
        return framework_path::scopes(path).join("/");
    }
    let mut parts = hlo::argument_parts(path);
    parts.pop();
    parts.join("/")
}

impl ProgramMemory {
    /// The scope that a buffer belongs to; empty where its instruction has no path.
    pub fn scope(&self, buffer: usize) -> String {
        let Some(instruction) = self.instruction(buffer) else { return String::new() };
        scope_of(&instruction.metadata.op_name, instruction.is("parameter"))
    }

    /// The line of the program's source that makes a buffer.
    pub fn source(&self, buffer: usize) -> Option<String> {
        self.module.source_of(self.instruction(buffer)?)
    }

    /// The type and shape of a buffer's value, where it is an array.
    pub fn array(&self, buffer: usize) -> Option<&ArrayShape> {
        let index = &self.assignment.buffers.get(buffer)?.shape_index;
        part(&self.instruction(buffer)?.shape, index).array()
    }

    /// What is alive when a memory space is fullest, as [`ProgramMemory::live_at_peak`] lists it.
    pub fn peak_buffers<'a>(
        &'a self,
        space: &'a SpaceMemory,
        classifier: &'a Classifier<'_>,
    ) -> impl Iterator<Item = PeakBuffer> + 'a {
        self.live_at_peak(space).map(|live: LiveBuffer| PeakBuffer {
            name: self.name(live.buffer),
            class: classifier.classify(space, &live),
            bytes: live.bytes,
            unpadded_bytes: live.unpadded_bytes,
            shape: self.array(live.buffer).cloned(),
            scope: self.scope(live.buffer),
            source: self.source(live.buffer),
        })
    }
}
