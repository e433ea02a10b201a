//! The filter of a table: words that a row must hold, `-words` that it must not, and conditions on a column. No patterns.
//!
//! ```text
//! fusion -copy "loop fusion"      words and phrases: each in any text of the row, or in none
//! category:all-reduce             a word in one column
//! occurrences>10  bound_by=HBM    a comparison with one column: = < > <= >=
//! ```

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use super::{CellRef, Column, Rows, Unit};

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

    /// The filter over a table. A term that names none of its columns is a plain word.
    pub fn over<'a>(&'a self, rows: &'a dyn Rows) -> RowFilter<'a> {
        let columns = rows.columns();
        let term = |term: &'a Term| {
            let condition = term.condition.as_ref().and_then(|it| Some((it, place_of(columns, &it.column)?)));
            RowTerm { term, condition, verdicts: Verdicts::new(rows), latest: vec![Cell::new(None); columns.len()] }
        };
        // Numbers are not looked at for words: some are computed when they are asked for.
        let texts = columns.iter().enumerate().filter(|(_, column)| column.unit == Unit::Text);
        let texts: Vec<usize> = texts.map(|(place, _)| place).collect();
        // The first row of a table may be about the whole program and share nothing.
        let last = rows.len().saturating_sub(1);
        let labels = texts.iter().copied().filter(|&column| rows.shared_text_of(last, column).is_none()).collect();
        RowFilter { rows, terms: self.terms.iter().map(term).collect(), texts, labels, shared: RefCell::default() }
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

/// A filter over one table, to be asked of its rows.
pub struct RowFilter<'a> {
    rows: &'a dyn Rows,
    terms: Vec<RowTerm<'a>>,
    /// Columns that words are looked for in.
    texts: Vec<usize>,
    /// Those of them whose texts are not shared.
    labels: Vec<usize>,
    /// The shared texts of the row that is asked about.
    shared: RefCell<Vec<usize>>,
}

struct RowTerm<'a> {
    term: &'a Term,
    /// The column that the term is about, if it is about one, and the one that stands in where it is empty.
    condition: Option<(&'a Condition, (usize, Option<usize>))>,
    verdicts: Verdicts,
    /// The latest text of each column whose texts are not shared, and what the word says of it: mostly one of a few labels.
    latest: Vec<Cell<Option<(&'a str, bool)>>>,
}

impl RowFilter<'_> {
    /// Whether a row passes.
    pub fn passes(&self, row: usize) -> bool {
        let mut shared = self.shared.borrow_mut();
        shared.clear();
        if self.terms.iter().any(|it| it.condition.is_none()) {
            self.rows.shared_texts_in(row, &mut shared);
        }
        let others = if shared.is_empty() { &self.texts } else { &self.labels };
        self.terms.iter().all(|it| it.term.negated != it.matches(self.rows, row, &shared, others))
    }

    /// Whether each row passes.
    pub fn all(&self) -> Vec<bool> {
        let mut passing = vec![false; self.rows.len()];
        let mut first = 0;
        for block in passing.chunks_mut(BLOCK) {
            self.block(first, block);
            first += block.len();
        }
        passing
    }

    #[inline(never)]
    fn block(&self, first: usize, passing: &mut [bool]) {
        passing.iter_mut().zip(first..).for_each(|(passes, row)| *passes = self.passes(row));
    }
}

/// Rows that are looked at in one call: see [`crate::trace::blocks`].
const BLOCK: usize = 2048;

impl<'a> RowTerm<'a> {
    /// `shared`: numbers of the row's shared texts; `others`: the columns that have texts of their own.
    fn matches(&self, rows: &'a dyn Rows, row: usize, shared: &[usize], others: &[usize]) -> bool {
        if let Some((condition, (column, stand_in))) = self.condition {
            let column = stand_in.filter(|_| rows.cell(row, column) == CellRef::Absent).unwrap_or(column);
            return match rows.shared_text_of(row, column) {
                Some(number) => self.verdicts.of(rows, number, &|text| condition.holds_text(text)),
                None => condition.holds(rows.cell(row, column)),
            };
        }
        let word = self.term.word.as_str();
        let find = |text: &str| holds(text, word);
        let label =
            |&column: &usize| matches!(rows.cell(row, column), CellRef::Text(text) if self.holds_label(column, text));
        shared.iter().any(|&number| self.verdicts.of(rows, number, &find)) || others.iter().any(label)
    }

    fn holds_label(&self, column: usize, text: &'a str) -> bool {
        let slot = self.latest.get(column);
        let latest = slot.and_then(Cell::get).filter(|(latest, _)| std::ptr::eq(*latest, text));
        latest.map(|(_, verdict)| verdict).unwrap_or_else(|| {
            let verdict = holds(text, &self.term.word);
            slot.into_iter().for_each(|slot| slot.set(Some((text, verdict))));
            verdict
        })
    }
}

/// What a term says of each shared text, by number.
///
/// A million rows with ten texts each are ten million lookups, all over the memory. So where the rows are about as many as
/// the texts, whoever is asked for one text searches its neighbours too, which lie beside it.
struct Verdicts {
    known: Vec<Cell<Option<bool>>>,
    /// Texts that are searched together.
    block: usize,
}

impl Verdicts {
    /// Texts a row from which on most neighbours would be searched for nothing.
    const FEW_ROWS: usize = 8;

    fn new(rows: &dyn Rows) -> Verdicts {
        let texts = rows.shared_texts();
        let block = if rows.len().saturating_mul(Verdicts::FEW_ROWS) < texts { 1 } else { 256 };
        Verdicts { known: vec![Cell::new(None); texts], block }
    }

    fn of(&self, rows: &dyn Rows, number: usize, finds: &dyn Fn(&str) -> bool) -> bool {
        match self.known.get(number).and_then(Cell::get) {
            Some(known) => known,
            None => self.search(rows, number, finds),
        }
    }

    #[inline(never)]
    fn search(&self, rows: &dyn Rows, number: usize, finds: &dyn Fn(&str) -> bool) -> bool {
        let first = number - number % self.block;
        let end = (first + self.block).min(self.known.len());
        for (number, verdict) in (first..end).zip(self.known.get(first..end).unwrap_or_default()) {
            verdict.set(Some(finds(rows.shared_text(number))));
        }
        self.known.get(number).and_then(Cell::get).unwrap_or_default()
    }
}

/// Columns that say the same under another name: XProf has several ids for the op, for the program and for the framework's path.
const SAME: [&[&str]; 3] =
    [&["hlo_op_name", "operation"], &["program_id", "hlo_module_id"], &["tf_op_name", "op_name", "framework_op"]];
/// What names an op that is no instruction: its kernel.
const KERNEL: &str = "kernel_name";

/// The column of a key, else one that says the same, and one that stands in where it is empty: a filter follows from one table to
/// the other.
fn place_of(columns: &[Column], key: &str) -> Option<(usize, Option<usize>)> {
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
    use super::super::{Cell as Value, Table};
    use super::*;

    fn table(keys: &[&'static str], rows: &[&[Value]]) -> Table {
        let columns = keys.iter().map(|&key| Column { key, title: key, unit: Unit::Text }).collect();
        Table::new("test", columns, rows.iter().map(|row| row.to_vec()).collect())
    }

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    fn passes(filter: &str, row: &[Value]) -> bool {
        Filter::parse(filter).over(&table(&["name", "category", "count"], &[row])).passes(0)
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
        let passes = |filter: &str| Filter::parse(filter).over(&table).passes(0);
        assert!(passes("hlo_op_name=\"fusion.1\" program_id=7") && passes("operation=fusion.1"));
        assert!(!passes("hlo_op_name=fusion") && !passes("program_id=8"));
    }

    #[test]
    fn a_kernel_without_an_instruction_is_named_by_itself() {
        let kernels = table(
            &["kernel_name", "hlo_op_name"],
            &[&[text("gemm_kernel"), Value::Absent], &[text("gemm_kernel"), text("dot.1")]],
        );
        let passes = |filter: &str, row: usize| Filter::parse(filter).over(&kernels).passes(row);
        assert!(passes("hlo_op_name=gemm_kernel", 0) && !passes("hlo_op_name=gemm_kernel", 1));
        assert!(passes("operation=dot.1", 1) && passes("kernel_name=gemm_kernel", 1));
        let columns = &kernels.columns;
        assert!(has_column(&columns[..1], "hlo_op_name") && !has_column(&columns[1..], "kernel_name"));
    }

    /// Rows of two shared texts each and one of their own.
    struct Shared {
        columns: Vec<Column>,
        texts: Vec<String>,
        rows: Vec<[usize; 2]>,
    }

    impl Rows for Shared {
        fn name(&self) -> &'static str {
            "shared"
        }

        fn columns(&self) -> &[Column] {
            &self.columns
        }

        fn len(&self) -> usize {
            self.rows.len()
        }

        fn cell(&self, row: usize, column: usize) -> CellRef<'_> {
            self.shared_text_of(row, column).map_or(CellRef::Text("own"), |it| CellRef::text(self.shared_text(it)))
        }

        fn shared_texts(&self) -> usize {
            self.texts.len()
        }

        fn shared_text(&self, number: usize) -> &str {
            &self.texts[number]
        }

        fn shared_text_of(&self, row: usize, column: usize) -> Option<usize> {
            self.rows[row].get(column).copied()
        }
    }

    #[test]
    fn shared_texts_pass_as_texts_of_their_own_do() {
        let columns = table(&["name", "category", "own"], &[]).columns;
        // More rows than texts, and far fewer.
        for (texts, step) in [(3000, 1), (90_000, 30_000)] {
            let rows: Vec<[usize; 2]> = (0..texts).step_by(step).map(|row| [row, row / 2]).collect();
            let texts: Vec<String> =
                (0..texts).map(|it| if it == 0 { String::new() } else { format!("op.{it}") }).collect();
            let shared = Shared { columns: columns.clone(), texts, rows };
            let cells = |row: usize| (0..3).map(|column| shared.cell(row, column).to_cell()).collect();
            let own = Table::new("own", columns.clone(), (0..shared.len()).map(cells).collect());
            for filter in ["op.7", "-op.1", "name:OP.2", "category=op.30000", "-category:op", "own -7", "nothing"] {
                let filter = Filter::parse(filter);
                let (one, other) = (filter.over(&shared), filter.over(&own));
                assert!((0..shared.len()).all(|row| one.passes(row) == other.passes(row)), "{filter:?}");
            }
        }
    }

    #[test]
    fn patterns_and_unknown_columns_are_plain_text() {
        assert!(passes(".*", &[text("a.*b")]));
        assert!(!passes(".*", &row()));
        assert!(passes("layer:3", &[text("x/layer:3/y")]));
        assert!(passes("größe", &[text("die GRÖSSE, die Größe")]));
    }
}
