//! Loops over millions of items, a block at a time.
//!
//! A browser compiles WebAssembly twice: at once and badly, then well where it turns out to be used much. But a call that is
//! under way goes on in the code that it began in, so one long loop over all events, which runs once, would stay several
//! times as slow to its end. Here each block is a separate call, and all but the first few run the good code:
//!
//! ```text
//! one loop     [ slow slow slow slow slow slow slow slow slow ]
//! in blocks    [ slow ][ slow ][fast][fast][fast]
//! ```

/// Items of a block: long enough that a call costs nothing.
const BLOCK: usize = 2048;

/// Calls `visit` for every item in order.
pub fn in_blocks<T>(items: &[T], mut visit: impl FnMut(&T)) {
    by_block(items, |block| block.iter().for_each(&mut visit));
}

/// Calls `visit` for every item in order, which it may change.
pub fn in_blocks_mut<T>(items: &mut [T], mut visit: impl FnMut(&mut T)) {
    for block in items.chunks_mut(BLOCK) {
        visit_block_mut(block, &mut visit);
    }
}

#[inline(never)]
fn visit_block_mut<T>(items: &mut [T], visit: &mut impl FnMut(&mut T)) {
    items.iter_mut().for_each(visit);
}

/// Calls `visit` with every block in order, each a separate call: for a loop that keeps what it counts in registers, and puts
/// it back at the end of a block.
pub fn by_block<T>(items: &[T], mut visit: impl FnMut(&[T])) {
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
