//! Finds the rows of a table that pass a filter. Examines all rows at once, column by column.
//!
//! Searches each word first in the shared texts, which are contiguous in memory. Then walks the columns of text numbers,
//! with one lookup per row. Only columns without shared texts are read cell by cell.

use super::filter::{Condition, Filter, Term, place_of};
use super::search::Word;
use super::shared::{BLOCK, SharedColumn, SharedTexts};
use super::{CellRef, Column, Rows, Unit};

impl Filter {
    /// Returns true for each row of a table that passes. A term that names none of the table's columns is treated as a
    /// plain word.
    pub fn passing(&self, rows: &dyn Rows) -> Vec<bool> {
        let mut passing = vec![true; rows.len()];
        let texts = rows.shared_texts();
        for term in &self.terms {
            let mut hits = vec![false; rows.len()];
            let place = term.condition.as_ref().and_then(|it| Some((it, place_of(rows.columns(), &it.column)?)));
            let negated = term.negated != place.is_some_and(|(condition, _)| condition.negated);
            match place {
                None => any_text(rows, &texts, term, &passing, &mut hits),
                Some((condition, (column, stand_in))) => {
                    one_column(rows, &texts, condition, column, stand_in, &mut hits);
                    // An op of the family matmul may have the category custom-call in the trace.
                    if let Some(family) = family_beside(rows.columns(), column) {
                        let mut others = vec![false; rows.len()];
                        one_column(rows, &texts, condition, family, None, &mut others);
                        hits.iter_mut().zip(others).for_each(|(hit, other)| *hit |= other);
                    }
                }
            }
            for (passes, hit) in passing.chunks_mut(BLOCK).zip(hits.chunks(BLOCK)) {
                keep(passes, hit, negated);
            }
        }
        passing
    }
}

/// Returns the table's family column if `column` is the category column.
fn family_beside(columns: &[Column], column: usize) -> Option<usize> {
    let is = |key: &'static str| move |column: &Column| column.key == key;
    columns.get(column).filter(|column| is("category")(column)).and_then(|_| columns.iter().position(is("family")))
}

#[inline(never)]
fn keep(passing: &mut [bool], hits: &[bool], negated: bool) {
    for (passes, &hit) in passing.iter_mut().zip(hits) {
        *passes &= hit != negated;
    }
}

/// Marks rows that contain the word in any of their texts. Ignores numbers, because some of them are computed on request.
fn any_text(rows: &dyn Rows, texts: &SharedTexts<'_>, term: &Term, passing: &[bool], hits: &mut [bool]) {
    let word = term.as_word();
    let mut found = TextsWithWord::new(texts, word, rows.len());
    let columns = rows.columns().iter().enumerate().filter(|(_, column)| column.unit == Unit::Text);
    let (shared, own): (Vec<usize>, Vec<usize>) =
        columns.map(|(at, _)| at).partition(|&column| rows.shared_column(column).is_some());
    for column in shared.into_iter().filter_map(|column| rows.shared_column(column)) {
        found.mark_rows(&column, hits);
    }
    for column in own {
        mark_own(rows, column, word, passing, hits);
    }
}

/// Marks rows whose text in a column without shared texts contains the word. Leaves other rows unchanged. Most such columns
/// contain few different labels.
fn mark_own(rows: &dyn Rows, column: usize, word: Word<'_>, passing: &[bool], hits: &mut [bool]) {
    let mut latest: Option<(&str, bool)> = None;
    let mut row = 0;
    for (hits, passing) in hits.chunks_mut(BLOCK).zip(passing.chunks(BLOCK)) {
        for (hit, &passes) in hits.iter_mut().zip(passing) {
            if passes
                && !*hit
                && let CellRef::Text(text) = rows.cell(row, column)
            {
                let known = latest.filter(|(latest, _)| std::ptr::eq(*latest, text));
                let (_, found) = *latest.insert(known.unwrap_or_else(|| (text, word.is_in(text))));
                *hit = found;
            }
            row += 1;
        }
    }
}

/// Marks rows whose cell in `column` passes the condition. If that cell is absent, the cell in `stand_in` is tested
/// instead.
fn one_column(
    rows: &dyn Rows,
    texts: &SharedTexts<'_>,
    condition: &Condition,
    column: usize,
    stand_in: Option<usize>,
    hits: &mut [bool],
) {
    let shared = |column: usize| rows.shared_column(column);
    match (shared(column), stand_in.map(shared)) {
        (Some(own), None | Some(Some(_))) => {
            let Some(word) = condition.of_text() else { return };
            let mut found = TextsWithWord::new(texts, word, rows.len());
            found.mark_rows(&own, hits);
            if let Some(other) = stand_in.and_then(shared) {
                let mut others = vec![false; hits.len()];
                found.mark_rows(&other, &mut others);
                for (row, (hit, other)) in hits.iter_mut().zip(others).enumerate() {
                    *hit |= other && own.number(row) == 0;
                }
            }
        }
        _ => {
            for (first, hits) in (0..).step_by(BLOCK).zip(hits.chunks_mut(BLOCK)) {
                mark_cells(rows, condition, column, stand_in, first, hits);
            }
        }
    }
}

#[inline(never)]
fn mark_cells(
    rows: &dyn Rows,
    condition: &Condition,
    column: usize,
    stand_in: Option<usize>,
    first: usize,
    hits: &mut [bool],
) {
    let wanted = rows.columns().get(column).and_then(|column| condition.number_in(column.unit));
    for (row, hit) in (first..).zip(hits) {
        let mut cell = rows.cell(row, column);
        if let (CellRef::Absent, Some(other)) = (cell, stand_in) {
            cell = rows.cell(row, other);
        }
        *hit = condition.holds(cell, wanted);
    }
}

/// Search for a word in the shared texts, with its results so far.
struct TextsWithWord<'a> {
    texts: &'a SharedTexts<'a>,
    word: Word<'a>,
    /// Search result for each text, by its number. Valid only for texts that were searched.
    found: Vec<bool>,
    /// Texts that were searched so far. `None` if all texts were searched at once.
    searched: Option<Vec<bool>>,
    /// False if no text contains the word. Then no row needs to be examined.
    any: bool,
}

impl<'a> TextsWithWord<'a> {
    /// Number of texts per row above which most of a search through all texts would be wasted.
    const FEW_ROWS: usize = 8;

    fn new(texts: &'a SharedTexts<'a>, word: Word<'a>, rows: usize) -> TextsWithWord<'a> {
        let mut found = vec![false; texts.len()];
        if rows.saturating_mul(Self::FEW_ROWS) < found.len() {
            let searched = Some(vec![false; found.len()]);
            return TextsWithWord { texts, word, found, searched, any: true };
        }
        let (mut rest, mut any) = (found.as_mut_slice(), false);
        for &table in texts.tables() {
            let (own, others) = rest.split_at_mut(table.ends.len());
            any |= word.mark(table, own);
            rest = others;
        }
        TextsWithWord { texts, word, found, searched: None, any }
    }

    /// Sets `hits` for the rows whose text in `column` contains the word.
    fn mark_rows(&mut self, column: &SharedColumn<'_>, hits: &mut [bool]) {
        if !self.any {
            return;
        }
        column.for_blocks(&mut |first, numbers| {
            self.search(numbers);
            let hits = hits.get_mut(first..first + numbers.len()).unwrap_or_default();
            mark_block(&self.found, numbers, hits);
        });
    }

    /// Searches the texts with these numbers, unless they were searched before.
    fn search(&mut self, numbers: &[u32]) {
        let Some(searched) = &mut self.searched else { return };
        for number in numbers.iter().map(|&number| number as usize) {
            if let (Some(known @ false), Some(found)) = (searched.get_mut(number), self.found.get_mut(number)) {
                *known = true;
                *found = self.word.is_in(self.texts.get(number));
            }
        }
    }
}

#[inline(never)]
fn mark_block(found: &[bool], numbers: &[u32], hits: &mut [bool]) {
    for (hit, &number) in hits.iter_mut().zip(numbers) {
        *hit |= found.get(number as usize).copied().unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::super::Table;
    use super::*;

    /// Rows with two shared texts and one label each.
    struct Shared {
        columns: Vec<Column>,
        tables: [(String, Vec<usize>); 2],
        names: Vec<u32>,
        categories: Vec<u32>,
    }

    const LABELS: [&str; 2] = ["own", "Other"];

    impl Rows for Shared {
        fn name(&self) -> &'static str {
            "shared"
        }

        fn columns(&self) -> &[Column] {
            &self.columns
        }

        fn len(&self) -> usize {
            self.names.len()
        }

        fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
            let label = CellRef::Text(LABELS[row % 2]);
            let texts = self.shared_texts();
            self.shared_column(column).map_or(label, |it| CellRef::text(texts.get(it.number(row) as usize)))
        }

        fn shared_texts(&self) -> SharedTexts<'_> {
            SharedTexts::new(self.tables.iter().map(|(text, ends)| (text.as_str(), ends.as_slice())))
        }

        fn shared_column(&self, column: usize) -> Option<SharedColumn<'_>> {
            match column {
                // The first row is stored separately from the others.
                0 => self.names.split_first().map(|(&first, rest)| SharedColumn { first: Some(first), rest }),
                1 => Some(SharedColumn::new(&self.categories)),
                _ => None,
            }
        }
    }

    #[test]
    fn shared_texts_pass_as_texts_of_their_own_do() {
        let column = |key| crate::column(key, key, Unit::Text, "");
        for keys in [["name", "category", "label"], ["kernel_name", "hlo_op_name", "label"]] {
            let columns = keys.map(column).to_vec();
            // One case has more rows than texts, the other has far fewer rows than texts.
            for (texts, step) in [(9000, 1), (90_000, 30_000)] {
                // The first half of the texts in one table, beginning with the empty text, and the other texts in a second
                // table.
                let table = |numbers: std::ops::Range<usize>, name: &str| {
                    let mut table = (String::new(), Vec::new());
                    for number in numbers {
                        table.0 += &if number == 0 { String::new() } else { format!("{name}.{number}") };
                        table.1.push(table.0.len());
                    }
                    table
                };
                let tables = [table(0..texts / 2, "op"), table(texts / 2..texts, "Op")];
                let names: Vec<u32> = (0..texts as u32).step_by(step).collect();
                let categories = names.iter().map(|row| row % 3 * row / 2).collect();
                let shared = Shared { columns: columns.clone(), tables, names, categories };
                let cells = |row: usize| (0..3).map(|column| shared.cell(row, column).to_cell()).collect();
                let own = Table::new("own", columns.clone(), (0..shared.len()).map(cells).collect());
                let filters = [
                    "op.7",
                    "-op.1",
                    "name:OP.2",
                    "category=op.30000",
                    "-category:op",
                    "own -7",
                    "nothing",
                    "other",
                    "hlo_op_name=op.15",
                    "hlo_op_name:op.1 op.2",
                    "-hlo_op_name>3",
                    "label=other op.8",
                    "op.4500",
                ];
                for filter in filters {
                    let filter = Filter::parse(filter);
                    assert_eq!(filter.passing(&shared), filter.passing(&own), "{filter:?}");
                }
            }
        }
    }
}
