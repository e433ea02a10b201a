//! Real files, against totals that were counted by other tools and against the JSON of the same run.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;

use super::tests::{codes, decode, events};
use trace::{Event, EventColumn, Framework, Interval, IntervalSet, Trace};

/// The bytes of a shared trace, or `None` with a visible notice.
pub(super) fn shared(path: &str) -> Option<Vec<u8>> {
    let default = || concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/traces").into();
    let folder: PathBuf = std::env::var_os("CROSSPROF_TRACES").map_or_else(default, PathBuf::from);
    let file = folder.join(path);
    std::fs::read(&file).map_err(|_| eprintln!("skipped: {} is not there", file.display())).ok()
}

fn load(path: &str) -> Option<Trace> {
    Some(decode(&shared(path)?, 65536).unwrap())
}

fn names<'t>(trace: &'t Trace, event: &Event) -> (&'t str, &'t str) {
    let line = &trace.lines[event.line.index()];
    (trace.text(trace.plane_of(line).unwrap().name), trace.text(line.name))
}

fn on_line(trace: &Trace, line: &str) -> Vec<Event> {
    events(trace).into_iter().filter(|event| names(trace, event).1 == line).collect()
}

fn busy(events: &[Event]) -> IntervalSet {
    IntervalSet::union_of(events.iter().map(|event| Interval::new(event.start, event.end())))
}

fn device_events(trace: &Trace) -> Vec<Event> {
    events(trace).into_iter().filter(|event| names(trace, event).0.starts_with("/device:")).collect()
}

#[test]
fn tpu_totals_are_those_of_the_readme() {
    let Some(trace) = load("tpu-v6e-4chip/host.xplane.pb") else { return };
    let ops = on_line(&trace, "XLA Ops");
    assert_eq!(ops.len(), 6_013);
    assert_eq!(on_line(&trace, "Async XLA Ops").len(), 600);
    let modules = on_line(&trace, "XLA Modules");
    assert_eq!(modules.len(), 414);
    assert!(modules.iter().all(|event| trace.text(event.name).starts_with("jit_")));
    assert_eq!(
        trace
            .events
            .column(EventColumn::RunId)
            .iter()
            .filter(|(id, _)| names(&trace, &trace.events.get(*id).unwrap()).1 == "XLA Modules")
            .count(),
        414
    );
    let mut categories: BTreeMap<&str, (u64, i64, i64, i64)> = BTreeMap::new();
    for op in &ops {
        let args = trace.args_of(op);
        let sum = categories.entry(trace.text(args.hlo_category)).or_default();
        sum.0 += 1;
        sum.1 += op.duration.0;
        sum.2 += args.model_flops.unwrap_or(0);
        sum.3 += args.bytes_accessed.unwrap_or(0);
    }
    let told = |name: &str, digits: usize| {
        let (count, ps, ..) = categories[name];
        format!("{count} {:.digits$}", ps as f64 / 1e9)
    };
    assert_eq!(told("copy-done", 3), "2400 304033.212");
    assert_eq!(told("loop fusion", 3), "1200 9619.894");
    assert_eq!(told("all-reduce", 3), "12 1460.345");
    assert_eq!(told("broadcast", 3), "1 4.444");
    assert_eq!(told("copy-start", 4), "2400 0.0090");
    assert_eq!(categories["loop fusion"].2, 1_610_612_736_000);
    assert_eq!(categories["loop fusion"].3, 12_884_901_888_000);
    let busy: Vec<String> = (0..4)
        .map(|chip| {
            let plane = format!("/device:TPU:{chip}");
            let ops: Vec<Event> = ops.iter().copied().filter(|op| names(&trace, op).0 == plane).collect();
            format!("{:.2}", busy(&ops).length().0 as f64 / 1e9)
        })
        .collect();
    assert_eq!(busy, ["78783.72", "78788.30", "78780.80", "78765.08"]);
    assert_eq!((trace.framework, codes(&trace)), (Framework::Jax, vec![]));
}

#[test]
fn gpu_totals_are_those_of_the_readme() {
    if let Some(trace) = load("gfx950-te-attention/934987a2fc2f.xplane.pb") {
        let events = device_events(&trace);
        let set = busy(&events);
        assert_eq!(events.len(), 150);
        assert_eq!(format!("{:.1}", set.length().as_us()), "12133.1");
        assert_eq!(format!("{:.1}", set.span().unwrap().length().as_us()), "12956.8");
        assert_eq!(trace.hlo.len(), 9);
    }
    if let Some(trace) = load("mi300x-8gpu-conv/tw003.xplane.pb") {
        assert_eq!(device_events(&trace).len(), 235);
        assert_eq!(trace.framework, Framework::Jax);
    }
    if let Some(trace) = load("gtx1080ti-2gpu/cyclops.xplane.pb") {
        let events = device_events(&trace);
        let planes: Vec<_> = events.iter().map(|event| names(&trace, event).0).collect();
        assert_eq!(planes, ["/device:GPU:0", "/device:GPU:1"]);
        assert!(events.iter().all(|e| trace.text(trace.args_of(e).kernel_details).starts_with("regs:12 ")));
        assert_eq!(trace.events.len(), 55);
    }
    if let Some(trace) = load("pascal-tf-laptop/LAPTOP.xplane.pb") {
        assert_eq!(on_line(&trace, "Steps").len(), 1);
        assert_eq!(trace.framework, Framework::TensorFlow);
    }
    if let Some(trace) = load("synth-gpu-7steps/vm.xplane.pb") {
        assert_eq!(device_events(&trace).len(), 56);
        assert_eq!(trace.events.column(EventColumn::StepNum).len(), 7);
    }
}

/// `(plane, line, name, start, duration)`; the JSON writes a duration of 0 as 1 ps.
type Row = (String, String, String, i64, i64);

/// The events of a JSON; those with a time of a chip's own clock at that time, moved by the `shifts` of their planes.
fn json_rows(path: &str, shifts: &BTreeMap<&str, i64>) -> Option<Vec<Row>> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(shared(path)?.as_slice()).read_to_string(&mut text).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
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
    let ps = |value: &serde_json::Value| (value.as_f64().unwrap() * 1e6).round() as i64;
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
    Some(rows.collect())
}

/// Lines and events that the JSON's writer drops.
fn in_json((_, line, name, ..): &Row) -> bool {
    let dropped = ["MemoryAllocation", "MemoryDeallocation"];
    line != "Async XLA Ops" && !dropped.contains(&name.as_str())
}

/// Every event of the JSON is in the xplane under the same names and at the same time, and on devices nothing is missing. Events of a
/// TPU's planes that have no chip time are mapped through its ops, and only their number is compared.
#[test]
fn the_json_of_the_same_run_agrees() {
    for (xplane, json) in [
        ("tpu-v6e-4chip/host.xplane.pb", "tpu-v6e-4chip/host.trace.json.gz"),
        ("gtx1080ti-2gpu/cyclops.xplane.pb", "gtx1080ti-2gpu/cyclops.trace.json.gz"),
        ("pascal-tf-laptop/LAPTOP.xplane.pb", "pascal-tf-laptop/LAPTOP.trace.json.gz"),
    ] {
        let Some(trace) = load(xplane) else { return };
        let clocks = trace.planes.iter().filter_map(|plane| Some((trace.text(plane.name), plane.clock?.shift.0)));
        let shifts: BTreeMap<&str, i64> = clocks.collect();
        let Some(json) = json_rows(json, &shifts) else { return };
        let is_mapped = |plane: &str, line: &str| shifts.contains_key(plane) && line != "XLA Ops";
        let mut left: BTreeMap<Row, i64> = BTreeMap::new();
        for event in events(&trace) {
            let (plane, line) = names(&trace, &event);
            let name = trace.text(event.name).to_owned();
            let time = if is_mapped(plane, line) { (0, 0) } else { (event.start.0, event.duration.0.max(1)) };
            *left.entry((plane.to_owned(), line.to_owned(), name, time.0, time.1)).or_default() += 1;
        }
        for row in json {
            let row = &if is_mapped(&row.0, &row.1) { (row.0, row.1, row.2, 0, 0) } else { row };
            let count = left.get_mut(row).unwrap_or_else(|| panic!("{xplane} lacks {row:?}"));
            *count -= 1;
            assert!(*count >= 0, "{xplane} has {row:?} too few times");
        }
        let extra = left.iter().find(|(row, count)| **count > 0 && row.0.starts_with("/device:") && in_json(row));
        assert_eq!(extra, None, "{xplane} has more than its JSON");
    }
}

#[test]
fn files_that_only_look_alike_are_refused() {
    for (file, part) in [
        ("broken/utf8-mangled.xplane.pb", "decoded as text"),
        ("broken/not-an-xspace.trace", "trace viewer"),
        ("broken/tensorflow_stats.pb", "TensorFlow op statistics"),
    ] {
        let Some(bytes) = shared(file) else { return };
        assert!(!super::looks_like_xspace(&bytes[..512]));
        let sentence = super::what_else(&bytes[..4096]).unwrap().to_string();
        assert!(sentence.contains(part), "{sentence}");
        assert_eq!(decode(&bytes, 4096).unwrap_err().to_string(), sentence);
    }
}
