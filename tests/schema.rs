//! Checks that the committed JSON Schema is up to date and matches the exports.

use crate::support::{load, samples};
use crossprof::{Settings, export};

/// To update after changing the report or the comparison: `CROSSPROF_WRITE_SCHEMA=1 cargo test --test tests schema::`.
#[test]
fn the_committed_schemas_are_the_current_ones() {
    for (name, current) in [
        ("docs/schema/unified-profile-1.1.0.json", export::json::generate_schema()),
        ("docs/schema/comparison-1.0.0.json", export::comparison::generate_schema()),
        ("docs/schema/digest-1.0.0.json", export::digest::generate_schema()),
    ] {
        let path = samples::root().join(name);
        if std::env::var_os("CROSSPROF_WRITE_SCHEMA").is_some() {
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
            std::fs::write(&path, &current).expect("the schema can be written");
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == current, "{name} is old: CROSSPROF_WRITE_SCHEMA=1 cargo test --test tests schema::");
    }
}

#[test]
fn exported_profiles_satisfy_the_schema() {
    let schema = serde_json::from_str(export::json::schema()).expect("the schema is JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("the schema is one");
    for path in samples::own() {
        let bytes = std::fs::read(&path).expect("a readable sample");
        let mut settings = Settings::default();
        settings.model.batch_size = Some(8);
        settings.model.seq_length = Some(128);
        let (_, reports) = load(&path.to_string_lossy(), &bytes);
        assert_eq!(reports.len(), 1, "{}", path.display());
        for report in reports {
            let json = serde_json::from_str(&export::json::profile(&report)).expect("an export is JSON");
            let errors: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{}: {errors:?}", path.display());
        }
    }
    assert!(!validator.is_valid(&serde_json::json!({"metadata": {}})), "the schema refuses nothing");
}

#[test]
fn digests_satisfy_their_schema() {
    let schema = serde_json::from_str(export::digest::schema()).expect("the schema is JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("the schema is one");
    for path in samples::own() {
        let (_, reports) = load(&path.to_string_lossy(), &std::fs::read(&path).expect("a readable sample"));
        for (report, most) in reports.iter().flat_map(|report| [(report, 1000), (report, 20_000)]) {
            let text = export::digest::json(report, most);
            assert!(text.len() <= most, "{}: {}", path.display(), text.len());
            let digest = serde_json::from_str(&text).expect("a digest is JSON");
            let errors: Vec<String> = validator.iter_errors(&digest).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{}: {errors:?}", path.display());
        }
    }
    assert!(!validator.is_valid(&serde_json::json!({"capture": {}})), "the schema refuses nothing");
}
