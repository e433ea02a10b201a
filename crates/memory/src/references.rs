//! Reference counts of memory. Several buffers can share memory, which becomes free when the last of them is freed.

use crate::assignment::BufferIndex;
use crate::problems::Problem;

/// Reference counts by buffer. A buffer that shares the memory of another buffer passes its references on to that
/// buffer, its root.
pub(crate) struct References {
    counts: Vec<u64>,
    roots: Vec<BufferIndex>,
}

impl References {
    /// Creates the counts for `buffers` buffers, none of them allocated.
    pub(crate) fn new(buffers: usize) -> References {
        References { counts: vec![0; buffers], roots: (0..buffers).collect() }
    }

    /// Adds a reference to a buffer that exists before the program starts.
    pub(crate) fn hold(&mut self, buffer: BufferIndex) {
        if let Some(count) = self.counts.get_mut(buffer) {
            *count += 1;
        }
    }

    /// Allocates a buffer.
    ///
    /// # Errors
    /// Fails if the buffer is already allocated.
    pub(crate) fn allocate(&mut self, buffer: BufferIndex) -> Result<(), Problem> {
        self.hold(buffer);
        if self.counts.get(buffer) == Some(&1) { Ok(()) } else { Err(Problem::AllocatedTwice) }
    }

    /// Frees a buffer. Returns the buffer whose memory becomes free, if any.
    ///
    /// # Errors
    /// Fails if the buffer is not allocated.
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

    /// Lets a buffer share the memory of another buffer. If the memory was free, returns the buffer whose memory is
    /// taken again.
    ///
    /// # Errors
    /// Fails if the other buffer shares the memory of this buffer.
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

    /// Returns the buffer that owns this buffer's memory. Path halving makes repeated walks of long chains cheap. There is no
    /// cycle, because only roots become children.
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
