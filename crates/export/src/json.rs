//! Writes the unified profile as JSON, and the JSON Schema (draft 2020-12) that describes it.

use serde::Serialize;

use base::home::shared;
use base::json_text;
use report::UnifiedProfile;
use report::v1::SCHEMA_VERSION;
use table::Table;

/// Returns the document, indented and with a final newline. The same profile always produces the same bytes.
pub fn profile(profile: &UnifiedProfile) -> String {
    pretty(profile)
}

/// Returns the documents of several profiles as one array.
pub fn profiles(profiles: &[UnifiedProfile]) -> String {
    pretty(&profiles)
}

/// Returns a table as an array with one object per row.
pub fn table(table: &Table) -> String {
    pretty(table)
}

/// Returns the committed schema of [`profile`]'s document. A test checks that this schema equals the output of
/// [`generate_schema`]. The page uses the committed schema. Without the code that generates the schema, the page's
/// worker is a fifth smaller.
pub fn schema() -> &'static str {
    include_str!("../../../docs/schema/unified-profile-1.1.0.json")
}

/// Generates the schema from the report's types.
pub fn generate_schema() -> String {
    let mut schema = schemars::schema_for!(UnifiedProfile);
    schema.insert("title".to_owned(), format!("Unified profile {SCHEMA_VERSION}").into());
    pretty(&schema)
}

pub(super) fn pretty(value: &impl Serialize) -> String {
    let mut text = json_text::pretty(value);
    text.push('\n');
    shared(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_reads_back_as_itself() {
        let before = report::example::profile();
        let after: UnifiedProfile = serde_json::from_str(&profile(&before)).unwrap();
        assert_eq!(after, before);
        assert!(schema().contains("https://json-schema.org/draft/2020-12/schema"));
    }
}
