use memory::Recorded;
use report::{DeviceMemory, MemoryBuffers, ProgramMemory};

use super::{KeptMemory, page, row_of_memory};
use crate::{PageQuery, Source};
use document::{Block, Grid};
use report::View;
use table::Query;
use tables::TableName;

#[test]
fn a_run_without_memory_data_explains_how_to_record_it() {
    for (platform, is_json, needle) in [
        ("CPU", false, "XLA's CPU backend reports no allocations."),
        ("GPU", false, "host_tracer_level"),
        ("TPU", true, "A JSON trace does not contain programs."),
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
fn a_missing_row_has_no_details() {
    let kept = KeptMemory::default();
    for name in [TableName::Buffers, TableName::Heap, TableName::Ops] {
        assert!(row_of_memory(&kept, name, "", &Query::default(), 0).blocks.is_empty());
    }
}

#[test]
fn an_earlier_result_shows_its_memory_section() {
    let mut profile = report::example::profile();
    let memory = profile.memory.get_or_insert_default();
    memory.devices.push(DeviceMemory {
        device_name: "cuda:0".into(),
        live_bytes: Some(3 << 30),
        ..DeviceMemory::default()
    });
    let buffers = MemoryBuffers {
        class: "temporary".into(),
        scope: "layer_1".into(),
        shape: "f32[8]".into(),
        count: 2,
        bytes: 64,
    };
    memory.programs.push(ProgramMemory {
        module: "jit_f(1)".into(),
        peak_heap_bytes: 1 << 20,
        padding_bytes: Some(0),
        buffers: vec![buffers],
        ..ProgramMemory::default()
    });
    let page = super::super::page(Source::of_profile(&profile), View::Memory, &PageQuery::default());
    let [
        Block::Note { .. },
        Block::Heading { text, .. },
        Block::Figures { figures },
        Block::Bars(bars),
        Block::Grid(devices),
        Block::Grid(programs),
        Block::Fold { blocks, .. },
    ] = &page.blocks[..]
    else {
        panic!("{page:?}")
    };
    // The page shows the fullest device of the example.
    assert_eq!(text, "Memory of /device:TPU:0");
    let [peak] = &figures[..] else { panic!("{figures:?}") };
    assert_eq!((peak.value, peak.note.as_str()), (Some((24_u64 << 30) as f64), "75.0 % of 32.0 GiB"));
    assert_eq!(bars.bars.iter().map(|bar| bar.label.as_str()).collect::<Vec<_>>(), ["parameter"]);
    let texts = |grid: &Grid| -> Vec<Vec<String>> {
        grid.rows.iter().map(|row| row.iter().map(|cell| cell.text.clone()).collect()).collect()
    };
    assert_eq!(
        texts(devices),
        [["/device:TPU:0", "24.0 GiB", "–", "32.0 GiB", "75.0 %"], ["cuda:0", "–", "3.00 GiB", "–", "–"]]
    );
    assert_eq!(texts(programs), [["jit_f(1)", "1.00 MiB", "–", "–", "–", "–", "0 B", "–"]]);
    let [Block::Grid(alive)] = &blocks[..] else { panic!("{blocks:?}") };
    assert_eq!(texts(alive), [["temporary", "layer_1", "f32[8]", "2", "64 B"]]);
}
