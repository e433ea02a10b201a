//! What is said of a run below everything that was measured: where and with what it was captured, and what could not be measured.

use super::{Block, Fact, Facts};
use crate::environment::facts;
use base::format;
use report::{NotMeasured, UnifiedProfile};

/// Names of fields that a run may lack, for people.
const NAMES: [(&str, &str); 19] = [
    ("metadata.timestamp", "Time of the capture"),
    ("metadata.device_type", "Device model"),
    ("parameter_counts.total_params", "Parameters"),
    ("step_timing.avg_step_time_us", "Step time"),
    ("throughput.steps_per_sec", "Steps/s"),
    ("throughput.samples_per_sec", "Samples/s"),
    ("throughput.tokens_per_sec", "Tokens/s"),
    ("compute_utilization.compute_util_percent", "Device busy"),
    ("kernels.top_kernels", "Top kernels"),
    ("timeline_analysis", "Gaps between ops"),
    ("memory_operations", "Transfers"),
    ("memory_operations.transfers[].total_bytes", "Bytes transferred"),
    ("communication.wait_time_us", "Waiting for others"),
    ("roofline.mfu_percent", "MFU"),
    ("roofline.hfu_percent", "HFU"),
    ("compilation.compilation_time_us", "Compilation"),
    ("compilation.num_xla_modules", "Compiled programs"),
    ("io_operations.io_total_time_us", "Input pipeline"),
    ("steps", "Steps"),
];

/// The environment and the files of a run.
pub(super) fn environment(profile: &UnifiedProfile) -> Block {
    let fact =
        |(label, value): (String, String)| Fact { label, value: format::shorten(&value, 200), ..Fact::default() };
    let files = profile.provenance.iter().map(|file| ("File".to_owned(), file.path.clone()));
    let facts = facts(profile).into_iter().chain(files).map(fact).collect();
    Block::Facts(Facts { title: "Run environment".to_owned(), facts })
}

/// What was not measured and why, folded; none where everything was.
pub(super) fn not_measured(profile: &UnifiedProfile) -> Option<Block> {
    let missing = &profile.not_measured;
    let noun = if missing.len() == 1 { "number" } else { "numbers" };
    let facts = missing.iter().map(fact).collect();
    (!missing.is_empty()).then(|| Block::Fold {
        title: format!("Not measured: {} {noun}", format::count(missing.len() as u64)),
        blocks: vec![Block::Facts(Facts { title: String::new(), facts })],
    })
}

fn fact(missing: &NotMeasured) -> Fact {
    let known = NAMES.iter().find(|(field, _)| *field == missing.field).map(|(_, name)| (*name).to_owned());
    let last = || missing.field.rsplit('.').next().unwrap_or_default().replace('_', " ").replace("[]", "");
    let value = [Some(missing.reason.as_str()), missing.remedy.as_deref()];
    let value = value.into_iter().flatten().collect::<Vec<_>>().join(" ");
    Fact { label: known.unwrap_or_else(last), value, ..Fact::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_for_people() {
        let label =
            |field: &str| fact(&NotMeasured { field: field.to_owned(), reason: String::new(), remedy: None }).label;
        assert_eq!(label("compute_utilization.compute_util_percent"), "Device busy");
        assert_eq!(label("a.list[].of_things"), "of things");
    }
}
