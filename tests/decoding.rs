//! Decodes whole files: every event of an xplane file and of its JSON, and real files whose contents other tools
//! counted.

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::{decode, gunzip, samples};
use crossprof::input::{Decoded, Decoder};
use crossprof::trace::{Event, EventColumn, Framework, LineKind, PlaneKind, Trace, is_gpu_cat};
use serde_json::Value;

fn real(path: &str) -> Trace {
    decode(&samples::real(path))
}

/// Returns the names of an event's plane and line.
fn names<'t>(trace: &'t Trace, event: &Event) -> (&'t str, &'t str) {
    let line = &trace.lines[event.line.index()];
    (trace.text(trace.plane_of(line).unwrap().name), trace.text(line.name))
}

fn on_line(trace: &Trace, line: &str) -> Vec<Event> {
    trace.events.iter().filter(|event| names(trace, event).1 == line).collect()
}

fn device_events(trace: &Trace) -> Vec<Event> {
    trace.events.iter().filter(|event| names(trace, event).0.starts_with("/device:")).collect()
}

fn codes(trace: &Trace) -> Vec<&str> {
    trace.warnings.iter().map(|warning| warning.code.as_str()).collect()
}

#[test]
#[ignore = "reads real profiles"]
fn ops_of_a_tpu_have_their_costs() {
    for path in ["tpu-v6e-4chip/*.xplane.pb", "tpu-v6e-4chip/*.trace.json.gz"] {
        let trace = real(path);
        let ops = on_line(&trace, "XLA Ops");
        assert_eq!((ops.len(), codes(&trace)), (6_013, vec![]), "{path}");
        let fusions: Vec<_> = ops.iter().map(|op| trace.args_of(op)).collect();
        let fusions = fusions.iter().filter(|args| trace.text(args.hlo_category) == "loop fusion");
        let (flops, bytes): (Vec<_>, Vec<_>) =
            fusions.map(|args| (args.model_flops.unwrap(), args.bytes_accessed.unwrap())).unzip();
        assert_eq!(flops.len(), 1200, "{path}");
        let sums = (flops.iter().sum::<i64>(), bytes.iter().sum::<i64>());
        assert_eq!(sums, (1_610_612_736_000, 12_884_901_888_000), "{path}");
        let devices = trace.planes.iter().filter(|plane| matches!(plane.kind, PlaneKind::Device { .. }));
        assert_eq!((devices.count(), trace.framework), (4, Framework::Jax), "{path}");
    }
}

#[test]
#[ignore = "reads real profiles"]
fn an_xplane_of_a_tpu_has_programs_and_asynchronous_ops() {
    let trace = real("tpu-v6e-4chip/*.xplane.pb");
    assert_eq!(on_line(&trace, "Async XLA Ops").len(), 600);
    let modules = on_line(&trace, "XLA Modules");
    assert_eq!(modules.len(), 414);
    assert!(modules.iter().all(|event| trace.text(event.name).starts_with("jit_")));
    let numbered = trace.events.column(EventColumn::RunId).iter().map(|(id, _)| trace.events.get(id).unwrap());
    assert_eq!(numbered.filter(|event| names(&trace, event).1 == "XLA Modules").count(), 414);
}

#[test]
#[ignore = "reads real profiles"]
fn xplanes_of_gpus_have_their_known_counts() {
    for (path, on_devices, framework) in [
        ("gfx950-te-attention/*.xplane.pb", 150, Framework::Jax),
        ("mi300x-8gpu-conv/*.xplane.pb", 235, Framework::Jax),
        ("gtx1080ti-2gpu/*.xplane.pb", 2, Framework::Unknown),
        ("pascal-tf-laptop/*.xplane.pb", 283, Framework::TensorFlow),
    ] {
        let trace = real(path);
        assert_eq!((device_events(&trace).len(), trace.framework), (on_devices, framework), "{path}");
    }
    assert_eq!(real("gfx950-te-attention/*.xplane.pb").hlo.len(), 9);
    let trace = real("gtx1080ti-2gpu/*.xplane.pb");
    let events = device_events(&trace);
    let planes: Vec<_> = events.iter().map(|event| names(&trace, event).0).collect();
    assert_eq!(planes, ["/device:GPU:0", "/device:GPU:1"]);
    assert!(events.iter().all(|event| trace.text(trace.args_of(event).kernel_details).starts_with("regs:12 ")));
    assert_eq!(on_line(&real("pascal-tf-laptop/*.xplane.pb"), "Steps").len(), 1);
}

/// Counts complete events as any JSON reader would, without metadata and without the empty last entry.
#[test]
#[ignore = "reads real profiles"]
fn trace_jsons_have_their_known_counts() {
    for (path, complete) in [
        ("tpu-v6e-4chip/*.trace.json.gz", 25_217),
        ("mi300x-8gpu-conv/*.trace.json.gz", 3_620),
        ("gtx1080ti-2gpu/*.trace.json.gz", 41),
        ("pascal-tf-laptop/*.trace.json.gz", 846),
        ("tpu-qwen3-runs/run-a.trace.json.gz", 12_599),
        ("tpu-qwen3-runs/run-b.trace.json.gz", 11_203),
    ] {
        let trace = real(path);
        assert_eq!((trace.complete_events, trace.events.len()), (complete, complete as usize), "{path}");
    }
    // For each file: the number of kernels, copies and fills, the number of complete events, and the device's number.
    for (path, on_device, complete, device) in [
        ("kineto/h100-owlv2.json.gz", 4_330 + 750 + 85, 104_159, 0),
        ("kineto/rank-0.json.gz", 1_154 + 40 + 10, 4_811, 0),
        ("kineto/rank-1.json.gz", 1_104 + 40 + 10, 4_676, 1),
        ("kineto/top-level-array.pt.trace.json.gz", 9_538 + 377 + 12, 63_166, 0),
        ("broken/integer-over-2p53.json.gz", 1, 2, 0),
    ] {
        let trace = real(path);
        assert_eq!(trace.complete_events, complete, "{path}");
        let on_gpu = trace.events.iter().filter(|event| is_gpu_cat(trace.text(trace.args_of(event).cat)));
        let lines: Vec<_> = on_gpu.map(|event| &trace.lines[event.line.index()]).collect();
        assert_eq!(lines.len(), on_device, "{path}");
        assert!(lines.iter().all(|line| line.kind == LineKind::DeviceOps), "{path}");
        let is_its = |kind| matches!(kind, PlaneKind::Device { ordinal, .. } if ordinal == device);
        assert!(lines.iter().all(|line| is_its(trace.plane_of(line).unwrap().kind)), "{path}");
    }
}

#[test]
#[ignore = "reads real profiles"]
fn damaged_and_unusual_files_give_their_content() {
    // File, number of events, codes of the warnings.
    for (name, events, expected) in [
        ("damaged/array_only.json", 2, &[][..]),
        ("damaged/array_unterminated.json", 2, &["json_unterminated"]),
        ("damaged/bad_utf8.json", 3, &[]),
        ("damaged/bom.json", 2, &[]),
        ("damaged/ctrl_char.json", 3, &[]),
        ("damaged/metadata_first.json", 2, &[]),
        ("damaged/nan.json", 2, &["time_not_a_number"]),
        ("damaged/neg_dur.json", 2, &["negative_duration"]),
        ("damaged/neg_ts.json", 3, &[]),
        ("damaged/ok_no_tail.json", 2, &[]),
        ("damaged/ok_tail_empty_obj.json", 2, &[]),
        ("damaged/overlap.json", 2, &[]),
        ("damaged/spaces.json", 2, &[]),
        ("damaged/sub_ns.json", 2, &[]),
        ("damaged/trailing_comma.json", 2, &[]),
        ("damaged/trailing_garbage.json", 2, &[]),
        ("damaged/trunc_missing_bracket.json", 2, &["json_cut_off"]),
        ("damaged/unicode.json", 3, &[]),
        ("broken/bad-world-bounds.json", 0, &["no_events"]),
    ] {
        let trace = real(name);
        assert_eq!((trace.events.len(), codes(&trace).as_slice()), (events, expected), "{name}");
    }
}

/// `(plane, line, name, start, duration)`. The JSON writes a duration of 0 as 1 ps.
type Row = (String, String, String, i64, i64);

/// Returns the events of a JSON file. If an event has a time on a chip's own clock, uses that time, plus the shift in
/// `shifts` for the event's plane.
fn json_rows(text: &[u8], shifts: &BTreeMap<&str, i64>) -> Vec<Row> {
    let json: Value = serde_json::from_slice(text).unwrap();
    let all = json["traceEvents"].as_array().unwrap();
    let (mut planes, mut lines) = (BTreeMap::new(), BTreeMap::new());
    for event in all {
        let name = event["args"]["name"].as_str().unwrap_or("").to_owned();
        let pid = event["pid"].as_i64();
        match event["name"].as_str() {
            Some("process_name") => drop(planes.insert(pid, name)),
            Some("thread_name") => drop(lines.insert((pid, event["tid"].as_i64()), name)),
            _ => {}
        }
    }
    let ps = |value: &Value| (value.as_f64().unwrap() * 1e6).round() as i64;
    let rows = all.iter().filter(|event| event["ph"] == "X").map(|event| {
        let pid = event["pid"].as_i64();
        let line = lines.get(&(pid, event["tid"].as_i64())).cloned().unwrap_or_default();
        let name = event["name"].as_str().unwrap_or("").to_owned();
        let plane = &planes[&pid];
        let chip = |key: &str| event["args"][key].as_str().map(|text| text.parse::<i64>().unwrap());
        let (start, duration) = match (chip("device_offset_ps"), chip("device_duration_ps")) {
            (Some(offset), Some(duration)) => (offset + shifts[plane.as_str()], duration.max(1)),
            _ => (ps(&event["ts"]), ps(&event["dur"])),
        };
        (plane.clone(), line, name, start, duration)
    });
    rows.collect()
}

/// Returns false for lines and events that XLA drops when it writes the JSON.
fn in_json((_, line, name, ..): &Row) -> bool {
    let dropped = ["MemoryAllocation", "MemoryDeallocation"];
    line != "Async XLA Ops" && !dropped.contains(&name.as_str())
}

/// Requires every event of the JSON to be in the xplane file with the same names and the same time. On devices, the JSON
/// must also contain all events. Events of TPU planes without a chip time are only counted, because their times are
/// mapped through the plane's ops. Returns the number of compared events.
fn same_events(xplane: &Path, json: &Path) -> usize {
    let trace = decode(xplane);
    let clocks = trace.planes.iter().filter_map(|plane| Some((trace.text(plane.name), plane.clock?.shift.as_ps())));
    let shifts: BTreeMap<&str, i64> = clocks.collect();
    let json = json_rows(&gunzip(&std::fs::read(json).unwrap()), &shifts);
    let is_mapped = |plane: &str, line: &str| shifts.contains_key(plane) && line != "XLA Ops";
    let xplane = xplane.display();
    let mut left: BTreeMap<Row, i64> = BTreeMap::new();
    for event in trace.events.iter() {
        let (plane, line) = names(&trace, &event);
        let name = trace.text(event.name).to_owned();
        let time = if is_mapped(plane, line) { (0, 0) } else { (event.start.as_ps(), event.duration.as_ps().max(1)) };
        *left.entry((plane.to_owned(), line.to_owned(), name, time.0, time.1)).or_default() += 1;
    }
    for row in &json {
        let row = row.clone();
        let row = if is_mapped(&row.0, &row.1) { (row.0, row.1, row.2, 0, 0) } else { row };
        let count = left.get_mut(&row).unwrap_or_else(|| panic!("{xplane} lacks {row:?}"));
        *count -= 1;
        assert!(*count >= 0, "{xplane} has {row:?} too few times");
    }
    let extra = left.iter().find(|(row, count)| **count > 0 && row.0.starts_with("/device:") && in_json(row));
    assert_eq!(extra, None, "{xplane} has more than its JSON");
    json.len()
}

#[test]
fn our_own_jsons_have_the_events_of_their_xplanes() {
    for run in ["jax-cpu-train/plugins/profile/2026_11_21_02_00_05", "jax-cpu-mesh/plugins/profile/2026_11_21_02_00_07"]
    {
        let folder = samples::root().join("tests/data").join(run);
        assert!(same_events(&folder.join("host.xplane.pb"), &folder.join("host.trace.json.gz")) > 1000, "{run}");
    }
}

#[test]
#[ignore = "reads real profiles"]
fn real_jsons_have_the_events_of_their_xplanes() {
    for (run, events) in [("tpu-v6e-4chip", 25_217), ("gtx1080ti-2gpu", 41), ("pascal-tf-laptop", 846)] {
        let [xplane, json] = ["xplane.pb", "trace.json.gz"].map(|end| samples::real(&format!("{run}/*.{end}")));
        assert_eq!(same_events(&xplane, &json), events, "{run}");
    }
}

/// For a file that is not a trace, returns the reason why the file is skipped, or the error.
fn described(path: &str) -> String {
    let stored = samples::real_bytes(path);
    let plain = if stored.starts_with(&[0x1f, 0x8b]) { gunzip(&stored) } else { stored };
    let mut decoder = Decoder::new("a");
    let _ = decoder.push(&plain); // Errors also appear at the end.
    match decoder.finish() {
        Ok(Decoded::MemoryProfile(_)) => "a memory profile".to_owned(),
        Ok(Decoded::Ignored { reason }) => reason,
        Ok(_) => panic!("{path} was read"),
        Err(error) => error.to_string(),
    }
}

#[test]
#[ignore = "reads real profiles"]
fn files_without_a_trace_are_described() {
    for (file, expected) in [
        ("broken/utf8-mangled.xplane.pb", "decoded as text"),
        ("broken/incomplete.json", "a speedscope profile"),
        ("broken/not-an-xspace.trace", "trace viewer"),
        ("broken/tensorflow_stats.pb", "TensorFlow op statistics"),
        ("damaged/empty.json", "The file is empty"),
        ("damaged/empty.json.gz", "The file is empty"),
        ("damaged/html.json", "an HTML page"),
        ("memory-prof/cuda-led-getter.prof", "a memory profile"),
        ("memory-prof/cuda-poscidyn.prof", "a memory profile"),
        ("pascal-tf-laptop/*.memory_profile.json.gz", "This is a memory profile"),
        ("tpu-v6e-4chip/xprof/overview_page.json", "This is a table"),
        ("tpu-v6e-4chip/xprof/op_profile.json", "This is an op profile"),
    ] {
        assert!(described(file).contains(expected), "{file}: {}", described(file));
    }
}
