//! Texts that the cells of a table share: kept once, each with a number, and every column of them as numbers by row.
//!
//! A million rows with ten texts each are asked about all at once, so what is read for that lies beside one another in
//! memory: the texts in their tables, the numbers of a column in one list.
//!
//! ```text
//! texts     0: ""   1: fusion.1   2: loop fusion   3: fusion.2   4: copy.3   5: data formatting
//! name      1 3 4         a row each
//! category  2 2 5
//! ```

/// Tables of texts, numbered one after the other. The first one begins with the empty text, which is 0; no other text has two
/// numbers.
#[derive(Clone, Debug, Default)]
pub struct SharedTexts<'a> {
    tables: Vec<TextTable<'a>>,
}

/// Texts one after another, and where each of them ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextTable<'a> {
    pub text: &'a str,
    pub ends: &'a [usize],
}

impl<'a> TextTable<'a> {
    /// The text with this number in the table; empty where there is none.
    pub fn get(self, number: usize) -> &'a str {
        let Some(&end) = self.ends.get(number) else { return "" };
        let start = number.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
        self.text.get(start..end).unwrap_or_default()
    }
}

impl<'a> SharedTexts<'a> {
    /// The texts of these tables, each of which is all of its texts one after another, and where each of them ends.
    pub fn new(tables: impl IntoIterator<Item = (&'a str, &'a [usize])>) -> SharedTexts<'a> {
        SharedTexts { tables: tables.into_iter().map(|(text, ends)| TextTable { text, ends }).collect() }
    }

    /// Number of all texts.
    pub fn len(&self) -> usize {
        self.tables.iter().map(|table| table.ends.len()).sum()
    }

    /// True where no cell shares a text.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// The text with this number; empty where there is none.
    pub fn get(&self, number: usize) -> &'a str {
        let mut rest = number;
        for table in &self.tables {
            match rest.checked_sub(table.ends.len()) {
                None => return table.get(rest),
                Some(beyond) => rest = beyond,
            }
        }
        ""
    }

    /// The tables in the order of their numbers.
    pub(super) fn tables(&self) -> &[TextTable<'a>] {
        &self.tables
    }
}

/// A column of shared texts: the number of each row's. A cell whose text is the empty one is absent.
#[derive(Clone, Copy, Debug)]
pub struct SharedColumn<'a> {
    /// Number of the first row's text, where that row is not one of `rest`.
    pub first: Option<u32>,
    /// Numbers of the texts of all rows after the first.
    pub rest: &'a [u32],
}

impl<'a> SharedColumn<'a> {
    /// A column of these numbers.
    pub fn new(numbers: &'a [u32]) -> SharedColumn<'a> {
        SharedColumn { first: None, rest: numbers }
    }

    /// The number of a row's text; 0 outside the table.
    pub fn number(&self, row: usize) -> u32 {
        let before = usize::from(self.first.is_some());
        match row.checked_sub(before) {
            Some(row) => self.rest.get(row).copied().unwrap_or_default(),
            None => self.first.unwrap_or_default(),
        }
    }

    /// Calls `visit` with runs of rows: the first row's place, and the numbers from there on. In blocks, see
    /// [`trace::in_blocks`].
    pub(super) fn for_blocks(&self, visit: &mut dyn FnMut(usize, &[u32])) {
        let mut row = 0;
        for block in self.first.as_slice().chunks(1).chain(self.rest.chunks(BLOCK)) {
            visit(row, block);
            row += block.len();
        }
    }
}

/// Rows that are looked at in one call.
pub(super) const BLOCK: usize = 4096;
