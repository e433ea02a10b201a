//! Checks that docs/metrics.md defines every field of the report and every column of every table.
//!
//! The definitions come from the doc comments of the report's fields and from the declarations of columns. The
//! definitions are inserted between a start mark and `<!-- end -->`. The start mark is `<!-- fields: steps -->` (a
//! field of the profile, with all fields below it) or `<!-- columns: ops -->` (a table).

use std::collections::BTreeSet;

use crossprof::fields::{self, Definition};
use crossprof::report::UnifiedProfile;
use crossprof::table::unit;
use crossprof::tables::columns_of;
use crossprof::{Column, TableName};
use serde_json::Value;

/// Maximum length of a line in characters.
const WIDTH: usize = 150;

/// Adds the paths of all leaves below `schema`.
fn leaves(schema: &Value, root: &Value, path: &str, found: &mut BTreeSet<String>) {
    let mut is_leaf = true;
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let definition = root.pointer(name.trim_start_matches('#')).unwrap();
        // An enumeration (such as a severity) is one value.
        if definition.get("properties").is_some() {
            is_leaf = false;
            leaves(definition, root, path, found);
        }
    }
    for choice in ["anyOf", "allOf"].iter().filter_map(|key| schema.get(key)?.as_array()).flatten() {
        if choice.get("type").and_then(Value::as_str) != Some("null") {
            is_leaf = false;
            leaves(choice, root, path, found);
        }
    }
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        is_leaf = false;
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        leaves(property, root, &path, found);
    }
    if let Some(items) = schema.get("items") {
        is_leaf = false;
        leaves(items, root, &format!("{path}[]"), found);
    }
    if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
        is_leaf = false;
        leaves(values, root, &format!("{path}.*"), found);
    }
    if is_leaf {
        found.insert(path.to_owned());
    }
}

/// Returns every field of the report that has a value, with its definition, in declaration order.
fn all_fields() -> Vec<(String, Definition)> {
    let mut all = Vec::new();
    fields::for_each::<UnifiedProfile>(&mut |path, definition| all.push((path.to_owned(), definition)));
    all
}

/// Returns the top-level field of a path.
fn section(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap()
}

/// Returns a list entry, wrapped.
fn entry(text: &str) -> String {
    let (mut lines, mut line) = (String::new(), "*".to_owned());
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push_str(&line);
            lines.push('\n');
            line = " ".to_owned();
        }
        line.push(' ');
        line.push_str(word);
    }
    format!("{lines}{line}\n")
}

/// Returns the entries for the fields below a top-level field. The fields of a type that occurs in several places are
/// defined only at the first place.
fn entries_of_fields(all: &[(String, Definition)], name: &str) -> String {
    let of_section: Vec<_> = all.iter().filter(|(path, _)| section(path) == name).collect();
    let mut entries = String::new();
    for (at, (path, definition)) in of_section.iter().enumerate() {
        let last = |path: &str| path.rsplit('.').next().unwrap().to_owned();
        let same = |it: &&&(String, Definition)| it.1 == *definition && last(&it.0) == last(path);
        let text = match of_section[..at].iter().find(same) {
            Some((first, _)) => format!("`{path}`: as `{first}`."),
            None => format!("`{path}`: {} {}", definition.sentence, definition.more),
        };
        entries.push_str(&entry(&text));
    }
    entries
}

/// Returns the entries for the columns of a table.
fn entries_of_columns(table: TableName) -> String {
    let one = |column: Column| {
        let Column { key, unit, definition, source, caveat, xprof, .. } = column;
        let xprof = if xprof.is_empty() { String::new() } else { format!("XProf: `{xprof}`") };
        let notes = [unit::word(unit).to_owned(), xprof].into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>();
        let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
        let source = if source.is_empty() { String::new() } else { format!("Source: {source}") };
        entry(&format!("`{key}`{notes}: {definition} {source} {caveat}"))
    };
    columns_of(table).into_iter().map(one).collect()
}

/// Returns the document with all text between its marks generated again.
fn renewed(document: &str) -> String {
    let all = all_fields();
    let mut sections: BTreeSet<&str> = all.iter().map(|(path, _)| section(path)).collect();
    let mut tables: BTreeSet<TableName> = TableName::ALL.into_iter().collect();
    let (mut text, mut in_region) = (String::new(), false);
    for line in document.lines() {
        let mark = line.strip_prefix("<!-- ").and_then(|line| line.strip_suffix(" -->"));
        if in_region && mark != Some("end") {
            continue;
        }
        text.push_str(line);
        text.push('\n');
        let Some(mark) = mark else { continue };
        in_region = mark != "end";
        if let Some(name) = mark.strip_prefix("fields: ") {
            assert!(sections.remove(name), "the report has no {name}, or it stands twice in the document");
            text.push_str(&entries_of_fields(&all, name));
        } else if let Some(name) = mark.strip_prefix("columns: ") {
            let table = TableName::from_key(name).filter(|table| tables.remove(table));
            text.push_str(&entries_of_columns(table.unwrap_or_else(|| panic!("no table {name}, or it stands twice"))));
        } else {
            assert_eq!(mark, "end");
        }
    }
    assert!(!in_region && sections.is_empty() && tables.is_empty(), "not in the document: {sections:?} {tables:?}");
    text
}

/// To update the document after changing a definition: `CROSSPROF_WRITE_SCHEMA=1 cargo test --test tests metrics_docs::`.
#[test]
fn the_document_states_every_definition() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/metrics.md");
    let committed = std::fs::read_to_string(path).unwrap();
    let current = renewed(&committed);
    if std::env::var_os("CROSSPROF_WRITE_SCHEMA").is_some() {
        std::fs::write(path, &current).unwrap();
        return;
    }
    assert!(
        committed == current,
        "docs/metrics.md is old: CROSSPROF_WRITE_SCHEMA=1 cargo test --test tests metrics_docs::"
    );
    let entries: Vec<&str> = current.lines().filter(|line| line.starts_with("* `")).collect();
    let has = |start: &str| entries.iter().any(|line| line.starts_with(start));
    assert!(has("* `steps[].duration_us`: Time from the start of the step"), "fields are missing");
    assert!(has("* `total_self_time_us` (µs; XProf: `total_self_time`): "), "columns are missing");
    assert!(entries.len() > 700, "{}", entries.len());
}

#[test]
fn every_field_of_the_report_is_defined() {
    let schema = serde_json::to_value(schemars::schema_for!(UnifiedProfile)).unwrap();
    let mut fields = BTreeSet::new();
    leaves(&schema, &schema, "", &mut fields);
    assert!(fields.contains("steps[].duration_us") && fields.contains("timeline_analysis.total_gaps"), "{fields:?}");
    let defined: BTreeSet<String> = all_fields().into_iter().map(|(path, _)| path).collect();
    let missing: Vec<_> = fields.difference(&defined).collect();
    let unknown: Vec<_> = defined.difference(&fields).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "not defined: {missing:#?}\nno such field: {unknown:#?}");
    for (path, Definition { sentence, .. }) in all_fields() {
        assert!(sentence.len() > 5 && sentence.ends_with(['.', '`']), "{path}: {sentence}");
    }
}
