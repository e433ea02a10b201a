//! Real traces, where they are at hand (`$CROSSPROF_TRACES` or `../shared/traces`), against what is known of them.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;

use super::{decode_in, describe};
use trace::{Event, EventId, LineKind, PlaneKind, Trace};

/// The unpacked text of a sample, or `None` with a notice.
fn sample(name: &str) -> Option<Vec<u8>> {
    let root = std::env::var_os("CROSSPROF_TRACES").map_or_else(|| PathBuf::from("../shared/traces"), PathBuf::from);
    let Ok(bytes) = std::fs::read(root.join(name)) else {
        eprintln!("skipped: the sample {name} is not here (CROSSPROF_TRACES names the folder)");
        return None;
    };
    if !name.ends_with(".gz") {
        return Some(bytes);
    }
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut text).unwrap();
    Some(text)
}

fn trace(name: &str) -> Option<Trace> {
    let text = sample(name)?;
    let trace = decode_in(&text, 1 << 20).unwrap();
    let description = describe(&trace);
    for size in [7, 4096] {
        assert!(describe(&decode_in(&text, size).unwrap()) == description, "{name} in chunks of {size} bytes");
    }
    Some(trace)
}

#[test]
fn a_tpu_trace_has_its_known_totals() {
    let Some(trace) = trace("tpu-v6e-4chip/host.trace.json.gz") else { return };
    assert_eq!(trace.complete_events, 25_217);
    assert_eq!(trace.events.len(), 25_217);
    assert!(trace.warnings.is_empty(), "{:?}", trace.warnings);
    let mut by_category: BTreeMap<&str, (u64, i64, i64, i64)> = BTreeMap::new();
    let mut ops = 0;
    for event in (0..trace.events.len() as EventId).filter_map(|id| trace.events.get(id)) {
        let line = trace.lines.get(event.line.index()).unwrap();
        if line.kind != LineKind::DeviceOps {
            continue;
        }
        ops += 1;
        let args = trace.args_of(&event);
        let total = by_category.entry(trace.text(args.hlo_category)).or_default();
        total.0 += 1;
        total.1 += event.duration.0;
        total.2 += args.model_flops.unwrap_or(0);
        total.3 += args.bytes_accessed.unwrap_or(0);
    }
    assert_eq!(ops, 6_013);
    let rounded = |category: &str| by_category.get(category).map(|t| (t.0, format!("{:.3}", t.1 as f64 / 1e9)));
    assert_eq!(rounded("copy-done"), Some((2_400, "304033.212".to_owned())));
    assert_eq!(rounded("loop fusion"), Some((1_200, "9619.894".to_owned())));
    assert_eq!(rounded("all-reduce"), Some((12, "1460.345".to_owned())));
    assert_eq!(rounded("broadcast"), Some((1, "4.444".to_owned())));
    let fusion = by_category.get("loop fusion").unwrap();
    assert_eq!((fusion.2, fusion.3), (1_610_612_736_000, 12_884_901_888_000));
    let tpus = trace.planes.iter().filter(|plane| matches!(plane.kind, PlaneKind::Device { .. })).count();
    assert_eq!(tpus, 4);
}

#[test]
fn gpu_traces_have_their_known_counts() {
    // Complete events as any JSON reader counts them; metadata and the empty last entry do not.
    for (name, complete) in [
        ("mi300x-8gpu-conv/tw003.trace.json.gz", 3_620),
        ("gtx1080ti-2gpu/cyclops.trace.json.gz", 41),
        ("pascal-tf-laptop/LAPTOP.trace.json.gz", 846),
        ("tpu-qwen3-runs/run-a.trace.json.gz", 12_599),
        ("tpu-qwen3-runs/run-b.trace.json.gz", 11_203),
    ] {
        let Some(trace) = trace(name) else { continue };
        assert_eq!((trace.complete_events, trace.events.len()), (complete, complete as usize), "{name}");
    }
}

#[test]
fn kineto_traces_have_their_known_counts() {
    // Kernels, copies and fills; all complete events; the device's number.
    for (name, on_device, complete, ordinal) in [
        ("kineto/h100-owlv2.json.gz", 4_330 + 750 + 85, 104_159, 0),
        ("kineto/rank-0.json.gz", 1_154 + 40 + 10, 4_811, 0),
        ("kineto/rank-1.json.gz", 1_104 + 40 + 10, 4_676, 1),
        ("broken/integer-over-2p53.json.gz", 1, 2, 0),
        ("kineto/top-level-array.pt.trace.json.gz", 9_538 + 377 + 12, 63_166, 0),
    ] {
        let Some(trace) = trace(name) else { continue };
        assert_eq!(trace.complete_events, complete, "{name}");
        let gpu = |event: &Event| trace::is_gpu_cat(trace.text(trace.args_of(event).cat));
        let found: Vec<_> =
            (0..trace.events.len() as EventId).filter_map(|id| trace.events.get(id)).filter(gpu).collect();
        assert_eq!(found.len(), on_device, "{name}");
        for event in &found {
            let line = trace.lines.get(event.line.index()).unwrap();
            let kind = trace.plane_of(line).map(|plane| plane.kind);
            assert!(matches!(kind, Some(PlaneKind::Device { ordinal: n, .. }) if n == ordinal), "{name}: {kind:?}");
            assert_eq!(line.kind, LineKind::DeviceOps, "{name}");
        }
    }
}

#[test]
fn damaged_and_odd_files_give_what_they_hold() {
    // File, events, codes of the warnings; `None`: refused.
    type Expected = Option<(usize, &'static [&'static str])>;
    let cases: [(&str, Expected); 22] = [
        ("damaged/array_only.json", Some((2, &[]))),
        ("damaged/array_unterminated.json", Some((2, &["json_unterminated"]))),
        ("damaged/bad_utf8.json", Some((3, &[]))),
        ("damaged/bom.json", Some((2, &[]))),
        ("damaged/ctrl_char.json", Some((3, &[]))),
        ("damaged/empty.json", None),
        ("damaged/html.json", None),
        ("damaged/metadata_first.json", Some((2, &[]))),
        ("damaged/nan.json", Some((2, &["time_not_a_number"]))),
        ("damaged/neg_dur.json", Some((2, &["negative_duration"]))),
        ("damaged/neg_ts.json", Some((3, &[]))),
        ("damaged/ok_no_tail.json", Some((2, &[]))),
        ("damaged/ok_tail_empty_obj.json", Some((2, &[]))),
        ("damaged/overlap.json", Some((2, &[]))),
        ("damaged/spaces.json", Some((2, &[]))),
        ("damaged/sub_ns.json", Some((2, &[]))),
        ("damaged/trailing_comma.json", Some((2, &[]))),
        ("damaged/trailing_garbage.json", Some((2, &[]))),
        ("damaged/trunc_missing_bracket.json", Some((2, &["json_cut_off"]))),
        ("damaged/unicode.json", Some((3, &[]))),
        ("broken/incomplete.json", None),
        ("broken/bad-world-bounds.json", Some((0, &["no_events"]))),
    ];
    for (name, expected) in cases {
        let Some(text) = sample(name) else { continue };
        let trace = decode_in(&text, 1 << 20);
        let found = trace.as_ref().ok().map(|trace| {
            (trace.events.len(), trace.warnings.iter().map(|warning| warning.code.as_str()).collect::<Vec<_>>())
        });
        assert_eq!(found, expected.map(|(events, codes)| (events, codes.to_vec())), "{name}");
    }
}

#[test]
fn two_runs_of_a_serving_job_differ_as_known() {
    // Events on the op lines; all-to-all operations; runs of the step's module.
    for (name, ops, all_to_all) in
        [("tpu-qwen3-runs/run-a.trace.json.gz", 9_364, 256), ("tpu-qwen3-runs/run-b.trace.json.gz", 7_828, 0)]
    {
        let Some(trace) = trace(name) else { continue };
        let count = |wanted: &dyn Fn(&Event) -> bool| {
            (0..trace.events.len() as EventId).filter_map(|id| trace.events.get(id)).filter(|e| wanted(e)).count()
        };
        let kind = |event: &Event| trace.lines.get(event.line.index()).map(|line| line.kind);
        assert_eq!(count(&|event| kind(event) == Some(LineKind::DeviceOps)), ops, "{name}");
        assert_eq!(count(&|event| trace.text(event.name).contains("all-to-all")), all_to_all, "{name}");
        assert_eq!(count(&|event| trace.text(event.name).starts_with("jit_step_fun")), 2, "{name}");
    }
}

#[test]
fn another_tools_file_is_refused_by_what_it_is() {
    let Some(text) = sample("broken/incomplete.json") else { return };
    let error = decode_in(&text, 7).unwrap_err().to_string();
    assert!(error.contains("without \"traceEvents\" (it has \"$schema\", \"shared\", \"profiles\")"), "{error}");
    assert!(error.contains("Drop a trace.json") && error.ends_with('.'), "{error}");
}
