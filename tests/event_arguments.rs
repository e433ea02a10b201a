//! Tests `crossprof table events --arguments`, which reads a file again to get all arguments of its events. The result
//! is compared with other readers.

use crate::support;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::cli::{crossprof, scratch, stderr, stdout};
use crate::support::samples;
use serde_json::{Map, Value, json};
use wire_writer::{Message, message};

fn rows(folder: &Path, arguments: &[&str]) -> Vec<Map<String, Value>> {
    let arguments = [&["table", "events", "--arguments", "--format", "json"], arguments].concat();
    let output = crossprof(folder, &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

/// Writes one op per microsecond on a TPU, numbered from `first`. The capture and the ops start at `start_ns`.
fn host(first: i64, start_ns: i64) -> Vec<u8> {
    let event = |at: i64| {
        let stat = message().int(1, 1).int(4, first + at);
        message().int(1, 1).int(2, at * 1_000_000).int(3, 1_000).message(4, stat)
    };
    let line = (0..4).fold(message().bytes(2, "XLA Ops"), |line, at| line.message(4, event(at)));
    let plane =
        message().bytes(2, "/device:TPU:0").message(3, line).event_metadata(1, "dot").stat_metadata(1, "number");
    let start = message().int(1, 1).int(3, start_ns);
    let task = message().bytes(2, "Task Environment").message(6, start).stat_metadata(1, "profile_start_time");
    let space: Message = message().message(1, plane).message(1, task);
    space.0
}

#[test]
fn events_of_several_hosts_are_found_in_their_files() {
    let folder = scratch("event_arguments", "hosts");
    let run = folder.join("plugins/profile/run");
    std::fs::create_dir_all(&run).unwrap();
    // The second host starts half a microsecond before the first.
    std::fs::write(run.join("a.xplane.pb"), host(100, 1_700_000_000_000_000_500)).unwrap();
    std::fs::write(run.join("b.xplane.pb"), host(200, 1_700_000_000_000_000_000)).unwrap();
    let found = rows(&folder, &["."]);
    let numbers: Vec<&str> = found.iter().map(|row| row["arguments"]["number"].as_str().unwrap()).collect();
    assert_eq!(numbers, ["200", "100", "201", "101", "202", "102", "203", "103"]);
    let found = rows(&folder, &[".", "--from", "1.2us", "--sort=-start_us", "--top", "2"]);
    let numbers: Vec<&str> = found.iter().map(|row| row["arguments"]["number"].as_str().unwrap()).collect();
    assert_eq!(numbers, ["103", "203"]);
}

/// Readings of hardware counters are events on a line whose other entries are samples.
#[test]
fn readings_of_counters_are_found() {
    let stat = |id: i64, value: i64| message().int(1, id).int(4, value);
    let sample = message().int(1, 1).int(2, 0).message(4, stat(2, 3));
    let reading =
        |value: i64| message().int(1, 1).int(2, value * 1_000_000).message(4, stat(1, 7)).message(4, stat(2, value));
    let line = message().bytes(2, "_counters_").message(4, sample).message(4, reading(5)).message(4, reading(6));
    let plane = message().bytes(2, "/device:TPU:0").message(3, line).event_metadata(1, "cycles");
    let plane = plane.stat_metadata(1, "performance_counter_id").stat_metadata(2, "counter_value");
    let folder = scratch("event_arguments", "readings");
    std::fs::write(folder.join("t.xplane.pb"), message().message(1, plane).0).unwrap();
    let found = rows(&folder, &["t.xplane.pb"]);
    let values: Vec<&str> = found.iter().map(|row| row["arguments"]["counter_value"].as_str().unwrap_or("")).collect();
    assert_eq!(values, ["5", "6"]);
}

#[test]
fn events_behind_one_that_was_left_out_are_found() {
    let folder = scratch("event_arguments", "far_off");
    let event =
        |ts: i64, number: i64| json!({"ph":"X","pid":1,"tid":1,"name":"op","ts":ts,"dur":1,"args":{"number":number}});
    let list = json!([event(8_640_000_000_000, 0), event(5, 1), event(7, 2), event(9, 3), {}]);
    std::fs::write(folder.join("t.json"), list.to_string()).unwrap();
    let found = rows(&folder, &["t.json"]);
    let numbers: Vec<&str> = found.iter().map(|row| row["arguments"]["number"].as_str().unwrap()).collect();
    assert_eq!(numbers, ["1", "2", "3"]);
}

#[test]
fn tables_have_a_column_of_them() {
    let folder = scratch("event_arguments", "column");
    let event = json!([{"ph":"X","pid":1,"tid":1,"name":"op","ts":1,"dur":1,"cat":"c","args":{"text":"a,\"b\"","list":[1, 2]}}]);
    std::fs::write(folder.join("t.json"), event.to_string()).unwrap();
    let csv = stdout(&crossprof(&folder, &["table", "events", "t.json", "--arguments", "--format", "csv"]));
    let expected = "line,process,name,start_us,duration_us,self_us,depth,arguments\r\nthread 1,process 1,op,0,1,1,0,\
                    \"{\"\"list\"\":\"\"[1,2]\"\",\"\"text\"\":\"\"a,\\\"\"b\\\"\"\"\",\"\"cat\"\":\"\"c\"\"}\"\r\n";
    assert_eq!(csv, expected);
    let text = stdout(&crossprof(&folder, &["table", "events", "t.json", "--arguments"]));
    assert!(text.contains("Arguments"), "{text}");
}

#[test]
fn files_that_cannot_be_read_again_are_reported() {
    let folder = scratch("event_arguments", "pipe");
    let refused = crossprof(&folder, &["table", "ops", "--arguments", "t.json"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("--arguments: only the table events"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_crossprof"))
        .args(["table", "events", "--arguments", "--format", "json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .current_dir(&folder)
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(br#"[{"ph":"X","pid":1,"tid":1,"name":"op","ts":1,"dur":1}]"#).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let found: Vec<Map<String, Value>> = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((found.len(), &found[0]["arguments"]), (1, &Value::Null));
    let said = stderr(&output);
    assert!(said.contains("stdin: cannot be read again for the arguments of its events"), "{said}");
}

/// For each line and name, the start (on the chip's clock if known) and the arguments of each event, in order of time.
type Groups = BTreeMap<(String, String), Vec<(i64, BTreeMap<String, String>)>>;

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn sorted(mut groups: Groups) -> Groups {
    groups.values_mut().for_each(|events| events.sort());
    groups
}

/// Reads a trace with `serde_json` instead of crossprof's decoder.
fn read_by_others(path: &Path) -> Groups {
    let text = support::gunzip(&std::fs::read(path).unwrap());
    let file: Value = serde_json::from_slice(&text).unwrap();
    let mut threads = BTreeMap::new();
    let events = file["traceEvents"].as_array().unwrap();
    let key = |event: &Value| (text_of(&event["pid"]), text_of(&event["tid"]));
    for event in events.iter().filter(|event| event["name"] == "thread_name") {
        threads.insert(key(event), text_of(&event["args"]["name"]));
    }
    let mut groups = Groups::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let Some(line) = threads.get(&key(event)) else { continue };
        let known = ["name", "ph", "pid", "tid", "ts", "dur", "args"];
        let others = event.as_object().unwrap().iter().filter(|(key, _)| !known.contains(&key.as_str()));
        let args = event["args"].as_object().into_iter().flatten();
        let arguments: BTreeMap<String, String> =
            args.chain(others).map(|(key, value)| (key.clone(), text_of(value))).collect();
        let start_ns = (event["ts"].as_f64().unwrap() * 1e3).round() as i64;
        groups.entry((line.clone(), text_of(&event["name"]))).or_default().push((start_ns, arguments));
    }
    sorted(groups)
}

/// Returns the events that the command line prints for the lines and names in `groups`.
fn read_again(path: &Path, groups: &Groups) -> Groups {
    let mut found = Groups::new();
    for row in rows(path.parent().unwrap(), &[path.file_name().unwrap().to_str().unwrap()]) {
        let key = (text_of(&row["line"]), text_of(&row["name"]));
        if groups.contains_key(&key) {
            let arguments = row["arguments"].as_object().unwrap();
            let arguments = arguments.iter().map(|(key, value)| (key.clone(), text_of(value))).collect();
            let start_ns = (row["start_us"].as_f64().unwrap() * 1e3).round() as i64;
            found.entry(key).or_default().push((start_ns, arguments));
        }
    }
    sorted(found)
}

#[test]
#[ignore = "reads real profiles"]
fn json_traces_match_another_reader() {
    // In these files, threads have unique names, and crossprof uses the events' times unchanged.
    for (path, least) in [("kineto/rank-0.json.gz", 4_000), ("mi300x-8gpu-conv/*.trace.json.gz", 3_000)] {
        let path = samples::real(path);
        let expected = read_by_others(&path);
        let found = read_again(&path, &expected);
        let mut compared = 0;
        for (key, events) in &expected {
            let of = |events: &[(i64, BTreeMap<String, String>)]| {
                let mut all: Vec<_> = events.iter().map(|(_, arguments)| arguments.clone()).collect();
                all.sort();
                all
            };
            assert_eq!(of(&found[key]), of(events), "{key:?}");
            // Events are compared one by one if no two of them start at the same time.
            if events.windows(2).all(|pair| pair[0].0 < pair[1].0) {
                assert!(found[key].iter().map(|it| &it.1).eq(events.iter().map(|it| &it.1)), "{key:?}");
            }
            compared += events.len();
        }
        assert!(compared >= least, "{compared}");
    }
}

#[test]
#[ignore = "reads real profiles"]
fn an_xplane_matches_the_profilers_json_export() {
    let [json, xplane] = ["trace.json.gz", "xplane.pb"].map(|end| samples::real(&format!("tpu-v6e-4chip/*.{end}")));
    let by_event = |path: &Path| {
        let mut events: BTreeMap<String, Vec<Map<String, Value>>> = BTreeMap::new();
        for row in rows(path.parent().unwrap(), &[path.file_name().unwrap().to_str().unwrap()]) {
            // The exporter rounds times.
            let arguments = row["arguments"].as_object().unwrap().clone();
            let at = (row["start_us"].as_f64().unwrap() * 10.0).round();
            events.entry(format!("{} {} {at}", row["line"], row["name"])).or_default().push(arguments);
        }
        events
    };
    let (exported, recorded) = (by_event(&json), by_event(&xplane));
    let (mut compared, mut lost) = (0, 0);
    for (event, all) in &exported {
        let Some(known) = recorded.get(event).filter(|known| known.len() == all.len()) else {
            lost += all.len();
            continue;
        };
        for arguments in all {
            let has = |(name, value): (&String, &Value), known: &Map<String, Value>| {
                known.get(name) == Some(value) || value == "<opaque bytes>"
            };
            assert!(known.iter().any(|known| arguments.iter().all(|it| has(it, known))), "{event}: {arguments:?}");
            compared += 1;
        }
    }
    assert!(compared > 20_000 && lost * 20 < compared, "{compared} compared, {lost} not");
}
