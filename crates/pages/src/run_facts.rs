//! Facts about a run, shown next to its figures: the input, the measurement, the environment, and data that could not be
//! measured.

use crate::environment::facts;
use crate::{communication, experts, goodput, pipeline};
use base::format::{self, percent, shorten, time_us};
use document::{Block, Fact, Facts};
use report::{LayerFreezing, NotMeasured, StepTiming, UnifiedProfile};

/// Display names of the fields that a run may lack, if these names differ from the words in the field name.
const NAMES: [(&str, &str); 12] = [
    ("metadata.timestamp", "Time of the capture"),
    ("parameter_counts.total_params", "Parameters"),
    ("step_timing.avg_step_time_us", "Step time"),
    ("throughput.samples_per_sec", "Samples/s"),
    ("throughput.tokens_per_sec", "Tokens/s"),
    ("compute_utilization.compute_util_percent", "Device busy"),
    ("memory_operations.transfers[].total_bytes", "Bytes transferred"),
    ("roofline.mfu_percent", "MFU"),
    ("roofline.hfu_percent", "HFU"),
    ("compilation.compilation_time_us", "Compilation"),
    ("compilation.num_xla_modules", "Compiled programs"),
    ("io_operations.io_total_time_us", "Input pipeline"),
];

/// Returns facts about the measurement. Omits facts that the profile lacks.
pub(super) fn run(profile: &UnifiedProfile) -> Block {
    let mut facts = Vec::new();
    let mut add = |label: &str, value: String| facts.push(Fact { label: label.to_owned(), value, ..Fact::default() });
    add("Read from", origin(profile));
    if let Some(window) = &profile.window {
        let caution = window.caution.iter().map(|caution| format!("{caution} ")).collect::<String>();
        add("Measured", format!("{caution}{}", window.sentence));
    }
    if profile.step_timing.avg_step_time_us.is_some() {
        add("Steps", steps(profile));
        if let Some(spread) = spread(&profile.step_timing) {
            add("Step times", spread);
        }
        if let Some(work) = device_work(profile) {
            add("Device work", work);
        }
    }
    if let Some(io) = profile.io_operations.as_ref().filter(|found| found.io_event_count > 0) {
        add("Input", format!("{}, {} of the time", time_us(io.io_total_time_us), percent(io.io_percent)));
    }
    let others = [
        ("Goodput", profile.goodput.as_ref().and_then(goodput::in_words)),
        ("Pipeline", profile.pipeline.as_ref().map(pipeline::in_words)),
        ("Experts", profile.experts.as_ref().and_then(experts::in_words)),
        ("Other slices", profile.megascale.as_ref().map(communication::slices_in_words)),
    ];
    for (label, value) in others {
        value.into_iter().for_each(|value| add(label, value));
    }
    if let Some(memory) = profile.memory_operations.as_ref().filter(|memory| !memory.transfers.is_empty()) {
        let directions = memory.transfers.iter().map(|transfer| {
            let rate = transfer.bandwidth_gb_per_sec.map(|rate| format!(" at {}", format::si(rate * 1e9, "B/s")));
            format!("{} {}{}", transfer.direction, time_us(transfer.total_time_us), rate.unwrap_or_default())
        });
        add("Transfers", directions.collect::<Vec<_>>().join(", "));
    }
    if let Some(parameters) = &profile.parameter_counts {
        add("Parameters", format::count(parameters.total_params));
    }
    if let Some(freezing) = profile.layer_freezing.as_ref().filter(|freezing| freezing.frozen_arrays > 0) {
        add("Frozen", frozen(freezing));
    }
    if let Some(model) = model(profile) {
        add("Model", model);
    }
    Block::Facts(Facts { title: String::new(), facts })
}

/// Returns median, 95th percentile and range of the counted steps.
fn spread(timing: &StepTiming) -> Option<String> {
    let values = [
        ("median", timing.median_step_time_us),
        ("p95", timing.p95_step_time_us),
        ("min", timing.min_step_time_us),
        ("max", timing.max_step_time_us),
    ];
    let known = values.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", time_us(value?))));
    let known: Vec<String> = known.collect();
    (!known.is_empty()).then(|| known.join(", "))
}

fn origin(profile: &UnifiedProfile) -> String {
    let metadata = &profile.metadata;
    let mut text = shorten(&metadata.trace_file, 60);
    if let Some(duration) = metadata.capture_duration_us {
        text += &format!(", {} captured", time_us(duration));
    }
    if let Some(timestamp) = &metadata.timestamp {
        text += &format!(" from {timestamp}");
    }
    if let Some(events) = metadata.num_events {
        text += &format!(", {}", format::counted(events, "event"));
    }
    text
}

fn steps(profile: &UnifiedProfile) -> String {
    let timing = &profile.step_timing;
    let mut text = format::count(timing.num_steps);
    if let Some(counted) = timing.num_steps_counted {
        let number = |flag: fn(&report::Step) -> bool| profile.steps.iter().filter(|step| flag(step)).count();
        text += &format!(", {} counted", format::count(counted));
        let partial = number(|it| it.counted && it.partial);
        let in_spite = [(partial, "partial"), (number(|it| it.counted && !it.partial && it.warm_up), "warm-up")];
        let in_spite =
            in_spite.into_iter().filter(|(found, _)| *found > 0).map(|(found, word)| format!("{found} {word}"));
        let in_spite: Vec<String> = in_spite.collect();
        if !in_spite.is_empty() {
            text += &format!(" ({}: no step is both complete and past warm-up)", in_spite.join(", "));
        }
        // Counts each step once, because a partial step may also be a warm-up step.
        let warm_up = number(|it| !it.counted && !it.partial && it.warm_up);
        let compiling = number(|it| !it.counted && !it.partial && it.warm_up && it.compiles);
        let mut left_out = Vec::new();
        if let partial @ 1.. = number(|it| !it.counted && it.partial) {
            left_out.push(format!("{partial} partial"));
        }
        if warm_up > 0 {
            left_out.push(format!("{warm_up} warm-up"));
        }
        if compiling > 0 {
            left_out.push(format!("{compiling} of them compiling"));
        }
        if !left_out.is_empty() {
            text += &format!(" (left out: {})", left_out.join(", "));
        }
    }
    match timing.devices_in_step.as_deref() {
        Some("independent") => text += ", each device independently",
        Some("one_after_another") => text += ", one device after another",
        _ => {}
    }
    text += &format!(", from {}", timing.step_count_source);
    if let Some(marker) = &timing.step_marker {
        text += &format!(": {}", shorten(marker, 40));
    }
    text
}

/// Describes the work that a step launches, and how far the devices lag behind the host. Returns `None` if there are no
/// launches that link the work to steps.
fn device_work(profile: &UnifiedProfile) -> Option<String> {
    let timing = &profile.step_timing;
    timing.device_work_tied_by.as_deref().filter(|tie| matches!(*tie, "correlation" | "group" | "dispatch"))?;
    let mut text = format!("{} per step per device", time_us(timing.device_work_us?));
    if let Some(spread) = timing.stddev_device_work_us {
        text += &format!(", ± {}", time_us(spread));
    }
    if let Some(ops) = timing.kernels_per_step {
        let ops = if ops.fract() == 0.0 { format::count(ops as u64) } else { format::number(ops) };
        text += &format!(", {ops} ops");
    }
    if let Some(lag) = timing.device_lag_us {
        text += &format!("; devices run {} behind the host (median)", time_us(lag));
    }
    Some(text)
}

/// Describes the arrays that a training step does not change.
fn frozen(freezing: &LayerFreezing) -> String {
    let arrays = freezing.frozen_arrays.saturating_add(freezing.trained_arrays);
    let params =
        freezing.frozen_params.map_or(String::new(), |count| format!(" ({} parameters)", format::count(count)));
    let names: Vec<String> = freezing.frozen.iter().take(3).map(|name| shorten(name, 40)).collect();
    let more = freezing.frozen.len().saturating_sub(names.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(
        "{} of {} arrays of parameters{params}: {}{more}; confidence {}",
        format::count(freezing.frozen_arrays),
        format::count(arrays),
        names.join(", "),
        freezing.confidence
    )
}

/// Describes the model from files next to the profile, and names those files, because the user may
/// not have chosen them.
fn model(profile: &UnifiedProfile) -> Option<String> {
    let files: Vec<String> = profile
        .provenance
        .iter()
        .filter(|file| file.format == "model_config")
        .map(|file| shorten(&file.path, 60))
        .collect();
    let model = &profile.model_config;
    let known = [
        ("width", model.model_dims),
        ("layers", model.num_layers),
        ("batch", model.batch_size),
        ("sequence", model.seq_length),
    ];
    let known = known.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", format::count(value?))));
    let known: Vec<String> = known.collect();
    (!files.is_empty()).then(|| format!("{} (from {})", known.join(", "), files.join(", ")).trim_start().to_owned())
}

/// Returns the environment and the files of a run.
pub(super) fn environment(profile: &UnifiedProfile) -> Block {
    let fact =
        |(label, value): (String, String)| Fact { label, value: format::shorten(&value, 200), ..Fact::default() };
    let files = profile.provenance.iter().map(|file| ("File".to_owned(), file.path.clone()));
    let facts = facts(profile).into_iter().chain(files).map(fact).collect();
    Block::Facts(Facts { title: "Run environment".to_owned(), facts })
}

/// Lists the data that was not measured and the reasons, folded. Returns `None` if everything was measured.
pub(super) fn not_measured(profile: &UnifiedProfile) -> Option<Block> {
    let missing = &profile.not_measured;
    let facts = missing.iter().map(fact).collect();
    (!missing.is_empty()).then(|| Block::Fold {
        title: format!("Not measured: {}", format::count(missing.len() as u64)),
        blocks: vec![Block::Facts(Facts { title: String::new(), facts })],
    })
}

fn fact(missing: &NotMeasured) -> Fact {
    let known = NAMES.iter().find(|(field, _)| *field == missing.field).map(|(_, name)| (*name).to_owned());
    let last = || missing.field.rsplit('.').next().unwrap_or_default().trim_end_matches("_us").replace('_', " ");
    let value = [Some(missing.reason.as_str()), missing.remedy.as_deref()];
    let value = value.into_iter().flatten().collect::<Vec<_>>().join(" ");
    Fact { label: known.unwrap_or_else(last), value, ..Fact::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_fields_have_display_names() {
        let label =
            |field: &str| fact(&NotMeasured { field: field.to_owned(), reason: String::new(), remedy: None }).label;
        assert_eq!(label("compute_utilization.compute_util_percent"), "Device busy");
        assert_eq!(label("communication.wait_time_us"), "wait time");
    }
}
