//! Pseudo-random numbers (SplitMix64). The same seed produces the same numbers on every machine.

/// A generator of pseudo-random numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates the generator for a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Creates the generator for case `number` of a seed. The numbers do not depend on other cases.
    pub fn of_case(seed: u64, number: u64) -> Random {
        let mut of_seed = Random(seed);
        let start = of_seed.next() ^ number.wrapping_mul(0xd605_bbb5_8c8a_bbfd);
        Random(start)
    }

    /// Creates a generator whose seed is the FNV-1a hash of the bytes. An input is therefore driven in the same way
    /// before and after it is saved.
    pub fn of_bytes(bytes: &[u8]) -> Random {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Random(bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
    }

    /// Returns the next number.
    #[allow(clippy::should_implement_trait)] // It never ends, so it is not an iterator.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`, or 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.next() % end as u64) as usize }
    }

    /// Returns a number that has at most `bits` bits. All magnitudes are about equally likely.
    pub fn size(&mut self, bits: usize) -> usize {
        let most = 1 << self.below(bits + 1);
        self.below(most)
    }

    /// Returns true in one of `times` calls, on average.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Returns one of the items.
    ///
    /// # Panics
    ///
    /// Panics if there are no items.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}
