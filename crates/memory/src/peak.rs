//! What is alive when a memory is fullest, as values that stand for themselves: of a compiled program, or of the text of an error.

use hlo::ArrayShape;

use crate::assignment::BufferIndex;
use crate::class::{Classification, Classifier};
use crate::paths::ScopeIndex;
use crate::program::{LiveBuffer, ProgramMemory, SpaceMemory};
use crate::unpadded::part;

/// A value that is alive at the peak.
#[derive(Clone, Debug, PartialEq)]
pub struct PeakBuffer {
    /// What makes the value: the instruction, with which element of its result.
    pub name: String,
    /// What the value is for.
    pub class: Classification,
    /// Bytes that the value takes.
    pub bytes: u64,
    /// Bytes of the value without padding.
    pub unpadded_bytes: u64,
    /// Type and shape of the value, where it is an array and they are known.
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

    /// Type and shape of the value as HLO text writes them, without its layout.
    pub fn shape_text(&self) -> Option<String> {
        Some(hlo::Shape::Array(self.shape.clone()?).text(false))
    }
}

impl ProgramMemory {
    /// The scope that a buffer belongs to; empty where its instruction has no path.
    pub fn scope(&self, buffer: BufferIndex) -> &str {
        self.paths().name(self.scope_index(buffer))
    }

    pub(crate) fn scope_index(&self, buffer: BufferIndex) -> ScopeIndex {
        let instruction = self.assignment.buffers.get(buffer).and_then(|buffer| buffer.instruction);
        instruction.map_or(0, |index| self.paths().scope(index))
    }

    /// The line of the program's source that makes a buffer.
    pub fn source(&self, buffer: BufferIndex) -> Option<String> {
        self.module.source_of(self.instruction(buffer)?)
    }

    /// The type and shape of a buffer's value, where it is an array.
    pub fn array(&self, buffer: BufferIndex) -> Option<&ArrayShape> {
        let index = &self.assignment.buffers.get(buffer)?.shape_index;
        part(&self.instruction(buffer)?.shape, index).array()
    }

    /// What is alive when a memory space is fullest, as [`ProgramMemory::live_at_peak`] lists it.
    pub fn peak_buffers<'a>(
        &'a self,
        space: &'a SpaceMemory,
        classifier: &'a Classifier,
    ) -> impl Iterator<Item = PeakBuffer> + 'a {
        self.live_at_peak(space).map(|live: LiveBuffer| PeakBuffer {
            name: self.name(live.buffer),
            class: classifier.classify(space, &live),
            bytes: live.bytes,
            unpadded_bytes: live.unpadded_bytes,
            shape: self.array(live.buffer).cloned(),
            scope: self.scope(live.buffer).to_owned(),
            source: self.source(live.buffer),
        })
    }
}
