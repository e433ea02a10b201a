//! Texts that the cells of a table share. Each text is stored once and has a number. A column contains the number of
//! each row's text.
//!
//! Filters and sorts may read ten texts for each of a million rows, so this data is contiguous in memory: the texts in
//! their tables, and the numbers of a column in one list.
//!
//! ```text
//! texts     0: ""   1: fusion.1   2: loop fusion   3: fusion.2   4: copy.3   5: data formatting
//! name      1 3 4         one number per row
//! category  2 2 5
//! ```

/// Tables of texts, numbered consecutively. Number 0 is the empty text, with which the first table begins. No other text
/// has two numbers.
#[derive(Clone, Debug, Default)]
pub struct SharedTexts<'a> {
    tables: Vec<TextTable<'a>>,
}

/// Concatenated texts, and the end of each.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextTable<'a> {
    pub text: &'a str,
    pub ends: &'a [usize],
}

impl<'a> TextTable<'a> {
    /// Returns the text with this number in the table. Returns an empty text if no text has this number.
    pub(crate) fn get(self, number: usize) -> &'a str {
        let Some(&end) = self.ends.get(number) else { return "" };
        let start = number.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
        self.text.get(start..end).unwrap_or_default()
    }
}

impl<'a> SharedTexts<'a> {
    /// Creates shared texts from tables, each given as its concatenated texts and their ends.
    pub fn new(tables: impl IntoIterator<Item = (&'a str, &'a [usize])>) -> SharedTexts<'a> {
        SharedTexts { tables: tables.into_iter().map(|(text, ends)| TextTable { text, ends }).collect() }
    }

    /// Returns the number of texts in all tables.
    pub fn len(&self) -> usize {
        self.tables.iter().map(|table| table.ends.len()).sum()
    }

    /// Returns true if no cell shares a text.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Returns the text with this number. Returns an empty text if no text has this number.
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

    /// Returns the tables in the order of their numbers.
    pub(super) fn tables(&self) -> &[TextTable<'a>] {
        &self.tables
    }
}

/// Column of shared texts, as the number of each row's text. A cell with the empty text is absent.
#[derive(Clone, Copy, Debug)]
pub struct SharedColumn<'a> {
    /// Number of the first row's text, if that row is not part of `rest`.
    pub first: Option<u32>,
    /// Numbers of the texts of all further rows.
    pub rest: &'a [u32],
}

impl<'a> SharedColumn<'a> {
    /// Creates a column from these numbers.
    pub fn new(numbers: &'a [u32]) -> SharedColumn<'a> {
        SharedColumn { first: None, rest: numbers }
    }

    /// Returns the number of a row's text. Returns 0 outside the table.
    pub fn number(&self, row: usize) -> u32 {
        let before = usize::from(self.first.is_some());
        match row.checked_sub(before) {
            Some(row) => self.rest.get(row).copied().unwrap_or_default(),
            None => self.first.unwrap_or_default(),
        }
    }

    /// Calls `visit` with blocks of rows (see [`trace::in_blocks`]): the index of the first row of a block, and the
    /// numbers of the texts in the block.
    pub(super) fn for_blocks(&self, visit: &mut dyn FnMut(usize, &[u32])) {
        let mut row = 0;
        for block in self.first.as_slice().chunks(1).chain(self.rest.chunks(BLOCK)) {
            visit(row, block);
            row += block.len();
        }
    }
}

/// Number of rows that are processed in one call.
pub(super) const BLOCK: usize = 4096;
