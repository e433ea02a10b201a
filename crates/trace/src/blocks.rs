//! Loops over millions of items, one block at a time.
//!
//! A browser compiles WebAssembly twice: first quickly into slow code, and later into fast code for functions that run
//! often. A call that is already running continues in the code in which it started. Therefore, a single long loop over
//! all events would run the slow code to its end, which takes several times as long. In this module, each block is a
//! separate call, and all calls except the first few run the fast code:
//!
//! ```text
//! one loop     [ slow slow slow slow slow slow slow slow slow ]
//! in blocks    [ slow ][ slow ][fast][fast][fast]
//! ```

/// Number of items in a block. A block is so large that the cost of a call does not matter.
const BLOCK: usize = 2048;

/// Calls `visit` for every item, in order.
pub fn in_blocks<T>(items: &[T], mut visit: impl FnMut(&T)) {
    by_block(items, |block| block.iter().for_each(&mut visit));
}

/// Calls `visit` for every item, in order, with a mutable reference.
pub fn in_blocks_mut<T>(items: &mut [T], mut visit: impl FnMut(&mut T)) {
    for block in items.chunks_mut(BLOCK) {
        visit_block_mut(block, &mut visit);
    }
}

#[inline(never)]
fn visit_block_mut<T>(items: &mut [T], visit: &mut impl FnMut(&mut T)) {
    items.iter_mut().for_each(visit);
}

/// Calls `visit` for every block, in order. Each call of `visit` is separate. This function is intended for loops that
/// keep totals in registers and store them at the end of a block.
pub(crate) fn by_block<T>(items: &[T], mut visit: impl FnMut(&[T])) {
    for block in items.chunks(BLOCK) {
        visit_block(block, &mut visit);
    }
}

#[inline(never)]
fn visit_block<T>(items: &[T], visit: &mut impl FnMut(&[T])) {
    visit(items);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_visited_once_and_in_order() {
        for count in [0, 1, BLOCK, BLOCK + 1, 3 * BLOCK - 1] {
            let items: Vec<usize> = (0..count).collect();
            let mut seen = Vec::new();
            in_blocks(&items, |&item| seen.push(item));
            assert_eq!(seen, items);
            let mut seen = Vec::new();
            by_block(&items, |block| seen.extend_from_slice(block));
            assert_eq!(seen, items);
            in_blocks_mut(&mut seen, |item| *item += 1);
            assert_eq!(seen, items.iter().map(|item| item + 1).collect::<Vec<_>>());
        }
    }
}
