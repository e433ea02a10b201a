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

mod legacy;
mod section;
mod utilization;
mod version;

use serde_json::Value;

use crate::error::Error;
use crate::report::UnifiedProfile;
use crate::warning::Warning;
use section::Notes;
use version::Version;

/// Largest document that is read: a profile is a few hundred kilobytes.
pub const MAX_BYTES: usize = 64 << 20;

/// Reads the document in `text`; `path` is named in its warnings.
///
/// # Errors
///
/// [`Error::Malformed`] where it is damaged JSON or a 1.1.0 document whose fields have wrong types,
/// [`Error::Unsupported`] where its major version is not 1.
pub fn read_profile(text: &[u8], path: &str) -> Result<UnifiedProfile, Error> {
    let (document, repaired) = parse(text)?;
    let version = Version::of(&document)?;
    let mut notes = Notes::new(path);
    if repaired > 0 {
        notes.push(
            Warning::note(
                "profile_not_a_number",
                format!("{repaired} values are NaN or infinite; they were read as absent."),
            )
            .with_count(repaired),
        );
    }
    let mut profile = if version.is_current() {
        if version.is_newer() {
            notes.push(Warning::note(
                "profile_newer",
                format!("This profile has the newer schema {version}; sections that are new in it were left out."),
            ));
        }
        serde_json::from_value(document).map_err(|error| malformed(error.to_string()))?
    } else {
        legacy::convert(&document, &mut notes)
    };
    profile.warnings.extend(notes.into_warnings());
    Ok(profile)
}

/// Parses the document. Python's `json` writes `NaN` and `Infinity`, which are no JSON: they become `null`, and their
/// number is given.
fn parse(text: &[u8]) -> Result<(Value, u64), Error> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let first = match serde_json::from_slice(text) {
        Ok(document) => return Ok((document, 0)),
        Err(error) => error,
    };
    let (repaired, count) = version::without_nan(text);
    match serde_json::from_slice(&repaired) {
        Ok(document) if count > 0 => Ok((document, count)),
        _ => Err(malformed(format!("its JSON is damaged ({first})"))),
    }
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
