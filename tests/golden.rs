//! Runs one `check` on every sample: on the project's own samples, and on real profiles if they are available.

use std::path::Path;

use crate::support::{gunzip, gzip, load, load_chunked, samples};
use crossprof::input::XPlaneDecoder;
use crossprof::metrics::analyse;
use crossprof::run::Run;
use crossprof::{FileResult, Settings, UnifiedProfile, export};
use serde_json::Value;

/// Checks the properties that the result for any file must have.
fn check(path: &Path) {
    let shown = path.display().to_string();
    let stored = std::fs::read(path).expect("a readable sample");
    let name = path.file_name().expect("a file").to_string_lossy().into_owned();
    let expected = load(&name, &stored);

    assert!(load(&name, &stored) == expected, "{shown}: two runs differ");
    let packed = stored.starts_with(&[0x1f, 0x8b]);
    for &chunk in chunk_sizes(stored.len()) {
        assert!(load_chunked(&name, &stored, chunk) == expected, "{shown}: chunks of {chunk} bytes differ");
    }
    let nameless = anonymous(load("x", &stored));
    assert!(nameless == anonymous(expected.clone()), "{shown}: what it is depends on its name");
    let plain = if packed && expected.0.warnings.is_empty() { gunzip(&stored) } else { stored.clone() };
    // An empty file is still empty when compressed, but the compressed file has a member.
    if expected.0.warnings.is_empty() && !plain.is_empty() {
        let other = if packed { load("x", &plain) } else { load("x", &gzip(&stored)) };
        assert!(anonymous(other) == nameless, "{shown}: gzip and plain differ");
        for &chunk in chunk_sizes(plain.len()) {
            assert!(anonymous(load_chunked("x", &plain, chunk)) == nameless, "{shown}: plain chunks of {chunk} differ");
        }
    }
    for report in &expected.1 {
        check_report(&shown, report);
    }
}

/// Returns the chunk sizes to test. Large files are not read in small chunks, because that takes long.
fn chunk_sizes(bytes: usize) -> &'static [usize] {
    match bytes {
        0..600_000 => &[1, 7, 4096],
        600_000..4_000_000 => &[7, 4096],
        _ => &[4099],
    }
}

fn check_report(shown: &str, report: &UnifiedProfile) {
    let json = export::json::profile(report);
    let (result, imported) = load("result.json", json.as_bytes());
    assert_eq!(result.error, None, "{shown}: its export is refused");
    // An export writes home folders as `~`.
    let plain = serde_json::to_string(report).expect("JSON");
    let expected: UnifiedProfile = serde_json::from_str(&base::home::without_home(&plain)).expect("a profile");
    assert!(imported.as_slice() == std::slice::from_ref(&expected), "{shown}: export and import is not the identity");
    assert!(export::json::profile(&imported[0]) == json, "{shown}: the second export differs");
    check_values(shown, "", &serde_json::from_str(&json).expect("JSON"));
    let steps = report.step_timing.avg_step_time_us.filter(|_| report.step_timing.step_count_source != "user");
    if let (Some(step), Some(busy)) = (steps, &report.compute_utilization) {
        let sum = busy.kernel_time_us + busy.overhead_time_us;
        assert!((sum - step).abs() <= 1e-6 * step, "{shown}: busy and idle are {sum} of a step of {step}");
    }
}

/// Checks that all percentages are between 0 and 100, that no time or size is negative, and that JSON can represent
/// every number.
fn check_values(shown: &str, path: &str, value: &Value) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            let path = format!("{path}.{key}");
            if let Some(number) = value.as_f64() {
                if key.ends_with("percent") || key == "utilization_range" {
                    assert!((0.0..=100.0).contains(&number), "{shown}: {path} is {number}");
                }
                if (key.ends_with("_us") && key != "start_us") || key.ends_with("_bytes") {
                    assert!(number >= 0.0, "{shown}: {path} is {number}");
                }
            }
            check_values(shown, &path, value);
        }),
        Value::Array(values) => values.iter().for_each(|value| check_values(shown, path, value)),
        _ => {}
    }
}

/// Removes all data that depends on a file's name.
fn anonymous((mut result, mut reports): (FileResult, Vec<UnifiedProfile>)) -> (FileResult, Vec<UnifiedProfile>) {
    result.path.clear();
    result.members.iter_mut().for_each(|member| member.path.clear());
    result.warnings.iter_mut().for_each(|warning| warning.file = None);
    for report in &mut reports {
        report.metadata.run_name = None;
        report.metadata.trace_file.clear();
        report.warnings.iter_mut().for_each(|warning| warning.file = None);
        for file in &mut report.provenance {
            file.path.clear();
            file.size_bytes = 0;
        }
    }
    (result, reports)
}

#[test]
fn own_samples() {
    samples::own().iter().for_each(|path| check(path));
}

#[test]
#[ignore = "reads real profiles"]
fn real_samples() {
    let folder = samples::traces();
    let files: Vec<_> = samples::files(&folder, &["", ".gz"])
        .into_iter()
        .filter(|path| !path.to_string_lossy().contains("/xprof/") && path.extension().is_none_or(|e| e != "md"))
        .collect();
    assert!(files.len() > 30);
    // Half of the files are checked on a second thread, in alternation, so that both threads get large and small files.
    let (odd, even): (Vec<_>, Vec<_>) = files.iter().enumerate().partition(|(index, _)| index % 2 == 1);
    std::thread::scope(|scope| {
        let half = scope.spawn(|| odd.iter().for_each(|(_, path)| check(path)));
        even.iter().for_each(|(_, path)| check(path));
        if let Err(panic) = half.join() {
            std::panic::resume_unwind(panic);
        }
    });
}

#[test]
fn own_pairs_agree() {
    pairs_agree(&samples::root().join("tests/data"), 2);
}

#[test]
#[ignore = "reads real profiles"]
fn real_pairs_agree() {
    pairs_agree(&samples::traces(), 3);
}

/// Checks that the xplane file and the JSON of each run agree on every number that both contain. Requires `expected` pairs
/// below the folder.
fn pairs_agree(folder: &Path, expected: usize) {
    // The JSON of the 8-GPU run contains only the events of one GPU.
    let lossy = "mi300x-8gpu-conv";
    let mut pairs = 0;
    let mut differences = Vec::new();
    for xplane in samples::files(folder, &[".xplane.pb"]) {
        let json = xplane.to_string_lossy().replace(".xplane.pb", ".trace.json.gz");
        if json.contains(lossy) || !Path::new(&json).is_file() {
            continue;
        }
        let json_bytes = std::fs::read(&json).expect("a readable sample");
        let bytes = std::fs::read(&xplane).expect("a readable sample");
        let (_, mut from_xplane) = load("x", &bytes);
        let (_, from_json) = load("x", &json_bytes);
        // A JSON file does not contain the ends of a CPU backend's ops. In that case, both files are measured by their
        // events alone.
        if from_json[0].warnings.iter().any(|warning| warning.code == "cpu_op_ends_unknown") {
            assert!(known_to_both(&from_xplane[0]) != known_to_both(&from_json[0]), "{json}: nothing is unknown");
            let metadata = from_xplane[0].metadata.clone();
            from_xplane[0] = UnifiedProfile { metadata, ..by_events_alone(&bytes) };
        }
        let (a, b) = (known_to_both(&from_xplane[0]), known_to_both(&from_json[0]));
        compare(&xplane.display().to_string(), &a, &b, &mut differences);
        pairs += 1;
    }
    assert!(differences.is_empty(), "{differences:#?}");
    assert_eq!(pairs, expected);
}

/// Returns the report for an xplane file whose events are used exactly as recorded.
fn by_events_alone(bytes: &[u8]) -> UnifiedProfile {
    let mut decoder = XPlaneDecoder::new("x");
    decoder.push(bytes).expect("an xplane");
    let run = Run { trace: decoder.finish().expect("a whole xplane"), ..Run::default() };
    analyse(&run, &Settings::default()).profile
}

fn known_to_both(report: &UnifiedProfile) -> Value {
    let mut report = report.clone();
    // Only the xplane file contains hardware, versions, times of day and op costs. Input files and warnings differ too.
    report.metadata.device_type.clear();
    // The capture differs too, because the JSON lacks some host events.
    if let Some(window) = &mut report.window {
        window.sentence.clear();
        window.active_percent = None;
    }
    report.metadata.environment.clear();
    report.memory = None;
    report.goodput = None;
    report.metadata.timestamp = None;
    report.metadata.source_format = None;
    report.metadata.num_events = None;
    report.metadata.framework.clear();
    report.warnings.clear();
    report.not_measured.clear();
    report.provenance.clear();
    // Missing data in the JSON is a separate finding. tests/findings.rs tests both.
    report.findings.clear();
    // The JSON lacks launch shapes, the HLO with its costs, and the device's peak rates.
    report.kernel_statistics = None;
    report.roofline = None;
    // Paths, costs and phases of ops are in the HLO.
    report.layers = None;
    // The HLO describes programs and the parameters that they train.
    report.programs.clear();
    (report.layer_freezing, report.parameter_counts) = (None, None);
    // The JSON omits some host events, gives zero-length events a picosecond, and rounds the start of the chip's clock.
    if let Some(steps) = &mut report.step_breakdown {
        steps.host_roles.clear();
        (steps.host_idle_percent, steps.chip_idle_percent) = (None, None);
    }
    // Source lines are in the HLO.
    if let Some(step_ops) = &mut report.step_ops {
        step_ops.ops.iter_mut().for_each(|op| op.source = None);
    }
    // Wait times need the replica groups, which are in the HLO.
    if let Some(communication) = &mut report.communication {
        (communication.wait_time_us, communication.transfer_time_us) = (None, None);
        (communication.straggler, communication.straggler_percent) = (None, None);
    }
    report.op_statistics = None;
    // Bytes and group sizes of collectives are in the HLO.
    for op in report.communication.iter_mut().flat_map(|it| &mut it.top_ops) {
        (op.bytes, op.group_size, op.algorithm_gb_per_sec, op.bus_gb_per_sec) = (None, None, None, None);
    }
    report.step_ops.iter_mut().for_each(|it| it.operand_types.clear());
    for op in report.step_ops.iter_mut().flat_map(|it| &mut it.ops) {
        (op.module, op.framework_op, op.fingerprint) = (None, None, None);
    }
    // The xplane file has events that no JSON contains, so its capture is longer and percentages of it are smaller.
    report.metadata.capture_duration_us = None;
    if let Some(io) = &mut report.io_operations {
        io.io_percent = 0.0;
    }
    // Modules with the same name are distinguished by program ids, which the JSON lacks.
    report.compilation = report.compilation.filter(|compilation| compilation.num_compilation_events > 0);
    if let Some(compilation) = &mut report.compilation {
        compilation.num_xla_modules = None;
        compilation.compilation_percent = 0.0;
    }
    if let Some(devices) = &mut report.multi_device {
        for device in &mut devices.device_stats {
            // Arrivals and groups need the replica groups. Only the xplane file records the places of chips.
            (device.device_type, device.arrivals, device.place) = (None, None, None);
            device.steps.iter_mut().for_each(|steps| steps.relative_score_percent = None);
        }
        for host in &mut devices.hosts {
            (host.wait_time_us, host.caused_wait_us, host.peak_memory_bytes) = (None, None, None);
        }
    }
    serde_json::to_value(report).expect("a report is JSON")
}

fn compare(path: &str, a: &Value, b: &Value, differences: &mut Vec<String>) {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            for key in x.keys().chain(y.keys().filter(|key| !x.contains_key(*key))) {
                let absent = Value::Null;
                let (x, y) = (x.get(key).unwrap_or(&absent), y.get(key).unwrap_or(&absent));
                compare(&format!("{path}.{key}"), x, y, differences);
            }
        }
        (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
            for (index, (x, y)) in x.iter().zip(y).enumerate() {
                compare(&format!("{path}[{index}]"), x, y, differences);
            }
        }
        _ => {
            // The JSON rounds times to decimals, so self times of adjacent ops differ by fractions of a nanosecond.
            let same = match (a.as_f64(), b.as_f64()) {
                (Some(x), Some(y)) => (x - y).abs() <= 1e-9 * x.abs() + 1e-4,
                _ => a == b,
            };
            if !same {
                differences.push(format!("{path}: xplane {a}, JSON {b}"));
            }
        }
    }
}
