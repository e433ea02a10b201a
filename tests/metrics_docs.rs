//! docs/metrics.md defines every field of the report, and nothing else.
//!
//! A definition is a list entry that starts with the field's full path in backquotes; a list is written `steps[].name`,
//! a map `kernels.kernels_by_category.*.count`.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use crossprof::report::UnifiedProfile;
use serde_json::Value;

/// Adds the paths of all leaves below `schema`.
fn leaves(schema: &Value, root: &Value, path: &str, found: &mut BTreeSet<String>) {
    let mut is_leaf = true;
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let definition = root.pointer(name.trim_start_matches('#')).unwrap();
        // A choice of words (a severity) is one value.
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

#[test]
fn every_field_of_the_report_is_defined() {
    let schema = serde_json::to_value(schemars::schema_for!(UnifiedProfile)).unwrap();
    let mut fields = BTreeSet::new();
    leaves(&schema, &schema, "", &mut fields);
    assert!(fields.contains("steps[].duration_us") && fields.contains("timeline_analysis.total_gaps"), "{fields:?}");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/metrics.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut defined = BTreeSet::new();
    // Columns of tables are defined in separate sections and are not fields.
    let mut in_table = false;
    let fields_only = text.lines().filter(|line| {
        if line.starts_with('#') {
            in_table = line.trim_start_matches('#').trim_start().starts_with("Table: ");
        }
        !in_table
    });
    for entry in fields_only.filter_map(|line| line.strip_prefix("* `")) {
        let field = entry.split('`').next().unwrap();
        assert!(defined.insert(field.to_owned()), "{field} is defined twice");
    }
    let missing: Vec<_> = fields.difference(&defined).collect();
    let unknown: Vec<_> = defined.difference(&fields).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "not defined: {missing:#?}\nno such field: {unknown:#?}");
}
