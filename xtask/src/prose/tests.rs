use super::*;

/// Returns the line and phrase of each hit in a file with this name and text.
fn found(name: &str, text: &str) -> Vec<(usize, &'static str)> {
    hits(name, text).into_iter().map(|hit| (hit.line, hit.phrase)).collect()
}

#[test]
fn finds_phrases_in_all_kinds_of_comments() {
    let text = "//! For whoever reads it.\n\n/// What a run has.\nfn f() {} // nobody calls it\n\
        \x20   // The file lies\n    // beside it.\n";
    let expected = [(1, "whoever"), (3, "what"), (4, "nobody"), (5, "lies"), (6, "beside")];
    assert_eq!(found("src/a.rs", text), expected);
}

#[test]
fn finds_a_phrase_over_a_line_break() {
    assert_eq!(found("a.rs", "// The list is\n// of a run.\n"), [(1, "is of")]);
    assert_eq!(found("a.md", "The value is\nof a run.\n"), [(1, "is of")]);
}

#[test]
fn a_phrase_of_the_beginning_counts_only_there() {
    assert_eq!(found("a.rs", "/// Returns what a run has, and whether it has it.\n/// What it is.\n"), []);
    assert_eq!(found("a.rs", "/// Whether it runs.\n"), [(1, "whether")]);
    assert_eq!(found("a.rs", "let a = 1;\n// Where it is.\nlet b = 2; // Who it is\n"), [(2, "where"), (3, "who")]);
    // Another kind of comment begins a new passage.
    assert_eq!(found("a.rs", "//! A file.\n// Who calls it.\n"), [(2, "who")]);
}

#[test]
fn whole_words_only() {
    assert_eq!(found("a.rs", "// Whatever applies supplies besides. Bystands, is official. What-if\n"), []);
    assert_eq!(found("a.rs", "/// What-if estimates.\n"), []);
}

#[test]
fn strings_are_no_comments() {
    let text = r##"
const A: &str = "// nobody";
const B: &str = r#"a " // nobody"#;
const C: &[u8] = br"\"; // a path
const D: char = '"'; // a mark
const E: &str = "\" // nobody
    // somebody";
const F: (char, char) = ('\'', '\u{22}');
fn f<'a>(r: &'a str) -> &'a str { r } /* block // nobody /* inner */ */
// nobody
"##;
    assert_eq!(found("a.rs", text), [(10, "nobody")]);
}

#[test]
fn code_and_addresses_are_no_prose() {
    let rust = "/// See `worker.rs` and <https://host/beside/nobody>.\n///\n/// ```\n/// // nobody\n/// ```\n\
        /// A somebody.\nfn f() {}\n";
    assert_eq!(found("a.rs", "// See https://host/nobody for it.\n"), []);
    assert_eq!(found("a.rs", rust), [(6, "somebody")]);
    let markdown = "See [it](nobody.md), ``a ` nobody`` and\n\n```\n# nobody\n```\n\n<!-- nobody -->\nnobody\n";
    assert_eq!(found("a.md", markdown), [(8, "nobody")]);
    // An unpaired mark begins no code.
    assert_eq!(found("a.md", "A ` mark and nobody.\n"), [(1, "nobody")]);
}

#[test]
fn only_the_newest_section_of_the_changelog_counts() {
    let text = "# Changelog\n\n## 0.2.0\n\n* Nobody.\n\n## 0.1.0\n\n* Somebody.\n";
    assert_eq!(found("CHANGELOG.md", text), [(5, "nobody")]);
    assert_eq!(found("docs/CHANGELOG.md", text), [(5, "nobody"), (9, "somebody")]);
}

#[test]
fn the_table_is_in_lower_case_and_names_each_phrase_once() {
    for (index, (phrase, place, instead)) in PHRASES.iter().enumerate() {
        assert_eq!(phrase.to_lowercase(), *phrase);
        assert!(!instead.is_empty());
        let again = PHRASES.iter().skip(index + 1).any(|other| (other.0, other.1) == (*phrase, *place));
        assert!(!again, "{phrase}");
    }
}

#[test]
fn files_are_counted_under_their_crate() {
    assert_eq!(folder("crates/base/src/lib.rs"), "crates/base");
    assert_eq!(folder("www/src/main.rs"), "www");
    assert_eq!(folder("README.md"), "README.md");
}
