//! Makes comparisons and reports from the profiles of runs. The runs may belong to different loads.

use crossprof::UnifiedProfile;
use crossprof::compare::{Comparison, Options, Subject, compare};
use crossprof::document::Page;
use crossprof::export::{comparison, digest, html, markdown};
use crossprof::pages;
use crossprof::pages::timeline::OpChanges;
use js_sys::Array;

use crate::protocol::analyst::{ComparisonPageRequest, DocumentRequest, Form, SubjectEntry, Subjects};
use crate::protocol::wire::{Body, Document};

/// Error if a profile is missing or damaged.
const NO_PROFILE: &str = "The profile of a run could not be read. Load it again.";

/// Error for a document about one run that requires several runs.
const NO_DOCUMENT: &str = "This document needs at least two runs. Choose another run to compare with.";

/// Error if a digest is requested for several runs.
const OF_ONE_RUN: &str = "A digest is about one run. Choose one run.";

/// Makes the page of a comparison.
pub fn page(request: ComparisonPageRequest, attachments: &Array) -> Result<Page, &'static str> {
    let (found, _) = compared(request.subjects, attachments).ok_or(NO_PROFILE)?;
    Ok(pages::compare::page(&found, &request.filter))
}

/// Writes the report of one run, or a document about a comparison.
pub fn document(
    DocumentRequest { subjects, form }: DocumentRequest,
    attachments: &Array,
) -> Result<Document, &'static str> {
    if subjects.subjects.len() == 1 {
        let profile = profile(attachments, 0).ok_or(NO_PROFILE)?;
        return match form {
            Form::Html => Ok(Document::new(&html::report(&profile))),
            Form::Markdown => Ok(Document::new(&markdown::report(&profile))),
            Form::Assistant => {
                let digest = digest::text(&profile, digest::DEFAULT_BYTES);
                Ok(Document::new(&format!("{digest}\n{}", markdown::report(&profile))))
            }
            Form::Json | Form::Changes { .. } => Err(NO_DOCUMENT),
        };
    }
    let (found, subjects) = compared(subjects, attachments).ok_or(NO_PROFILE)?;
    let text = match form {
        Form::Assistant => return Err(OF_ONE_RUN),
        Form::Html => comparison::html(&found, &subjects),
        Form::Json => comparison::json(&found),
        Form::Markdown => comparison::markdown(&found),
        Form::Changes { side } => serde_json::to_string(&OpChanges::new(&found, side)).map_err(|_| NO_PROFILE)?,
    };
    Ok(Document::new(&text))
}

/// Reads an attached profile. Returns `None` if the profile is invalid.
fn profile(attachments: &Array, at: u32) -> Option<UnifiedProfile> {
    let bytes = Document::from_js(attachments.get(at))?.to_vec();
    crossprof::text::json::from_str(std::str::from_utf8(&bytes).ok()?).ok()
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
    profile.throughput = crossprof::session::throughput(&profile.step_timing, &profile.model_config, devices, of_all);
}

/// Compares runs. Returns `None` if a profile is invalid.
fn compared(asked: Subjects, attachments: &Array) -> Option<(Comparison, Vec<Subject>)> {
    let count = asked.subjects.len() as u32;
    let subjects = asked.subjects.into_iter().zip(0..).map(|(entry, at)| {
        let text = |at| Document::from_js(attachments.get(at)).map(|it| it.text());
        let program_changes = text(count + at).and_then(|it| crossprof::text::json::from_str(&it).ok());
        let step = text(2 * count + at);
        let median_step = step.filter(|step| !step.is_empty());
        let mut profile = profile(attachments, at)?;
        profile.metadata.compared.comparison_group = entry.group;
        give_batch(&mut profile, entry.batch_size, entry.seq_length);
        let SubjectEntry { name, watts_per_device, dollars_per_device_hour, .. } = entry;
        let program_changes = program_changes.unwrap_or_default();
        Some(Subject {
            name,
            median_step,
            program_changes,
            watts_per_device,
            dollars_per_device_hour,
            ..Subject::new(profile)
        })
    });
    let subjects: Vec<Subject> = subjects.collect::<Option<_>>()?;
    // Captures of one group become one run.
    let (subjects, run_of) = Subject::grouped(subjects);
    let baseline = run_of.get(asked.baseline as usize).copied().unwrap_or(0);
    let options = Options { baseline, weak_scaling: asked.weak_scaling, ..Options::of(&subjects) };
    Some((compare(&subjects, &options), subjects))
}
