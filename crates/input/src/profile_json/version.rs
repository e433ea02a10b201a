//! Reads the version of a document, and replaces numbers such as `NaN` that Python writes although they are not JSON.

use std::fmt;

use serde_json::Value;

use base::Error;

/// Schema version of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    major: u64,
    minor: u64,
    /// True if this is the version of the schema. False if it is the version of the tool, because the document has no
    /// schema version.
    schema: bool,
    text: String,
}

impl Version {
    /// Minor version of the schema that crossprof writes.
    const MINOR: u64 = 1;

    /// Reads `metadata.schema_version`, or else `metadata.profiler_version`. A document with neither field has version
    /// 1.0.0.
    pub(super) fn of(document: &Value) -> Result<Version, Error> {
        let metadata = document.get("metadata");
        let field = |name| metadata.and_then(|metadata| metadata.get(name)).filter(|value| !value.is_null());
        let (value, schema) = match (field("schema_version"), field("profiler_version")) {
            (Some(value), _) => (Some(value), true),
            (None, value) => (value, false),
        };
        let text = match value {
            None => "1.0.0".to_owned(),
            Some(Value::String(text)) => text.chars().take(40).collect(),
            Some(other) => other.to_string().chars().take(40).collect(),
        };
        let mut numbers = text.split('.').map(|part| part.trim().parse::<u64>());
        match (numbers.next(), numbers.next()) {
            (Some(Ok(1)), minor) => {
                let minor = minor.and_then(Result::ok).unwrap_or(0);
                Ok(Version { major: 1, minor, schema, text })
            }
            _ => Err(Error::Unsupported {
                what: format!("A unified profile of version {text}"),
                remedy:
                    "This version of crossprof reads profiles 1.x. Use a newer version, or open the original trace."
                        .to_owned(),
            }),
        }
    }

    /// Returns true for 1.1.0 or a later 1.x, which the current types can read.
    pub(super) fn is_current(&self) -> bool {
        self.schema && (self.major, self.minor) >= (1, 1)
    }

    /// Returns true if the version is later than the schema version that crossprof writes.
    pub(super) fn is_newer(&self) -> bool {
        self.minor > Version::MINOR
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Replaces `NaN`, `Infinity` and `-Infinity` outside of strings with `null`. Returns the new text and the number of
/// replacements.
pub(super) fn without_nan(text: &[u8]) -> (Vec<u8>, u64) {
    const WORDS: [&[u8]; 3] = [b"-Infinity", b"Infinity", b"NaN"];
    let mut out = Vec::with_capacity(text.len());
    let (mut rest, mut in_string, mut count) = (text, false, 0);
    while let Some((&byte, after)) = rest.split_first() {
        if let Some(word) = WORDS.iter().find(|word| !in_string && rest.starts_with(word)) {
            out.extend_from_slice(b"null");
            rest = rest.get(word.len()..).unwrap_or_default();
            count += 1;
            continue;
        }
        out.push(byte);
        rest = after;
        match byte {
            b'"' => in_string = !in_string,
            b'\\' if in_string => {
                if let Some((&escaped, after)) = rest.split_first() {
                    out.push(escaped);
                    rest = after;
                }
            }
            _ => {}
        }
    }
    (out, count)
}
