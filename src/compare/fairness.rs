//! Whether runs did the same work under the same conditions. What a run does not tell is unknown, and unknown is never the same.

use super::{FairnessCheck, Subject};
use crate::format;
use crate::report::{ModelConfig, UnifiedProfile};
use crate::warning::Severity;

/// Work that a step does: where one of these differs, times of a step do not mean the same.
pub const WORKLOAD: [&str; 4] = ["batch_size", "seq_length", "model_dimensions", "data_type"];

/// One check: its name, its name for people, what a run has, and what follows from a difference.
type Check = (&'static str, &'static str, fn(&UnifiedProfile) -> Option<String>, &'static str);

const CHECKS: [Check; 12] = [
    ("step_count", "Steps", |profile| steps(profile).map(format::count), "Means over fewer steps are less sure."),
    (
        "device_count",
        "Devices",
        |profile| Some(profile.metadata.num_devices).filter(|&count| count > 0).map(format::count),
        "Totals are not those of one device; compare what is per device.",
    ),
    ("device_type", "Device model", device_type, "The hardware differs, not only the program."),
    (
        "batch_size",
        "Batch size",
        |profile| profile.model_config.batch_size.map(format::count),
        "A step does another amount of work; compare samples or tokens a second.",
    ),
    (
        "seq_length",
        "Sequence length",
        |profile| profile.model_config.seq_length.map(format::count),
        "A sample does another amount of work, and attention grows with its square.",
    ),
    ("model_dimensions", "Model dimensions", |profile| dimensions(&profile.model_config), "It is another model."),
    ("data_type", "Data type", data_type, "Arithmetic of another width has another peak and another result."),
    (
        "warm_up",
        "Warm-up steps in the capture",
        warm_up,
        "They are left out of the means, but neighbours may suffer from them.",
    ),
    ("capture_faults", "Faults of the capture", capture_faults, "What was lost is missing in the numbers."),
    (
        "framework",
        "Framework",
        |profile| known(&profile.metadata.framework).map(str::to_owned),
        "Another framework compiles another program.",
    ),
    (
        "source_format",
        "Read from",
        |profile| source_format(profile).map(str::to_owned),
        "A trace JSON is a lossy export of an xplane: it holds fewer events and no costs.",
    ),
    (
        "window",
        "Time basis",
        |profile| profile.compute_utilization.as_ref()?.window.clone(),
        "Numbers of steps, of an active span and of a whole capture are of different things.",
    ),
];

/// All checks, in a fixed order.
pub fn fairness(subjects: &[Subject]) -> Vec<FairnessCheck> {
    let across = subjects.iter().any(|it| it.profile.metadata.platform != subjects[0].profile.metadata.platform);
    // The hardware is what runs on different platforms are compared for.
    let checks = CHECKS.iter().filter(|(name, ..)| !(across && *name == "device_type"));
    checks
        .map(|(check, title, value, note)| {
            let values: Vec<Option<String>> = subjects.iter().map(|subject| value(&subject.profile)).collect();
            let status = match check {
                &"model_dimensions" => dimensions_status(subjects),
                _ => status(&values),
            };
            let note = match status {
                "differs" => (*note).to_owned(),
                "unknown" => format!("Not told by {}.", missing(subjects, &values)),
                _ => String::new(),
            };
            FairnessCheck {
                check: (*check).to_owned(),
                title: (*title).to_owned(),
                status: status.to_owned(),
                values,
                note,
            }
        })
        .collect()
}

fn missing(subjects: &[Subject], values: &[Option<String>]) -> String {
    let without = |(subject, value): (&Subject, &Option<String>)| value.is_none().then(|| subject.name.clone());
    let names: Vec<String> = subjects.iter().zip(values).filter_map(without).collect();
    if names.is_empty() { "every run for every dimension".to_owned() } else { names.join(", ") }
}

/// Two different values differ, whatever a third run has.
fn status(values: &[Option<String>]) -> &'static str {
    let mut known = values.iter().flatten();
    let first = known.next();
    match (known.any(|value| Some(value) != first), values.iter().any(Option::is_none)) {
        (true, _) => "differs",
        (false, true) => "unknown",
        (false, false) => "same",
    }
}

/// Each dimension on its own; those that no run tells do not matter as long as width and depth are known.
fn dimensions_status(subjects: &[Subject]) -> &'static str {
    let mut unknown = false;
    for (at, (name, _)) in named_dimensions(&ModelConfig::default()).iter().enumerate() {
        let of = |subject: &Subject| named_dimensions(&subject.profile.model_config).get(at).and_then(|it| it.1);
        let values: Vec<Option<String>> = subjects.iter().map(|it| of(it).map(|value| value.to_string())).collect();
        match status(&values) {
            "differs" => return "differs",
            "unknown" => unknown |= matches!(*name, "width" | "layers") || values.iter().any(Option::is_some),
            _ => {}
        }
    }
    if unknown { "unknown" } else { "same" }
}

fn named_dimensions(model: &ModelConfig) -> [(&'static str, Option<u64>); 6] {
    [
        ("width", model.model_dims),
        ("layers", model.num_layers),
        ("heads", model.num_heads),
        ("key-value heads", model.num_kv_heads),
        ("feed-forward", model.ffn_hidden_dims),
        ("vocabulary", model.vocab_size),
    ]
}

fn dimensions(model: &ModelConfig) -> Option<String> {
    let known = |(name, value): (&str, Option<u64>)| value.map(|value| format!("{name} {value}"));
    let known: Vec<String> = named_dimensions(model).into_iter().filter_map(known).collect();
    (!known.is_empty()).then(|| known.join(", "))
}

fn known(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty() && *text != "Unknown")
}

fn steps(profile: &UnifiedProfile) -> Option<u64> {
    let timing = &profile.step_timing;
    timing.num_steps_counted.or(Some(timing.num_steps)).filter(|&steps| steps > 0)
}

fn device_type(profile: &UnifiedProfile) -> Option<String> {
    // A JSON names no device: then the type is the platform.
    let metadata = &profile.metadata;
    known(&metadata.device_type).filter(|it| **it != metadata.platform).map(str::to_owned)
}

/// The type that most time of the kernels is spent on.
fn data_type(profile: &UnifiedProfile) -> Option<String> {
    let types = &profile.kernel_statistics.as_ref()?.data_types;
    let known = types.iter().filter(|it| it.data_type != "unknown");
    let most = known.reduce(|a, b| if b.time_us > a.time_us { b } else { a })?;
    // Of too little known time nothing follows.
    (most.percent >= 5.0).then(|| most.data_type.clone())
}

fn warm_up(profile: &UnifiedProfile) -> Option<String> {
    if profile.steps.is_empty() {
        return None;
    }
    let count = profile.steps.iter().filter(|step| step.warm_up).count();
    Some(if count == 0 { "none".to_owned() } else { format::count(count as u64) })
}

/// Codes of what was lost or cut; a profile of an older version keeps no warnings.
fn capture_faults(profile: &UnifiedProfile) -> Option<String> {
    profile.metadata.schema_version.as_ref()?;
    let mut codes: Vec<&str> =
        profile.warnings.iter().filter(|it| it.severity != Severity::Note).map(|it| it.code.as_str()).collect();
    codes.dedup();
    Some(if codes.is_empty() { "none".to_owned() } else { codes.join(", ") })
}

fn source_format(profile: &UnifiedProfile) -> Option<&str> {
    profile.metadata.source_format.as_deref().filter(|format| *format != "unified_profile")
}

/// What differs between two steps of the table is a title a check can be found by.
pub fn title<'c>(checks: &'c [FairnessCheck], name: &str) -> &'c str {
    checks.iter().find(|it| it.check == name).map_or("", |it| &it.title)
}
