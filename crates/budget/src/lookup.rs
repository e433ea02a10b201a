//! Follows a path in one profile. If the path leads nowhere, explains why.

use serde_json::{Map, Value};

use super::path::{Path, PathPart};
use base::{sort, suggest};

/// Fields that distinguish the entries of a list, the best first. The entries of `[*]` are named by the first of these
/// fields that all entries have and that differs in each entry.
const IDENTITIES: [&str; 16] = [
    "device_name",
    "name",
    "kernel_name",
    "direction",
    "kind",
    "role",
    "level",
    "family",
    "stream",
    "id",
    "field",
    "code",
    "path",
    "module",
    "class",
    "index",
];

/// Maximum number of keys or values in a message.
const NAMED: usize = 6;

/// A value that a path leads to.
#[derive(Clone, Debug)]
pub(crate) struct Hit<'a> {
    /// Exact path of this value. In another profile, this path leads to the value of the same name.
    pub path: Path,
    /// The value.
    pub value: &'a Value,
}

/// A place where a path ends without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lack {
    /// Path up to and including the absent part.
    pub path: Path,
    /// Reason why there is no number, as a sentence.
    pub reason: String,
}

/// All results of following a path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reached<'a> {
    /// Values that the path leads to, in the profile's order.
    pub hits: Vec<Hit<'a>>,
    /// Places without a value.
    pub lacks: Vec<Lack>,
}

/// Follows `path` through `profile`, the document of [`export::json::profile`].
pub(crate) fn find<'a>(profile: &'a Value, path: &Path) -> Reached<'a> {
    let mut found = Reached { hits: vec![Hit { path: Path::default(), value: profile }], lacks: Vec::new() };
    for part in &path.parts {
        for hit in std::mem::take(&mut found.hits) {
            follow(hit, part, &mut found);
        }
    }
    // A null is treated as absent.
    let (null, hits) = std::mem::take(&mut found.hits).into_iter().partition(|hit| hit.value.is_null());
    found.hits = hits;
    for Hit { path, .. } in null {
        let reason = format!("This run has no {path}.");
        found.lacks.push(Lack { path, reason });
    }
    for lack in &mut found.lacks {
        if let Some(reason) = not_measured(profile, &lack.path, path) {
            lack.reason = reason;
        }
    }
    found
}

fn follow<'a>(hit: Hit<'a>, part: &PathPart, found: &mut Reached<'a>) {
    let Hit { path, value } = hit;
    let absent = |part: PathPart, hint: String| {
        let path = path.with(part);
        let reason = format!("This run has no {path}{hint}.");
        Lack { path, reason }
    };
    match (part, value) {
        (PathPart::Key(name), Value::Object(fields)) => match fields.get(name) {
            Some(value) => found.hits.push(Hit { path: path.with(part.clone()), value }),
            // The root of the profile has fields, but is not a map.
            None if path.parts.is_empty() => found.lacks.push(absent(part.clone(), String::new())),
            None => found.lacks.push(absent(part.clone(), siblings(fields, name))),
        },
        (PathPart::EveryKey, Value::Object(fields)) if !fields.is_empty() => {
            let hits = fields.iter().map(|(name, value)| Hit { path: path.with(PathPart::Key(name.clone())), value });
            found.hits.extend(hits);
        }
        (PathPart::Index(index), Value::Array(entries)) => {
            match usize::try_from(*index).ok().and_then(|index| entries.get(index)) {
                Some(value) => found.hits.push(Hit { path: path.with(part.clone()), value }),
                None => found.lacks.push(absent(part.clone(), format!("; {path} has {}", entries_text(entries.len())))),
            }
        }
        (PathPart::EveryEntry, Value::Array(entries)) if !entries.is_empty() => {
            let all: Vec<usize> = (0..entries.len()).collect();
            found.hits.extend(distinguished(&path, entries, &all));
        }
        (PathPart::Where { key, values }, Value::Array(entries)) => {
            let chosen: Vec<usize> = (0..entries.len())
                .filter(|&index| {
                    entries.get(index).and_then(|it| text_of(it, key)).is_some_and(|it| values.contains(&it))
                })
                .collect();
            match chosen.as_slice() {
                [] => found.lacks.push(absent(part.clone(), values_text(entries, key))),
                // Keeps the selector that the user wrote, because it also matches in the baseline.
                [only] => {
                    found.hits.extend(entries.get(*only).map(|value| Hit { path: path.with(part.clone()), value }));
                }
                several => found.hits.extend(distinguished(&path, entries, several)),
            }
        }
        // An empty list or map, or null in place of a section.
        _ => found.lacks.push(absent(part.clone(), String::new())),
    }
}

/// Returns the chosen entries of a list, each with a path that leads only to this entry.
fn distinguished<'a>(path: &Path, entries: &'a [Value], chosen: &[usize]) -> Vec<Hit<'a>> {
    let identity = IDENTITIES.iter().find(|key| {
        let texts: Vec<String> = entries.iter().filter_map(|entry| text_of(entry, key)).collect();
        texts.len() == entries.len() && sort::set(texts).len() == entries.len()
    });
    let part = |index: usize, entry: &Value| match identity.and_then(|key| Some((key, text_of(entry, key)?))) {
        Some((key, text)) => PathPart::Where { key: (*key).to_owned(), values: vec![text] },
        None => PathPart::Index(index as u64),
    };
    let hit = |&index: &usize| entries.get(index).map(|value| Hit { path: path.with(part(index, value)), value });
    chosen.iter().filter_map(hit).collect()
}

/// Returns a field of an entry, as a selector in brackets spells it.
fn text_of(entry: &Value, key: &str) -> Option<String> {
    match entry.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

pub(super) fn name_of(entry: &Value) -> Option<String> {
    // A finding is named by its rule.
    ["id", "code"].iter().chain(&IDENTITIES).find_map(|key| text_of(entry, key))
}

/// Suggests the key of a map that the user may have meant, or lists the existing keys.
fn siblings(fields: &Map<String, Value>, name: &str) -> String {
    // The schema has already checked the fields of a section, but the keys of a map depend on the run. An object that
    // contains only sections is a map.
    if fields.is_empty() || !fields.values().all(Value::is_object) {
        return String::new();
    }
    let keys: Vec<&str> = fields.keys().map(String::as_str).collect();
    match suggest::words(name, &keys).first() {
        Some(near) => format!("; it has {near}"),
        None => format!("; it has {}", listed(keys.iter().map(|&key| key.to_owned()).collect())),
    }
}

fn values_text(entries: &[Value], key: &str) -> String {
    let values = sort::set(entries.iter().filter_map(|entry| text_of(entry, key)));
    if values.is_empty() { String::new() } else { format!("; {key} is {}", listed(values.into_iter().collect())) }
}

/// Lists the first names, followed by the number of the others.
pub(super) fn listed(names: Vec<String>) -> String {
    let more = names.len().saturating_sub(NAMED);
    let mut text = names.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

fn entries_text(count: usize) -> String {
    if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") }
}

/// Returns the reason that the profile gives for an absent value. The reason belongs to the longest field name in
/// `not_measured` that contains the rule's `whole` path. If the section at `path` is absent, the field may also be
/// inside `path`, because the profile names only one headline number of an absent section.
fn not_measured(profile: &Value, path: &Path, whole: &Path) -> Option<String> {
    let mut best: Option<(usize, &Value)> = None;
    let (lack, whole) = (pattern(path), pattern(whole));
    for entry in profile.get("not_measured")?.as_array()? {
        let Some(field) = entry.get("field").and_then(Value::as_str) else { continue };
        // "a.b" covers "a.b.c". It also represents "a" if "a" is completely absent.
        if is_within(&whole, field) || is_within(field, &lack) {
            let better = best.is_none_or(|(length, _)| field.len() > length);
            if better {
                best = Some((field.len(), entry));
            }
        }
    }
    let (_, entry) = best?;
    let text = |key| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    Some(format!("{path} was not measured. {} {}", text("reason"), text("remedy")).trim().to_owned())
}

/// Returns a path in the spelling of `not_measured`: `memory_operations.transfers[].total_bytes`.
fn pattern(path: &Path) -> String {
    let mut text = String::new();
    for part in &path.parts {
        match part {
            PathPart::Key(name) if text.is_empty() => text.push_str(name),
            PathPart::Key(name) => text.push_str(&format!(".{name}")),
            PathPart::EveryKey => text.push_str(".*"),
            PathPart::Index(_) | PathPart::EveryEntry | PathPart::Where { .. } => text.push_str("[]"),
        }
    }
    text
}

/// Returns true if `inner` is `outer` or inside it.
fn is_within(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> Value {
        serde_json::json!({
            "kernels": {"kernels_by_category": {"copy": {"percent": 40.0}, "matmul": {"percent": 60.0}}},
            "multi_device": {"device_stats": [
                {"device_name": "/device:GPU:0", "utilization_percent": 90.0, "parallelism": 1.5},
                {"device_name": "/device:GPU:1", "utilization_percent": 80.0},
            ]},
            "steps": [{"index": 0, "counted": false, "idle_us": 5.0}, {"index": 1, "counted": true, "idle_us": 7.0}],
            "not_measured": [
                {"field": "throughput.tokens_per_sec", "reason": "It needs the batch size.", "remedy": "Pass it."},
                {"field": "compilation.compilation_time_us", "reason": "None was recorded."},
                {"field": "memory_operations", "reason": "Not recorded on a TPU."},
            ],
            "throughput": {"steps_per_sec": 3.0, "ms_per_step": null},
        })
    }

    fn look(path: &str) -> (Vec<(String, Value)>, Vec<String>) {
        let profile = profile();
        let found = find(&profile, &Path::parse(path).unwrap());
        let hits = found.hits.into_iter().map(|hit| (hit.path.to_string(), hit.value.clone())).collect();
        (hits, found.lacks.into_iter().map(|lack| lack.reason).collect())
    }

    #[test]
    fn every_kind_of_path_leads_somewhere() {
        for (path, expected) in [
            ("throughput.steps_per_sec", &[("throughput.steps_per_sec", 3.0)][..]),
            ("kernels.kernels_by_category.matmul.percent", &[("kernels.kernels_by_category.matmul.percent", 60.0)]),
            (
                "kernels.kernels_by_category.*.percent",
                &[
                    ("kernels.kernels_by_category.copy.percent", 40.0),
                    ("kernels.kernels_by_category.matmul.percent", 60.0),
                ],
            ),
            (
                "multi_device.device_stats[1].utilization_percent",
                &[("multi_device.device_stats[1].utilization_percent", 80.0)],
            ),
            (
                "multi_device.device_stats[*].utilization_percent",
                &[
                    ("multi_device.device_stats[device_name=/device:GPU:0].utilization_percent", 90.0),
                    ("multi_device.device_stats[device_name=/device:GPU:1].utilization_percent", 80.0),
                ],
            ),
            ("steps[counted=true].idle_us", &[("steps[counted=true].idle_us", 7.0)]),
            ("steps[counted=true|false].idle_us", &[("steps[index=0].idle_us", 5.0), ("steps[index=1].idle_us", 7.0)]),
        ] {
            let expected: Vec<_> =
                expected.iter().map(|&(path, value)| (path.to_owned(), Value::from(value))).collect();
            assert_eq!(look(path), (expected, vec![]), "{path}");
        }
    }

    #[test]
    fn absent_numbers_are_explained() {
        for (path, reason) in [
            (
                "throughput.tokens_per_sec",
                "throughput.tokens_per_sec was not measured. It needs the batch size. Pass it.",
            ),
            ("compilation.compilation_percent", "compilation was not measured. None was recorded."),
            ("memory_operations.h2d_count", "memory_operations was not measured. Not recorded on a TPU."),
            (
                "memory_operations.transfers[direction=h2d].count",
                "memory_operations was not measured. Not recorded on a TPU.",
            ),
            ("throughput.ms_per_step", "This run has no throughput.ms_per_step."),
            ("roofline.mfu_percent", "This run has no roofline."),
            (
                "multi_device.device_stats[2].utilization_percent",
                "This run has no multi_device.device_stats[2]; multi_device.device_stats has 2 entries.",
            ),
            (
                "kernels.kernels_by_category.copi.percent",
                "This run has no kernels.kernels_by_category.copi; it has copy.",
            ),
            (
                "kernels.kernels_by_category.communication.percent",
                "This run has no kernels.kernels_by_category.communication; it has copy, matmul.",
            ),
            ("steps[index=7].idle_us", "This run has no steps[index=7]; index is 0, 1."),
        ] {
            assert_eq!(look(path), (vec![], vec![reason.to_owned()]), "{path}");
        }
        let (hits, lacks) = look("multi_device.device_stats[*].parallelism");
        assert_eq!((hits.len(), lacks.len()), (1, 1));
        assert_eq!(lacks[0], "This run has no multi_device.device_stats[device_name=/device:GPU:1].parallelism.");
    }
}
