//! Checks whether runs did the same work under the same conditions. If a run does not record a value, the check of that
//! value is never `Same`.

use super::agreement::{missing, status};
use super::{FairnessCheck, FairnessStatus, Subject, are_of_several_platforms, programs};
use base::{Severity, format};
use report::{ModelConfig, SourceFormat, UnifiedProfile};

/// Checks that show whether the runs do the same work in a step. If the runs differ in one of these checks, their step
/// times are not comparable.
pub(crate) const WORKLOAD: [&str; 6] =
    ["batch_size", "seq_length", "model_dimensions", "data_type", "parameter_shapes", "operand_types"];

/// One check: the key, the display name, the function that reads the value, and the consequence of a difference.
type Check = (&'static str, &'static str, fn(&UnifiedProfile) -> Option<String>, &'static str);

const CHECKS: [Check; 14] = [
    ("step_count", "Steps", |profile| steps(profile).map(format::count), "Means over fewer steps are less certain."),
    (
        "device_count",
        "Devices",
        |profile| Some(profile.metadata.num_devices).filter(|&count| count > 0).map(format::count),
        "Totals cover different numbers of devices. Compare numbers per device.",
    ),
    ("device_type", "Device model", device_type, "The hardware differs, not only the program."),
    (
        "batch_size",
        "Batch size",
        |profile| profile.model_config.batch_size.map(format::count),
        "Steps do different amounts of work. Compare samples or tokens per second.",
    ),
    (
        "seq_length",
        "Sequence length",
        |profile| profile.model_config.seq_length.map(format::count),
        "Samples require different amounts of work, and attention grows with the square of the length.",
    ),
    (
        "model_dimensions",
        "Model dimensions",
        |profile| in_words(&dimensions(&profile.model_config)),
        "The models differ.",
    ),
    (
        "model_name",
        "Pretrained model",
        |profile| profile.model_config.pretrained_model.clone(),
        "The models may differ, or only the values of their weights.",
    ),
    (
        "parameters",
        "Parameters",
        |profile| in_words(&parameters(profile)),
        "The models differ, or different parts are trained: frozen parameters need no gradients.",
    ),
    (
        "data_type",
        "Data type",
        data_type,
        "Arithmetic of a different width has a different peak rate and gives different results.",
    ),
    (
        "warm_up",
        "Warm-up steps in the capture",
        warm_up,
        "The means exclude warm-up steps, but these may affect the steps after them.",
    ),
    ("capture_faults", "Faults of the capture", capture_faults, "Lost data is missing from the numbers."),
    (
        "framework",
        "Framework",
        |profile| known(&profile.metadata.framework).map(str::to_owned),
        "Different frameworks compile different programs.",
    ),
    (
        "source_format",
        "Read from",
        |profile| source_format(profile).map(str::to_owned),
        "A trace JSON is a lossy export of an xplane: it contains fewer events and no costs.",
    ),
    (
        "window",
        "Time basis",
        |profile| profile.compute_utilization.as_ref()?.window.clone(),
        "Numbers per step, per active span and per capture measure different things.",
    ),
];

/// Returns all checks, in a fixed order.
pub(crate) fn fairness(subjects: &[Subject]) -> Vec<FairnessCheck> {
    let across = are_of_several_platforms(subjects);
    // A comparison across platforms is about hardware, so different devices are expected.
    let checks = CHECKS.iter().filter(|(name, ..)| !(across && *name == "device_type"));
    checks
        .map(|(check, title, value, note)| {
            let mut values: Vec<Option<String>> = subjects.iter().map(|subject| value(&subject.profile)).collect();
            let parts: Option<Vec<Named>> = match *check {
                "model_dimensions" => Some(subjects.iter().map(|it| dimensions(&it.profile.model_config)).collect()),
                "parameters" => Some(subjects.iter().map(|it| parameters(&it.profile)).collect()),
                _ => None,
            };
            let status = parts.as_ref().map_or_else(|| status(&values), |parts| status_of_parts(parts));
            if let Some(parts) = parts.filter(|_| status == FairnessStatus::Differs) {
                values = differing(&parts);
            }
            let note = match status {
                FairnessStatus::Differs => (*note).to_owned(),
                FairnessStatus::Unknown => format!("Not in the profile of {}.", missing(subjects, &values)),
                FairnessStatus::Same => String::new(),
            };
            FairnessCheck { check: (*check).to_owned(), title: (*title).to_owned(), status, values, note }
        })
        // Optional checks are omitted if no run has a value.
        .filter(|check| !OPTIONAL.contains(&check.check.as_str()) || check.values.iter().any(Option::is_some))
        .chain(programs::checks(subjects))
        .collect()
}

/// Checks that are made only if at least one run has the value.
const OPTIONAL: [&str; 2] = ["model_name", "parameters"];

/// Compared parts of a value. Each part has a display name, a flag that is true if the part must be known, and its
/// text.
type Named = Vec<(&'static str, bool, Option<String>)>;

/// Compares each part separately. Ignores parts that no run has, unless they must be known.
fn status_of_parts(runs: &[Named]) -> FairnessStatus {
    let mut unknown = false;
    for (at, (_, needed, _)) in runs.first().into_iter().flatten().enumerate() {
        let values = values_of_part(runs, at);
        match status(&values) {
            FairnessStatus::Differs => return FairnessStatus::Differs,
            FairnessStatus::Unknown => unknown |= *needed || values.iter().any(Option::is_some),
            FairnessStatus::Same => {}
        }
    }
    if unknown { FairnessStatus::Unknown } else { FairnessStatus::Same }
}

fn values_of_part(runs: &[Named], at: usize) -> Vec<Option<String>> {
    runs.iter().map(|parts| parts.get(at).and_then(|part| part.2.clone())).collect()
}

/// Returns the parts of each run that differ, as text.
fn differing(runs: &[Named]) -> Vec<Option<String>> {
    let differs = |at: &usize| status(&values_of_part(runs, *at)) == FairnessStatus::Differs;
    let parts: Vec<usize> = (0..runs.first().map_or(0, Vec::len)).filter(differs).collect();
    let of_run = |run: &Named| in_words(&parts.iter().filter_map(|&at| run.get(at).cloned()).collect());
    runs.iter().map(of_run).collect()
}

/// Returns all fields of the model's configuration except fields with separate checks.
fn dimensions(model: &ModelConfig) -> Named {
    let count = |value: Option<u64>| value.map(|value| value.to_string());
    let flag = |value: Option<bool>| value.map(|value| if value { "yes" } else { "no" }.to_owned());
    vec![
        ("width", true, count(model.model_dims)),
        ("layers", true, count(model.num_layers)),
        ("heads", false, count(model.num_heads)),
        ("key-value heads", false, count(model.num_kv_heads)),
        ("head dimension", false, count(model.head_dim)),
        ("feed-forward", false, count(model.ffn_hidden_dims)),
        ("gated feed-forward", false, flag(model.gated_ffn)),
        ("vocabulary", false, count(model.vocab_size)),
        ("tied embeddings", false, flag(model.tied_embeddings)),
        ("experts", false, count(model.num_experts)),
        ("experts per token", false, count(model.num_experts_per_token)),
        ("attention bias", false, flag(model.attention_bias)),
        ("norms per layer", false, count(model.norms_per_layer)),
        ("items", false, count(model.num_items)),
        ("clusters", false, count(model.num_clusters)),
        ("item embedding", false, count(model.item_embedding_dim)),
    ]
}

fn parameters(profile: &UnifiedProfile) -> Named {
    let counts = profile.parameter_counts.as_ref();
    let count = |value: Option<u64>| value.map(format::count);
    vec![
        ("total", true, count(counts.map(|it| it.total_params))),
        ("trainable", false, count(counts.and_then(|it| it.trainable_params))),
        ("frozen", false, count(counts.and_then(|it| it.frozen_params))),
    ]
}

fn in_words(parts: &Named) -> Option<String> {
    let known = |(name, _, value): &(&str, bool, Option<String>)| value.as_ref().map(|value| format!("{name} {value}"));
    let known: Vec<String> = parts.iter().filter_map(known).collect();
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
    // A JSON file does not name the device, so the platform is used as the type.
    let metadata = &profile.metadata;
    known(&metadata.device_type).filter(|it| **it != metadata.platform).map(str::to_owned)
}

/// Returns the data type that kernels spend the most time on.
fn data_type(profile: &UnifiedProfile) -> Option<String> {
    let types = &profile.kernel_statistics.as_ref()?.data_types;
    let known = types.iter().filter(|it| it.data_type != "unknown");
    let most = known.reduce(|a, b| if b.time_us > a.time_us { b } else { a })?;
    // A type is evidence only if kernels of known type take enough time.
    (most.percent >= 5.0).then(|| most.data_type.clone())
}

fn warm_up(profile: &UnifiedProfile) -> Option<String> {
    if profile.steps.is_empty() {
        return None;
    }
    let count = profile.steps.iter().filter(|step| step.warm_up).count();
    Some(if count == 0 { "none".to_owned() } else { format::count(count as u64) })
}

/// Returns the codes of the warnings about lost or truncated data. Profiles that older versions wrote contain no
/// warnings.
fn capture_faults(profile: &UnifiedProfile) -> Option<String> {
    profile.metadata.schema_version.as_ref()?;
    let mut codes: Vec<&str> =
        profile.warnings.iter().filter(|it| it.severity != Severity::Note).map(|it| it.code.as_str()).collect();
    codes.dedup();
    Some(if codes.is_empty() { "none".to_owned() } else { codes.join(", ") })
}

fn source_format(profile: &UnifiedProfile) -> Option<&str> {
    let is_earlier = profile.metadata.source_format() == Some(SourceFormat::UnifiedProfile);
    profile.metadata.source_format.as_deref().filter(|_| !is_earlier)
}

/// Returns the display name of a check in lower case. Makes the name from the key `name` if `checks` lacks the check.
pub(crate) fn title(checks: &[FairnessCheck], name: &str) -> String {
    let listed = checks.iter().find(|it| it.check == name);
    listed.map_or_else(|| name.replace('_', " "), |it| it.title.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_is_not_listed_has_a_name() {
        assert_eq!(title(&[], "operand_types"), "operand types");
    }

    fn subject(model: ModelConfig, counts: Option<(u64, u64, u64)>) -> Subject {
        let mut profile = report::example::profile();
        profile.model_config = model;
        profile.parameter_counts = counts.map(|(total, trainable, frozen)| report::ParameterCounts {
            total_params: total,
            trainable_params: Some(trainable),
            frozen_params: Some(frozen),
            has_frozen_layers: frozen > 0,
            ..Default::default()
        });
        Subject::new(profile)
    }

    fn check(subjects: &[Subject], name: &str) -> Option<(String, Vec<Option<String>>)> {
        fairness(subjects).into_iter().find(|it| it.check == name).map(|it| (it.status.label().to_owned(), it.values))
    }

    fn said(status: &str, values: [&str; 2]) -> Option<(String, Vec<Option<String>>)> {
        Some((status.to_owned(), values.map(|it| Some(it.to_owned())).to_vec()))
    }

    #[test]
    fn every_field_of_the_model_is_compared_and_a_difference_shows_what_differs() {
        let model = ModelConfig {
            model_dims: Some(2048),
            num_layers: Some(18),
            num_items: Some(3261),
            pretrained_model: Some("google/gemma-2b".to_owned()),
            ..ModelConfig::default()
        };
        let one = subject(model.clone(), Some((100, 60, 40)));
        let both = [one.clone(), one.clone()];
        assert_eq!(check(&both, "model_dimensions").unwrap().0, "same");
        assert_eq!(check(&both, "parameters"), said("same", ["total 100, trainable 60, frozen 40"; 2]));
        let other = ModelConfig { num_items: Some(99), pretrained_model: Some("gpt2".to_owned()), ..model };
        let both = [one, subject(other, Some((100, 100, 0)))];
        assert_eq!(check(&both, "model_dimensions"), said("differs", ["items 3261", "items 99"]));
        assert_eq!(check(&both, "model_name"), said("differs", ["google/gemma-2b", "gpt2"]));
        assert_eq!(check(&both, "parameters"), said("differs", ["trainable 60, frozen 40", "trainable 100, frozen 0"]));
        // A check without a value in any run is omitted.
        let unknown = [subject(ModelConfig::default(), None), subject(ModelConfig::default(), None)];
        assert_eq!((check(&unknown, "parameters"), check(&unknown, "model_name")), (None, None));
    }

    /// Each field of a configuration belongs to a check, so that new fields are compared too.
    #[test]
    fn no_field_of_the_model_is_left_out() {
        for field in input::SIDECAR_FIELDS {
            let with = |value: serde_json::Value| {
                let value: ModelConfig = serde_json::from_value(serde_json::json!({ *field: value })).unwrap();
                let mut subject = subject(value, None);
                subject.profile.parameter_counts = metrics::parameter_counts(&subject.profile.model_config);
                subject
            };
            // The number of trainable parameters requires the number of frozen ones, and vice versa.
            if matches!(*field, "trainable_params" | "frozen_params") {
                continue;
            }
            let pair = match *field {
                "pretrained_model" => [with("a".into()), with("b".into())],
                "gated_ffn" | "tied_embeddings" | "attention_bias" => [with(true.into()), with(false.into())],
                _ => [with(2.into()), with(3.into())],
            };
            assert!(fairness(&pair).iter().any(|check| check.status == FairnessStatus::Differs), "{field}");
        }
    }
}
