//! What is said of a run below everything that was measured: where and with what it was captured, and what could not be measured.

use super::{Block, Fact, Facts};
use crate::environment::facts;
use base::format;
use report::{NotMeasured, UnifiedProfile};

/// Names of fields that a run may lack, for people, where these are more than the words of the field.
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
    fn what_is_missing_is_named_for_people() {
        let label =
            |field: &str| fact(&NotMeasured { field: field.to_owned(), reason: String::new(), remedy: None }).label;
        assert_eq!(label("compute_utilization.compute_util_percent"), "Device busy");
        assert_eq!(label("communication.wait_time_us"), "wait time");
    }
}
