//! Filter of a table: words that a row must contain, `-words` that it must not contain, and conditions on columns.
//! Words are plain text, not patterns.
//!
//! ```text
//! fusion -copy "loop fusion"      words and phrases that some text of the row must contain, or none (-)
//! category:all-reduce             a word in one column
//! occurrences>10  bound_by=HBM    a comparison with one column: = != < > <= >=
//! mean>50us  "self time" > 1.5 ms headings instead of keys, numbers with units, spaces around the sign and before the unit
//! ```
//!
//! Comparison signs and numbers with units are the same as in every expression ([`expression`]). All other syntax
//! differs, because a filter is applied while the user types: every text is a valid filter, and a text that is not a
//! condition is a search word.

use std::ops::Range;

use super::search::Word;
use super::shared::TextTable;
use super::{CellRef, Column, Unit, unit};
use expression::combinator::{alt, eof, opt, preceded, repeat};
use expression::tokens::{rest, take_while};
use expression::{Amount, Input, Parsed, Parser, Relation, amount, blank, relation};

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
    /// Condition, if the word can be read as a condition.
    pub condition: Option<Condition>,
    /// Position in the filter.
    pub span: Range<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Condition {
    pub column: String,
    /// True for `!=`, which is the opposite of `=`.
    pub negated: bool,
    pub operator: Operator,
    pub text: String,
    pub number: Option<Amount>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    /// `:`
    Contains,
    /// A comparison, except `!=`.
    Is(Relation),
}

impl Filter {
    /// Parses a filter (see [`terms`]). Ignores letter case.
    pub fn parse(text: &str) -> Filter {
        let term = |(text, span): (String, Range<usize>)| {
            let (negated, text) = text.strip_prefix('-').map_or((false, text.as_str()), |text| (true, text));
            let word = text.replace('"', "").to_lowercase();
            // `"self time">2ms` is a condition on a column whose heading has two words.
            let is_phrase = text.strip_prefix('"').is_some_and(|rest| !rest.trim_end_matches('"').contains('"'));
            let condition = if is_phrase { None } else { condition(&mut Input::new(&word)).ok() };
            (!word.is_empty()).then_some(Term { negated, word, condition, span })
        };
        Filter { terms: located_terms(text).into_iter().filter_map(term).collect() }
    }

    /// Returns true if every row passes.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns the columns that the filter has conditions on.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().filter_map(|term| Some(term.condition.as_ref()?.column.as_str()))
    }

    /// Returns true if a row with these texts passes. The texts do not belong to columns.
    pub fn passes_texts(&self, texts: &[&str]) -> bool {
        let holds = |term: &Term| texts.iter().any(|text| term.as_word().is_in(text));
        self.terms.iter().all(|term| term.negated != holds(term))
    }

    /// Returns, for each text in these tables, true if a row with only this text passes. A table consists of the
    /// concatenated texts and the end of each text.
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
    /// Returns true if a row with these texts passes. Each text has its column name. Conditions on columns that the row
    /// lacks are ignored.
    pub fn passes_named_texts(&self, texts: &[(&str, &str)]) -> bool {
        self.terms.iter().all(|term| {
            let holds = match &term.condition {
                Some(condition) => match texts.iter().find(|(key, _)| *key == condition.column) {
                    Some((_, text)) => condition.negated != condition.holds(CellRef::text(text), None),
                    None => return true,
                },
                None => texts.iter().any(|(_, text)| term.as_word().is_in(text)),
            };
            term.negated != holds
        })
    }
}

impl Term {
    /// Returns the term as a search word for all columns.
    pub(crate) fn as_word(&self) -> Word<'_> {
        Word { word: &self.word, whole: false }
    }
}

/// Splits a filter into its terms as typed. Spaces separate terms, except inside quotes
/// (`category:"loop fusion"`), around the sign of a comparison and before a unit: `mean > 1.5 ms`
/// is one term.
pub fn terms(filter: &str) -> Vec<String> {
    located_terms(filter).into_iter().map(|(term, _)| term).collect()
}

/// Returns the terms of a filter, each with its position.
fn located_terms(filter: &str) -> Vec<(String, Range<usize>)> {
    let is_sign = |c: char| "=<>≤≥".contains(c);
    let mut terms: Vec<(String, Range<usize>)> = Vec::new();
    for (part, span) in parts(&mut Input::new(filter)).unwrap_or_default() {
        let begins_with_sign = part.starts_with(is_sign) || part.starts_with("!=");
        match terms.last_mut() {
            Some((last, place))
                if begins_with_sign && !last.contains(is_sign)
                    || last.ends_with(is_sign)
                    || lacks_unit(last) && is_unit(part) =>
            {
                last.push_str(part);
                place.end = span.end;
            }
            _ => terms.push((part.to_owned(), span)),
        }
    }
    terms
}

/// Reads the parts of a filter between spaces. A quotation mark may be anywhere in a part, and the last quotation need not
/// be closed, because a filter is applied while the user types.
fn parts<'t>(input: &mut Input<'t>) -> Parsed<Vec<(&'t str, Range<usize>)>> {
    let quoted = ('"', take_while(0.., |c| c != '"'), opt('"')).void();
    let bare = take_while(1.., |c: char| c != '"' && !c.is_whitespace()).void();
    let part = repeat::<_, _, (), _, _>(1.., alt((quoted, bare))).take();
    repeat(0.., preceded(blank, part.with_span())).parse_next(input)
}

/// Returns true if a term ends in a number that is compared with a column.
fn lacks_unit(term: &str) -> bool {
    let value = term.rsplit(['=', '<', '>', '≤', '≥']).next().filter(|value| value.len() < term.len());
    value.and_then(number).is_some_and(|number| number.unit.is_none())
}

/// Units that are also words. A space before one of these words separates two terms.
const WORDS: [&str; 2] = ["min", "h"];

fn is_unit(word: &str) -> bool {
    expression::Unit::named_in_any_case(word).is_some_and(|unit| !WORDS.contains(&unit.symbol))
}

/// Reads a condition: a column, a sign, and the rest of the text as the value.
fn condition(input: &mut Input<'_>) -> Parsed<Condition> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_ /-".contains(c);
    let column = take_while(1.., is_of_name).verify(|name: &str| name.contains(|c: char| c.is_ascii_alphanumeric()));
    let equal = Operator::Is(Relation::Equal);
    let comparison = relation.map(|relation| match relation {
        Relation::NotEqual => (true, equal),
        relation => (false, Operator::Is(relation)),
    });
    let operator = alt((comparison, '='.value((false, equal)), ':'.value((false, Operator::Contains))));
    let value = rest.verify(|value: &str| !value.is_empty());
    let (column, (negated, operator), text) = (column, operator, value).parse_next(input)?;
    Ok(Condition { column: column.to_owned(), negated, operator, text: text.to_owned(), number: number(text) })
}

/// Reads a number with its unit, if there is one. Ignores the letter case of units.
pub(super) fn number(text: &str) -> Option<Amount> {
    let mut signed = (opt(alt(('-', '+'))), amount(&[]), eof);
    let (sign, mut amount, _) = signed.parse_next(&mut Input::new(text)).ok()?;
    if sign == Some('-') {
        amount.digits.insert(0, '-');
    }
    if let Some(unit) = &mut amount.unit {
        *unit = expression::Unit::named_in_any_case(unit)?.symbol.to_owned();
    }
    Some(amount)
}

/// Returns the unit in which numbers of a column are compared. `None` for texts and plain numbers.
pub(super) fn unit_of(column: Unit) -> Option<expression::Unit> {
    expression::Unit::named(unit::word(column))
}

impl Condition {
    /// Returns the word that a text must contain or equal. Returns `None` if no text can pass.
    pub(crate) fn of_text(&self) -> Option<Word<'_>> {
        match self.operator {
            Operator::Contains => Some(Word { word: &self.text, whole: false }),
            Operator::Is(Relation::Equal) => Some(Word { word: &self.text, whole: true }),
            Operator::Is(_) => None,
        }
    }

    /// Returns the number with which a column's cells are compared, in `unit`. Returns `None` if the condition has no
    /// number, or if its unit measures something else.
    pub(crate) fn number_in(&self, unit: Unit) -> Option<f64> {
        self.number.as_ref()?.in_unit(unit_of(unit)).ok()
    }

    /// Returns true if a cell passes, given the number from [`Condition::number_in`]. An absent cell does not pass.
    pub(crate) fn holds(&self, cell: CellRef<'_>, wanted: Option<f64>) -> bool {
        let number = match cell {
            CellRef::Absent => return false,
            CellRef::Text(text) => return self.of_text().is_some_and(|word| word.is_in(text)),
            CellRef::Flag(value) => {
                return matches!((value, self.text.as_str()), (true, "yes" | "true") | (false, "no" | "false"));
            }
            CellRef::Int(value) => value as f64,
            CellRef::Float(value) => value,
        };
        let relation = match self.operator {
            Operator::Contains => Relation::Equal,
            Operator::Is(relation) => relation,
        };
        wanted.is_some_and(|wanted| relation.holds(number, wanted))
    }
}

/// Returns true if `name` refers to the column with this key and heading. Ignores spaces and signs in headings.
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
/// Column that names the kernel of an op without an instruction.
const KERNEL: &str = "kernel_name";

/// Finds the column with this key or an equivalent key, and a column whose cells replace the empty cells of the first
/// column. With this fallback, a filter also works on tables with other columns.
pub(super) fn place_of(columns: &[Column], key: &str) -> Option<(usize, Option<usize>)> {
    let place = |key: &str| columns.iter().position(|column| column.key == key);
    let group = SAME.iter().find(|group| group.contains(&key));
    let titled = || columns.iter().position(|column| is_called(column.key, column.title, key));
    let own = place(key).or_else(|| group?.iter().find_map(|other| place(other))).or_else(titled);
    let kernel = if SAME[0].contains(&key) { place(KERNEL) } else { None };
    own.map(|own| (own, kernel)).or_else(|| Some((kernel?, None)))
}

/// Returns true if one of the columns has this key or an equivalent key, so that a condition on `key` applies to the
/// table.
pub fn has_column(columns: &[Column], key: &str) -> bool {
    place_of(columns, key).is_some()
}

#[cfg(test)]
mod tests {
    use super::super::{Cell as Value, Table};
    use super::*;

    fn table(keys: &[&'static str], rows: &[&[Value]]) -> Table {
        let columns = keys.iter().map(|&key| crate::column(key, key, Unit::Text, "")).collect();
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
    fn signs_and_numbers_are_those_of_every_expression() {
        for filter in
            ["count==7", "count≤7", "count ≥ 7", "count != 8", "count=7.0", "name!=x", "category == \"loop fusion\""]
        {
            assert!(passes(filter, &row()) && !passes(&format!("-{filter}"), &row()), "{filter}");
        }
        assert!(!passes("count!=7", &row()) && !passes("name!=fusion.12", &row()) && !passes("count>1_000", &row()));
        // If a word is not a column, the sign is part of the word.
        assert!(passes("a!=b", &[text("x a!=b")]) && !passes("a!=b", &row()));
        assert_eq!(terms("a != b  c≤ 3 min  d > 3 GFLOPS e"), ["a!=b", "c≤3", "min", "d>3GFLOPS", "e"]);
    }

    #[test]
    fn terms_have_their_position() {
        let text = " -a \"b c\"x  mean > 5 ms é";
        let places: Vec<&str> = Filter::parse(text).terms.iter().map(|term| &text[term.span.clone()]).collect();
        assert_eq!(places, ["-a", "\"b c\"x", "mean > 5 ms", "é"]);
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
        let titled = |key, title, unit| crate::column(key, title, unit, "");
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
