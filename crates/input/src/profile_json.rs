//! Earlier results: the unified profile JSON, of this program or of the 1.0.0 tools.
//!
//! Four shapes call themselves 1.0.0:
//!
//! | shape | device use in | also |
//! |---|---|---|
//! | A | `compute_utilization` | |
//! | B | `timeline_coverage` | `coverage_stddev`, `avg_concurrent_kernels` |
//! | C | as B | `throughput.tokens_per_sec_per_device` |
//! | D | as B | `flop_stats`, `model_config.item_embedding_dim` |
//!
//! All are read into the present schema; what was converted, corrected or left out stands in the profile's warnings.
//! A document that says 1.1.0 is taken as it is: what this program exports, it imports unchanged.
//!
//! Sentences (warnings, findings, what was not measured) are made printable, as ours are; names stay as they are, since whatever
//! shows them makes them so. Numbers that no measurement gives are absent (`values`).
//! A document may have comments, and parts that are left out, as documentation prints them (`lenient`).
//! A document can hold several runs: a list of profiles of any of these shapes, or the results of a benchmark
//! ([`benchmark`]).

pub mod benchmark;
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

/// Largest document that is read: a profile is a few hundred kilobytes.
pub const MAX_BYTES: usize = 64 << 20;

/// What is wrong with a document that only an attack holds: a profile has a dozen levels.
const TOO_DEEP: &str = "it is nested too deeply, with more than 127 lists and objects inside each other";

/// The runs of one document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profiles {
    /// Runs in the order of the document, at least one.
    pub runs: Vec<NamedProfile>,
    /// About the document, and about what in it is no run.
    pub warnings: Vec<Warning>,
}

/// One run of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedProfile {
    /// Name of the run; that of the file where absent.
    pub name: Option<String>,
    /// What was measured of the run.
    pub profile: UnifiedProfile,
    /// The picture of its median step as a text, where a report keeps it.
    pub median_step: Option<String>,
}

/// Reads the document in `text`; `path` is named in its warnings.
///
/// # Errors
///
/// [`Error::Malformed`] where it is damaged JSON, a 1.1.0 document whose fields have wrong types, or holds no run;
/// [`Error::Unsupported`] where its major version is not 1. In a list, such a profile is a warning unless all are.
pub fn read_profiles(text: &[u8], path: &str) -> Result<Profiles, Error> {
    let Parsed { document, notes } = parse(text)?;
    let mut profiles = match document {
        Value::Array(documents) => read_list(documents, path)?,
        Value::Object(methods) if benchmark::is_results(&methods) => benchmark::read(&methods, path)?,
        document => {
            let profile = read_one(document, notes, path)?;
            return Ok(Profiles {
                runs: vec![NamedProfile { name: None, profile, median_step: None }],
                warnings: vec![],
            });
        }
    };
    profiles.warnings.extend(notes.into_iter().map(|note| note.with_file(path)));
    Ok(profiles)
}

/// A list of profiles; each is named as it names itself, else by its place.
fn read_list(documents: Vec<Value>, path: &str) -> Result<Profiles, Error> {
    let mut profiles = Profiles::default();
    let mut first_error = None;
    for (index, document) in documents.into_iter().enumerate() {
        match read_one(document, Vec::new(), path) {
            Ok(profile) => {
                let name = profile.metadata.run_name.clone();
                profiles.runs.push(NamedProfile { name, profile, median_step: None });
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

/// Reads one profile.
fn read_one(mut document: Value, about: Vec<Warning>, path: &str) -> Result<UnifiedProfile, Error> {
    if !document.is_object() {
        return Err(malformed("it is no JSON object".to_owned()));
    }
    let version = Version::of(&document)?;
    let mut notes = Notes::new(path);
    about.into_iter().for_each(|note| notes.push(note));
    for sentences in ["warnings", "findings", "not_measured"] {
        document.get_mut(sentences).into_iter().for_each(values::make_printable);
    }
    let immeasurable = values::take_immeasurable(&mut document);
    if immeasurable > 0 {
        let message = format!("{immeasurable} numbers are larger than any measurement: they were read as absent.");
        notes.push(Warning::new(WarningCode::ProfileImmeasurable, message).with_count(immeasurable));
    }
    let unknown_words = values::settle_words(&mut document);
    if unknown_words > 0 {
        let message = format!(
            "{unknown_words} severities or confidences are none that are known here: they were read as the least."
        );
        notes.push(Warning::new(WarningCode::ProfileUnknownWords, message).with_count(unknown_words));
    }
    let mut profile = if version.is_current() {
        if version.is_newer() {
            notes.push(Warning::new(
                WarningCode::ProfileNewer,
                format!("This profile has the newer schema {version}; sections that are new in it were left out."),
            ));
        }
        json::from_foreign_tree(document).map_err(|error| {
            let because = if immeasurable > 0 { ", as a number is larger than any measurement" } else { "" };
            malformed(format!("{error}{because}"))
        })?
    } else {
        legacy::convert(&document, &mut notes)
    };
    profile.warnings.extend(notes.into_warnings());
    Ok(profile)
}

/// A document, and what in its text was no JSON.
struct Parsed {
    document: Value,
    notes: Vec<Warning>,
}

/// Parses the document. Python's `json` writes `NaN` and `Infinity`, which are no JSON: they become `null`. What documents
/// print has comments and omissions ([`lenient`]).
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
            "{} values are left out (...) or name several possibilities; they were read as absent.",
            found.unclear
        );
        notes.push(Warning::new(WarningCode::ProfileLeftOut, message).with_count(found.unclear));
    }
    if found.comments > 0 {
        let message = format!("{} comments, which are no JSON, were passed over.", found.comments);
        notes.push(Warning::new(WarningCode::ProfileComments, message).with_count(found.comments));
    }
    Ok(Parsed { document: found.value, notes })
}

fn not_numbers(count: u64) -> Option<Warning> {
    let message = format!("{count} values are NaN or infinite; they were read as absent.");
    (count > 0).then(|| Warning::new(WarningCode::ProfileNotANumber, message).with_count(count))
}

fn malformed(reason: String) -> Error {
    Error::Malformed {
        what: "a unified profile".to_owned(),
        reason,
        remedy: "Export it again, or drop the trace it was made from.".to_owned(),
    }
}

#[cfg(test)]
mod tests;
