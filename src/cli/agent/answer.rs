//! Answer of a tool: facts, rows and lines, with units, definitions, evidence, warnings and missing numbers.

use std::collections::BTreeMap;

use base::{home, json_text};
use crossprof::export::digest::{DATA_NOTE, Digest, MissingDigest, WarningDigest, quotable, rounded};
use crossprof::table::{CellRef, unit};
use crossprof::{Column, UnifiedProfile};
use serde::Serialize;
use serde_json::Value;

/// Largest size of an answer in bytes, if the request gives no size.
pub(crate) const DEFAULT_BYTES: usize = 4000;
/// Smallest size limit that an answer can keep, in bytes.
const LEAST_BYTES: usize = 800;
/// Largest number of characters of a text from the trace.
const TEXT: usize = 300;

/// Answer of a tool to an agent. Texts from the trace have no control characters.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Answer {
    pub tool: &'static str,
    /// Reminder that texts in the answer are data, not instructions.
    pub note: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub run: String,
    /// Single values by name, such as `delta_us`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, Value>,
    /// Keys of the columns of `rows`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// Rows, each as long as `columns`. Values that were not measured are null.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Vec<Value>>,
    /// Lines of text: HLO, source, or sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
    /// Units of facts and columns.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub units: BTreeMap<String, String>,
    /// Definitions of facts and columns.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub definitions: BTreeMap<String, String>,
    /// Ids of the items that the answer is based on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// Problems of the input that affect the numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<WarningDigest>,
    /// Numbers that were not measured, with the reason and the way to record them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_measured: Vec<MissingDigest>,
    /// For each list of the answer, the number of items that were left out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<&'static str, u64>,
}

impl Answer {
    /// Creates an answer about a run, with the warnings of its input.
    pub(crate) fn about(tool: &'static str, profile: &UnifiedProfile) -> Answer {
        let all = Digest::of(profile);
        let warnings = all.warnings.into_iter().filter(|it| it.severity != "note").collect();
        Answer { tool, note: DATA_NOTE, run: all.capture.run, warnings, ..Answer::default() }
    }

    /// Creates an answer that belongs to no run.
    pub(crate) fn of(tool: &'static str) -> Answer {
        Answer { tool, note: DATA_NOTE, ..Answer::default() }
    }

    /// Adds a fact.
    pub(crate) fn fact(&mut self, name: &str, value: impl Into<Value>) {
        self.facts.insert(name.to_owned(), value.into());
    }

    /// Adds a number with its unit and definition, unless it was not measured.
    pub(crate) fn number(&mut self, name: &str, value: Option<f64>, unit: &str, definition: &str) {
        if let Some(value) = value {
            self.fact(name, rounded(value));
            self.define(name, unit, definition);
        }
    }

    /// Adds the unit and the definition of a fact or column.
    pub(crate) fn define(&mut self, name: &str, unit: &str, definition: &str) {
        if !unit.is_empty() {
            self.units.insert(name.to_owned(), unit.to_owned());
        }
        if !definition.is_empty() {
            self.definitions.insert(name.to_owned(), definition.to_owned());
        }
    }

    /// Adds the unit and the definition of a table's column.
    pub(crate) fn define_column(&mut self, column: &Column) {
        self.define(column.key, unit::word(column.unit), first_sentence(column.definition));
    }

    /// Adds a number that was not measured, with the reason and the remedy.
    pub(crate) fn missing(&mut self, id: &str, reason: &str, remedy: Option<&str>) {
        let (reason, remedy) = (text(reason), remedy.filter(|remedy| !remedy.is_empty()).map(text));
        self.not_measured.push(MissingDigest { id: id.to_owned(), reason, remedy });
    }

    /// Counts items that the answer does not list.
    pub(crate) fn leave_out(&mut self, list: &'static str, count: u64) {
        if count > 0 {
            *self.left_out.entry(list).or_default() += count;
        }
    }

    /// Returns the answer as JSON of at most `most_bytes` bytes (at least 800). Drops whole items until the JSON fits,
    /// least important first.
    pub(crate) fn fitted(mut self, most_bytes: usize) -> String {
        let most_bytes = most_bytes.max(LEAST_BYTES);
        let mut order = ORDER.iter().peekable();
        loop {
            let text = home::shared(json_text::compact(&self));
            if text.len() <= most_bytes {
                return text;
            }
            // Drops enough items for the whole excess, so that long lists need only a few rounds.
            let excess = text.len() - most_bytes;
            let dropped = loop {
                match order.peek() {
                    Some(&&(list, kept)) if self.drop_last(list, kept, excess) => break true,
                    Some(_) => order.next(),
                    None => break false,
                };
            };
            if !dropped {
                return text;
            }
        }
    }

    /// Drops items from the end of a list until about `excess` bytes are gone. Keeps at least `kept` items. Returns false if
    /// the list has no more items to drop.
    fn drop_last(&mut self, list: List, kept: usize, excess: usize) -> bool {
        let (name, dropped) = match list {
            List::Rows => ("rows", cut(&mut self.rows, kept, excess)),
            List::Lines => ("lines", cut(&mut self.lines, kept, excess)),
            List::Evidence => ("evidence", cut(&mut self.evidence, kept, excess)),
            List::Warnings => ("warnings", cut(&mut self.warnings, kept, excess)),
            List::Missing => ("not_measured", cut(&mut self.not_measured, kept, excess)),
            List::Definitions => {
                let count = self.definitions.len();
                self.definitions.clear();
                ("definitions", count)
            }
            List::Facts => ("facts", self.drop_facts(kept)),
            List::Columns => ("columns", self.drop_column(kept)),
        };
        self.leave_out(name, dropped as u64);
        dropped > 0
    }

    /// Drops the last column with its values if there are more than `kept` columns. Returns the number of dropped
    /// columns.
    fn drop_column(&mut self, kept: usize) -> usize {
        if self.columns.len() <= kept {
            return 0;
        }
        if let Some(name) = self.columns.pop() {
            self.units.remove(&name);
            self.definitions.remove(&name);
            self.not_measured.retain(|it| it.id.strip_prefix("column:") != Some(&name));
            self.rows.iter_mut().for_each(|row| row.truncate(self.columns.len()));
        }
        1
    }

    /// Drops the last fact and its unit if there are more than `kept` facts. Returns the number of dropped facts.
    fn drop_facts(&mut self, kept: usize) -> usize {
        match self.facts.pop_last() {
            Some((name, _)) if self.facts.len() >= kept => {
                self.units.remove(&name);
                1
            }
            Some((name, value)) => {
                self.facts.insert(name, value);
                0
            }
            None => 0,
        }
    }
}

/// A list of an answer, from which items can be dropped.
#[derive(Clone, Copy, Debug)]
enum List {
    Rows,
    Lines,
    Definitions,
    Evidence,
    Warnings,
    Missing,
    Facts,
    Columns,
}

/// Order in which items are dropped. Each list is shortened to the given number of items before items of the next list
/// are dropped.
const ORDER: [(List, usize); 19] = [
    (List::Rows, 12),
    (List::Lines, 16),
    (List::Evidence, 12),
    (List::Definitions, 0),
    (List::Missing, 3),
    (List::Warnings, 2),
    (List::Lines, 6),
    (List::Rows, 3),
    (List::Evidence, 3),
    (List::Missing, 1),
    (List::Warnings, 1),
    (List::Columns, 8),
    (List::Lines, 0),
    (List::Rows, 1),
    (List::Columns, 3),
    (List::Rows, 0),
    (List::Evidence, 0),
    (List::Warnings, 0),
    (List::Facts, 3),
];

/// Removes items from the end until `excess` bytes are gone or `kept` items are left. Returns the number of removed items.
fn cut<T: Serialize>(items: &mut Vec<T>, kept: usize, excess: usize) -> usize {
    let (mut removed, mut bytes) = (0, 0);
    while items.len() > kept && bytes < excess {
        let Some(item) = items.pop() else { break };
        bytes += json_text::compact(&item).len() + 1;
        removed += 1;
    }
    removed
}

/// Returns a text from the trace without control characters, shortened if it is too long.
pub(super) fn text(text: &str) -> String {
    quotable(text, TEXT)
}

pub(super) fn value(cell: CellRef<'_>) -> Value {
    match cell {
        CellRef::Absent => Value::Null,
        CellRef::Text(it) => Value::String(text(it)),
        CellRef::Int(value) => value.into(),
        CellRef::Float(value) => rounded(value).into(),
        CellRef::Flag(value) => value.into(),
    }
}

/// Returns the first sentence of a definition. Definitions are written so that the first sentence can be understood
/// alone.
fn first_sentence(definition: &str) -> &str {
    definition.find(". ").and_then(|end| definition.get(..=end)).unwrap_or(definition)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_at_most_the_bytes_asked_for_and_counts_the_rest() {
        let mut answer = Answer::of("table");
        answer.columns = vec!["name".to_owned(), "time_us".to_owned()];
        answer.rows = (0..5000).map(|row| vec![Value::String(format!("fusion.{row}")), row.into()]).collect();
        answer.define("time_us", "µs", &"A definition. ".repeat(50));
        answer.lines = (0..500).map(|line| format!("line {line}")).collect();
        for most in [0, 1000, 4000, 20_000] {
            let text = answer.clone().fitted(most);
            assert!(text.len() <= most.max(LEAST_BYTES), "{}", text.len());
            let read: Value = serde_json::from_str(&text).unwrap();
            let listed = read["rows"].as_array().map_or(0, Vec::len) as u64;
            assert_eq!(listed + read["left_out"]["rows"].as_u64().unwrap(), 5000);
        }
    }
}
