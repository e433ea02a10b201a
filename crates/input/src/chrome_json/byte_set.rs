//! Sets of bytes with fast lookup.

/// A set of bytes.
pub(super) struct ByteSet([bool; 256]);

impl ByteSet {
    #[expect(clippy::indexing_slicing, reason = "a byte is below 256, and the index below the length")]
    pub(super) const fn of(bytes: &[u8]) -> ByteSet {
        let mut has = [false; 256];
        let mut index = 0;
        while index < bytes.len() {
            has[bytes[index] as usize] = true;
            index += 1;
        }
        ByteSet(has)
    }

    /// Returns true if the set contains the byte.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "a byte is below 256")]
    pub(super) fn has(&self, byte: u8) -> bool {
        self.0[byte as usize]
    }
}
