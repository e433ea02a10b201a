use memory::Recorded;

use super::super::{Block, PageQuery};
use super::{KeptMemory, page, row_of_memory};
use crate::table::Query;
use crate::tables::TableName;

#[test]
fn a_run_without_anything_says_what_is_missing_and_how_to_record_it() {
    for (platform, is_json, needle) in [
        ("CPU", false, "XLA's CPU backend reports no allocations."),
        ("GPU", false, "host_tracer_level"),
        ("TPU", true, "A trace in JSON holds no programs."),
    ] {
        let mut recorded = Recorded::default();
        (recorded.platform, recorded.is_json, recorded.has_events) = (platform.to_owned(), is_json, true);
        let blocks = page(Some(&KeptMemory::new(recorded)), &PageQuery::default()).blocks;
        let [Block::Facts(facts)] = blocks.as_slice() else { panic!("{blocks:?}") };
        assert!(facts.facts.iter().any(|fact| fact.value.contains(needle)), "{platform}: {facts:?}");
        assert_eq!(facts.facts.len(), 3);
    }
}

#[test]
fn a_row_that_is_not_there_has_no_details() {
    let kept = KeptMemory::default();
    for name in [TableName::Buffers, TableName::Heap, TableName::Ops] {
        assert!(row_of_memory(&kept, name, "", &Query::default(), 0).blocks.is_empty());
    }
}
