//! Comparison of runs based on their profiles, which any analyst may have made.

use crossprof::UnifiedProfile;
use crossprof::compare::{Comparison, Options, Subject, compare};
use js_sys::Array;

use crate::protocol::analyst::{SubjectEntry, Subjects};
use crate::protocol::wire::{Body, Document};

/// Error if a profile is missing or damaged.
pub const NO_PROFILE: &str = "The profile of a run could not be read. Load it again.";

/// Reads an attached profile. Returns `None` if it is invalid.
pub fn profile(attachments: &Array, at: u32) -> Option<UnifiedProfile> {
    let bytes = Document::from_js(attachments.get(at))?.to_vec();
    crossprof::json::from_str(std::str::from_utf8(&bytes).ok()?).ok()
}

/// Replaces the batch size and the sequence length of a profile, and recomputes its rates.
fn give_batch(profile: &mut UnifiedProfile, batch_size: Option<u64>, seq_length: Option<u64>) {
    if batch_size.is_none() && seq_length.is_none() {
        return;
    }
    let model = &mut profile.model_config;
    model.batch_size = batch_size.or(model.batch_size);
    model.seq_length = seq_length.or(model.seq_length);
    let (devices, of_all) = (profile.metadata.num_devices, profile.throughput.all_devices_steps_per_sec);
    profile.throughput = crossprof::metrics::throughput(&profile.step_timing, &profile.model_config, devices, of_all);
}

/// Compares runs. Returns `None` if a profile is invalid.
pub fn compared(asked: Subjects, attachments: &Array) -> Option<(Comparison, Vec<Subject>)> {
    let count = asked.subjects.len() as u32;
    let subjects = asked.subjects.into_iter().zip(0..).map(|(entry, at)| {
        let step = Document::from_js(attachments.get(count + at)).map(|step| step.text());
        let median_step = step.filter(|step| !step.is_empty());
        let mut profile = profile(attachments, at)?;
        profile.metadata.compared.comparison_group = entry.group;
        give_batch(&mut profile, entry.batch_size, entry.seq_length);
        let SubjectEntry { name, watts_per_device, dollars_per_device_hour, .. } = entry;
        Some(Subject { name, median_step, watts_per_device, dollars_per_device_hour, ..Subject::new(profile) })
    });
    let subjects: Vec<Subject> = subjects.collect::<Option<_>>()?;
    // Captures of one group become one run.
    let (subjects, run_of) = Subject::grouped(subjects);
    let baseline = run_of.get(asked.baseline as usize).copied().unwrap_or(0);
    let options = Options { baseline, weak_scaling: asked.weak_scaling, ..Options::of(&subjects) };
    Some((compare(&subjects, &options), subjects))
}
