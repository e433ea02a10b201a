//! Writes the comparison as JSON, and the JSON Schema (draft 2020-12) that describes it.

use crate::json::pretty;
use compare::{COMPARISON_VERSION, Comparison};

/// Returns the document, indented and with a final newline. The same comparison always produces the same bytes.
pub fn json(comparison: &Comparison) -> String {
    pretty(comparison)
}

/// Returns the committed schema of [`json`]'s document. A test checks that this schema equals the output of
/// [`generate_schema`].
pub fn schema() -> &'static str {
    include_str!("../../../../docs/schema/comparison-1.0.0.json")
}

/// Generates the schema from the comparison's types.
pub fn generate_schema() -> String {
    let mut schema = schemars::schema_for!(Comparison);
    schema.insert("title".to_owned(), format!("Comparison {COMPARISON_VERSION}").into());
    pretty(&schema)
}
