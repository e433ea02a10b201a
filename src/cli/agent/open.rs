//! Tool `open`: lists captures, the runs of a capture, or the data that a capture lacks for a question.

use std::path::{Path, PathBuf};

use crossprof::TableName;
use crossprof::export::digest::{Digest, quotable};
use crossprof::format::bytes;
use schemars::JsonSchema;
use serde::Deserialize;

use super::answer::{Answer, text};
use super::captures::Captures;
use super::inspect;
use crate::cli::input::walk;

/// Largest number of captures that are listed.
const MOST: usize = 200;

/// Arguments of `open`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    /// Path of the capture: a file, a folder or an archive. If absent, the captures below the folders are listed.
    #[serde(default)]
    capture: Option<String>,
    /// Index of the run that the question is about. 0 if absent.
    #[serde(default)]
    run: usize,
    /// Question that the capture should answer: `collectives`, `step time`, `memory`, ...
    #[serde(default, rename = "for")]
    question: Option<String>,
    /// Largest size of the answer in bytes. 4000 if absent.
    #[serde(default)]
    max_bytes: Option<usize>,
}

/// Answers a request.
pub(super) fn call(captures: &mut Captures, request: &Request) -> Result<(Answer, Option<usize>), String> {
    let answer = match (&request.capture, &request.question) {
        (None, _) => listed(captures),
        (Some(capture), Some(question)) => inspect::of_run(captures.open(capture)?, request.run, question)?,
        (Some(capture), None) => runs(captures, capture)?,
    };
    Ok((answer, request.max_bytes))
}

fn runs(captures: &mut Captures, capture: &str) -> Result<Answer, String> {
    let opened = captures.open(capture)?;
    let mut answer = Answer::of("open");
    answer.fact("num_runs", opened.profiles.len());
    answer.fact("tables", TableName::ALL.map(|name| name.key()).join(" "));
    let columns = ["run", "name", "device", "num_devices", "num_hosts", "num_steps", "step_time_us", "completeness"];
    answer.columns = columns.map(str::to_owned).to_vec();
    answer.define("step_time_us", "µs", "Mean time of the counted steps.");
    answer.define("num_devices", "", "Devices that ran at least one op.");
    answer.define("completeness", "", "complete, cut_in_time, ops_missing or events_missing.");
    for (index, profile) in opened.profiles.iter().enumerate() {
        let Digest { capture, step, .. } = Digest::of(profile);
        let step_time = step.as_ref().and_then(|step| step.step_time_us);
        if step_time.is_none() {
            let reason = profile.not_measured.iter().find(|it| it.field == "step_timing.avg_step_time_us");
            let reason = reason.map_or("The capture marks no steps.", |it| it.reason.as_str());
            answer.missing(&format!("run:{index} step_time_us"), reason, None);
        }
        answer.rows.push(vec![
            index.into(),
            capture.run.into(),
            capture.device.into(),
            capture.num_devices.into(),
            capture.num_hosts.into(),
            step.map(|step| step.num_steps).into(),
            step_time.into(),
            capture.completeness.into(),
        ]);
        answer.evidence.push(format!("run:{index}"));
    }
    answer.lines = opened.problems().iter().map(|problem| text(problem)).collect();
    Ok(answer)
}

/// Lists the files and folders that look like captures, below the folders of the registry.
fn listed(captures: &Captures) -> Answer {
    let mut answer = Answer::of("open");
    let here = [PathBuf::from(".")];
    let mut found: Vec<(PathBuf, u64)> = Vec::new();
    for folder in captures.folders().unwrap_or(&here) {
        let (mut files, mut problems) = (Vec::new(), Vec::new());
        walk(folder, &mut files, &mut problems);
        for file in files.into_iter().filter(|file| is_called_capture(file) && captures.inside(file).is_ok()) {
            let size = std::fs::metadata(&file).map_or(0, |it| it.len());
            // All files of a folder are one capture.
            let place = match file.parent() {
                Some(parent) if is_run_folder(parent) => parent.to_owned(),
                _ => file,
            };
            match found.last_mut() {
                Some((last, bytes)) if *last == place => *bytes += size,
                _ => found.push((place, size)),
            }
        }
    }
    answer.fact("num_captures", found.len());
    answer.columns = vec!["capture".to_owned(), "size".to_owned()];
    answer.leave_out("rows", found.len().saturating_sub(MOST) as u64);
    let row = |(path, size): &(PathBuf, u64)| {
        let path = quotable(&path.to_string_lossy(), 1000);
        vec![path.into(), crossprof::format::with_plain_spaces(&bytes(*size)).into()]
    };
    answer.rows = found.iter().take(MOST).map(row).collect();
    answer
}

/// Returns true for a folder `plugins/profile/RUN`.
fn is_run_folder(folder: &Path) -> bool {
    folder.parent().is_some_and(|parent| parent.ends_with("plugins/profile"))
}

fn is_called_capture(file: &Path) -> bool {
    let name = file.to_string_lossy().to_lowercase();
    let ends = [".xplane.pb", ".xplane.pb.gz", ".trace.json", ".trace.json.gz", ".pt.trace.json", ".zip", ".tar.gz"];
    ends.iter().any(|end| name.ends_with(end))
}
