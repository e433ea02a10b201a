//! Filter of a table: words that a row must contain, `-words` that it must not contain, and
//! conditions on columns. There are no patterns.
//!
//! ```text
//! fusion -copy "loop fusion"      words and phrases that any text of the row must contain, or none (-)
//! category:all-reduce             a word in one column
//! occurrences>10  bound_by=HBM    a comparison with one column: = < > <= >=
//! mean>50us  "self time" > 1.5 ms headings instead of keys, numbers with units, spaces around the sign and before the unit
//! ```

use super::search::Word;
use super::shared::TextTable;
use super::{CellRef, Column, Unit};
use base::number::decimal;

/// Parsed filter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    pub(super) terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Term {
    pub negated: bool,
    /// Word in lower case, as typed.
    pub word: String,
    /// Condition, if the word can be read as one.
    pub condition: Option<Condition>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Condition {
    pub column: String,
    pub operator: Operator,
    pub text: String,
    pub number: Option<Measured>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Holds,
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Filter {
    /// Parses a filter (see [`terms`]). Ignores letter case.
    pub fn parse(text: &str) -> Filter {
        let term = |text: &String| {
            let (negated, text) = text.strip_prefix('-').map_or((false, text.as_str()), |text| (true, text));
            let word = text.replace('"', "").to_lowercase();
            // `"self time">2ms` is a condition on a column whose heading has two words.
            let is_phrase = text.strip_prefix('"').is_some_and(|rest| !rest.trim_end_matches('"').contains('"'));
            let condition = if is_phrase { None } else { Condition::parse(&word) };
            (!word.is_empty()).then_some(Term { negated, word, condition })
        };
        Filter { terms: terms(text).iter().filter_map(term).collect() }
    }

    /// Returns true if every row passes.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns the columns that the filter has conditions on.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().filter_map(|term| Some(term.condition.as_ref()?.column.as_str()))
    }

    /// Returns true if these texts pass as one row without column names.
    pub fn passes_texts(&self, texts: &[&str]) -> bool {
        let holds = |term: &Term| texts.iter().any(|text| term.as_word().is_in(text));
        self.terms.iter().all(|term| term.negated != holds(term))
    }

    /// Returns, for each text of some tables, true if it passes as a row by itself. A table is its concatenated texts
    /// and the end of each.
    pub fn passing_texts(&self, tables: &[(&str, &[usize])]) -> Vec<bool> {
        let count = tables.iter().map(|(_, ends)| ends.len()).sum();
        let (mut passing, mut found) = (vec![true; count], vec![false; count]);
        for term in &self.terms {
            found.fill(false);
            let mut rest = found.as_mut_slice();
            for &(text, ends) in tables {
                let Some((of_table, others)) = rest.split_at_mut_checked(ends.len()) else { break };
                term.as_word().mark(TextTable { text, ends }, of_table);
                rest = others;
            }
            passing.iter_mut().zip(&found).for_each(|(passing, &found)| *passing &= found != term.negated);
        }
        passing
    }
}

impl Filter {
    /// Returns true if these texts pass as one row, each with its column name. Conditions on columns
    /// that the row lacks are ignored.
    pub fn passes_named_texts(&self, texts: &[(&str, &str)]) -> bool {
        self.terms.iter().all(|term| {
            let holds = match &term.condition {
                Some(condition) => match texts.iter().find(|(key, _)| *key == condition.column) {
                    Some((_, text)) => condition.holds(CellRef::text(text), Unit::Text),
                    None => return true,
                },
                None => texts.iter().any(|(_, text)| term.as_word().is_in(text)),
            };
            term.negated != holds
        })
    }
}

impl Term {
    /// Returns the term as a word to search in any column.
    pub fn as_word(&self) -> Word<'_> {
        Word { word: &self.word, whole: false }
    }
}

/// Splits a filter into its terms as typed. Spaces separate terms, except inside quotes
/// (`category:"loop fusion"`), around the sign of a comparison and before a unit: `mean > 1.5 ms`
/// is one term.
pub fn terms(filter: &str) -> Vec<String> {
    let mut inside = false;
    let parts = filter.split(|c: char| {
        inside ^= c == '"';
        c.is_whitespace() && !inside
    });
    let is_sign = |c: char| "=<>".contains(c);
    let mut terms: Vec<String> = Vec::new();
    for part in parts.filter(|part| !part.is_empty()) {
        match terms.last_mut() {
            Some(last) if part.starts_with(is_sign) && !last.contains(is_sign) => last.push_str(part),
            Some(last) if last.ends_with(is_sign) => last.push_str(part),
            Some(last) if lacks_unit(last) && is_unit(part) => last.push_str(part),
            _ => terms.push(part.to_owned()),
        }
    }
    terms
}

/// Returns true if a term ends in a number that is compared with a column.
fn lacks_unit(term: &str) -> bool {
    let value = term.rsplit(['=', '<', '>']).next().filter(|value| value.len() < term.len());
    value.is_some_and(|value| decimal(value).is_some())
}

fn is_unit(word: &str) -> bool {
    let word = word.to_lowercase();
    UNITS.iter().any(|(name, ..)| *name == word)
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
        let named = column.bytes().any(|b| b.is_ascii_alphanumeric())
            && column.bytes().all(|b| b.is_ascii_alphanumeric() || b"_ /-".contains(&b));
        (named && !value.is_empty()).then(|| Condition {
            column: column.to_owned(),
            operator,
            text: value.to_owned(),
            number: Measured::parse(value),
        })
    }

    /// Returns the word that a text must contain or equal. Returns `None` if no text can pass.
    pub fn of_text(&self) -> Option<Word<'_>> {
        match self.operator {
            Operator::Holds => Some(Word { word: &self.text, whole: false }),
            Operator::Equal => Some(Word { word: &self.text, whole: true }),
            _ => None,
        }
    }

    /// Returns true if a cell of a column in `unit` passes. An absent cell does not.
    pub fn holds(&self, cell: CellRef<'_>, unit: Unit) -> bool {
        let number = match cell {
            CellRef::Absent => return false,
            CellRef::Text(text) => return self.of_text().is_some_and(|word| word.is_in(text)),
            CellRef::Flag(value) => {
                return matches!((value, self.text.as_str()), (true, "yes" | "true") | (false, "no" | "false"));
            }
            CellRef::Int(value) => value as f64,
            CellRef::Float(value) => value,
        };
        let Some(wanted) = self.number.and_then(|number| number.in_unit(unit)) else { return false };
        match self.operator {
            Operator::Holds | Operator::Equal => number == wanted,
            Operator::Less => number < wanted,
            Operator::LessOrEqual => number <= wanted,
            Operator::Greater => number > wanted,
            Operator::GreaterOrEqual => number >= wanted,
        }
    }
}

/// Quantity that a unit measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dimension {
    Time,
    Share,
    Size,
    Bandwidth,
    Work,
    Rate,
    Intensity,
}

/// Units that a number in a filter may have, in lower case, with their factor to microseconds,
/// percent, bytes, bytes per second, FLOP, FLOP/s or FLOP/B.
const UNITS: [(&str, Dimension, f64); 32] = [
    ("ns", Dimension::Time, 1e-3),
    ("us", Dimension::Time, 1.0),
    ("µs", Dimension::Time, 1.0),
    ("μs", Dimension::Time, 1.0),
    ("ms", Dimension::Time, 1e3),
    ("s", Dimension::Time, 1e6),
    ("%", Dimension::Share, 1.0),
    ("b", Dimension::Size, 1.0),
    ("bytes", Dimension::Size, 1.0),
    ("kb", Dimension::Size, 1e3),
    ("mb", Dimension::Size, 1e6),
    ("gb", Dimension::Size, 1e9),
    ("tb", Dimension::Size, 1e12),
    ("kib", Dimension::Size, 1024.0),
    ("mib", Dimension::Size, 1_048_576.0),
    ("gib", Dimension::Size, 1_073_741_824.0),
    ("tib", Dimension::Size, 1_099_511_627_776.0),
    ("b/s", Dimension::Bandwidth, 1.0),
    ("mb/s", Dimension::Bandwidth, 1e6),
    ("gib/s", Dimension::Bandwidth, 1_073_741_824.0),
    ("gb/s", Dimension::Bandwidth, 1e9),
    ("tb/s", Dimension::Bandwidth, 1e12),
    ("flop", Dimension::Work, 1.0),
    ("mflop", Dimension::Work, 1e6),
    ("gflop", Dimension::Work, 1e9),
    ("tflop", Dimension::Work, 1e12),
    ("pflop", Dimension::Work, 1e15),
    ("mflop/s", Dimension::Rate, 1e6),
    ("gflop/s", Dimension::Rate, 1e9),
    ("tflop/s", Dimension::Rate, 1e12),
    ("pflop/s", Dimension::Rate, 1e15),
    ("flop/b", Dimension::Intensity, 1.0),
];

/// Returns the quantity that a column measures, and the factor from its unit to the base unit
/// above. Returns `None` for texts and plain numbers.
pub(super) fn scale(unit: Unit) -> Option<(Dimension, f64)> {
    Some(match unit {
        Unit::TimeUs => (Dimension::Time, 1.0),
        Unit::Percent => (Dimension::Share, 1.0),
        Unit::Bytes => (Dimension::Size, 1.0),
        Unit::GigabytesPerSecond => (Dimension::Bandwidth, 1e9),
        Unit::GibibytesPerSecond => (Dimension::Bandwidth, 1_073_741_824.0),
        Unit::Flops => (Dimension::Work, 1.0),
        Unit::GigaflopsPerSecond => (Dimension::Rate, 1e9),
        Unit::FlopsPerByte => (Dimension::Intensity, 1.0),
        _ => return None,
    })
}

/// Number with its unit. A number without one is in the unit of the column that it is compared
/// with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    value: f64,
    unit: Option<(Dimension, f64)>,
}

impl Measured {
    pub fn parse(text: &str) -> Option<Measured> {
        if let Some(value) = decimal(text) {
            return Some(Measured { value, unit: None });
        }
        let at = text.rfind(|c: char| c.is_ascii_digit() || c == '.')? + 1;
        let (number, unit) = text.split_at(at);
        let (_, dimension, factor) = UNITS.iter().find(|(name, ..)| *name == unit.trim_start())?;
        Some(Measured { value: decimal(number)?, unit: Some((*dimension, *factor)) })
    }

    /// Converts the number to the unit of a column. Returns `None` if the column measures something
    /// else.
    pub fn in_unit(self, of_column: Unit) -> Option<f64> {
        let Some((dimension, factor)) = self.unit else { return Some(self.value) };
        let (_, one) = scale(of_column).filter(|(of_column, _)| *of_column == dimension)?;
        Some(self.value * factor / one)
    }
}

/// Returns true if this name refers to a column with this key and heading. Ignores spaces and signs
/// in headings.
pub fn is_called(key: &str, title: &str, name: &str) -> bool {
    fn bare(text: &str) -> impl Iterator<Item = char> {
        text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase())
    }
    key == name || bare(title).eq(bare(name))
}

/// Groups of columns with the same content. XProf has several ids for the op, for the program and
/// for the framework's path.
const SAME: [&[&str]; 3] =
    [&["hlo_op_name", "operation"], &["program_id", "hlo_module_id"], &["tf_op_name", "op_name", "framework_op"]];
/// Column that names an op without an instruction: its kernel.
const KERNEL: &str = "kernel_name";

/// Finds the column with a key or an equivalent one, and a column that replaces it if a cell is
/// empty. So a filter also works on other tables.
pub(super) fn place_of(columns: &[Column], key: &str) -> Option<(usize, Option<usize>)> {
    let place = |key: &str| columns.iter().position(|column| column.key == key);
    let group = SAME.iter().find(|group| group.contains(&key));
    let titled = || columns.iter().position(|column| is_called(column.key, column.title, key));
    let own = place(key).or_else(|| group?.iter().find_map(|other| place(other))).or_else(titled);
    let kernel = if SAME[0].contains(&key) { place(KERNEL) } else { None };
    own.map(|own| (own, kernel)).or_else(|| Some((kernel?, None)))
}

/// Returns true if one of the columns has this key or an equivalent one, so that a condition on it
/// applies to the table.
pub fn has_column(columns: &[Column], key: &str) -> bool {
    place_of(columns, key).is_some()
}

#[cfg(test)]
mod tests {
    use super::super::{Cell as Value, Table};
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
    fn a_filter_applies_to_equivalent_columns_of_other_tables() {
        let table = table(&["operation", "hlo_module_id"], &[&[text("fusion.1"), text("7")]]);
        let passes = |filter: &str| Filter::parse(filter).passing(&table) == [true];
        assert!(passes("hlo_op_name=\"fusion.1\" program_id=7") && passes("operation=fusion.1"));
        assert!(!passes("hlo_op_name=fusion") && !passes("program_id=8"));
    }

    #[test]
    fn events_pass_by_their_names_and_arguments() {
        let event = [("name", "gemm_kernel"), ("hlo_op_name", "dot.1"), ("category", "")];
        let passes = |filter: &str| Filter::parse(filter).passes_named_texts(&event);
        assert!(passes("gemm") && passes("dot.1 -copy") && passes("hlo_op_name=\"dot.1\"") && passes("bound_by=HBM"));
        assert!(!passes("copy") && !passes("-gemm") && !passes("hlo_op_name=dot") && !passes("category:loop"));
    }

    #[test]
    fn a_kernel_without_an_instruction_keeps_its_own_name() {
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
    fn columns_are_found_by_heading_and_numbers_have_units() {
        let titled = |key, title, unit| crate::table::column(key, title, unit, "");
        let columns = vec![
            titled("avg_self_time_us", "Mean self time", Unit::TimeUs),
            titled("rate", "FLOP/s", Unit::GigaflopsPerSecond),
            titled("bytes_accessed", "Bytes", Unit::Bytes),
        ];
        let row = vec![Value::Float(1_500.0), Value::Float(2_500.0), Value::Int(3 << 20)];
        let table = Table::new("test", columns, vec![row]);
        let passes = |filter: &str| Filter::parse(filter).passing(&table) == [true];
        for filter in [
            "mean_self_time > 1.4 ms",
            "\"Mean self time\" <2 ms",
            "meanselftime>1.4ms",
            "\"Mean self time\"<2ms",
            "mean-self-time=1500us",
            "flop/s>2.4TFLOP/s",
        ] {
            assert!(passes(filter) && !passes(&format!("-{filter}")), "{filter}");
        }
        assert!(passes("bytes>=3MiB bytes<3.2MB") && !passes("bytes>4MiB") && !passes("mean_self_time>2ms"));
        assert!(!passes("\"mean self time\"") && !passes("meanselftime>1parsec"));
    }

    #[test]
    fn patterns_and_unknown_columns_are_plain_text() {
        assert!(passes(".*", &[text("a.*b")]));
        assert!(!passes(".*", &row()));
        assert!(passes("layer:3", &[text("x/layer:3/y")]));
        assert!(passes("größe", &[text("die GRÖSSE, die Größe")]));
    }
}
