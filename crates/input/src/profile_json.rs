//! Reads results of earlier runs: the unified profile JSON of crossprof or of the 1.0.0 tools.
//!
//! Four shapes have the version 1.0.0:
//!
//! | shape | device utilisation in | further fields |
//! |---|---|---|
//! | A | `compute_utilization` | |
//! | B | `timeline_coverage` | `coverage_stddev`, `avg_concurrent_kernels` |
//! | C | as B | `throughput.tokens_per_sec_per_device` |
//! | D | as B | `flop_stats`, `model_config.item_embedding_dim` |
//!
//! All shapes are converted to the current schema. The profile's warnings list everything that was converted, corrected
//! or skipped. A document with version 1.1.0 is not converted, because crossprof imports its own exports unchanged.
//!
//! Sentences (warnings, findings, reasons for missing metrics) are made printable when they are read. Names stay
//! unchanged, because the code that displays names makes them printable. Numbers that are too large for a measurement
//! are treated as absent (`values`).
//!
//! A document may contain comments and omissions, like examples in printed documentation (`lenient`). A document can
//! also contain several runs: a list of profiles with any of these shapes, or the results of a benchmark
//! ([`benchmark`]).

pub(crate) mod benchmark;
mod legacy;
pub(super) mod lenient;
mod section;
mod utilization;
mod values;
mod version;

use serde_json::Value;

use base::{Error, Warning, WarningCode, json};
use report::UnifiedProfile;
use section::Notes;
use version::Version;

/// Maximum size of a document in bytes. A typical profile takes a few hundred kilobytes.
pub(crate) const MAX_BYTES: usize = 64 << 20;

/// Reason for rejecting a document with too many levels of lists and objects. A profile has only a dozen levels.
const TOO_DEEP: &str = "it is nested too deeply, with more than 127 levels of lists and objects";

/// The runs in one document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profiles {
    /// Runs in the order in which the document lists them. The list is never empty.
    pub runs: Vec<NamedProfile>,
    /// Warnings about the document, and about entries that are not a run.
    pub warnings: Vec<Warning>,
}

/// One run of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedProfile {
    /// Name of the run. If this name is absent, the file's name is used.
    pub name: Option<String>,
    /// Metrics of the run.
    pub profile: UnifiedProfile,
    /// Picture of the run's median step as text, if the document is a report with pictures.
    pub median_step: Option<String>,
    /// JSON text with the trends of a lake, which is parsed on demand. If there are trends, the document describes many
    /// captures and no run.
    pub trends: Option<Vec<u8>>,
}

/// Reads the document in `text`. The returned warnings name `path`.
///
/// # Errors
///
/// Returns [`Error::Malformed`] if the JSON is damaged, if the fields of a 1.1.0 document have wrong types, or if there
/// is no run. Returns [`Error::Unsupported`] if the major version is not 1. In a list of profiles, a profile with such
/// an error only causes a warning, unless all profiles fail.
pub(crate) fn read_profiles(text: &[u8], path: &str) -> Result<Profiles, Error> {
    let Parsed { document, notes } = parse(text)?;
    let mut profiles = match document {
        Value::Array(documents) => read_list(documents, path)?,
        Value::Object(methods) if benchmark::is_results(&methods) => benchmark::read(&methods, path)?,
        document => {
            let profile = read_one(document, notes, path)?;
            return Ok(Profiles { runs: vec![NamedProfile { profile, ..NamedProfile::default() }], warnings: vec![] });
        }
    };
    profiles.warnings.extend(notes.into_iter().map(|note| note.with_file(path)));
    Ok(profiles)
}

/// Reads a list of profiles. Each run has the name in its profile's metadata, if the metadata contains a name.
fn read_list(documents: Vec<Value>, path: &str) -> Result<Profiles, Error> {
    let mut profiles = Profiles::default();
    let mut first_error = None;
    for (index, document) in documents.into_iter().enumerate() {
        match read_one(document, Vec::new(), path) {
            Ok(profile) => {
                let name = profile.metadata.run_name.clone();
                profiles.runs.push(NamedProfile { name, profile, ..NamedProfile::default() });
            }
            Err(error) => {
                let message = format!("Entry {} of the list is not shown as a run. {error}", index + 1);
                profiles.warnings.push(Warning::new(WarningCode::ProfileNotRead, message).with_file(path));
                first_error.get_or_insert(error);
            }
        }
    }
    match first_error {
        Some(error) if profiles.runs.is_empty() => Err(error),
        None if profiles.runs.is_empty() => Err(malformed("its list is empty".to_owned())),
        _ => Ok(profiles),
    }
}

fn read_one(mut document: Value, about: Vec<Warning>, path: &str) -> Result<UnifiedProfile, Error> {
    if !document.is_object() {
        return Err(malformed("it is not a JSON object".to_owned()));
    }
    let version = Version::of(&document)?;
    let mut notes = Notes::new(path);
    about.into_iter().for_each(|note| notes.push(note));
    for sentences in ["warnings", "findings", "not_measured"] {
        document.get_mut(sentences).into_iter().for_each(values::make_printable);
    }
    let immeasurable = values::take_immeasurable(&mut document);
    if immeasurable > 0 {
        let message = format!("{immeasurable} numbers are too large for a measurement. They were read as absent.");
        notes.push(Warning::new(WarningCode::ProfileImmeasurable, message).with_count(immeasurable));
    }
    let unknown_words = values::settle_words(&mut document);
    if unknown_words > 0 {
        let message = format!(
            "{unknown_words} unknown severities or confidences (written by a newer version?) were read as the lowest ones."
        );
        notes.push(Warning::new(WarningCode::ProfileUnknownWords, message).with_count(unknown_words));
    }
    let mut profile = if version.is_current() {
        if version.is_newer() {
            notes.push(Warning::new(
                WarningCode::ProfileNewer,
                format!("This profile has the newer schema {version}. New sections were not read."),
            ));
        }
        json::from_foreign_tree(document).map_err(|error| {
            let because = if immeasurable > 0 { ", since a number is too large for a measurement" } else { "" };
            malformed(format!("{error}{because}"))
        })?
    } else {
        legacy::convert(&document, &mut notes)
    };
    profile.warnings.extend(notes.into_warnings());
    Ok(profile)
}

/// A parsed document, and notes about parts of its text that were not JSON.
struct Parsed {
    document: Value,
    notes: Vec<Warning>,
}

/// Parses the document. Python's `json` writes `NaN` and `Infinity`, which are not JSON, so they become `null`.
/// Examples in documentation may contain comments and omissions ([`lenient`]).
fn parse(text: &[u8]) -> Result<Parsed, Error> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let first = match serde_json::from_slice(text) {
        Ok(document) => return Ok(Parsed { document, notes: Vec::new() }),
        Err(error) => error,
    };
    let (repaired, count) = version::without_nan(text);
    if count > 0
        && let Ok(document) = serde_json::from_slice(&repaired)
    {
        return Ok(Parsed { document, notes: not_numbers(count).into_iter().collect() });
    }
    let Some(found) = lenient::read(text) else {
        let is_deep = first.to_string().starts_with("recursion limit");
        let damaged = || format!("its JSON is damaged ({first})");
        return Err(malformed(if is_deep { TOO_DEEP.to_owned() } else { damaged() }));
    };
    let mut notes: Vec<Warning> = not_numbers(found.not_numbers).into_iter().collect();
    if found.unclear > 0 {
        let message = format!(
            "{} values are placeholders (...) or list several possibilities. They were read as absent.",
            found.unclear
        );
        notes.push(Warning::new(WarningCode::ProfileLeftOut, message).with_count(found.unclear));
    }
    if found.comments > 0 {
        let message = format!("{} comments, which JSON does not allow, were skipped.", found.comments);
        notes.push(Warning::new(WarningCode::ProfileComments, message).with_count(found.comments));
    }
    Ok(Parsed { document: found.value, notes })
}

fn not_numbers(count: u64) -> Option<Warning> {
    let message = format!("{count} values are NaN or infinite. They were read as absent.");
    (count > 0).then(|| Warning::new(WarningCode::ProfileNotANumber, message).with_count(count))
}

fn malformed(reason: String) -> Error {
    Error::Malformed {
        what: "a unified profile".to_owned(),
        reason,
        remedy: "Export it again, or open the original trace.".to_owned(),
    }
}

#[cfg(test)]
mod tests;
