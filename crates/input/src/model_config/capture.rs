//! Reads the `capture` notes in a sidecar. `_sidecar.py` and `_window.py` in `python/crossprof` write these notes.
//!
//! The slowdown caused by tracing becomes a section of the unified profile. The other notes are meant for the user, and appear
//! in `metadata.environment`. A value of an unexpected type is ignored, because the profile is complete without it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::arguments;
use base::home::without_home;
use report::Tracing;

/// Notes that have the same name in `metadata.environment`.
const NOTES: &[&str] = &[
    "python",
    "git_commit",
    "framework",
    "wall_clock_ns",
    "steps",
    "tokens_per_step",
    "mesh",
    "shardings",
    "options",
    "advanced_options",
    "clocks",
    "ended_by",
];

/// Returns the slowdown caused by tracing, or `None` if the capture kit could not measure it.
pub(super) fn tracing(capture: &Map<String, Value>) -> Option<Tracing> {
    let measured = capture.get("slowdown")?;
    let seconds = |key: &str| measured.get(key)?.as_f64().filter(|seconds| *seconds > 0.0);
    let steps = |key: &str| measured.get(key)?.as_u64();
    Some(Tracing {
        slowdown: seconds("ratio")?,
        traced_step_time_us: 1e6 * seconds("traced_step_s")?,
        untraced_step_time_us: 1e6 * seconds("untraced_step_s")?,
        traced_steps: steps("traced_steps")?,
        untraced_steps: steps("untraced_steps")?,
    })
}

/// Returns the number of nanoseconds by which this process's clock is ahead of the first process's clock. Returns
/// `None` if the difference is smaller than the capture kit's measurement error.
pub(super) fn clock_ahead_ns(capture: &Map<String, Value>) -> Option<i64> {
    let process = usize::try_from(capture.get("process")?.as_u64()?).ok()?;
    let clocks = capture.get("clocks")?;
    let seconds = |key: &str| clocks.get(key)?.as_array()?.get(process)?.as_f64();
    let (ahead, error) = (seconds("offset_s")?, seconds("error_s")?);
    (ahead.abs() > error).then_some((1e9 * ahead) as i64)
}

/// Returns all notes for the user as texts, under the names that the profiler uses. Values of flags are included only
/// if the user asked the capture kit to record them. Secrets and home folders are never included.
pub(super) fn notes(capture: &Map<String, Value>) -> BTreeMap<String, String> {
    let versions =
        members(capture, "versions").map(|(name, value)| (format!("{}_version", name.replace('-', "_")), value));
    let variables = members(capture, "environment").map(|(name, value)| (name.clone(), value));
    let others = NOTES.iter().filter_map(|name| Some(((*name).to_owned(), capture.get(*name)?)));
    let texts = versions.chain(variables).chain(others).map(|(name, value)| (name, without_home(&text(value))));
    let own = [
        ("argv".to_owned(), without_home(&argv(capture))),
        ("device_kind".to_owned(), device_kind(capture)),
        ("device_places".to_owned(), device_places(capture)),
    ];
    let texts = texts.chain(own);
    texts.filter(|(_, text)| !text.is_empty()).collect()
}

/// Returns the kind of the devices, or an empty text for CPUs. A JSON trace does not contain this kind.
fn device_kind(capture: &Map<String, Value>) -> String {
    let text = |name: &str| capture.get("devices").and_then(|it| it.get(name)).and_then(Value::as_str);
    text("kind").filter(|_| text("platform") != Some("cpu")).unwrap_or_default().to_owned()
}

/// Returns the positions of the TPU chips of all hosts: `id slice x,y,z` for each chip, separated by `;`.
fn device_places(capture: &Map<String, Value>) -> String {
    let places = capture.get("devices").and_then(|it| it.get("places")).and_then(Value::as_array);
    places.into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join(";")
}

fn argv(capture: &Map<String, Value>) -> String {
    let words = capture.get("argv").and_then(Value::as_array).into_iter().flatten();
    let words: Vec<&str> = words.filter_map(Value::as_str).collect();
    let keep_values = capture.get("argv_values").and_then(Value::as_bool) == Some(true);
    arguments::shown(&words, keep_values).join(" ")
}

/// Returns the names and values in the object `name` of the notes.
fn members<'a>(capture: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    capture.get(name).and_then(Value::as_object).into_iter().flatten()
}

/// Formats a value as text: `8`, `a b` for a list, `data=8 model=2` for an object. Null becomes an empty text.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(" "),
        Value::Object(members) => {
            members.iter().map(|(name, value)| format!("{name}={}", text(value))).collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}
