//! If a range is written as a Chrome trace and read back, it has the same events, exact to the picosecond.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::support::cli::{crossprof, scratch, stderr};
use crate::support::{open, samples};
use crossprof::export::chrome_trace;
use crossprof::timeline::{Origin, extent};
use crossprof::trace::{FlowRole, Interval, Trace};
use crossprof::{Ps, Settings};
use serde_json::Value;

/// Events and marks in a range.
#[derive(Debug, Default, PartialEq)]
struct Held {
    /// For each process, line and name, the number of events, and their time within the range in picoseconds.
    events: BTreeMap<(String, String, String), (u64, i64)>,
    /// Number of counter samples, instants, and start and end points of flows in the range.
    marks: [usize; 3],
}

fn held(trace: &Trace, zero: Ps, range: Interval) -> Held {
    let mut held = Held::default();
    for id in trace.events.ids() {
        let (kind, time) = trace.occupied(id).unwrap();
        let time = Interval::new(time.start - zero, time.end - zero);
        let (start, end) = (time.start.max(range.start), time.end.min(range.end));
        if start < end || time.length() == Ps::ZERO && start == end {
            let kind = trace.events.kinds()[kind];
            let line = &trace.lines[kind.line.index()];
            let process = trace.text(trace.plane_of(line).unwrap().name);
            // Unnamed lines of an xplane file are named by their number in a Chrome trace.
            fn named<'t>(prefix: &str, text: &'t str) -> &'t str {
                if text.starts_with(prefix) { "" } else { text }
            }
            let (process, thread) = (named("process ", process), named("thread ", trace.text(line.name)));
            // Exports contain no home folders.
            let key = [process, thread, trace.text(kind.name)].map(crossprof::home::without_home);
            let entry = held.events.entry(key.into()).or_default();
            *entry = (entry.0 + 1, entry.1 + (end - start).as_ps());
        }
    }
    let is_inside = |time: Ps| range.start <= time - zero && time - zero <= range.end;
    let flows = || trace.flows.iter().filter(|it| is_inside(it.time));
    let with = |role: FlowRole| flows().filter(|it| it.role == role).map(|it| it.flow).collect::<BTreeSet<u32>>();
    let (starts, ends) = (with(FlowRole::Start), with(FlowRole::End));
    held.marks = [
        trace.counters.iter().flat_map(|track| &track.times).filter(|time| is_inside(**time)).count(),
        trace.instants.iter().filter(|it| is_inside(it.time)).count(),
        flows().filter(|it| starts.contains(&it.flow) && ends.contains(&it.flow)).count(),
    ];
    held
}

/// Writes a part of the capture and reads it back.
fn round_trip(path: &Path, from: i64, to: i64, parts: i64) {
    let (settings, mut text) = (Settings::default(), String::new());
    let mut session = open(&path.to_string_lossy(), &std::fs::read(path).unwrap());
    let written = session.timeline(0, &settings, |context, kept| {
        let (source, all) = (kept.source(context, Origin::Captured), extent(context));
        let at = |share: i64| {
            Ps::new(
                all.length().as_ps() / parts * share + if share == parts { all.length().as_ps() % parts } else { 0 },
            )
        };
        let range = Interval::new(at(from), at(to));
        let captured = Interval::new(all.start + range.start, all.start + range.end);
        chrome_trace::write(source, all.start, captured, None, &mut |piece| text.push_str(piece));
        (range, held(source.trace, all.start, range))
    });
    let Some((range, expected)) = written else { return };
    if expected.events.is_empty() {
        return;
    }
    assert!(serde_json::from_str::<Value>(&text).is_ok(), "{}: no JSON", path.display());
    let mut again = open("again.trace.json", text.as_bytes());
    let found = again.timeline(0, &settings, |context, kept| {
        let trace = kept.source(context, Origin::Captured).trace;
        held(trace, Ps::ZERO, Interval::new(range.start, range.end))
    });
    let found = found.unwrap();
    let differing = expected.events.iter().find(|(key, sums)| found.events.get(*key) != Some(sums));
    assert_eq!(differing.map(|(key, sums)| (key, sums, found.events.get(key))), None, "{}", path.display());
    assert_eq!(found.events.len(), expected.events.len(), "{}", path.display());
    assert_eq!(found.marks[1..], expected.marks[1..], "{}", path.display());
    assert!(found.marks[0] >= expected.marks[0], "{}", path.display());
}

#[test]
fn samples_are_read_back_whole_and_in_parts() {
    // Readings of hardware counters take no time, and identical readings are dropped when JSON is read.
    let is_counters = |path: &PathBuf| path.components().any(|part| part.as_os_str() == "tpu-counters");
    for path in samples::own().into_iter().filter(|path| !is_counters(path)) {
        round_trip(&path, 0, 1, 1);
        round_trip(&path, 1, 2, 3);
    }
}

#[test]
#[ignore = "reads real profiles"]
fn real_profiles_are_read_back() {
    let suffixes = [".xplane.pb", ".xplane.pb.gz", ".trace.json.gz", ".json.gz"];
    let damaged = ["broken", "damaged"].map(|folder| samples::traces().join(folder));
    for path in samples::files(&samples::traces(), &suffixes) {
        let is_large = std::fs::metadata(&path).unwrap().len() > 40_000_000;
        if !is_large && !damaged.iter().any(|folder| path.starts_with(folder)) {
            round_trip(&path, 0, 1, 1);
            round_trip(&path, 2, 3, 5);
        }
    }
}

#[test]
fn the_exported_range_matches_its_table() {
    let folder = scratch("timeline_export", "command");
    let example = samples::root().join("www/assets/examples/gpu-training.trace.json.gz");
    let example = example.to_str().unwrap();
    let range = ["--from", "20ms", "--to", "25ms"];
    let run = |arguments: &[&str]| {
        let output = crossprof(&folder, arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    for file in ["range.trace.json.gz", "range.trace.json"] {
        let said = run(&[&["timeline", example, "--output", file][..], &range].concat());
        assert!(said.contains("5.00 ms"), "{said}");
        let of_range = run(&[&["table", "range", example, "--format", "csv"][..], &range].concat());
        let columns = |table: &str| -> Vec<String> {
            table.lines().map(|row| row.split(',').take(3).collect::<Vec<_>>().join(",")).collect()
        };
        // The exported times are counted from the first exported event, but the table of the whole range is the same.
        let all = run(&["table", "range", file, "--format", "csv"]);
        assert_eq!(columns(&all), columns(&of_range));
    }
    let gzip = std::fs::read(folder.join("range.trace.json.gz")).unwrap();
    assert_eq!(gzip[..2], [0x1f, 0x8b]);
    let other = example.replace("gpu", "tpu");
    let two = crossprof(&folder, &["timeline", example, &other, "--output", "two.trace.json"]);
    assert_eq!(two.status.code(), Some(2));
    let one_line = run(&["timeline", example, "--line", "GPU:0/Stream*", "--output", "one.trace.json"]);
    assert!(one_line.contains("one.trace.json"));
    let text = std::fs::read_to_string(folder.join("one.trace.json")).unwrap();
    assert!(text.contains("Stream") && !text.contains("GPU:1"));
}
