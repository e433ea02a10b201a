//! Documents that the page reads as JSON trees come back unchanged.

use crossprof::document::{Block, Page, TableBlock};
use crossprof::json::from_str;
use crossprof::report::example;
use crossprof::{Cell, TableName, UnifiedProfile, export};

#[test]
fn a_profile_is_read_as_by_the_usual_reader() {
    let text = export::json::profile(&example::profile());
    let usual: UnifiedProfile = serde_json::from_str(&text).unwrap();
    assert_eq!(from_str::<UnifiedProfile>(&text).unwrap(), usual);
}

#[test]
fn blocks_come_back() {
    let rows =
        vec![vec![Cell::Absent, Cell::Int(u64::MAX), Cell::Float(-1.5), Cell::Flag(true), Cell::Text("é".into())]];
    let table = Block::Table(TableBlock { rows, matched_rows: 1, ..TableBlock::empty(TableName::Ops) });
    let empty = Block::Empty { reason: "none".into(), remedy: None };
    let page = Page { blocks: vec![table, empty, Block::Note { text: "a\u{202e}b".into() }] };
    let text = serde_json::to_string(&page).unwrap();
    assert_eq!(from_str::<Page>(&text).unwrap(), page);
}

#[test]
fn mismatched_inputs_are_refused() {
    for text in ["", "[]", "{\"blocks\":{}}", "{\"blocks\":[7]}", "{\"blocks\":[{\"table\":[1]}]}", "{\"blocks\":[{}]}"]
    {
        assert!(from_str::<Page>(text).is_err(), "{text}");
    }
    assert!(from_str::<UnifiedProfile>("{\"metadata\":[]}").is_err());
}
