//! Assigns a sequence of kernels to a sequence of instructions.
//!
//! Both sequences are in the order of execution. An instruction may launch several kernels in a row (if it is a library
//! call), one kernel (if it is a fusion), or no kernel. The assignment with the highest score is computed row by row,
//! as in an alignment of two texts:
//!
//! ```text
//!                 add.1   dot.2   mul.3        instructions
//! add_1             4 --.
//! Memset                 `-> aux --.           a fill before a library kernel belongs to the same instruction
//! gemm_128x128             `-> 2 --'-.
//! mul_3                              `-> 4
//! ```

use std::cmp::Reverse;

/// How well a kernel fits an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// The kernel has the name of the instruction.
    Exact,
    /// The kernel has the name of an instruction that computes the same values.
    Same,
    /// The kernel has the name of a similar instruction.
    Similar,
    /// The kernel belongs to a library, and instructions of this kind call the library.
    Library,
    /// The kernel belongs to a library, and the instruction may call any library.
    Perhaps,
    /// The kernel is a copy or a fill, which may prepare the kernel of any instruction.
    Preparation,
    /// The kernel belongs to another instruction.
    No,
}

impl Fit {
    /// Returns the score of the first kernel of an instruction.
    fn first(self) -> Option<i32> {
        match self {
            Fit::Exact => Some(40),
            Fit::Same => Some(30),
            Fit::Similar => Some(10),
            Fit::Library => Some(24),
            Fit::Perhaps => Some(12),
            Fit::Preparation => Some(4),
            Fit::No => None,
        }
    }

    /// Returns the score of a kernel that is not the first of its instruction.
    fn next(self, has_main: bool) -> Option<i32> {
        match self {
            Fit::Library if has_main => Some(10),
            Fit::Perhaps if has_main => Some(6),
            // A sort runs the same kernel several times.
            Fit::Exact if has_main => Some(20),
            Fit::Same if has_main => Some(10),
            Fit::Similar if has_main => None,
            Fit::Exact | Fit::Same | Fit::Similar | Fit::Library | Fit::Perhaps | Fit::Preparation => self.first(),
            Fit::No => None,
        }
    }
}

/// Score of a kernel to which no instruction is assigned.
const UNASSIGNED: i32 = -10;

/// Maximum number of cells in the table. Longer sequences are aligned in a band of the table around the best
/// assignment.
const MOST_CELLS: usize = 4 << 20;

/// Minimum width of the band.
const LEAST_WIDTH: usize = 64;

/// Returns the number of columns of the table, or `None` if the sequences are too long.
fn width(kernels: usize, instructions: usize) -> Option<usize> {
    let most = MOST_CELLS.checked_div(kernels).unwrap_or(LEAST_WIDTH);
    (most >= LEAST_WIDTH).then(|| most.min(instructions + 1))
}

/// Returns the number of cells that [`align`] computes.
pub(super) fn cells(kernels: usize, instructions: usize) -> usize {
    kernels * width(kernels, instructions).unwrap_or(0)
}

/// Two values for the assignments that end at an instruction. One is for assignments whose last instruction has no main
/// kernel yet, and the other is for all other assignments.
#[derive(Clone, Copy, Default)]
struct Both<T> {
    without_main: T,
    with_main: T,
}

impl<T: Copy> Both<T> {
    fn get(&self, has_main: bool) -> T {
        if has_main { self.with_main } else { self.without_main }
    }

    fn get_mut(&mut self, has_main: bool) -> &mut T {
        if has_main { &mut self.with_main } else { &mut self.without_main }
    }
}

/// The best scores.
type Cell = Both<Option<i32>>;

/// The step that leads to a cell's score.
#[derive(Clone, Copy, Default)]
enum Source {
    /// The kernel has no instruction.
    #[default]
    Unassigned,
    /// The kernel belongs to the same instruction as the previous kernel.
    Stay { had_main: bool },
    /// The kernel is the first of its instruction.
    Move { from: u32, had_main: bool },
}

/// Returns the instruction of each kernel. `fit` receives the index of a kernel and the index of an instruction. `skip`
/// returns the cost of an instruction without a kernel. `starts` returns true for the first kernel of a graph. An
/// instruction without a kernel costs nothing if it is between two graphs.
pub(super) fn align(
    kernels: usize,
    instructions: usize,
    fit: impl Fn(usize, usize) -> Fit,
    skip: impl Fn(usize) -> i32,
    starts: impl Fn(usize) -> bool,
) -> Vec<Option<usize>> {
    // Column 0 is the place before the first instruction.
    let columns = instructions + 1;
    let Some(width) = width(kernels, instructions) else { return vec![None; kernels] };
    let mut before: Vec<Cell> = vec![Cell::default(); width];
    if let Some(cell) = before.first_mut() {
        cell.with_main = Some(0);
    }
    let mut low = 0;
    let mut rows: Vec<(usize, Vec<Both<Source>>)> = Vec::with_capacity(kernels);
    for kernel in 0..kernels {
        let best = best_of(&before).map_or(low, |(at, _)| low + at);
        let next_low = best.saturating_sub(width / 4).clamp(low, columns - width);
        let mut after: Vec<Cell> = vec![Cell::default(); width];
        let mut from = vec![Both::default(); width];
        let is_start = starts(kernel);
        // Best cell before the current column, minus the cost of the instructions in between.
        let mut reach: Option<(i32, u32, bool)> = None;
        for column in low..next_low + width {
            let old = column.checked_sub(low).and_then(|at| before.get(at)).copied().unwrap_or_default();
            if let (Some(slot), Some(from)) = (
                column.checked_sub(next_low).and_then(|at| after.get_mut(at)),
                column.checked_sub(next_low).and_then(|at| from.get_mut(at)),
            ) {
                for main in [false, true] {
                    if let Some(score) = old.get(main) {
                        offer(slot, from, main, score + UNASSIGNED, Source::Unassigned);
                    }
                }
                let fits = column.checked_sub(1).map_or(Fit::No, |instruction| fit(kernel, instruction));
                for had_main in [false, true] {
                    let score = old.get(had_main).filter(|_| !is_start);
                    if let Some(score) = score.zip(fits.next(had_main)).map(|(old, new)| old + new) {
                        offer(slot, from, had_main || fits != Fit::Preparation, score, Source::Stay { had_main });
                    }
                }
                if let Some(((score, source, had_main), first)) = reach.zip(fits.first()) {
                    let to = Source::Move { from: source, had_main };
                    offer(slot, from, fits != Fit::Preparation, score + first, to);
                }
            }
            let cost = if is_start || column == 0 { 0 } else { skip(column - 1) };
            reach = reach.map(|(score, source, had_main)| (score - cost, source, had_main));
            for had_main in [false, true] {
                let score = old.get(had_main);
                if let Some(score) = score.filter(|&score| reach.is_none_or(|(best, ..)| score >= best)) {
                    reach = Some((score, u32::try_from(column).unwrap_or(u32::MAX), had_main));
                }
            }
        }
        rows.push((next_low, from));
        (before, low) = (after, next_low);
    }
    backwards(&rows, best_of(&before).map(|(at, main)| (low + at, main)))
}

fn offer(slot: &mut Cell, from: &mut Both<Source>, main: bool, score: i32, source: Source) {
    if slot.get(main).is_none_or(|known| score > known) {
        *slot.get_mut(main) = Some(score);
        *from.get_mut(main) = source;
    }
}

/// Returns the first cell with the best score.
fn best_of(cells: &[Cell]) -> Option<(usize, bool)> {
    let all = cells.iter().enumerate().flat_map(|(at, cell)| [false, true].map(|main| (cell.get(main), at, main)));
    let scored = all.filter_map(|(score, at, main)| Some((score?, Reverse(at), main)));
    scored.max().map(|(_, at, main)| (at.0, main))
}

/// Goes back from the best cell to the first kernel, along the sources of the cells.
fn backwards(rows: &[(usize, Vec<Both<Source>>)], best: Option<(usize, bool)>) -> Vec<Option<usize>> {
    let mut found = vec![None; rows.len()];
    let Some((mut column, mut main)) = best else { return found };
    for ((low, row), found) in rows.iter().zip(&mut found).rev() {
        let cell = column.checked_sub(*low).and_then(|at| row.get(at)).copied().unwrap_or_default();
        match cell.get(main) {
            Source::Unassigned => {}
            Source::Stay { had_main } => {
                *found = column.checked_sub(1);
                main = had_main;
            }
            Source::Move { from, had_main } => {
                *found = column.checked_sub(1);
                (column, main) = (from as usize, had_main);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Aligns the names in `kernels` with the names in `instructions`. `lib` is a library kernel, `call` is an
    /// instruction that calls a library, `fill` is a fill, and `|` is the start of a graph.
    fn aligned(kernels: &str, instructions: &str) -> Vec<Option<usize>> {
        let instructions: Vec<&str> = instructions.split(' ').collect();
        let mut starts = Vec::new();
        let mut names = Vec::new();
        for name in kernels.split(' ') {
            starts.push(name.starts_with('|'));
            names.push(name.trim_start_matches('|'));
        }
        let fit = |kernel: usize, instruction: usize| match (names[kernel], instructions[instruction]) {
            ("lib", "call") => Fit::Library,
            ("fill", _) => Fit::Preparation,
            (a, b) if a == b => Fit::Exact,
            (a, b) if a.trim_end_matches(char::is_numeric) == b.trim_end_matches(char::is_numeric) => Fit::Same,
            _ => Fit::No,
        };
        let skip = |instruction: usize| if instructions[instruction] == "call" { 7 } else { 15 };
        align(names.len(), instructions.len(), fit, skip, |kernel| starts[kernel])
    }

    fn at(places: &[usize]) -> Vec<Option<usize>> {
        places.iter().map(|&at| Some(at)).collect()
    }

    #[test]
    fn reused_kernels_go_to_the_instruction_in_their_place() {
        assert_eq!(aligned("add1 mul1 add1 mul1", "add1 mul1 add2 mul2"), at(&[0, 1, 2, 3]));
        assert_eq!(aligned("|add1 mul1 add1 mul1 sub1", "add1 mul1 add2 mul2 add3 mul3 sub1"), at(&[2, 3, 4, 5, 6]));
    }

    #[test]
    fn the_kernels_of_a_library_call_stay_together() {
        assert_eq!(aligned("add1 fill lib lib sub1", "add1 call sub1"), at(&[0, 1, 1, 1, 2]));
        assert_eq!(aligned("add1 lib fill lib sub1", "add1 call call sub1"), at(&[0, 1, 2, 2, 3]));
        assert_eq!(aligned("add1 lib sub1 lib", "add1 call sub1 call"), at(&[0, 1, 2, 3]));
        assert_eq!(aligned("fill mul1", "mul1 call"), at(&[0, 0]));
    }

    #[test]
    fn a_kernel_that_runs_several_times_belongs_to_one_instruction_unless_another_computes_the_same() {
        assert_eq!(aligned("sort1 sort1 sort1 mul1", "sort1 mul1"), at(&[0, 0, 0, 1]));
        assert_eq!(aligned("sort1 sort1 mul1", "sort1 sort2 mul1"), at(&[0, 1, 2]));
    }

    #[test]
    fn instructions_between_graphs_are_skipped() {
        assert_eq!(aligned("|add1 lib |add1 lib", "add1 call x x x x x x add2 call"), at(&[0, 1, 8, 9]));
    }

    #[test]
    fn kernels_that_fit_nothing_have_no_instruction() {
        assert_eq!(aligned("add1 other sub1", "add1 sub1"), [Some(0), None, Some(1)]);
        assert_eq!(aligned("other", "add1"), [None]);
        assert_eq!(align(0, 3, |_, _| Fit::No, |_| 0, |_| false), []);
        assert_eq!(align(100_000, 3, |_, _| Fit::Exact, |_| 0, |_| false), vec![None; 100_000], "too long");
        assert_eq!(align(2, 0, |_, _| Fit::No, |_| 0, |_| false), [None, None]);
    }

    #[test]
    fn long_sequences_are_aligned_in_a_band() {
        let (count, layers) = (20_000, 10_000);
        let fit = |kernel: usize, instruction: usize| match kernel % 2 == instruction % 2 {
            true if kernel == instruction => Fit::Exact,
            true => Fit::Same,
            false => Fit::No,
        };
        let found = align(count, 2 * layers, fit, |_| 15, |_| false);
        assert!(found.iter().enumerate().all(|(kernel, at)| *at == Some(kernel)));
    }
}
