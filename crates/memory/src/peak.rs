//! Values alive at the peak of a memory space, from a compiled program or from the text of an error.

use hlo::ArrayShape;

use crate::assignment::BufferIndex;
use crate::class::{Classification, Classifier};
use crate::paths::ScopeIndex;
use crate::program::{LiveBuffer, ProgramMemory, SpaceMemory};
use crate::unpadded::part;

/// A value alive at the peak.
#[derive(Clone, Debug, PartialEq)]
pub struct PeakBuffer {
    /// Instruction that makes the value, with the index of the element in its result.
    pub name: String,
    /// Class of the value.
    pub class: Classification,
    /// Size of the value in bytes.
    pub bytes: u64,
    /// Size of the value without padding, in bytes.
    pub unpadded_bytes: u64,
    /// Type and shape of the value, if the value is an array and its shape is known.
    pub shape: Option<ArrayShape>,
    /// Scopes in the value's framework path. For an argument, its path in the tree of arguments. Empty if unknown.
    pub scope: String,
    /// Source line of the program as `file:line`.
    pub source: Option<String>,
}

impl PeakBuffer {
    /// Returns the bytes of padding that the layout adds.
    pub fn padding_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.unpadded_bytes)
    }

    /// Returns type and shape of the value as HLO text, without its layout.
    pub fn shape_text(&self) -> Option<String> {
        Some(hlo::Shape::Array(self.shape.clone()?).text(false))
    }
}

impl ProgramMemory {
    /// Returns the scope of a buffer. Empty if its instruction has no path.
    pub fn scope(&self, buffer: BufferIndex) -> &str {
        self.paths().name(self.scope_index(buffer))
    }

    pub(crate) fn scope_index(&self, buffer: BufferIndex) -> ScopeIndex {
        let instruction = self.assignment.buffers.get(buffer).and_then(|buffer| buffer.instruction);
        instruction.map_or(0, |index| self.paths().scope(index))
    }

    /// Returns the source line of the instruction that makes a buffer.
    pub fn source(&self, buffer: BufferIndex) -> Option<String> {
        self.module.source_of(self.instruction(buffer)?)
    }

    /// Returns type and shape of a buffer's value, if it is an array.
    pub fn array(&self, buffer: BufferIndex) -> Option<&ArrayShape> {
        let index = &self.assignment.buffers.get(buffer)?.shape_index;
        part(&self.instruction(buffer)?.shape, index).array()
    }

    /// Returns the values alive at the peak of a memory space, in the order of [`ProgramMemory::live_at_peak`].
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
