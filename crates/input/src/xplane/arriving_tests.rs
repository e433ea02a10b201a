//! Tests that a plane gives the same trace if it is decoded while it arrives and if it is decoded as a whole.

use proptest::prelude::*;

use super::hostile_tests::summary;
use super::tests::decode;
use super::writer::{event, message, sample};
use super::{Outline, Outliner, XPlaneDecoder};
use trace::Trace;

fn outlines(file: &[u8], window_bytes: u64) -> Vec<Outline> {
    let mut outliner = Outliner::for_test(file.len() as u64, 1, window_bytes);
    while let Some(range) = outliner.wanted() {
        assert!(range.end - range.start <= window_bytes.max(file.len() as u64));
        outliner.give(&file[range.start as usize..range.end as usize]);
    }
    outliner.outlines()
}

fn decode_outlined(file: &[u8], outlines: &[Outline], chunk: usize) -> Trace {
    let mut decoder = XPlaneDecoder::new("some.xplane.pb").with_outlines(outlines.to_vec());
    file.chunks(chunk).for_each(|bytes| drop(decoder.push(bytes)));
    decoder.finish().unwrap()
}

/// Builds planes with every kind of line. One long line has stats, and one line has its name after the events. Other
/// lines have no time, no events or no fields, an event that is too long to examine in one piece, or an unknown field.
fn long_sample(events: i64) -> Vec<u8> {
    let walked = |named_late: bool, time: i64| {
        let mut line = message().int(1, 7);
        if !named_late {
            line = line.bytes(2, "python");
        }
        if time != 0 {
            line = line.int(3, time);
        }
        for i in 0..events {
            let stat = message().int(1, 1).int(4, i * i);
            line = line.message(4, event(1 + i % 3, i * 1_000, 10 + i).message(4, stat));
        }
        if named_late { line.bytes(11, "worker").int(9, 5).int(3, 9) } else { line }
    };
    let odd = message()
        .bytes(2, "odd")
        .int(3, 9)
        .bytes(4, [0x3a, 0x90, 0x4e].into_iter().chain([7; 10_000]).collect::<Vec<u8>>());
    let plane = |name: &str| {
        let plane = message().int(1, 1).bytes(2, name);
        let plane = plane.message(3, walked(false, 77)).message(3, walked(true, 78)).message(3, walked(false, 0));
        let plane =
            plane.message(3, message()).message(3, message().bytes(2, "empty").int(3, 5)).message(3, odd.clone());
        let plane = plane.bytes(77, "unknown").event_metadata(1, "step").event_metadata(2, "jit_f");
        plane.stat_metadata(1, "step_num").message(6, message().int(1, 1).int(3, 4))
    };
    let space = message().message(1, plane("/host:CPU")).bytes(4, "machine").message(1, plane("/device:GPU:0"));
    [space.0, sample()].concat()
}

#[test]
fn the_trace_is_the_same_whatever_the_chunks_and_windows() {
    let file = long_sample(2_000);
    let whole = summary(&decode(&file, usize::MAX).unwrap());
    for window in [1, 21, 64, 5_000, 1 << 20] {
        let known = outlines(&file, window);
        assert_eq!(known.len(), 5, "windows of {window}");
        for chunk in [1, 7, 100, 4_096, 10_000, usize::MAX] {
            let arriving = summary(&decode_outlined(&file, &known, chunk));
            assert!(arriving == whole, "windows of {window}, chunks of {chunk}");
        }
    }
}

#[test]
fn a_file_that_lost_its_end_gives_a_warning() {
    let file = long_sample(2_000);
    let known = outlines(&file, 4_096);
    let cut = &file[..30_000];
    let warnings = |trace: Trace| trace.warnings.into_iter().map(|warning| warning.message).collect::<Vec<_>>();
    let arriving = decode_outlined(cut, &known, 999);
    assert!(arriving.events.len() > 1_000);
    assert!(arriving.events.iter().all(|event| !arriving.text(event.name).starts_with("event metadata")
        || event.name == arriving.events.iter().nth(2).unwrap().name));
    let sentence = warnings(arriving).remove(0);
    assert_eq!(sentence, warnings(decode(cut, 999).unwrap())[0]);
    assert!(sentence.contains("inside the plane `/host:CPU`"), "{sentence}");
    assert!(outlines(cut, 4_096).is_empty());
}

/// Uses a profile that JAX wrote.
#[test]
fn a_recorded_profile_is_the_same_both_ways() {
    let file = include_bytes!("../../../../tests/data/jax-cpu-mesh/plugins/profile/2026_11_21_02_00_07/host.xplane.pb");
    let whole = summary(&decode(file, usize::MAX).unwrap());
    let known = outlines(file, 64 << 10);
    assert!(!known.is_empty());
    assert!(summary(&decode_outlined(file, &known, 50_000)) == whole);
}

proptest! {
    #[test]
    fn damage_is_told_alike(
        changes in prop::collection::vec((0usize..12_000, any::<u8>()), 1..4),
        chunk in 1usize..6_000,
        window in 20u64..3_000,
    ) {
        let mut file = long_sample(150);
        for (at, byte) in changes {
            let at = at % file.len();
            file[at] = byte;
        }
        let known = outlines(&file, window);
        let whole = decode(&file, usize::MAX);
        prop_assume!(whole.is_ok());
        let (arriving, whole) = (decode_outlined(&file, &known, chunk), whole.unwrap());
        prop_assert_eq!(&arriving.warnings, &whole.warnings);
        prop_assert!(summary(&arriving) == summary(&whole));
    }
}
