//! Who holds the memory of a buffer: several buffers can share one, which is free when the last of them is.

use crate::assignment::BufferIndex;
use crate::problems::Problem;

/// Counts of references by buffer. A buffer that shares the memory of another hands its references on to that one, its root.
pub(crate) struct References {
    counts: Vec<u64>,
    roots: Vec<BufferIndex>,
}

impl References {
    /// References of `buffers` buffers, none of which is allocated.
    pub(crate) fn new(buffers: usize) -> References {
        References { counts: vec![0; buffers], roots: (0..buffers).collect() }
    }

    /// Counts a buffer that exists before the program starts.
    pub(crate) fn hold(&mut self, buffer: BufferIndex) {
        if let Some(count) = self.counts.get_mut(buffer) {
            *count += 1;
        }
    }

    /// Allocates a buffer.
    ///
    /// # Errors
    /// It is allocated.
    pub(crate) fn allocate(&mut self, buffer: BufferIndex) -> Result<(), Problem> {
        self.hold(buffer);
        if self.counts.get(buffer) == Some(&1) { Ok(()) } else { Err(Problem::AllocatedTwice) }
    }

    /// Frees a buffer. The buffer whose memory is free by that, if any.
    ///
    /// # Errors
    /// It is not allocated.
    pub(crate) fn free(&mut self, buffer: BufferIndex) -> Result<Option<BufferIndex>, Problem> {
        let root = self.root(buffer);
        if let Some(own) = self.roots.get_mut(buffer) {
            *own = buffer;
        }
        match self.counts.get_mut(root) {
            None | Some(0) => Err(Problem::FreedTwice),
            Some(count) => {
                *count -= 1;
                Ok((*count == 0).then_some(root))
            }
        }
    }

    /// Gives a buffer the memory of another. The buffer whose memory is taken again by that, where it was free.
    ///
    /// # Errors
    /// The other shares the memory of this one.
    pub(crate) fn share(&mut self, buffer: BufferIndex, with: BufferIndex) -> Result<Option<BufferIndex>, Problem> {
        let root = self.root(with);
        if root == buffer {
            return Err(Problem::CyclicSharing);
        }
        if let Some(own) = self.roots.get_mut(buffer) {
            *own = root;
        }
        self.hold(root);
        Ok((self.counts.get(root) == Some(&1)).then_some(root))
    }

    /// The buffer whose memory this one has. Paths are halved on the way, so that a long chain is walked once; there is no circle,
    /// as only roots of others become children.
    fn root(&mut self, buffer: BufferIndex) -> BufferIndex {
        let mut at = buffer;
        while let Some(&next) = self.roots.get(at).filter(|&&next| next != at) {
            let over = self.roots.get(next).copied().unwrap_or(next);
            if let Some(own) = self.roots.get_mut(at) {
                *own = over;
            }
            at = over;
        }
        at
    }
}
