//! The language of rules.
//!
//! ```text
//! rule    = subject ( relation bound | "absent" ) [ "if measured" ]
//! subject = path | sum | "count(" [ "new" ] path ")" | "new" path | [ "capture" ] "slower"
//! relation = "<" | "<=" | ">" | ">=" | "==" | "!="
//! bound   = [ sign ] term { sign term }                 sign = "+" | "-"
//! term    = number [ unit ]                             150 ms
//!         | "baseline" [ "*" number [ "%" ] ]           baseline * 1.05
//!         | number [ "%" ] ( "*" | "of" ) "baseline"    0.97 * baseline, 97 % of baseline
//! ```
//!
//! A sum is a sum over ops ([`OpSum`]). This module only parses rules. [`super::limit`] checks them against the known
//! fields, which also gives their units.

use std::ops::Range;

use super::cursor::{Cursor, RuleError};
use super::op_sum::OpSum;
use super::path::{self, Path};
use super::slowdown::SlowdownOf;

/// Required relation of a value to its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
}

impl Relation {
    /// Returns the operator.
    pub fn symbol(self) -> &'static str {
        match self {
            Relation::Below => "<",
            Relation::AtMost => "<=",
            Relation::Above => ">",
            Relation::AtLeast => ">=",
            Relation::Equal => "==",
            Relation::NotEqual => "!=",
        }
    }

    /// Returns true if `value` has this relation to `bound`.
    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Relation::Below => value < bound,
            Relation::AtMost => value <= bound,
            Relation::Above => value > bound,
            Relation::AtLeast => value >= bound,
            Relation::Equal => value == bound,
            Relation::NotEqual => value != bound,
        }
    }
}

/// The subject of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The number at a path, or each of several numbers.
    Number(Path),
    /// A sum over the ops of a step.
    Ops(OpSum),
    /// Number of entries at a path.
    Count(Path),
    /// Number of findings at a path that the baseline lacks.
    New(Path),
    /// Slowdown of the run compared with the baseline, beyond the noise.
    Slower(SlowdownOf),
}

impl Subject {
    /// Returns true if the subject is a number at a path, or a sum over ops.
    pub fn has_path(&self) -> bool {
        matches!(self, Subject::Number(_) | Subject::Ops(_))
    }
}

/// Writes the subject in the syntax of rules.
impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Subject::Number(path) => write!(f, "{path}"),
            Subject::Ops(sum) => write!(f, "{sum}"),
            Subject::Count(path) => write!(f, "count({path})"),
            Subject::New(path) => write!(f, "count(new {path})"),
            Subject::Slower(of) => write!(f, "{of}"),
        }
    }
}

/// One summand of a bound.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// A number with its unit, as written.
    Amount {
        /// Digits with their sign and without separators, ready to be parsed as a float.
        digits: String,
        /// The unit, if one is written.
        unit: Option<String>,
        /// Position of digits and unit.
        span: Range<usize>,
    },
    /// The baseline's number times a factor.
    Baseline {
        /// The factor, including the sign of the summand.
        factor: f64,
    },
}

/// The bound of a value: the sum of its terms.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Terms, at least one.
    pub terms: Vec<Term>,
}

/// A parsed rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Subject of the rule.
    pub subject: Subject,
    /// Required relation of the subject to the bound.
    pub relation: Relation,
    /// Bound of the subject.
    pub bound: Bound,
    /// True if the rule contains `if measured`: an absent number does not fail it.
    pub optional: bool,
}

impl Rule {
    /// Reads a rule.
    ///
    /// # Errors
    ///
    /// Fails if the text is not a rule. The error contains the position.
    pub fn parse(text: &str) -> Result<Rule, RuleError> {
        let mut cursor = Cursor::new(text);
        cursor.skip_space();
        let subject = read_subject(&mut cursor)?;
        cursor.skip_space();
        let absent = cursor.ahead();
        let (subject, relation, bound) = if cursor.eat_word("absent") {
            let subject = match subject {
                Subject::Number(path) | Subject::Count(path) => Subject::Count(path),
                Subject::New(path) => Subject::New(path),
                Subject::Ops(sum) => {
                    let message = format!("Only entries can be absent; write {sum} == 0 if measured.");
                    return Err(RuleError::new(absent, message));
                }
                Subject::Slower(of) => {
                    return Err(RuleError::new(absent, format!("Only entries can be absent; write {of} <= 3 %.")));
                }
            };
            (subject, Relation::Equal, Bound::zero())
        } else {
            let relation = read_relation(&mut cursor)?;
            cursor.skip_space();
            (subject, relation, read_bound(&mut cursor)?)
        };
        cursor.skip_space();
        let optional = cursor.eat_word("if");
        if optional {
            cursor.skip_space();
            if !cursor.eat_word("measured") {
                return cursor.fail("Only `if measured` can follow a rule.");
            }
            cursor.skip_space();
        }
        if !cursor.is_at_end() {
            return cursor.fail(
                "The rule ends here: something else follows it. A rule is a path, a comparison and a bound, such as \
                 step_timing.avg_step_time_us < 150 ms.",
            );
        }
        Ok(Rule { subject, relation, bound, optional })
    }
}

impl Subject {
    /// Reads the subject of a rule and requires the text to end after it.
    ///
    /// # Errors
    ///
    /// Fails if the text is not a subject. The error contains the position.
    pub fn parse(text: &str) -> Result<Subject, RuleError> {
        let mut cursor = Cursor::new(text);
        cursor.skip_space();
        let subject = read_subject(&mut cursor)?;
        cursor.skip_space();
        if cursor.is_at_end() { Ok(subject) } else { cursor.fail("Only a path is expected here.") }
    }
}

impl Bound {
    /// Reads a bound and requires the text to end after it.
    ///
    /// # Errors
    ///
    /// Fails if the text is not a bound. The error contains the position.
    pub fn parse(text: &str) -> Result<Bound, RuleError> {
        let mut cursor = Cursor::new(text);
        cursor.skip_space();
        let bound = read_bound(&mut cursor)?;
        cursor.skip_space();
        if cursor.is_at_end() { Ok(bound) } else { cursor.fail("The bound ends here: something else follows it.") }
    }

    /// Returns the bound 0.
    pub fn zero() -> Bound {
        Bound { terms: vec![Term::Amount { digits: "0".to_owned(), unit: None, span: 0..0 }] }
    }
}

fn read_subject(cursor: &mut Cursor<'_>) -> Result<Subject, RuleError> {
    let mut counted = cursor.clone();
    if counted.eat("count") {
        counted.skip_space();
        if counted.eat("(") {
            counted.skip_space();
            let start = counted.at();
            if let Some(sum) = OpSum::read(&mut counted)? {
                let message = format!("A sum of ops is a number already: write {sum} without count().");
                return Err(RuleError::new(start..counted.at(), message));
            }
            let is_new = eat_new(&mut counted);
            let path = path::read(&mut counted)?;
            counted.skip_space();
            if !counted.eat(")") {
                return counted.fail("A ) is expected here: the parenthesis after count is open.");
            }
            *cursor = counted;
            return Ok(if is_new { Subject::New(path) } else { Subject::Count(path) });
        }
    }
    if let Some(sum) = OpSum::read(cursor)? {
        return Ok(Subject::Ops(sum));
    }
    if eat_new(cursor) {
        return path::read(cursor).map(Subject::New);
    }
    if let Some(of) = SlowdownOf::read(cursor)? {
        return Ok(Subject::Slower(of));
    }
    let start = cursor.clone();
    path::read(cursor).map(Subject::Number).map_err(|error| OpSum::meant(start).unwrap_or(error))
}

/// Consumes the word `new` and the blanks after it. A field named `new` is followed by a dot or a bracket and is left alone.
fn eat_new(cursor: &mut Cursor<'_>) -> bool {
    let mut ahead = cursor.clone();
    let found = ahead.eat_word("new") && ahead.peek().is_some_and(char::is_whitespace);
    if found {
        ahead.skip_space();
        *cursor = ahead;
    }
    found
}

pub(super) fn read_relation(cursor: &mut Cursor<'_>) -> Result<Relation, RuleError> {
    // Longer operators come first, because `<=` begins with `<`.
    const RELATIONS: [(&str, Relation); 8] = [
        ("<=", Relation::AtMost),
        (">=", Relation::AtLeast),
        ("==", Relation::Equal),
        ("!=", Relation::NotEqual),
        ("≤", Relation::AtMost),
        ("≥", Relation::AtLeast),
        ("<", Relation::Below),
        (">", Relation::Above),
    ];
    match RELATIONS.iter().find(|(symbol, _)| cursor.eat(symbol)) {
        Some((_, relation)) => Ok(*relation),
        None if cursor.peek() == Some('=') => cursor.fail("Equality is written ==."),
        None => cursor.fail("A comparison is expected here: <, <=, >, >=, ==, != or `absent`."),
    }
}

fn read_bound(cursor: &mut Cursor<'_>) -> Result<Bound, RuleError> {
    let mut negative = read_sign(cursor).unwrap_or(false);
    let mut terms = Vec::new();
    loop {
        terms.push(read_term(cursor, negative)?);
        let mut ahead = cursor.clone();
        ahead.skip_space();
        match read_sign(&mut ahead) {
            Some(sign) => {
                *cursor = ahead;
                negative = sign;
            }
            None => return Ok(Bound { terms }),
        }
    }
}

/// Consumes a sign and the blanks after it. Returns true for a minus.
fn read_sign(cursor: &mut Cursor<'_>) -> Option<bool> {
    let negative = cursor.eat("-");
    let found = negative || cursor.eat("+");
    cursor.skip_space();
    found.then_some(negative)
}

fn read_term(cursor: &mut Cursor<'_>, negative: bool) -> Result<Term, RuleError> {
    let sign = if negative { -1.0 } else { 1.0 };
    if cursor.eat_word("baseline") {
        let mut ahead = cursor.clone();
        ahead.skip_space();
        if !ahead.eat("*") {
            return Ok(Term::Baseline { factor: sign });
        }
        ahead.skip_space();
        let start = ahead.at();
        let digits = read_number(&mut ahead)?;
        let percent = read_unit(&mut ahead).as_deref() == Some("%");
        let factor = factor(&digits, percent, start..ahead.at())?;
        *cursor = ahead;
        return Ok(Term::Baseline { factor: sign * factor });
    }
    let start = cursor.at();
    let digits = read_number(cursor)?;
    let number_end = cursor.at();
    let unit = read_unit(cursor);
    let span = start..if unit.is_some() { cursor.at() } else { number_end };
    let mut ahead = cursor.clone();
    ahead.skip_space();
    if ahead.eat("*") || ahead.eat_word("of") {
        ahead.skip_space();
        if !ahead.eat_word("baseline") {
            return ahead
                .fail("The word baseline is expected here: a bound is a number, or a multiple of the baseline.");
        }
        if unit.as_deref().is_some_and(|unit| unit != "%") {
            return Err(RuleError::new(span, "A factor of the baseline has no unit, or is in percent."));
        }
        let factor = factor(&digits, unit.is_some(), span)?;
        *cursor = ahead;
        return Ok(Term::Baseline { factor: sign * factor });
    }
    let digits = if negative { format!("-{digits}") } else { digits };
    Ok(Term::Amount { digits, unit, span })
}

fn factor(digits: &str, percent: bool, span: Range<usize>) -> Result<f64, RuleError> {
    let value = super::unit::shift(digits, if percent { -2 } else { 0 });
    value.ok_or_else(|| RuleError::new(span, "This number is too large."))
}

/// Reads the digits of a number and removes its separators: `150_000`, `1.5e5`, `.5`.
pub(super) fn read_number(cursor: &mut Cursor<'_>) -> Result<String, RuleError> {
    let start = cursor.clone();
    let digits = |cursor: &mut Cursor<'_>| cursor.take_while(|c| c.is_ascii_digit() || c == '_').replace('_', "");
    let mut text = digits(cursor);
    if cursor.eat(".") {
        let fraction = digits(cursor);
        text = format!("{text}.{fraction}");
    }
    if !text.contains(|c: char| c.is_ascii_digit()) {
        return start.fail("A number or `baseline` is expected here, such as 150 ms or 0.97 * baseline.");
    }
    let mut ahead = cursor.clone();
    if ahead.eat("e") || ahead.eat("E") {
        let sign = if ahead.eat("-") { "-" } else { "" };
        if sign.is_empty() {
            ahead.eat("+");
        }
        let exponent = digits(&mut ahead);
        if !exponent.is_empty() {
            text = format!("{text}e{sign}{exponent}");
            *cursor = ahead;
        }
    }
    Ok(text)
}

/// Reads the word after a number, unless it is the next keyword of the rule.
pub(super) fn read_unit(cursor: &mut Cursor<'_>) -> Option<String> {
    let mut ahead = cursor.clone();
    ahead.skip_space();
    if ["of", "if", "baseline"].iter().any(|word| ahead.clone().eat_word(word)) {
        return None;
    }
    let text = if ahead.eat("%") { "%" } else { ahead.take_while(|c| c.is_alphabetic() || c == '/') };
    if text.is_empty() {
        return None;
    }
    *cursor = ahead;
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(digits: &str, unit: Option<&str>) -> (String, Option<String>) {
        (digits.to_owned(), unit.map(str::to_owned))
    }

    /// Returns the amounts and baseline factors of a rule's bound.
    fn bound(text: &str) -> (Vec<(String, Option<String>)>, Vec<f64>) {
        let (mut amounts, mut factors) = (Vec::new(), Vec::new());
        for term in Rule::parse(&format!("a.b <= {text}")).unwrap().bound.terms {
            match term {
                Term::Amount { digits, unit, .. } => amounts.push((digits, unit)),
                Term::Baseline { factor } => factors.push(factor),
            }
        }
        (amounts, factors)
    }

    #[test]
    fn every_form_of_a_bound_is_read() {
        assert_eq!(bound("150000"), (vec![amount("150000", None)], vec![]));
        assert_eq!(bound("150_000"), (vec![amount("150000", None)], vec![]));
        assert_eq!(bound("1.5e5"), (vec![amount("1.5e5", None)], vec![]));
        assert_eq!(bound("-3"), (vec![amount("-3", None)], vec![]));
        assert_eq!(bound("150 ms"), (vec![amount("150", Some("ms"))], vec![]));
        assert_eq!(bound("150ms"), (vec![amount("150", Some("ms"))], vec![]));
        assert_eq!(bound("70%"), (vec![amount("70", Some("%"))], vec![]));
        assert_eq!(bound("3 GB/s"), (vec![amount("3", Some("GB/s"))], vec![]));
        assert_eq!(bound("5 eggs"), (vec![amount("5", Some("eggs"))], vec![]));
        assert_eq!(bound("0.97 * baseline"), (vec![], vec![0.97]));
        assert_eq!(bound("0.97*baseline"), (vec![], vec![0.97]));
        assert_eq!(bound("baseline*1.05"), (vec![], vec![1.05]));
        assert_eq!(bound("97 % of baseline"), (vec![], vec![0.97]));
        assert_eq!(bound("97% * baseline"), (vec![], vec![0.97]));
        assert_eq!(bound("baseline * 103 %"), (vec![], vec![1.03]));
        assert_eq!(bound("baseline + 5"), (vec![amount("5", None)], vec![1.0]));
        assert_eq!(bound("baseline - 2 ms"), (vec![amount("-2", Some("ms"))], vec![1.0]));
        assert_eq!(bound("2 ms + 1.1 * baseline"), (vec![amount("2", Some("ms"))], vec![1.1]));
        assert_eq!(bound("-baseline"), (vec![], vec![-1.0]));
    }

    #[test]
    fn subjects_relations_and_endings() {
        let rule = Rule::parse("count(findings[severity=warning]) <= 0").unwrap();
        assert_eq!(rule.subject.to_string(), "count(findings[severity=warning])");
        assert!(!rule.optional && rule.relation == Relation::AtMost);
        let absent = Rule::parse("findings[id=idle_gaps] absent if measured").unwrap();
        assert_eq!(absent.subject.to_string(), "count(findings[id=idle_gaps])");
        assert!(absent.optional && absent.relation == Relation::Equal);
        assert_eq!(Rule::parse("a.b≥3").unwrap().relation, Relation::AtLeast);
        assert!(Rule::parse("  a.b!=3if measured ").unwrap().optional);
        assert_eq!(Rule::parse("count.b == 3").unwrap().subject.to_string(), "count.b");
    }

    #[test]
    fn invalid_rules_are_refused_with_their_position() {
        for (text, wrong) in [
            ("", ""),
            ("a.b", ""),
            ("a.b < ", ""),
            ("a.b = 3", "="),
            ("a.b is 3", "is"),
            ("a.b < lots", "lots"),
            ("a.b < 3 ms 4", "4"),
            ("a.b < 3 * 4", "4"),
            ("a.b < 3 ms * baseline", "3 ms"),
            ("a.b < 3 ++ 4", "+"),
            ("a.b < 3 if", ""),
            ("a.b < 3 if you like", "you"),
            ("count(a.b < 3", "<"),
            ("a.b < ._", "."),
            ("a.b < 1e999 * baseline", "1e999"),
            ("a.b < baseline * x", "x"),
            ("< 3", "<"),
        ] {
            let error = Rule::parse(text).unwrap_err();
            assert_eq!(&text[error.span.clone()], wrong, "{text}: {error}");
        }
    }
}
