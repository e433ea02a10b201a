//! The conditions of `crossprof compare --fail-on`.
//!
//! ```text
//! condition = [ "capture" ] "slower" ( ">" | ">=" ) number "%"       slower > 3 %
//!           | "new" [ "warning" | "critical" ] ( "finding" | "findings" )
//!           | "unstable"
//! ```
//!
//! A budget states what must hold, so it uses the same words the other way round: `slower <= 3 %`.

use std::ops::Range;

use super::catalogue::with_suggestions;
use super::cursor::{Cursor, RuleError, is_word};
use super::limit::one_line;
use super::rule::{Relation, read_number, read_relation, read_unit};
use super::slowdown::SlowdownOf;
use super::{suggest, unit};
use compare::{Comparison, StepTimeVerdict, Subject};
use report::{Finding, FindingSeverity, UnifiedProfile};

/// A condition of each run against the baseline.
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
    /// True if the condition is met or cannot be checked: a check that cannot run must not pass.
    pub is_met: bool,
    /// Result as a sentence.
    pub message: String,
}

/// Severities that a condition can name, each with the lowest severity that counts.
const SEVERITIES: [(&str, FindingSeverity); 2] =
    [("warning", FindingSeverity::Warning), ("critical", FindingSeverity::Critical)];

/// Examples of conditions, for messages.
const EXAMPLES: &str =
    "The conditions are slower > 3 %, capture slower > 5 %, new finding, new critical finding and unstable.";

impl Condition {
    /// Reads a condition.
    ///
    /// # Errors
    ///
    /// Fails if the text is not a condition. The error contains the position.
    pub fn parse(text: &str) -> Result<Condition, RuleError> {
        let mut cursor = Cursor::new(text);
        cursor.skip_space();
        let test = read(&mut cursor)?;
        cursor.skip_space();
        if cursor.is_at_end() {
            Ok(Condition { text: one_line(text), test })
        } else {
            cursor.fail(format!("The condition ends before {}.", cursor.rest()))
        }
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

/// Returns true if this rule was checked. False if it lacked input, or if another tool wrote the profile.
fn has_checked(profile: &UnifiedProfile, id: &str) -> bool {
    let is_unchecked = profile.findings.iter().any(|it| it.id == id && it.severity == FindingSeverity::NotChecked);
    let is_imported =
        profile.metadata.source_format.as_deref() == Some("unified_profile") && profile.findings.is_empty();
    !is_unchecked && !is_imported
}

fn read(cursor: &mut Cursor<'_>) -> Result<Test, RuleError> {
    let start = cursor.clone();
    if let Some(of) = SlowdownOf::read(cursor)? {
        cursor.skip_space();
        let at = cursor.ahead();
        let relation = read_relation(cursor)?;
        if !matches!(relation, Relation::Above | Relation::AtLeast) {
            let message = format!("A condition states what fails: write {of} > 3 %.");
            return Err(RuleError::new(at, message));
        }
        cursor.skip_space();
        return Ok(Test::Slower { of, relation, percent: read_percent(cursor)? });
    }
    if cursor.eat_word("unstable") {
        return Ok(Test::Unstable);
    }
    if !cursor.eat_word("new") {
        return Err(no_condition(start));
    }
    cursor.skip_space();
    let named = SEVERITIES.iter().find(|(word, _)| cursor.eat_word(word));
    let least = named.map_or(FindingSeverity::Warning, |(_, severity)| *severity);
    cursor.skip_space();
    if cursor.eat_word("finding") || cursor.eat_word("findings") {
        return Ok(Test::NewFinding { least });
    }
    let (word, span) = word(cursor.clone());
    let similar = suggest::words(word, &["finding", "warning", "critical"]);
    let message = "The word finding is expected here, as in new finding or new critical finding.".to_owned();
    Err(RuleError::new(span, with_suggestions(message, &similar)))
}

/// Reads a percentage, with or without `%`.
fn read_percent(cursor: &mut Cursor<'_>) -> Result<f64, RuleError> {
    let start = cursor.at();
    let wrong = |cursor: &Cursor<'_>| RuleError::new(start..cursor.at(), "A percentage is expected here, such as 3 %.");
    let digits = read_number(cursor).map_err(|error| RuleError { span: error.span, ..wrong(cursor) })?;
    match read_unit(cursor).as_deref() {
        None | Some("%") => unit::shift(&digits, 0).filter(|it| it.is_finite()).ok_or_else(|| wrong(cursor)),
        Some(_) => Err(wrong(cursor)),
    }
}

/// Explains what to write in place of words that are not a condition.
fn no_condition(cursor: Cursor<'_>) -> RuleError {
    let (word, span) = word(cursor);
    if word.is_empty() {
        return RuleError::new(span, format!("A condition is expected here. {EXAMPLES}"));
    }
    let similar = suggest::words(word, &["slower", "capture slower", "new", "unstable"]);
    let message = with_suggestions(format!("There is no condition {word}."), &similar);
    RuleError::new(span, format!("{message} {EXAMPLES}"))
}

fn word(mut cursor: Cursor<'_>) -> (&str, Range<usize>) {
    let span = cursor.ahead();
    (cursor.take_while(is_word), span)
}
