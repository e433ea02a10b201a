//! The filter of a table: words that a row must hold, `-words` that it must not, and conditions on a column. No patterns.
//!
//! ```text
//! fusion -copy "loop fusion"      words and phrases: each in any text of the row, or in none
//! category:all-reduce             a word in one column
//! occurrences>10  bound_by=HBM    a comparison with one column: = < > <= >=
//! ```

use std::borrow::Cow;
use std::cell::Cell;

use super::{CellRef, Column, Unit};

/// A filter, parsed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq)]
struct Term {
    negated: bool,
    /// The word in lower case, as it was typed.
    word: String,
    /// The same read as a condition, where it can be one.
    condition: Option<Condition>,
}

#[derive(Clone, Debug, PartialEq)]
struct Condition {
    column: String,
    operator: Operator,
    text: String,
    number: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Holds,
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Filter {
    /// Terms are separated by spaces; a phrase stands in double quotes; letter case does not matter.
    pub fn parse(text: &str) -> Filter {
        let mut terms = Vec::new();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let (negated, tail) = match rest.strip_prefix('-') {
                Some(tail) => (true, tail),
                None => (false, rest),
            };
            let (word, after, quoted) = next_word(tail);
            if !word.is_empty() {
                let condition = if quoted { None } else { Condition::parse(&word) };
                terms.push(Term { negated, word, condition });
            }
            rest = after.trim_start();
        }
        Filter { terms }
    }

    /// True where every row passes.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The filter over a table with these columns. A term that names none of them is a plain word.
    pub fn over<'f, 'a>(&'f self, columns: &[Column]) -> RowFilter<'f, 'a> {
        let term = |term: &'f Term| {
            let place = term.condition.as_ref().and_then(|it| Some((it, place_of(columns, &it.column)?)));
            RowTerm { term, condition: place, known: Known::default() }
        };
        // Numbers are not looked at for words: some are computed when they are asked for.
        let texts = columns.iter().enumerate().filter(|(_, column)| column.unit == Unit::Text);
        RowFilter { terms: self.terms.iter().map(term).collect(), texts: texts.map(|(place, _)| place).collect() }
    }

    /// Whether plain texts pass, as one row without column names.
    pub fn passes_texts(&self, texts: &[&str]) -> bool {
        let holds = |term: &Term| texts.iter().any(|text| holds(text, &term.word));
        self.terms.iter().all(|term| term.negated != holds(term))
    }
}

/// The next word in lower case, what follows it, and whether it is a phrase. Quotes inside a word belong to its value:
/// `category:"loop fusion"`.
fn next_word(text: &str) -> (String, &str, bool) {
    let quoted = text.starts_with('"');
    let mut inside = false;
    let end = text.find(|c: char| {
        inside ^= c == '"';
        c.is_whitespace() && !inside
    });
    let (word, after) = text.split_at(end.unwrap_or(text.len()));
    (word.replace('"', "").to_lowercase(), after, quoted)
}

impl Condition {
    fn parse(word: &str) -> Option<Condition> {
        let at = word.find([':', '=', '<', '>'])?;
        let (column, rest) = word.split_at(at);
        let operators = [
            (">=", Operator::GreaterOrEqual),
            ("<=", Operator::LessOrEqual),
            (">", Operator::Greater),
            ("<", Operator::Less),
            ("=", Operator::Equal),
            (":", Operator::Holds),
        ];
        let (value, operator) = operators.iter().find_map(|(sign, op)| Some((rest.strip_prefix(sign)?, *op)))?;
        let named = !column.is_empty() && column.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        (named && !value.is_empty()).then(|| Condition {
            column: column.to_owned(),
            operator,
            text: value.to_owned(),
            number: value.parse().ok(),
        })
    }

    fn holds_text(&self, text: &str) -> bool {
        match self.operator {
            Operator::Holds => holds(text, &self.text),
            Operator::Equal => lower(text) == self.text,
            _ => false,
        }
    }

    fn holds(&self, cell: CellRef<'_>) -> bool {
        let number = match cell {
            CellRef::Absent => return false,
            CellRef::Text(text) => return self.holds_text(text),
            CellRef::Flag(value) => {
                return matches!((value, self.text.as_str()), (true, "yes" | "true") | (false, "no" | "false"));
            }
            CellRef::Int(value) => value as f64,
            CellRef::Float(value) => value,
        };
        let Some(wanted) = self.number else { return false };
        match self.operator {
            Operator::Holds | Operator::Equal => number == wanted,
            Operator::Less => number < wanted,
            Operator::LessOrEqual => number <= wanted,
            Operator::Greater => number > wanted,
            Operator::GreaterOrEqual => number >= wanted,
        }
    }
}

/// A filter over one table's columns, to be asked of its rows. `'a`: how long their texts live.
#[derive(Debug)]
pub struct RowFilter<'f, 'a> {
    terms: Vec<RowTerm<'f, 'a>>,
    /// Columns that words are looked for in.
    texts: Vec<usize>,
}

#[derive(Debug)]
struct RowTerm<'f, 'a> {
    term: &'f Term,
    /// The column that the term is about, if it is about one.
    condition: Option<(&'f Condition, usize)>,
    known: Known<'a>,
}

impl<'a> RowFilter<'_, 'a> {
    /// Whether a row passes whose cell in column `i` is `cell(i)`.
    pub fn passes(&self, cell: &dyn Fn(usize) -> CellRef<'a>) -> bool {
        self.terms.iter().all(|it| it.term.negated != it.matches(&self.texts, cell))
    }
}

impl<'a> RowTerm<'_, 'a> {
    fn matches(&self, texts: &[usize], cell: &dyn Fn(usize) -> CellRef<'a>) -> bool {
        if let Some((condition, column)) = self.condition {
            return match cell(column) {
                CellRef::Text(text) => self.known.or(text, |text| condition.holds_text(text)),
                other => condition.holds(other),
            };
        }
        let word = self.term.word.as_str();
        texts.iter().any(|&column| match cell(column) {
            CellRef::Text(text) => self.known.or(text, |text| holds(text, word)),
            _ => false,
        })
    }
}

/// Answers of one term by text. A million rows share a few thousand paths, categories and modules, each of which lies in one
/// place of memory: that place is looked up, and what lies there is searched once.
///
/// Two texts that fall into one slot take it from each other, and are searched again.
#[derive(Debug)]
struct Known<'a>(Vec<Cell<Option<(&'a str, bool)>>>);

impl Default for Known<'_> {
    fn default() -> Self {
        Known(vec![Cell::new(None); Known::SLOTS])
    }
}

impl<'a> Known<'a> {
    const SLOTS: usize = 1 << 12;

    fn or(&self, text: &'a str, find: impl FnOnce(&str) -> bool) -> bool {
        let place = text.as_ptr().addr();
        let Some(slot) = self.0.get((place ^ (place / Known::SLOTS)) % Known::SLOTS) else { return find(text) };
        match slot.get() {
            Some((known, answer)) if std::ptr::eq(known, text) => answer,
            _ => {
                let answer = find(text);
                slot.set(Some((text, answer)));
                answer
            }
        }
    }
}

/// Columns that say the same under another name: XProf has two ids for the op and for the program.
const SAME: [(&str, &str); 2] = [("hlo_op_name", "operation"), ("program_id", "hlo_module_id")];

/// The column of a key, else the one that says the same: a filter follows from one table to the other.
fn place_of(columns: &[Column], key: &str) -> Option<usize> {
    let place = |key: &str| columns.iter().position(|column| column.key == key);
    let other = |(a, b): &(&'static str, &'static str)| {
        if *a == key { Some(*b) } else { Some(*a).filter(|_| *b == key) }
    };
    place(key).or_else(|| place(SAME.iter().find_map(other)?))
}

/// Whether `text` holds `word`, which is in lower case. Names are nearly always ASCII: those are not copied.
fn holds(text: &str, word: &str) -> bool {
    if !text.is_ascii() {
        return text.to_lowercase().contains(word);
    }
    let (text, word) = (text.as_bytes(), word.as_bytes());
    let Some((&first, rest)) = word.split_first() else { return true };
    let both = [first, first.to_ascii_uppercase()];
    memchr::memchr2_iter(both[0], both[1], text)
        .any(|at| text.get(at + 1..at + 1 + rest.len()).is_some_and(|found| found.eq_ignore_ascii_case(rest)))
}

fn lower(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|b| b.is_ascii_uppercase() || !b.is_ascii()) {
        Cow::Owned(text.to_lowercase())
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(filter: &str, row: &[CellRef<'static>]) -> bool {
        let keys = ["name", "category", "count"];
        let columns: Vec<Column> = keys.iter().map(|&key| Column { key, title: key, unit: Unit::Text }).collect();
        let filter = Filter::parse(filter);
        filter.over(&columns).passes(&|column| row.get(column).copied().unwrap_or(CellRef::Absent))
    }

    const ROW: [CellRef<'static>; 3] = [CellRef::Text("Fusion.12"), CellRef::Text("loop fusion"), CellRef::Int(7)];

    #[test]
    fn words_are_all_needed_and_minus_excludes() {
        assert!(passes("", &ROW));
        assert!(passes("  FUSION loop", &ROW));
        assert!(!passes("fusion copy", &ROW));
        assert!(!passes("fusion -loop", &ROW));
        assert!(passes("-copy", &ROW));
        assert!(passes("\"loop fusion\"", &ROW));
        assert!(!passes("-\"loop fusion\"", &ROW));
        assert!(passes("-", &ROW));
        assert!(passes("-\"", &ROW));
    }

    #[test]
    fn conditions_are_about_one_column() {
        assert!(passes("count>6 count<=7 count=7", &ROW));
        assert!(!passes("count>7", &ROW));
        assert!(passes("category:\"loop f\"", &ROW));
        assert!(!passes("name:loop", &ROW));
        assert!(!passes("category=loop", &ROW));
        assert!(passes("-name=fusion.1", &ROW));
        assert!(!passes("count>1", &[CellRef::Text("a"), CellRef::Absent, CellRef::Absent]));
    }

    #[test]
    fn a_filter_follows_to_a_table_that_calls_the_column_otherwise() {
        let columns = ["operation", "hlo_module_id"].map(|key| Column { key, title: key, unit: Unit::Text });
        let row = [CellRef::Text("fusion.1"), CellRef::Text("7")];
        let passes = |filter: &str| Filter::parse(filter).over(&columns).passes(&|column| row[column]);
        assert!(passes("hlo_op_name=\"fusion.1\" program_id=7") && passes("operation=fusion.1"));
        assert!(!passes("hlo_op_name=fusion") && !passes("program_id=8"));
    }

    #[test]
    fn a_text_that_is_met_again_passes_as_it_did() {
        let texts: Vec<String> = (0..3 * Known::SLOTS).map(|number| format!("op.{number}")).collect();
        let columns = [Column { key: "name", title: "name", unit: Unit::Text }];
        let filter = Filter::parse("op.7 -name:9");
        let over = filter.over(&columns);
        for text in texts.iter().chain(&texts) {
            assert_eq!(
                over.passes(&|_| CellRef::Text(text)),
                text.starts_with("op.7") && !text.contains('9'),
                "{text}"
            );
            // A part of a text begins in the same place.
            assert!(!over.passes(&|_| CellRef::Text(&text[..3])));
        }
    }

    #[test]
    fn patterns_and_unknown_columns_are_plain_text() {
        assert!(passes(".*", &[CellRef::Text("a.*b")]));
        assert!(!passes(".*", &ROW));
        assert!(passes("layer:3", &[CellRef::Text("x/layer:3/y")]));
        assert!(passes("größe", &[CellRef::Text("die GRÖSSE, die Größe")]));
    }
}
