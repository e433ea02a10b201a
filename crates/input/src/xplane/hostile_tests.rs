//! Tests damage of every kind: the decoder reads as much as possible, reports the unreadable data, and never panics.

use proptest::prelude::*;

use super::tests::{codes, decode, events, values};
use super::writer::{event, message, sample};
use base::Severity;
use trace::{EventColumn, Trace};

/// Formats everything in a trace, for comparison.
pub(super) fn summary(trace: &Trace) -> String {
    let ids = [EventColumn::Correlation, EventColumn::RunId, EventColumn::StepNum].map(|column| values(trace, column));
    let strings: Vec<String> =
        events(trace).iter().map(|e| format!("{} {:?} {:?}", trace.text(e.name), e, trace.args_of(e))).collect();
    format!("{strings:?} {ids:?} {:?} {:?} {:?} {:?}", trace.planes, trace.lines, trace.capture, trace.warnings)
}

#[test]
fn chunks_make_no_difference() {
    let file = sample().repeat(30);
    let whole = summary(&decode(&file, usize::MAX).unwrap());
    for chunk in [1, 7, 4096] {
        assert_eq!(summary(&decode(&file, chunk).unwrap()), whole, "chunks of {chunk}");
    }
}

#[test]
fn any_cut_keeps_the_data_before_it() {
    let file = sample();
    let mut kept = 0;
    for length in 20..file.len() {
        let trace = decode(&file[..length], 64).unwrap();
        assert!(trace.events.len() >= kept, "at {length}");
        kept = trace.events.len();
        let damage = trace.warnings.iter().find(|w| w.severity == Severity::Damage);
        // After a cut between two top-level fields, nothing shows that the file is incomplete.
        assert!(damage.is_some() || trace.planes.len() <= 3, "at {length}");
        if let Some(warning) = trace.warnings.iter().find(|w| w.code == "xplane_truncated") {
            assert_eq!(warning.byte_offset, Some(length as u64));
        }
    }
    assert_eq!(kept, 4);
}

#[test]
fn a_cut_in_the_lines_names_events_by_number() {
    let file = sample();
    // The cut is after the second kernel and before any metadata.
    let cut = file.windows(4).position(|w| w == b"size").unwrap();
    let trace = decode(&file[..cut], 64).unwrap();
    let names: Vec<_> = events(&trace).iter().map(|e| trace.text(e.name).to_owned()).collect();
    assert_eq!(names, ["event metadata 1", "event metadata 2"]);
    assert_eq!(trace.text(trace.planes[0].name), "/device:GPU:0");
    assert_eq!(codes(&trace), ["xplane_truncated", "xplane_missing_metadata"]);
    assert!(trace.warnings[0].message.contains("inside the plane `/device:GPU:0`"));
    assert!(trace.warnings[0].message.contains("2 events"));
}

#[test]
fn one_bad_event_costs_one_event() {
    let bad = message().bytes(4, [0x08u8, 0xff]);
    let line = message().bytes(2, "line").message(4, event(1, 0, 1)).message(4, bad).message(4, event(1, 5, 1));
    let plane = message().bytes(2, "/host:CPU").message(3, line).event_metadata(1, "op");
    let file = message().message(1, plane).0;
    let trace = decode(&file, 64).unwrap();
    assert_eq!((trace.events.len(), codes(&trace)), (2, vec!["xplane_corrupt"]));
    let at = file.windows(2).position(|w| w == [0x08, 0xff]).unwrap() as u64;
    assert_eq!(trace.warnings[0].byte_offset, Some(at));
}

#[test]
fn bytes_after_the_last_plane_are_reported() {
    let mut file = sample();
    let length = file.len() as u64;
    file.extend([0xff; 50]);
    let trace = decode(&file, 64).unwrap();
    assert_eq!(trace.events.len(), 4);
    let warning = trace.warnings.iter().find(|w| w.code == "xplane_unreadable").unwrap();
    assert_eq!((warning.byte_offset, warning.count), (Some(length), Some(50)));
    let mut group = sample();
    group.extend([0x0b; 50]);
    assert_eq!(decode(&group, 1).unwrap().warnings[0].code, "xplane_unreadable");
}

#[test]
fn a_length_that_promises_too_much_reserves_nothing() {
    let mut file = b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x12\x09/host:CPU".to_vec();
    let line = message().bytes(2, "line").message(4, event(1, 0, 1));
    file.extend(message().message(3, line).0);
    let trace = decode(&file, 5).unwrap();
    assert_eq!((trace.events.len(), codes(&trace)[0]), (1, "xplane_truncated"));
}

#[test]
fn the_valid_part_of_bad_text_is_kept() {
    let line = message().bytes(2, b"th\xffread").message(4, event(1, 0, 1));
    let plane = message().bytes(2, "/host:CPU").message(3, line).entry(4, 1, message().bytes(2, b"op\xc3"));
    let trace = decode(&message().message(1, plane).0, 64).unwrap();
    assert_eq!(trace.text(trace.lines[0].name), "th\u{fffd}read");
    assert_eq!((codes(&trace), trace.warnings[0].count), (vec!["xplane_invalid_utf8"], Some(2)));
}

#[test]
fn stats_may_refer_to_nothing_or_to_each_other() {
    let stat = |id, reference| message().int(1, id).int(7, reference);
    let odd = event(1, 0, 1).message(4, stat(1, 1)).message(4, stat(2, 77)).message(4, stat(99, 1));
    let plane = message().bytes(2, "/host:CPU").message(3, message().message(4, odd)).event_metadata(1, "op");
    let plane = plane.stat_metadata(1, "tf_op").stat_metadata(2, "hlo_op");
    let trace = decode(&message().message(1, plane).0, 64).unwrap();
    let args = trace.args_of(&events(&trace)[0]);
    assert_eq!((trace.text(args.tf_op), trace.text(args.hlo_op)), ("tf_op", ""));
}

proptest! {
    #[test]
    fn random_damage_never_panics(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8), cut: prop::sample::Index, chunk in 1usize..300) {
        let mut file = sample();
        for (index, byte) in &flips {
            *index.get_mut(&mut file) = *byte;
        }
        file.truncate(cut.index(file.len() + 1));
        let whole = decode(&file, usize::MAX).map(|trace| summary(&trace));
        let parts = decode(&file, chunk).map(|trace| summary(&trace));
        prop_assert_eq!(whole, parts);
    }

    #[test]
    fn random_bytes_after_a_plane_never_panic(tail: Vec<u8>) {
        let mut file = sample();
        file.extend(tail);
        prop_assert!(decode(&file, 16).unwrap().events.len() >= 4);
    }
}
