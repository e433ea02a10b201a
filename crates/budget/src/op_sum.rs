//! Sums over the ops of a step: `scope[*attn*].self_time_us`, `family[matmul].occurrences`.
//!
//! ```text
//! sum      = ( "scope" | "family" ) "[" pattern { "|" pattern } "]" "." quantity
//! quantity = "self_time_us" | "exposed_time_us" | "occurrences"
//! ```
//!
//! A scope is an op's full framework path (`step_ops.ops[].framework_op`). A scope sum covers the ops that the profile
//! lists, which are the top 300 by time. A family is a class of ops (`step_ops.families[]`), and a family sum covers
//! all ops. Scope sums and family sums are means per step per device.

use serde_json::Value;

use super::glob;
use super::lookup::{self, listed};
use super::path::{self, Path, PathPart};
use super::unit;
use base::{sort, suggest};
use expression::combinator::alt;
use expression::tokens::take_while;
use expression::{ErrMode, Error, Input, Parsed, Parser, Unit, ahead, expected, is_word, keyword};

/// Criterion that selects the ops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpGroup {
    /// By framework path.
    Scope,
    /// Ops are selected by their class.
    Family,
}

/// The summed quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpQuantity {
    /// Self time.
    SelfTime,
    /// Exposed time of communication: the time during which the device computes nothing.
    ExposedTime,
    /// Number of times that the ops run.
    Occurrences,
}

/// A sum over the matching ops of a step, as a mean per step per device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpSum {
    /// Criterion that selects the ops.
    pub group: OpGroup,
    /// Patterns of names. An op is included if it matches one of them.
    pub patterns: Vec<String>,
    /// The summed quantity.
    pub quantity: OpQuantity,
}

/// A sum, evaluated for one profile.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Summed {
    pub value: f64,
    /// Matching ops or families, in the profile's order.
    pub names: Vec<String>,
    /// Ops that the profile does not list and that may belong to the sum.
    pub unlisted: Option<Unlisted>,
}

/// Ops that a profile does not list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unlisted {
    pub ops: f64,
    /// Self time of these ops per step per device, in microseconds.
    pub self_time_us: f64,
}

impl OpGroup {
    const ALL: [OpGroup; 2] = [OpGroup::Scope, OpGroup::Family];

    /// Returns the keyword in the language of rules.
    fn word(self) -> &'static str {
        match self {
            OpGroup::Scope => "scope",
            OpGroup::Family => "family",
        }
    }

    /// Returns an example of such a sum, for messages.
    fn example(self) -> &'static str {
        match self {
            OpGroup::Scope => "scope[*attn*].self_time_us",
            OpGroup::Family => "family[matmul].self_time_us",
        }
    }

    fn quantities(self) -> &'static [OpQuantity] {
        match self {
            OpGroup::Scope => &[OpQuantity::SelfTime, OpQuantity::ExposedTime, OpQuantity::Occurrences],
            OpGroup::Family => &[OpQuantity::SelfTime, OpQuantity::Occurrences],
        }
    }
}

impl OpQuantity {
    /// Returns the name of the op's field.
    fn field(self) -> &'static str {
        match self {
            OpQuantity::SelfTime => "self_time_us",
            OpQuantity::ExposedTime => "exposed_time_us",
            OpQuantity::Occurrences => "occurrences",
        }
    }
}

/// Writes the sum in the syntax of rules.
impl std::fmt::Display for OpSum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let patterns: Vec<String> = self.patterns.iter().map(|it| path::quoted_value(it)).collect();
        write!(f, "{}[{}].{}", self.group.word(), patterns.join("|"), self.quantity.field())
    }
}

impl OpSum {
    /// Reads a sum. Backtracks if the text does not begin with a sum.
    pub(super) fn parser(input: &mut Input<'_>) -> Parsed<OpSum> {
        let group = |group: OpGroup| keyword(group.word()).value(group);
        let group = alt((group(OpGroup::Scope), group(OpGroup::Family))).parse_next(input)?;
        let open = format!("Which ops? Write a pattern in brackets, as in {}.", group.example());
        expected('[', open).parse_next(input)?;
        let patterns = path::values(input)?;
        expected(']', "A ] is expected here to close the bracket.").parse_next(input)?;
        let fields: Vec<&str> = group.quantities().iter().map(|it| it.field()).collect();
        let what = format!("A sum of ops has {}", fields.join(", "));
        let dot = format!("{what}: write a dot and one of them, as in {}.", group.example());
        expected('.', dot).parse_next(input)?;
        let (field, span) = take_while(0.., is_word).with_span().parse_next(input)?;
        match group.quantities().iter().find(|it| it.field() == field) {
            Some(quantity) => Ok(OpSum { group, patterns, quantity: *quantity }),
            None => {
                let error = Error::new(span, format!("{what}."));
                Err(ErrMode::Cut(error.suggest(suggest::words(field, &fields))))
            }
        }
    }

    /// Suggests a correction for a text that is not a path but resembles the start of a sum.
    pub(super) fn meant(input: Input<'_>) -> Option<ErrMode<Error>> {
        let span = ahead(&input);
        let (word, rest) = input.split_at_checked(span.len())?;
        let near = suggest::words(word, &OpGroup::ALL.map(OpGroup::word));
        let near = near.first().filter(|_| rest.starts_with('['))?;
        let group = OpGroup::ALL.into_iter().find(|group| group.word() == near)?;
        let meant = vec![format!("{near}[...], as in {}", group.example())];
        Some(ErrMode::Cut(Error::new(span, format!("There is no {word}[...].")).suggest(meant)))
    }

    /// Returns the unit of the summed numbers.
    pub fn unit(&self) -> Option<Unit> {
        unit::of_field(self.quantity.field())
    }

    /// Evaluates the sum for a profile's document.
    ///
    /// # Errors
    ///
    /// Fails with the reason if the profile has no ops of a step, or if no op matches. The error suggests similar names.
    pub(super) fn of(&self, profile: &Value) -> Result<Summed, String> {
        let (list, name) = match self.group {
            OpGroup::Scope => ("ops", "framework_op"),
            OpGroup::Family => ("families", "family"),
        };
        let path = Path::of(vec![PathPart::Key("step_ops".to_owned()), PathPart::Key(list.to_owned())]);
        let reached = lookup::find(profile, &path);
        let entries = match (reached.hits.first().and_then(|hit| hit.value.as_array()), reached.lacks.first()) {
            (Some(entries), _) => entries,
            (None, Some(lack)) => return Err(lack.reason.clone()),
            (None, None) => return Err(format!("This run has no {path}.")),
        };
        let text = |entry: &'_ Value, key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let number = |entry: &Value, key: &str| entry.get(key).and_then(Value::as_f64);
        let is_chosen = |entry: &&Value| {
            entry
                .get(name)
                .and_then(Value::as_str)
                .is_some_and(|it| self.patterns.iter().any(|like| glob::fits(like, it)))
        };
        let chosen: Vec<&Value> = entries.iter().filter(is_chosen).collect();
        if chosen.is_empty() {
            return Err(self.nothing_fits(&entries.iter().map(|entry| text(entry, name)).collect::<Vec<_>>()));
        }
        // Only communication has exposed time.
        let numbers: Vec<f64> = chosen.iter().filter_map(|entry| number(entry, self.quantity.field())).collect();
        if numbers.is_empty() {
            return Err(format!("No matching op has {}: none of them is communication.", self.quantity.field()));
        }
        let unlisted = if self.group == OpGroup::Scope { unlisted(profile, entries) } else { None };
        let title = if self.group == OpGroup::Scope { "name" } else { name };
        let names = chosen.iter().map(|entry| text(entry, title)).collect();
        Ok(Summed { value: numbers.iter().sum(), names, unlisted })
    }

    /// Writes the error that no name matches, with similar names.
    fn nothing_fits(&self, names: &[String]) -> String {
        let known: Vec<&str> =
            sort::set(names.iter().filter(|it| !it.is_empty()).map(String::as_str)).into_iter().collect();
        let word = self.group.word();
        if known.is_empty() {
            return format!("No op of this run has a {word}.");
        }
        // In a scope, the parts between slashes are names. In a family, the whole text is one name.
        let parts: Vec<&str> = match self.group {
            OpGroup::Scope => sort::set(known.iter().flat_map(|it| it.split('/'))).into_iter().collect(),
            OpGroup::Family => known.clone(),
        };
        let holds = |text: &str, literal: &str| text.to_ascii_lowercase().contains(&literal.to_ascii_lowercase());
        let of_pattern = self.patterns.join("|");
        let message = format!("No op of this run has a {word} that matches {of_pattern}.");
        let mut near = Vec::new();
        for literal in self.patterns.iter().flat_map(|it| glob::literals(it)) {
            let holding: Vec<&str> = parts.iter().copied().filter(|part| holds(part, literal)).collect();
            match holding.first() {
                // The text exists, but the pattern lacks stars or differs in case.
                Some(part) => near.extend(spelled_there(part, literal).map(|it| format!("{word}[*{it}*]"))),
                None => near.extend(suggest::words(literal, &parts).into_iter().map(|it| format!("{word}[*{it}*]"))),
            }
        }
        let mut distinct: Vec<String> = Vec::new();
        for it in near {
            if !distinct.contains(&it) {
                distinct.push(it);
            }
        }
        if distinct.is_empty() {
            let parts = parts.iter().filter(|part| !part.is_empty()).map(|&part| part.to_owned()).collect();
            return format!("{message} The names of its {word}s include {}.", listed(parts));
        }
        distinct.truncate(3);
        format!("{message}{}", suggest::question(&distinct))
    }
}

/// Returns `literal` as `part` spells it, ignoring case.
fn spelled_there<'a>(part: &'a str, literal: &str) -> Option<&'a str> {
    let start = part.to_ascii_lowercase().find(&literal.to_ascii_lowercase())?;
    part.get(start..start.saturating_add(literal.len()))
}

/// Returns the number and time of the ops that the profile does not list.
fn unlisted(profile: &Value, entries: &[Value]) -> Option<Unlisted> {
    let number = |key: &str| profile.pointer("/step_ops").and_then(|it| it.get(key)).and_then(Value::as_f64);
    let listed: f64 = entries.iter().filter_map(|entry| entry.get("self_time_us").and_then(Value::as_f64)).sum();
    let ops = number("num_ops")? - entries.len() as f64;
    (ops > 0.0).then_some(Unlisted { ops, self_time_us: (number("op_time_us")? - listed).max(0.0) })
}
