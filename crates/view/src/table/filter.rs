//! The filter of a table: words that a row must hold, `-words` that it must not, and conditions on a column. No patterns.
//!
//! ```text
//! fusion -copy "loop fusion"      words and phrases: each in any text of the row, or in none
//! category:all-reduce             a word in one column
//! occurrences>10  bound_by=HBM    a comparison with one column: = < > <= >=
//! ```

use super::search::Word;
use super::{CellRef, Column};
use base::number::decimal;

/// A filter, parsed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    pub(super) terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Term {
    pub negated: bool,
    /// The word in lower case, as it was typed.
    pub word: String,
    /// The same read as a condition, where it can be one.
    pub condition: Option<Condition>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Condition {
    pub column: String,
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

    /// The columns that it has conditions on.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().filter_map(|term| Some(term.condition.as_ref()?.column.as_str()))
    }

    /// Whether plain texts pass, as one row without column names.
    pub fn passes_texts(&self, texts: &[&str]) -> bool {
        let holds = |term: &Term| texts.iter().any(|text| term.as_word().is_in(text));
        self.terms.iter().all(|term| term.negated != holds(term))
    }
}

impl Filter {
    /// Whether named texts pass, as one row of which each is a column. A condition on a column that the row lacks does not narrow.
    pub fn passes_named_texts(&self, texts: &[(&str, &str)]) -> bool {
        self.terms.iter().all(|term| {
            let holds = match &term.condition {
                Some(condition) => match texts.iter().find(|(key, _)| *key == condition.column) {
                    Some((_, text)) => condition.holds(CellRef::text(text)),
                    None => return true,
                },
                None => texts.iter().any(|(_, text)| term.as_word().is_in(text)),
            };
            term.negated != holds
        })
    }
}

impl Term {
    /// The term as a word in any column.
    pub fn as_word(&self) -> Word<'_> {
        Word { word: &self.word, whole: false }
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
            number: decimal(value),
        })
    }

    /// What a text must hold, or be; `None` where no text can pass.
    pub fn of_text(&self) -> Option<Word<'_>> {
        match self.operator {
            Operator::Holds => Some(Word { word: &self.text, whole: false }),
            Operator::Equal => Some(Word { word: &self.text, whole: true }),
            _ => None,
        }
    }

    /// Whether a cell passes; an absent one does not.
    pub fn holds(&self, cell: CellRef<'_>) -> bool {
        let number = match cell {
            CellRef::Absent => return false,
            CellRef::Text(text) => return self.of_text().is_some_and(|word| word.is_in(text)),
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

/// Columns that say the same under another name: XProf has several ids for the op, for the program and for the framework's path.
const SAME: [&[&str]; 3] =
    [&["hlo_op_name", "operation"], &["program_id", "hlo_module_id"], &["tf_op_name", "op_name", "framework_op"]];
/// What names an op that is no instruction: its kernel.
const KERNEL: &str = "kernel_name";

/// The column of a key, else one that says the same, and one that stands in where it is empty: a filter follows from one table to
/// the other.
pub(super) fn place_of(columns: &[Column], key: &str) -> Option<(usize, Option<usize>)> {
    let place = |key: &str| columns.iter().position(|column| column.key == key);
    let group = SAME.iter().find(|group| group.contains(&key));
    let own = place(key).or_else(|| group?.iter().find_map(|other| place(other)));
    let kernel = if SAME[0].contains(&key) { place(KERNEL) } else { None };
    own.map(|own| (own, kernel)).or_else(|| Some((kernel?, None)))
}

/// Whether one of the columns has this key, or says the same: whether a condition on it can be asked of their table.
pub fn has_column(columns: &[Column], key: &str) -> bool {
    place_of(columns, key).is_some()
}

#[cfg(test)]
mod tests {
    use super::super::{Cell as Value, Table, Unit};
    use super::*;

    fn table(keys: &[&'static str], rows: &[&[Value]]) -> Table {
        let columns = keys.iter().map(|&key| crate::table::column(key, key, Unit::Text, "")).collect();
        Table::new("test", columns, rows.iter().map(|row| row.to_vec()).collect())
    }

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    fn passes(filter: &str, row: &[Value]) -> bool {
        Filter::parse(filter).passing(&table(&["name", "category", "count"], &[row])) == [true]
    }

    fn row() -> [Value; 3] {
        [text("Fusion.12"), text("loop fusion"), Value::Int(7)]
    }

    #[test]
    fn words_are_all_needed_and_minus_excludes() {
        assert!(passes("", &row()));
        assert!(passes("  FUSION loop", &row()));
        assert!(!passes("fusion copy", &row()));
        assert!(!passes("fusion -loop", &row()));
        assert!(passes("-copy", &row()));
        assert!(passes("\"loop fusion\"", &row()));
        assert!(!passes("-\"loop fusion\"", &row()));
        assert!(passes("-", &row()));
        assert!(passes("-\"", &row()));
    }

    #[test]
    fn conditions_are_about_one_column() {
        assert!(passes("count>6 count<=7 count=7", &row()));
        assert!(!passes("count>7", &row()));
        assert!(passes("category:\"loop f\"", &row()));
        assert!(!passes("name:loop", &row()));
        assert!(!passes("category=loop", &row()));
        assert!(passes("-name=fusion.1", &row()));
        assert!(!passes("count>1", &[text("a"), Value::Absent, Value::Absent]));
    }

    #[test]
    fn a_filter_follows_to_a_table_that_calls_the_column_otherwise() {
        let table = table(&["operation", "hlo_module_id"], &[&[text("fusion.1"), text("7")]]);
        let passes = |filter: &str| Filter::parse(filter).passing(&table) == [true];
        assert!(passes("hlo_op_name=\"fusion.1\" program_id=7") && passes("operation=fusion.1"));
        assert!(!passes("hlo_op_name=fusion") && !passes("program_id=8"));
    }

    #[test]
    fn events_pass_by_what_they_have() {
        let event = [("name", "gemm_kernel"), ("hlo_op_name", "dot.1"), ("category", "")];
        let passes = |filter: &str| Filter::parse(filter).passes_named_texts(&event);
        assert!(passes("gemm") && passes("dot.1 -copy") && passes("hlo_op_name=\"dot.1\"") && passes("bound_by=HBM"));
        assert!(!passes("copy") && !passes("-gemm") && !passes("hlo_op_name=dot") && !passes("category:loop"));
    }

    #[test]
    fn a_kernel_without_an_instruction_is_named_by_itself() {
        let kernels = table(
            &["kernel_name", "hlo_op_name"],
            &[&[text("gemm_kernel"), Value::Absent], &[text("gemm_kernel"), text("dot.1")]],
        );
        let passes = |filter: &str, row: usize| Filter::parse(filter).passing(&kernels)[row];
        assert!(passes("hlo_op_name=gemm_kernel", 0) && !passes("hlo_op_name=gemm_kernel", 1));
        assert!(passes("operation=dot.1", 1) && passes("kernel_name=gemm_kernel", 1));
        let columns = &kernels.columns;
        assert!(has_column(&columns[..1], "hlo_op_name") && !has_column(&columns[1..], "kernel_name"));
    }

    #[test]
    fn patterns_and_unknown_columns_are_plain_text() {
        assert!(passes(".*", &[text("a.*b")]));
        assert!(!passes(".*", &row()));
        assert!(passes("layer:3", &[text("x/layer:3/y")]));
        assert!(passes("größe", &[text("die GRÖSSE, die Größe")]));
    }
}
