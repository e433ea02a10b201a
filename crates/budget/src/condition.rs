//! The conditions of `crossprof compare --fail-on`.
//!
//! ```text
//! condition = [ "capture" ] "slower" ( ">" | ">=" ) number "%"       slower > 3 %
//!           | "new" [ "warning" | "critical" ] ( "finding" | "findings" )
//!           | "unstable"
//! ```
//!
//! A condition describes a failure. A budget describes a requirement, so the same limit has the opposite relation
//! there: `slower <= 3 %`.

use std::ops::Range;

use super::limit::one_line;
use super::rule;
use super::slowdown::SlowdownOf;
use base::suggest;
use compare::{Comparison, StepTimeVerdict, Subject};
use expression::combinator::{alt, opt};
use expression::{
    ErrMode, Error, Input, Parsed, Parser, Relation, Unit, ahead, amount, blank, expected, failure, is_word, keyword,
    parse,
};
use report::{Finding, FindingSeverity, SourceFormat, UnifiedProfile};

/// A condition on each run of a comparison, relative to the baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The condition as written, for messages.
    pub text: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    Slower { of: SlowdownOf, relation: Relation, percent: f64 },
    NewFinding { least: FindingSeverity },
    Unstable,
}

/// Result of a condition for one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionReport {
    /// True if the condition is met. Also true if the condition cannot be checked, because a check that cannot run must
    /// not pass.
    pub is_met: bool,
    /// Result as a sentence.
    pub message: String,
}

/// Examples of conditions, for messages.
const EXAMPLES: &str =
    "The conditions are slower > 3 %, capture slower > 5 %, new finding, new critical finding and unstable.";

impl Condition {
    /// Reads a condition.
    ///
    /// # Errors
    ///
    /// Fails if the text is not a condition. The error contains the position.
    pub fn parse(text: &str) -> Result<Condition, Error> {
        let test = parse(text, test, "The condition ends here, but more text follows.")?;
        Ok(Condition { text: one_line(text), test })
    }

    /// Judges every run except the baseline, in order.
    pub fn judge(&self, comparison: &Comparison, subjects: &[Subject]) -> Vec<ConditionReport> {
        let baseline = subjects.get(comparison.baseline as usize);
        let others = comparison.step_time.iter().filter_map(|it| Some((it, subjects.get(it.run as usize)?)));
        let judged = others.filter_map(|(change, subject)| {
            let (is_met, said) = match &self.test {
                Test::Slower { of, relation, percent } => match of.of(comparison, change) {
                    Ok(found) => (relation.holds(found.percent, *percent), found.sentence),
                    Err(reason) => return Some(unknown(reason)),
                },
                Test::Unstable => {
                    let sentence = SlowdownOf::TypicalStep.of(comparison, change);
                    match sentence {
                        Ok(found) => (change.verdict == StepTimeVerdict::Unstable, found.sentence),
                        Err(reason) => return Some(unknown(reason)),
                    }
                }
                Test::NewFinding { least } => {
                    let name = |run: u32| comparison.runs.get(run as usize).map_or("", |run| run.name.as_str());
                    new_findings([subject, baseline?], [name(change.run), name(comparison.baseline)], *least)
                }
            };
            Some(ConditionReport { is_met, message: format!("{said}.") })
        });
        judged.collect()
    }
}

fn unknown(reason: String) -> ConditionReport {
    ConditionReport { is_met: true, message: format!("it cannot be checked, since {reason}.") }
}

/// Reports the findings that the run has and the baseline lacks.
fn new_findings(
    [subject, baseline]: [&Subject; 2],
    [ours, theirs]: [&str; 2],
    least: FindingSeverity,
) -> (bool, String) {
    let found = compare::new_findings(subject, baseline, least);
    let titles =
        |of: &[&Finding]| of.iter().map(|it| it.title.trim_end_matches('.').to_owned()).collect::<Vec<_>>().join("; ");
    let could_check = |it: &&Finding| baseline.captures().iter().any(|profile| has_checked(profile, &it.id));
    let (new, unchecked): (Vec<&Finding>, Vec<&Finding>) = found.into_iter().partition(could_check);
    match (new.as_slice(), unchecked.as_slice()) {
        ([], []) => (false, format!("{ours} has no {} finding that {theirs} lacks", least.label())),
        ([], unchecked) => (true, format!("{ours} has findings that {theirs} could not check: {}", titles(unchecked))),
        (new, _) => (true, format!("{ours} has findings that {theirs} lacks: {}", titles(new))),
    }
}

/// Returns true if this rule was checked. False if the rule lacked input, or if another tool wrote the profile.
fn has_checked(profile: &UnifiedProfile, id: &str) -> bool {
    let is_unchecked = profile.findings.iter().any(|it| it.id == id && it.severity == FindingSeverity::NotChecked);
    let is_imported =
        profile.metadata.source_format() == Some(SourceFormat::UnifiedProfile) && profile.findings.is_empty();
    !is_unchecked && !is_imported
}

fn test(input: &mut Input<'_>) -> Parsed<Test> {
    let unstable = keyword("unstable").value(Test::Unstable);
    alt((slower, unstable, new_finding, no_condition)).parse_next(input)
}

fn slower(input: &mut Input<'_>) -> Parsed<Test> {
    let of = SlowdownOf::parser(input)?;
    blank(input)?;
    let sign = ahead(input);
    let relation = rule::relation(input)?;
    if !matches!(relation, Relation::Above | Relation::AtLeast) {
        return Err(failure(sign, format!("A condition describes a failure: write {of} > 3 %.")));
    }
    blank(input)?;
    Ok(Test::Slower { of, relation, percent: percent(input)? })
}

fn new_finding(input: &mut Input<'_>) -> Parsed<Test> {
    let severity =
        alt((keyword("warning").value(FindingSeverity::Warning), keyword("critical").value(FindingSeverity::Critical)));
    let (_, _, severity, _) = (keyword("new"), blank, opt(severity), blank).parse_next(input)?;
    if opt(alt((keyword("findings"), keyword("finding")))).parse_next(input)?.is_some() {
        return Ok(Test::NewFinding { least: severity.unwrap_or(FindingSeverity::Warning) });
    }
    let (word, span) = word(input);
    let error = Error::new(span, "The word finding is expected here, as in new finding or new critical finding.");
    Err(ErrMode::Cut(error.suggest(suggest::words(word, &["finding", "warning", "critical"]))))
}

/// Reads a percentage, with or without `%`.
fn percent(input: &mut Input<'_>) -> Parsed<f64> {
    const EXPECTED: &str = "A percentage is expected here, such as 3 %.";
    let amount = expected(amount(&[]), EXPECTED).parse_next(input)?;
    amount.in_unit(Unit::named("%")).map_err(|_| failure(amount.span, EXPECTED))
}

/// Explains how to correct words that are not a condition.
fn no_condition(input: &mut Input<'_>) -> Parsed<Test> {
    let (word, span) = word(input);
    let error = if word.is_empty() {
        Error::new(span, "A condition is expected here.")
    } else {
        let similar = suggest::words(word, &["slower", "capture slower", "new", "unstable"]);
        Error::new(span, format!("There is no condition {word}.")).suggest(similar)
    };
    Err(ErrMode::Cut(error.or_help(EXAMPLES)))
}

/// Returns the next word, which may be empty, and its position, for messages.
fn word<'t>(input: &Input<'t>) -> (&'t str, Range<usize>) {
    let text: &'t str = input.as_ref();
    let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
    (text.get(..end).unwrap_or_default(), ahead(input))
}
