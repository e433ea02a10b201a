//! Reads the results of a benchmark that timed several methods. Each method becomes a run.
//!
//! ```json
//! {"unitary_grad_lcam": {"execution_time": 45.2, "success": true,
//!                        "tensorboard_trace": "tensorboard_logs/4gpu_20241201_143022/lcam_trace"},
//!  "unitary_grad_tad": {"execution_time": 52.1, "success": true}}
//! ```
//!
//! Methods are at the top level (`profile_4gpu_results.json`), or inside an object for each number of devices
//! (`hybrid_profiler_results_<time>.json`: `results -> 4gpu -> method`). In the second form, `gpu_count`,
//! `total_params` and `timestamp` are next to these objects.
//!
//! This module reads the time (in seconds, as one step), the number of parameters, the number and kind of devices, and
//! the time of the capture. The number and kind of devices come from `gpu_count`, from the key above the method, or
//! from the name of the trace's folder. The trace itself is in another file.
//!
//! The time of a failed method is meaningless, so the method causes a warning and does not become a run. A single note
//! lists all values in the document that are not methods.

use serde_json::{Map, Value, json};

use super::section::Notes;
use super::{NamedProfile, Profiles, legacy};
use base::{Error, Warning, WarningCode};
use report::{NotMeasured, UnifiedProfile};

/// Keys that only methods have. These keys distinguish benchmark results from other JSON (see [`crate::sniff()`]).
pub(crate) const METHOD_KEYS: [&str; 2] = ["execution_time", "tensorboard_trace"];

/// Maximum length of a name or message from the file, in characters.
const MOST_TEXT: usize = 120;

/// Maximum nesting depth of the objects that are searched for methods.
const DEEPEST: u32 = 3;

/// Returns true if a value of the document is a method or contains a method.
pub(super) fn is_results(document: &Map<String, Value>) -> bool {
    holds_method(document, DEEPEST)
}

fn holds_method(document: &Map<String, Value>, depth: u32) -> bool {
    let below = |value: &Value| depth > 0 && value.as_object().is_some_and(|object| holds_method(object, depth - 1));
    document.values().any(|value| is_method(value) || below(value))
}

fn is_method(value: &Value) -> bool {
    METHOD_KEYS.iter().any(|key| value.get(key).is_some())
}

/// Properties that a method takes from the enclosing objects.
#[derive(Clone, Debug, Default)]
struct Around {
    devices: Option<u64>,
    platform: Option<&'static str>,
    timestamp: Option<String>,
    total_params: Option<u64>,
}

impl Around {
    /// Returns the properties for methods in the inner object `object`, whose key is `key` (`4gpu`). Values in `object`
    /// take precedence over values of the enclosing objects.
    fn inside(&self, key: &str, object: &Map<String, Value>) -> Around {
        let facts = facts_of_folder(key).unwrap_or_default();
        let count = |key: &str| object.get(key).and_then(Value::as_u64).filter(|&count| count > 0);
        let gpus = count("gpu_count");
        Around {
            devices: gpus.or(facts.devices).or(self.devices),
            platform: gpus.map(|_| "GPU").or(facts.platform).or(self.platform),
            timestamp: object.get("timestamp").and_then(Value::as_str).and_then(time_of).or(self.timestamp.clone()),
            total_params: count("total_params").or(self.total_params),
        }
    }
}

/// Parses a time from the document: `20241201_143022`, or ISO 8601.
fn time_of(text: &str) -> Option<String> {
    let (date, time) = text.split_once(['_', 'T', ' '])?;
    let is_iso = date.len() == 10 && time.len() >= 8 && text.len() <= 40;
    timestamp(date, time).or_else(|| is_iso.then(|| format!("{date}T{time}")))
}

/// Result of searching a document for methods.
#[derive(Default)]
struct Results {
    profiles: Profiles,
    /// Name of each method that failed, with the reason.
    failed: Vec<String>,
    /// Names of values that are not methods.
    others: Vec<String>,
}

/// Returns the methods that succeeded as runs.
///
/// # Errors
///
/// Returns [`Error::Malformed`] if no method succeeded. The reason in the error describes the first failure.
pub(super) fn read(document: &Map<String, Value>, path: &str) -> Result<Profiles, Error> {
    let mut found = Results::default();
    look(document, &Around::default().inside("", document), DEEPEST, &mut found);
    let Results { mut profiles, failed, others } = found;
    if profiles.runs.is_empty() {
        let first = failed.first().cloned().unwrap_or_default();
        return Err(Error::Malformed {
            what: "a benchmark's results".to_owned(),
            reason: format!("none of its methods succeeded with a time (the first: {first})"),
            remedy: "Run the benchmark again, or open the traces that it wrote.".to_owned(),
        });
    }
    // This does not affect the numbers of the other methods.
    let note = |message: String| Warning::new(WarningCode::BenchmarkNotRead, message).with_file(path);
    profiles.warnings.extend(failed.into_iter().map(|reason| note(format!("{reason}. It is not shown as a run."))));
    if !others.is_empty() {
        let names: Vec<&str> = others.iter().take(MOST_NAMES).map(String::as_str).collect();
        let more = others.len().saturating_sub(MOST_NAMES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let message = format!(
            "Methods without a time, and entries that are not methods, were not read: {}{more}.",
            names.join(", ")
        );
        profiles.warnings.push(note(message).with_count(others.len() as u64));
    }
    Ok(profiles)
}

/// Maximum number of unread values that a note lists by name.
const MOST_NAMES: usize = 12;

fn look(document: &Map<String, Value>, around: &Around, depth: u32, found: &mut Results) {
    for (key, value) in document {
        let name = shortened(key);
        if is_method(value) {
            match seconds(value) {
                Ok(seconds) => found.profiles.runs.push(run(&name, seconds, value, around)),
                Err(reason) => found.failed.push(format!("{name} {reason}")),
            }
        } else if let Some(object) = value.as_object().filter(|object| depth > 0 && holds_method(object, depth - 1)) {
            look(object, &around.inside(key, object), depth - 1, found);
        } else if !READ_KEYS.contains(&key.as_str()) && !found.others.contains(&name) {
            found.others.push(name);
        }
    }
}

/// Keys whose values are read, although they are not methods.
const READ_KEYS: [&str; 3] = ["gpu_count", "timestamp", "total_params"];

/// Returns the time of a method in seconds, or the reason why the time is unknown. The reason is the end of a sentence
/// that starts with the method's name.
fn seconds(fields: &Value) -> Result<f64, String> {
    let Some(fields) = fields.as_object() else { return Err("has no time".to_owned()) };
    match fields.get("success") {
        None | Some(Value::Null | Value::Bool(true)) => {}
        Some(Value::Bool(false)) => {
            let said = fields.get("error").and_then(Value::as_str).map(shortened).filter(|said| !said.is_empty());
            return Err(said.map_or("failed".to_owned(), |said| format!("failed (\"{said}\")")));
        }
        Some(_) => return Err("has a \"success\" that is neither true nor false".to_owned()),
    }
    match fields.get("execution_time") {
        None | Some(Value::Null) => Err("has no \"execution_time\"".to_owned()),
        Some(time) => {
            let time = time.as_f64().filter(|time| *time > 0.0 && (time * 1e6).is_finite());
            time.ok_or_else(|| "has an \"execution_time\" that is not a number of seconds above 0".to_owned())
        }
    }
}

/// Converts one method into a run. The known values first become a 1.0.0 document, which is then converted.
fn run(method: &str, seconds: f64, fields: &Value, around: &Around) -> NamedProfile {
    let trace = fields.get("tensorboard_trace").and_then(Value::as_str).unwrap_or_default();
    let of_path = facts_of_path(trace);
    let facts = TracePathFacts {
        devices: around.devices.or(of_path.devices),
        platform: around.platform.or(of_path.platform),
        // The time of this method's trace is more precise than the time of the whole benchmark.
        timestamp: of_path.timestamp.or_else(|| around.timestamp.clone()),
    };
    let time_us = seconds * 1e6;
    let document = json!({
        "metadata": {
            "experiment_name": method,
            "trace_file": trace,
            "timestamp": facts.timestamp,
            "platform": facts.platform,
            "device_type": facts.platform,
            "num_devices": facts.devices,
        },
        "parameter_counts": {"total_params": around.total_params},
        "step_timing": {"num_steps": 1, "avg_step_time_us": time_us, "total_time_us": time_us, "step_count_source": "benchmark"},
    });
    let mut profile: UnifiedProfile = legacy::convert(&document, &mut Notes::new(""));
    let name = match (facts.devices, facts.platform) {
        (Some(1), Some(platform)) => format!("{method}, 1 {platform}"),
        (Some(devices), Some(platform)) => format!("{method}, {devices} {platform}s"),
        _ => method.to_owned(),
    };
    profile.metadata.run_name = Some(name.clone());
    profile.not_measured.push(NotMeasured {
        field: "compute_utilization".to_owned(),
        reason: "Benchmark results contain a time but no profile.".to_owned(),
        remedy: Some(match trace {
            "" => "Open the trace of the same run.".to_owned(),
            trace => format!("Open the trace of the same run: {}.", shortened(trace)),
        }),
    });
    NamedProfile { name: Some(name), profile, ..NamedProfile::default() }
}

/// Facts that the path of a trace reveals.
#[derive(Debug, Default, PartialEq)]
struct TracePathFacts {
    devices: Option<u64>,
    platform: Option<&'static str>,
    /// Local time of the capture, ISO 8601 without a zone.
    timestamp: Option<String>,
}

/// Parses the first folder of a path whose name starts with a number and a kind of device, such as
/// `4gpu_20241201_143022`.
fn facts_of_path(path: &str) -> TracePathFacts {
    path.split(['/', '\\']).find_map(facts_of_folder).unwrap_or_default()
}

fn facts_of_folder(folder: &str) -> Option<TracePathFacts> {
    let digits = folder.bytes().take_while(u8::is_ascii_digit).count();
    let devices = folder.get(..digits)?.parse::<u64>().ok().filter(|&devices| devices > 0)?;
    let mut words = folder.get(digits..)?.split('_');
    let kind = words.next()?.to_ascii_lowercase();
    let platform = ["GPU", "TPU", "CPU"]
        .into_iter()
        .find(|platform| kind.strip_suffix('s').unwrap_or(&kind) == platform.to_ascii_lowercase())?;
    let timestamp = words.next().zip(words.next()).and_then(|(date, time)| timestamp(date, time));
    Some(TracePathFacts { devices: Some(devices), platform: Some(platform), timestamp })
}

/// Converts `20241201` and `143022` to `2024-12-01T14:30:22`.
fn timestamp(date: &str, time: &str) -> Option<String> {
    let is_number = |text: &str, digits: usize| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(date, 8) || !is_number(time, 6) {
        return None;
    }
    let (year, month, day) = (date.get(..4)?, date.get(4..6)?, date.get(6..)?);
    let (hour, minute, second) = (time.get(..2)?, time.get(2..4)?, time.get(4..)?);
    let possible = ("01"..="12").contains(&month) && ("01"..="31").contains(&day);
    (possible && hour < "24" && minute < "60" && second <= "60")
        .then(|| format!("{year}-{month}-{day}T{hour}:{minute}:{second}"))
}

fn shortened(text: &str) -> String {
    text.chars().take(MOST_TEXT).collect()
}

#[cfg(test)]
mod tests {
    use super::super::read_profiles;
    use super::*;

    fn read(document: &Value) -> Result<Profiles, String> {
        read_profiles(document.to_string().as_bytes(), "results.json").map_err(|error| error.to_string())
    }

    /// Returns the example from the benchmark's documentation.
    fn documented() -> Value {
        json!({
            "unitary_grad_lcam": {"execution_time": 45.2, "success": true,
                "tensorboard_trace": "tensorboard_logs/4gpu_20241201_143022/lcam_trace"},
            "unitary_grad_tad": {"execution_time": 52.1, "success": true,
                "tensorboard_trace": "tensorboard_logs/4gpu_20241201_143022/tad_trace"}
        })
    }

    #[test]
    fn each_method_is_a_run_of_one_step() {
        let profiles = read(&documented()).unwrap();
        assert_eq!(profiles.warnings, []);
        let [lcam, tad] = profiles.runs.as_slice() else { panic!("{:?}", profiles.runs) };
        assert_eq!(lcam.name.as_deref(), Some("unitary_grad_lcam, 4 GPUs"));
        assert_eq!(tad.name.as_deref(), Some("unitary_grad_tad, 4 GPUs"));
        let (metadata, steps) = (&lcam.profile.metadata, &lcam.profile.step_timing);
        assert_eq!((metadata.num_devices, metadata.platform.as_str()), (4, "GPU"));
        assert_eq!(metadata.timestamp.as_deref(), Some("2024-12-01T14:30:22"));
        assert_eq!(metadata.experiment_name.as_deref(), Some("unitary_grad_lcam"));
        assert_eq!(metadata.trace_file, "tensorboard_logs/4gpu_20241201_143022/lcam_trace");
        assert_eq!((steps.num_steps, steps.avg_step_time_us), (1, Some(45_200_000.0)));
        assert_eq!(steps.step_count_source, "benchmark");
        assert_eq!(tad.profile.step_timing.avg_step_time_us, Some(52_100_000.0));
        assert_eq!(lcam.profile.warnings, []);
        assert_eq!(lcam.profile.compute_utilization, None);
        assert!(lcam.profile.not_measured[0].remedy.as_deref().unwrap().contains("lcam_trace"));
    }

    #[test]
    fn a_failed_method_is_a_warning() {
        let mut document = documented();
        document["unitary_grad_tad"] = json!({"execution_time": 1.0, "success": false, "error": "out of memory"});
        let profiles = read(&document).unwrap();
        assert_eq!(profiles.runs.len(), 1);
        assert_eq!(profiles.warnings.len(), 1);
        let warning = &profiles.warnings[0];
        assert_eq!(warning.message, "unitary_grad_tad failed (\"out of memory\"). It is not shown as a run.");
        assert_eq!((warning.code.as_str(), warning.file.as_deref()), ("benchmark_not_read", Some("results.json")));
    }

    /// Returns a results file for one number of GPUs, with methods next to ten other values.
    fn of_four_gpus() -> Value {
        let mut document = documented();
        let others = json!({
            "gpu_count": 4, "n_qubit": 8, "timestamp": "20241201_143022", "isolation_verified": true,
            "initial_gpu_memory": {"GPU_0": {"total_gb": 40.0, "used_gb": 1.5}}, "step_timing": {"system_creation": 0.5},
            "memory_profiles": {}, "total_params": 1234, "gpu_participation_verified": true,
            "detailed_gpu_metrics": {"GPU_0": {"power_watts": 300.0}}, "final_gpu_memory": {}
        });
        document.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
        document
    }

    #[test]
    fn values_next_to_the_methods_give_one_note() {
        let profiles = read(&of_four_gpus()).unwrap();
        assert_eq!(profiles.runs.len(), 2);
        let counts = profiles.runs[0].profile.parameter_counts.as_ref().unwrap();
        assert_eq!(counts.total_params, 1234);
        let [note] = profiles.warnings.as_slice() else { panic!("{:?}", profiles.warnings) };
        assert_eq!(note.count, Some(8));
        assert!(
            note.message.starts_with("Methods without a time, and entries that are not methods, were not read: "),
            "{}",
            note.message
        );
    }

    #[test]
    fn hybrid_results_are_methods_by_number_of_devices() {
        let of = |devices: u64, lcam: f64, tad: f64| {
            json!({"gpu_count": devices, "unitary_grad_lcam": {"execution_time": lcam, "success": true},
                "unitary_grad_tad": {"execution_time": tad, "success": true}})
        };
        let document = json!({"timestamp": "2024-12-01T14:30:22.5", "n_qubit": 8,
            "results": {"1gpu": of(1, 40.0, 60.0), "4gpu": of(4, 12.0, 20.0), "8gpu": {"success": false, "error": "x"}}});
        let profiles = read(&document).unwrap();
        let runs: Vec<_> = profiles
            .runs
            .iter()
            .map(|run| {
                let metadata = &run.profile.metadata;
                (run.name.as_deref().unwrap(), metadata.num_devices, metadata.experiment_name.as_deref().unwrap())
            })
            .collect();
        let (lcam, tad) = ("unitary_grad_lcam", "unitary_grad_tad");
        assert_eq!(
            runs,
            [
                ("unitary_grad_lcam, 1 GPU", 1, lcam),
                ("unitary_grad_tad, 1 GPU", 1, tad),
                ("unitary_grad_lcam, 4 GPUs", 4, lcam),
                ("unitary_grad_tad, 4 GPUs", 4, tad),
            ]
        );
        assert_eq!(profiles.runs[0].profile.metadata.timestamp.as_deref(), Some("2024-12-01T14:30:22.5"));
        assert_eq!(profiles.warnings.len(), 1, "{:?}", profiles.warnings);
        assert!(profiles.warnings[0].message.ends_with(": n_qubit, 8gpu."), "{:?}", profiles.warnings);
        // The key alone is sufficient, too.
        let document = json!({"results": {"2gpu": {"a": {"execution_time": 1.0}}}});
        assert_eq!(read(&document).unwrap().runs[0].name.as_deref(), Some("a, 2 GPUs"));
    }

    #[test]
    fn without_a_trace_the_devices_are_unknown() {
        let profiles =
            read(&json!({"a": {"execution_time": 2}, "b": {"execution_time": 3, "tensorboard_trace": null}})).unwrap();
        let run = &profiles.runs[0];
        assert_eq!(run.name.as_deref(), Some("a"));
        assert_eq!((run.profile.metadata.num_devices, run.profile.metadata.platform.as_str()), (0, "Unknown"));
        assert_eq!(profiles.runs.len(), 2);
    }

    #[test]
    fn damage_is_named() {
        for (fields, said) in [
            (json!({"execution_time": "45.2"}), "a has an \"execution_time\" that is not a number of seconds above 0"),
            (json!({"execution_time": -1.0}), "a has an \"execution_time\" that is not a number of seconds above 0"),
            (json!({"execution_time": 1e305}), "a has an \"execution_time\" that is not a number of seconds above 0"),
            (json!({"execution_time": null, "success": true}), "a has no \"execution_time\""),
            (json!({"execution_time": 1.0, "success": "yes"}), "a has a \"success\" that is neither true nor false"),
            (json!({"execution_time": 1.0, "success": false}), "a failed"),
        ] {
            let document = json!({"a": fields});
            // A failure of the only method is an error. Next to another method, it is a warning.
            let error = read(&document).unwrap_err();
            let expected = format!(
                "This is a benchmark's results, but it cannot be read: none of its methods succeeded with a time (the \
                 first: {said}). Run the benchmark again, or open the traces that it wrote."
            );
            assert_eq!(error, expected);
            let profiles = read(&json!({"a": fields, "b": {"execution_time": 1.0}, "c": 5})).unwrap();
            assert_eq!((profiles.runs.len(), profiles.warnings.len()), (1, 2));
            assert!(profiles.warnings[0].message.starts_with(said));
            assert_eq!(
                profiles.warnings[1].message,
                "Methods without a time, and entries that are not methods, were not read: c."
            );
        }
        let cut = &documented().to_string()[..60];
        let error = read_profiles(cut.as_bytes(), "p").unwrap_err().to_string();
        assert!(error.contains("its JSON is damaged"), "{error}");
    }

    #[test]
    fn paths_contain_devices_and_time() {
        let told = |path| {
            let TracePathFacts { devices, platform, timestamp } = facts_of_path(path);
            devices
                .zip(platform)
                .map(|(devices, platform)| format!("{devices} {platform} {}", timestamp.unwrap_or_default()))
        };
        assert_eq!(told("logs\\16TPUs_20250229_235960\\x").as_deref(), Some("16 TPU 2025-02-29T23:59:60"));
        assert_eq!(told("8gpu/x").as_deref(), Some("8 GPU "));
        assert_eq!(told("1cpu_20251301_000000").as_deref(), Some("1 CPU "));
        for unknown in ["", "4gpux_1", "gpu4", "0gpu", "99999999999999999999gpu", "20241201_143022/x", "4_gpu"] {
            assert_eq!(told(unknown), None, "{unknown}");
        }
    }
}
