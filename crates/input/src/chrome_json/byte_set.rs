//! Sets of bytes, asked of every byte of a text.

/// A set of bytes.
pub(super) struct ByteSet([bool; 256]);

impl ByteSet {
    /// The set of these bytes.
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

    /// True for a byte of the set.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "a byte is below 256")]
    pub(super) fn has(&self, byte: u8) -> bool {
        self.0[byte as usize]
    }
}
