//! The comparison as JSON, and the JSON Schema (draft 2020-12) that describes it.

use crate::export::json::pretty;
use compare::{COMPARISON_VERSION, Comparison};

/// The document, indented, with a newline at its end. The same comparison always gives the same bytes.
pub fn json(comparison: &Comparison) -> String {
    pretty(comparison)
}

/// The schema of [`json`]'s document: the committed file, which a test holds equal to [`generate_schema`].
pub fn schema() -> &'static str {
    include_str!("../../../../../docs/schema/comparison-1.0.0.json")
}

/// The schema, made from the comparison's types.
pub fn generate_schema() -> String {
    let mut schema = schemars::schema_for!(Comparison);
    schema.insert("title".to_owned(), format!("Comparison {COMPARISON_VERSION}").into());
    pretty(&schema)
}
