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
//! fields and finds their units.

use std::ops::Range;

use super::op_sum::OpSum;
use super::path::{self, Path};
use super::slowdown::SlowdownOf;
use expression::combinator::{alt, opt, preceded};
use expression::{
    Amount, Error, Input, Parsed, Parser, Relation, ahead, amount, at, blank, expected, failure, keyword, parse, shift,
};

/// The value that a rule constrains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The number at a path, or each number if the path leads to several.
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
    /// A number with its unit.
    Amount(Amount),
    /// The baseline's number times a factor.
    Baseline {
        /// The factor, including the sign of the summand.
        factor: f64,
    },
}

/// The bound of a value, as a sum of terms.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Terms of the bound (at least one).
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
    /// True if the rule contains `if measured`, so that the rule does not fail if the number is absent.
    pub optional: bool,
}

impl Rule {
    /// Reads a rule.
    ///
    /// # Errors
    ///
    /// Fails if the text is not a rule. The error contains the position.
    pub fn parse(text: &str) -> Result<Rule, Error> {
        const MORE: &str = "The rule ends here, but more text follows. A rule is a path, a comparison and a bound, such \
                            as step_timing.avg_step_time_us < 150 ms.";
        parse(text, rule, MORE)
    }
}

impl Subject {
    /// Reads the subject of a rule and requires the text to end after it.
    ///
    /// # Errors
    ///
    /// Fails if the text is not a subject. The error contains the position.
    pub fn parse(text: &str) -> Result<Subject, Error> {
        parse(text, subject, "Only a path is expected here.")
    }
}

impl Bound {
    /// Reads a bound and requires the text to end after it.
    ///
    /// # Errors
    ///
    /// Fails if the text is not a bound. The error contains the position.
    pub fn parse(text: &str) -> Result<Bound, Error> {
        parse(text, bound, "The bound ends here, but more text follows.")
    }

    /// Returns the bound 0.
    pub fn zero() -> Bound {
        Bound { terms: vec![Term::Amount(Amount { digits: "0".to_owned(), unit: None, span: 0..0 })] }
    }
}

fn rule(input: &mut Input<'_>) -> Parsed<Rule> {
    let subject = subject(input)?;
    blank(input)?;
    let word = ahead(input);
    let (subject, relation, bound) = if opt(keyword("absent")).parse_next(input)?.is_some() {
        (entries(subject, word)?, Relation::Equal, Bound::zero())
    } else {
        let relation = relation(input)?;
        blank(input)?;
        (subject, relation, bound(input)?)
    };
    let measured = expected(keyword("measured"), "Only `if measured` can follow a rule.");
    let optional = opt((blank, keyword("if"), blank, measured)).parse_next(input)?.is_some();
    Ok(Rule { subject, relation, bound, optional })
}

/// Returns the subject of a rule that ends in `absent`: a number of entries. `span` is the position of the word
/// `absent`.
fn entries(subject: Subject, span: Range<usize>) -> Parsed<Subject> {
    match subject {
        Subject::Number(path) | Subject::Count(path) => Ok(Subject::Count(path)),
        Subject::New(path) => Ok(Subject::New(path)),
        Subject::Ops(sum) => Err(failure(span, format!("Only entries can be absent; write {sum} == 0 if measured."))),
        Subject::Slower(of) => Err(failure(span, format!("Only entries can be absent; write {of} <= 3 %."))),
    }
}

fn subject(input: &mut Input<'_>) -> Parsed<Subject> {
    let new_entries = preceded(new, path::path).map(Subject::New);
    let sum = OpSum::parser.map(Subject::Ops);
    alt((counted, sum, new_entries, SlowdownOf::parser.map(Subject::Slower), number)).parse_next(input)
}

/// Reads `count(...)`. A parenthesis follows `count`, but a dot follows a section of that name.
fn counted(input: &mut Input<'_>) -> Parsed<Subject> {
    ("count", blank, '(', blank).void().parse_next(input)?;
    let start = at(input);
    if let Some(sum) = opt(OpSum::parser).parse_next(input)? {
        let message = format!("A sum of ops is a number already: write {sum} without count().");
        return Err(failure(start..at(input), message));
    }
    let is_new = opt(new).parse_next(input)?.is_some();
    let path = path::path(input)?;
    (blank, expected(')', "A ) is expected here to close the parenthesis after count.")).void().parse_next(input)?;
    Ok(if is_new { Subject::New(path) } else { Subject::Count(path) })
}

/// Reads a path. If the text is not a path but resembles a sum over ops, the error explains sums.
fn number(input: &mut Input<'_>) -> Parsed<Subject> {
    let start = *input;
    path::path(input).map(Subject::Number).map_err(|error| OpSum::meant(start).unwrap_or(error))
}

/// Reads the word `new` and the spaces after it. A dot or a bracket shows that `new` is a field instead.
fn new(input: &mut Input<'_>) -> Parsed<()> {
    (keyword("new"), expression::tokens::take_while(1.., char::is_whitespace)).void().parse_next(input)
}

/// Reads a comparison sign.
pub(super) fn relation(input: &mut Input<'_>) -> Parsed<Relation> {
    let message = if input.starts_with('=') && !input.starts_with("==") {
        "Equality is written ==."
    } else {
        "A comparison is expected here: <, <=, >, >=, ==, != or `absent`."
    };
    expected(expression::relation, message).parse_next(input)
}

fn bound(input: &mut Input<'_>) -> Parsed<Bound> {
    let mut is_negative = opt(sign).parse_next(input)?.unwrap_or(false);
    let mut terms = Vec::new();
    loop {
        terms.push(term(is_negative, input)?);
        match opt(preceded(blank, sign)).parse_next(input)? {
            Some(is_minus) => is_negative = is_minus,
            None => return Ok(Bound { terms }),
        }
    }
}

/// Reads a sign and the spaces after it. Returns true for a minus.
fn sign(input: &mut Input<'_>) -> Parsed<bool> {
    let is_minus = alt(('-'.value(true), '+'.value(false))).parse_next(input)?;
    blank(input)?;
    Ok(is_minus)
}

fn term(is_negative: bool, input: &mut Input<'_>) -> Parsed<Term> {
    let sign = if is_negative { -1.0 } else { 1.0 };
    if opt(keyword("baseline")).parse_next(input)?.is_some() {
        if opt((blank, '*', blank)).parse_next(input)?.is_none() {
            return Ok(Term::Baseline { factor: sign });
        }
        let amount = measured(input)?;
        return Ok(Term::Baseline { factor: sign * factor(&amount)? });
    }
    let amount = measured(input)?;
    if opt((blank, alt(("*", keyword("of"))), blank)).parse_next(input)?.is_some() {
        const EXPECTED: &str =
            "The word baseline is expected here: a bound is a number, or a multiple of the baseline.";
        expected(keyword("baseline"), EXPECTED).parse_next(input)?;
        if amount.unit.as_deref().is_some_and(|unit| unit != "%") {
            return Err(failure(amount.span, "A factor of the baseline has no unit, or is in percent."));
        }
        return Ok(Term::Baseline { factor: sign * factor(&amount)? });
    }
    let digits = if is_negative { format!("-{}", amount.digits) } else { amount.digits };
    Ok(Term::Amount(Amount { digits, ..amount }))
}

/// Reads a number with its unit. The next keyword of the rule is not read as a unit.
pub(super) fn measured(input: &mut Input<'_>) -> Parsed<Amount> {
    const EXPECTED: &str = "A number or `baseline` is expected here, such as 150 ms or 0.97 * baseline.";
    expected(amount(&["of", "if", "baseline"]), EXPECTED).parse_next(input)
}

fn factor(amount: &Amount) -> Parsed<f64> {
    let places = if amount.unit.as_deref() == Some("%") { -2 } else { 0 };
    shift(&amount.digits, places).ok_or_else(|| failure(amount.span.clone(), "This number is too large."))
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
                Term::Amount(amount) => amounts.push((amount.digits, amount.unit)),
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
