//! Reads the sections of a document that another program wrote. Wrong types, fractions and invalid values add notes,
//! and one note lists the fields that were not read.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::{Map, Value};

use base::{Warning, WarningCode};

/// Maximum number of fields to name in one note.
const NAMED_FIELDS: usize = 8;

/// Problems found while reading a document.
#[derive(Debug)]
pub(super) struct Notes {
    file: String,
    warnings: Vec<Warning>,
    seen: RefCell<SeenKeys>,
}

#[derive(Debug, Default)]
struct SeenKeys {
    /// Paths of the values that were read.
    read: BTreeSet<String>,
    rounded: BTreeSet<String>,
    impossible: BTreeSet<String>,
    clamped: BTreeSet<String>,
    zeros: BTreeSet<String>,
}

impl Notes {
    pub(super) fn new(file: &str) -> Notes {
        Notes { file: file.to_owned(), warnings: Vec::new(), seen: RefCell::default() }
    }

    /// Adds a warning about the file.
    pub(super) fn push(&mut self, warning: Warning) {
        self.warnings.push(warning.with_file(&self.file));
    }

    /// Adds one note for each kind of problem that [`Section`] found, and one note for the fields of `document` that
    /// were not read.
    pub(super) fn summarise(&mut self, document: &Value) {
        let seen = self.seen.take();
        let mut unread = BTreeSet::new();
        collect_unread(document, "", &seen.read, &mut unread);
        let notes = [
            (&seen.rounded, WarningCode::ProfileRounded, "must be whole numbers but had fractions. They were rounded"),
            (
                &seen.impossible,
                WarningCode::ProfileImpossible,
                "have invalid values (negative, too large, or of another type). They were skipped",
            ),
            (
                &seen.clamped,
                WarningCode::ProfilePercentClamped,
                "are percentages outside 0 to 100 %. They were set to the nearest limit",
            ),
            (
                &seen.zeros,
                WarningCode::ProfileZeroIsUnknown,
                "are 0, which the 1.0.0 tools write for unknown. They were read as absent",
            ),
            (&unread, WarningCode::ProfileFieldsIgnored, "are not part of the schema and were not read"),
        ];
        for (fields, code, what) in notes {
            if !fields.is_empty() {
                let warning = Warning::new(code, format!("{} {what}.", list(fields)));
                self.push(warning.with_count(fields.len() as u64));
            }
        }
    }

    pub(super) fn into_warnings(self) -> Vec<Warning> {
        self.warnings
    }
}

/// An object in the document. A missing object is a section without fields.
pub(super) struct Section<'a> {
    fields: Option<&'a Map<String, Value>>,
    path: String,
    notes: &'a Notes,
}

impl<'a> Section<'a> {
    /// Returns the whole document as a section.
    pub(super) fn root(document: &'a Value, notes: &'a Notes) -> Section<'a> {
        Section { fields: document.as_object(), path: String::new(), notes }
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn value(&self, key: &str) -> Option<&'a Value> {
        self.notes.seen.borrow_mut().read.insert(self.path_of(key));
        self.fields?.get(key).filter(|value| !value.is_null())
    }

    /// Returns true if the document contains the section.
    pub(super) fn exists(&self) -> bool {
        self.fields.is_some()
    }

    /// Returns the object under `key`.
    pub(super) fn section(&self, key: &str) -> Section<'a> {
        let value = self.value(key);
        let fields = value.and_then(Value::as_object);
        if value.is_some() && fields.is_none() {
            self.impossible(key);
        }
        Section { fields, path: self.path_of(key), notes: self.notes }
    }

    /// Returns the objects in the list under `key`.
    pub(super) fn list(&self, key: &str) -> Vec<Section<'a>> {
        let value = self.value(key);
        let entries = value.and_then(Value::as_array).map(Vec::as_slice);
        if value.is_some() && entries.is_none() {
            self.impossible(key);
        }
        let entries = entries.unwrap_or_default();
        let path = format!("{}[]", self.path_of(key));
        entries
            .iter()
            .map(|entry| Section { fields: entry.as_object(), path: path.clone(), notes: self.notes })
            .collect()
    }

    /// Returns the objects in this section, with their keys.
    pub(super) fn entries(&self) -> Vec<(String, Section<'a>)> {
        let fields = self.fields.into_iter().flatten().filter(|(key, _)| !key.starts_with('_'));
        fields.map(|(key, _)| (key.clone(), self.section(key))).collect()
    }

    /// Returns the value of `key` if it is a finite number.
    pub(super) fn number(&self, key: &str) -> Option<f64> {
        let value = self.value(key)?;
        let number = value.as_f64().filter(|number| number.is_finite());
        if number.is_none() {
            self.impossible(key);
        }
        number
    }

    /// Returns the value of `key` if it is a number of at least 0.
    pub(super) fn positive(&self, key: &str) -> Option<f64> {
        let number = self.number(key)?;
        if number < 0.0 {
            self.impossible(key);
            return None;
        }
        Some(number)
    }

    /// Returns the number under `key`. A value of 0 is treated as absent, because the 1.0.0 tools write 0 for unknown
    /// numbers.
    pub(super) fn known(&self, key: &str) -> Option<f64> {
        let number = self.positive(key)?;
        if number == 0.0 {
            self.notes.seen.borrow_mut().zeros.insert(self.path_of(key));
            return None;
        }
        Some(number)
    }

    /// Returns the percentage under `key`, clamped to the range from 0 to 100.
    pub(super) fn percent(&self, key: &str) -> Option<f64> {
        let number = self.number(key)?;
        if !(0.0..=100.0).contains(&number) {
            self.notes.seen.borrow_mut().clamped.insert(self.path_of(key));
        }
        Some(number.clamp(0.0, 100.0))
    }

    /// Returns the value of `key` if it is a whole number of at least 0.
    pub(super) fn count(&self, key: &str) -> Option<u64> {
        let value = self.value(key)?;
        if let Some(count) = value.as_u64() {
            return Some(count);
        }
        // Below 2^63, the conversion is exact except for the fraction.
        let Some(number) = value.as_f64().filter(|number| (0.0..9.2e18).contains(number)) else {
            self.impossible(key);
            return None;
        };
        if number.fract() != 0.0 {
            self.notes.seen.borrow_mut().rounded.insert(self.path_of(key));
        }
        Some(number.round() as u64)
    }

    /// Returns the whole number under `key`. A value of 0 is treated as absent, because the 1.0.0 tools write 0 for
    /// unknown numbers.
    pub(super) fn known_count(&self, key: &str) -> Option<u64> {
        let count = self.count(key)?;
        if count == 0 {
            self.notes.seen.borrow_mut().zeros.insert(self.path_of(key));
            return None;
        }
        Some(count)
    }

    /// Returns the value of `key` if it is a text that is not empty.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        let value = self.value(key)?;
        if !value.is_string() {
            self.impossible(key);
        }
        value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// Returns a boolean.
    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        self.value(key)?.as_bool()
    }

    fn impossible(&self, key: &str) {
        self.notes.seen.borrow_mut().impossible.insert(self.path_of(key));
    }
}

/// Collects the paths of those values in `value` that `read` does not contain. Values whose keys start with `_` are
/// comments.
fn collect_unread(value: &Value, path: &str, read: &BTreeSet<String>, unread: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields.iter().filter(|(key, value)| !key.starts_with('_') && !value.is_null()) {
                let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                if read.contains(&inner) {
                    collect_unread(value, &inner, read, unread);
                } else {
                    unread.insert(inner);
                }
            }
        }
        Value::Array(entries) => {
            let inner = format!("{path}[]");
            entries.iter().for_each(|entry| collect_unread(entry, &inner, read, unread));
        }
        _ => {}
    }
}

/// Lists the first few names and the number of the other names.
fn list(fields: &BTreeSet<String>) -> String {
    let names: Vec<String> = fields.iter().take(NAMED_FIELDS).map(|name| name.chars().take(80).collect()).collect();
    let more = fields.len().saturating_sub(NAMED_FIELDS);
    match more {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
