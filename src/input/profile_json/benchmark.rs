//! Results of a benchmark that timed several methods: one run a method.
//!
//! ```json
//! {"unitary_grad_lcam": {"execution_time": 45.2, "success": true,
//!                        "tensorboard_trace": "tensorboard_logs/4gpu_20241201_143022/lcam_trace"},
//!  "unitary_grad_tad": {"execution_time": 52.1, "success": true}}
//! ```
//!
//! Read are the time (seconds, taken as one step), and from the name of the trace's folder the number and kind of devices
//! and the time of the capture. The trace itself is another file. A method that failed has a time that means nothing: it is
//! no run, and a warning says so.

use serde_json::{Map, Value, json};

use super::section::Notes;
use super::{NamedProfile, Profiles, legacy};
use crate::error::Error;
use crate::report::{NotMeasured, UnifiedProfile};
use crate::warning::Warning;

/// Keys of a method by which results are told from any other JSON (see [`crate::input::sniff`]).
pub const METHOD_KEYS: [&str; 2] = ["execution_time", "tensorboard_trace"];

/// Longest name or message that is kept of a file, in characters.
const MOST_TEXT: usize = 120;

/// True where a value of the document is a method.
pub(super) fn is_results(document: &Map<String, Value>) -> bool {
    document.values().any(|method| METHOD_KEYS.iter().any(|key| method.get(key).is_some()))
}

/// The methods that ran.
///
/// # Errors
///
/// [`Error::Malformed`] where there is none: its reason names what is wrong with the first.
pub(super) fn read(document: &Map<String, Value>, path: &str) -> Result<Profiles, Error> {
    let mut profiles = Profiles::default();
    for (method, fields) in document {
        let name = shortened(method);
        match seconds(fields) {
            Ok(seconds) => profiles.runs.push(run(&name, seconds, fields)),
            Err(reason) => {
                // The numbers of the other methods are not affected.
                let warning =
                    Warning::note("benchmark_not_read", format!("{name} {reason}: it is not shown as a run."));
                profiles.warnings.push(warning.with_file(path));
            }
        }
    }
    match profiles.warnings.first() {
        Some(first) if profiles.runs.is_empty() => Err(Error::Malformed {
            what: "a benchmark's results".to_owned(),
            reason: format!(
                "none of its {} entries is a method that succeeded and has a time (the first: {})",
                document.len(),
                first.message.trim_end_matches(": it is not shown as a run.")
            ),
            remedy: "Run the benchmark again, or drop the traces that it wrote.".to_owned(),
        }),
        _ => Ok(profiles),
    }
}

/// How long a method took, or why that is unknown, as the rest of a sentence.
fn seconds(fields: &Value) -> Result<f64, String> {
    let Some(fields) = fields.as_object() else { return Err("is no method with a time".to_owned()) };
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
            time.ok_or_else(|| "has an \"execution_time\" that is no number of seconds above 0".to_owned())
        }
    }
}

/// One method as a run: a 1.0.0 document with what is known, converted as any other.
fn run(method: &str, seconds: f64, fields: &Value) -> NamedProfile {
    let trace = fields.get("tensorboard_trace").and_then(Value::as_str).unwrap_or_default();
    let told = told_by_path(trace);
    let time_us = seconds * 1e6;
    let document = json!({
        "metadata": {
            "experiment_name": method,
            "trace_file": trace,
            "timestamp": told.timestamp,
            "platform": told.platform,
            "device_type": told.platform,
            "num_devices": told.devices,
        },
        "step_timing": {"num_steps": 1, "avg_step_time_us": time_us, "total_time_us": time_us, "step_count_source": "benchmark"},
    });
    let mut profile: UnifiedProfile = legacy::convert(&document, &mut Notes::new(""));
    let name = match (told.devices, told.platform) {
        (Some(1), Some(platform)) => format!("{method}, 1 {platform}"),
        (Some(devices), Some(platform)) => format!("{method}, {devices} {platform}s"),
        _ => method.to_owned(),
    };
    profile.metadata.run_name = Some(name.clone());
    profile.not_measured.push(NotMeasured {
        field: "compute_utilization".to_owned(),
        reason: "A benchmark's results hold a time and no profile.".to_owned(),
        remedy: Some(match trace {
            "" => "Drop the trace of the same run.".to_owned(),
            trace => format!("Drop the trace of the same run: {}.", shortened(trace)),
        }),
    });
    NamedProfile { name: Some(name), profile }
}

/// What the path of a trace says.
#[derive(Debug, Default, PartialEq)]
struct Told {
    devices: Option<u64>,
    platform: Option<&'static str>,
    /// Local time of the capture, ISO 8601 without a zone.
    timestamp: Option<String>,
}

/// Reads `4gpu_20241201_143022`: the first folder that starts with a number and a kind of device.
fn told_by_path(path: &str) -> Told {
    path.split(['/', '\\']).find_map(told_by_folder).unwrap_or_default()
}

fn told_by_folder(folder: &str) -> Option<Told> {
    let digits = folder.bytes().take_while(u8::is_ascii_digit).count();
    let devices = folder.get(..digits)?.parse::<u64>().ok().filter(|&devices| devices > 0)?;
    let mut words = folder.get(digits..)?.split('_');
    let kind = words.next()?.to_ascii_lowercase();
    let platform = ["GPU", "TPU", "CPU"]
        .into_iter()
        .find(|platform| kind.strip_suffix('s').unwrap_or(&kind) == platform.to_ascii_lowercase())?;
    let timestamp = words.next().zip(words.next()).and_then(|(date, time)| timestamp(date, time));
    Some(Told { devices: Some(devices), platform: Some(platform), timestamp })
}

/// `20241201` and `143022` as `2024-12-01T14:30:22`.
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

    /// The example of the benchmark's documentation.
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
        assert_eq!(warning.message, "unitary_grad_tad failed (\"out of memory\"): it is not shown as a run.");
        assert_eq!((warning.code.as_str(), warning.file.as_deref()), ("benchmark_not_read", Some("results.json")));
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
            (json!({"execution_time": "45.2"}), "a has an \"execution_time\" that is no number of seconds above 0"),
            (json!({"execution_time": -1.0}), "a has an \"execution_time\" that is no number of seconds above 0"),
            (json!({"execution_time": 1e305}), "a has an \"execution_time\" that is no number of seconds above 0"),
            (json!({"execution_time": null, "success": true}), "a has no \"execution_time\""),
            (json!({"execution_time": 1.0, "success": "yes"}), "a has a \"success\" that is neither true nor false"),
            (json!({"execution_time": 1.0, "success": false}), "a failed"),
        ] {
            let document = json!({"a": fields});
            // As the only method it is an error, beside another a warning.
            let error = read(&document).unwrap_err();
            let expected = format!(
                "This is a benchmark's results, but it cannot be read: none of its 1 entries is a method that succeeded and has \
                 a time (the first: {said}). Run the benchmark again, or drop the traces that it wrote."
            );
            assert_eq!(error, expected);
            let profiles = read(&json!({"a": fields, "b": {"execution_time": 1.0}, "c": 5})).unwrap();
            assert_eq!((profiles.runs.len(), profiles.warnings.len()), (1, 2));
            assert!(profiles.warnings[0].message.starts_with(said));
            assert_eq!(profiles.warnings[1].message, "c is no method with a time: it is not shown as a run.");
        }
        let cut = &documented().to_string()[..60];
        let error = read_profiles(cut.as_bytes(), "p").unwrap_err().to_string();
        assert!(error.contains("its JSON is damaged"), "{error}");
    }

    #[test]
    fn paths_tell_devices_and_time() {
        let told = |path| {
            let Told { devices, platform, timestamp } = told_by_path(path);
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
