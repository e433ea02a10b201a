//! Detects the kind of a JSON text by the keys of its outermost object. If the outermost value is a list, uses the keys
//! of the objects in the list. The text is not parsed, because the head of a file can end anywhere.

use base::{Error, out_of_memory};
use memchr::memmem;

use super::{Format, not_a_profile};
use crate::lake_trends;
use crate::model_config::{CAPTURE_FIELD, DEVICE_FIELD, SIDECAR_FIELDS};
use crate::profile_json::benchmark::METHOD_KEYS;
use crate::profile_json::lenient::after_comments;

/// Maximum nesting depth of a document. JSON with deeper nesting is not read.
const DEEPEST: u64 = 127;

/// Returns the text from its first bracket on. Skips a byte order mark and spaces. Returns `None` if the text is not
/// JSON.
pub(super) fn start(head: &[u8]) -> Option<&[u8]> {
    let text = after_comments(head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head));
    matches!(text.first(), Some(b'{' | b'[')).then_some(text)
}

/// Returns the kind of the text according to its first decisive key.
pub(super) fn detect(text: &[u8], complete: bool) -> Option<Format> {
    let is_list = text.first() == Some(&b'[');
    let keys = keys_at(text, if is_list { 2 } else { 1 });
    let decided = keys.iter().find_map(|key| if is_list { by_list_key(key) } else { by_key(key) });
    if let Some(format) = decided {
        return Some(format);
    }
    if keys.contains(&b"format".as_slice()) && memmem::find(text, lake_trends::FORMAT.as_bytes()).is_some() {
        return Some(Format::LakeTrends);
    }
    if is_lines(text) || (complete && out_of_memory::is_said(text)) {
        return Some(Format::Log);
    }
    if depth(text) > DEEPEST {
        let what = if is_list { "a JSON list" } else { "a JSON object" };
        return (is_list || complete)
            .then(|| not_a_profile(&format!("{what} that is nested too deeply for a profile")));
    }
    if is_list {
        // An empty list is an empty trace.
        return match text.get(1..).unwrap_or_default().trim_ascii_start().first() {
            None | Some(b']') if complete => Some(Format::TraceJson),
            Some(b'{') if !complete => None,
            None => None,
            _ => Some(not_a_profile("a JSON list without trace events")),
        };
    }
    let has = |name: &[u8]| keys.contains(&name);
    if has(b"metadata") && memmem::find(text, b"\"profiler_version\"").is_some() {
        return Some(Format::UnifiedProfile);
    }
    if !complete {
        return None;
    }
    // Methods are at the top level of a results file, or below the number of devices: results -> 4gpu -> method.
    let is_of_method = |key: &&[u8]| METHOD_KEYS.iter().any(|of_method| of_method.as_bytes() == *key);
    if (2..=4).any(|level| keys_at(text, level).iter().any(is_of_method)) {
        return Some(Format::UnifiedProfile);
    }
    let has_field = keys.iter().any(|key| SIDECAR_FIELDS.iter().any(|field| field.as_bytes() == *key));
    let is_of_sidecar = |key: &&[u8]| [DEVICE_FIELD, CAPTURE_FIELD].iter().any(|field| field.as_bytes() == *key);
    let has_no_other =
        keys.iter().any(is_of_sidecar) && keys.iter().all(|key| is_of_sidecar(key) || key.starts_with(b"_"));
    if has_field || has_no_other {
        return Some(Format::Sidecar);
    }
    let names: Vec<_> = keys.iter().take(3).map(|key| format!("\"{}\"", String::from_utf8_lossy(key))).collect();
    let what = match names.len() {
        0 => "a JSON object without trace events".to_owned(),
        _ => format!("a JSON object without trace events (it has {})", shortened(&names.join(", "))),
    };
    Some(not_a_profile(&what))
}

/// Returns the kind of a JSON object that has this key.
fn by_key(key: &[u8]) -> Option<Format> {
    Some(match key {
        b"traceEvents" | b"displayTimeUnit" | b"deviceProperties" | b"baseTimeNanoseconds" => Format::TraceJson,
        b"step_timing" | b"compute_utilization" | b"timeline_coverage" | b"kernels" => Format::UnifiedProfile,
        b"model_type" | b"architectures" | b"transformers_version" => Format::HuggingFaceConfig,
        b"hidden_size" | b"n_embd" | b"num_hidden_layers" => Format::HuggingFaceConfig,
        b"memoryProfilePerAllocator" => derived("a memory profile"),
        b"byCategory" | b"byProgram" | b"byCategoryExcludeIdle" => derived("an op profile"),
        b"cols" => derived("a table"),
        b"$schema" | b"shared" | b"activeProfileIndex" => not_a_profile("a speedscope profile"),
        b"timeDeltas" => not_a_profile("a JavaScript CPU profile"),
        b"libs" | b"pausedRanges" => not_a_profile("a Firefox profile"),
        b"rocprofiler-sdk-tool" => {
            Format::Other(Error::not_a_profile("the output of rocprofv3", super::known::FROM_ROCPROF))
        }
        b"nbformat" | b"cells" => not_a_profile("a Jupyter notebook"),
        b"weight_map" => not_a_profile("the index of a checkpoint"),
        b"added_tokens" => not_a_profile("a tokenizer"),
        b"textPayload" | b"jsonPayload" | b"logName" | b"insertId" => Format::Log,
        _ => return None,
    })
}

/// Returns true if this key of the outermost object is a section of a unified profile.
pub(super) fn is_profile_section(key: &[u8]) -> bool {
    by_key(key) == Some(Format::UnifiedProfile)
}

/// Returns the kind of a JSON list whose objects have this key.
fn by_list_key(key: &[u8]) -> Option<Format> {
    Some(match key {
        b"ph" | b"ts" | b"pid" | b"tid" | b"dur" => Format::TraceJson,
        b"step_timing" | b"compute_utilization" | b"timeline_coverage" => Format::UnifiedProfile,
        b"cols" => derived("a table"),
        b"textPayload" | b"jsonPayload" | b"logName" | b"insertId" => Format::Log,
        _ => return None,
    })
}

/// Returns true if the text is a log with one JSON object per line.
fn is_lines(text: &[u8]) -> bool {
    let is_next = |line: &[u8]| line.trim_ascii_start().starts_with(b"{");
    let mut lines = text.splitn(3, |byte| *byte == b'\n');
    let first = lines.next().unwrap_or_default().trim_ascii_end();
    let is_object = first.starts_with(b"{") && first.ends_with(b"}") && brackets(first).0 == 0;
    is_object && lines.next().is_some_and(is_next)
}

fn derived(what: &str) -> Format {
    Format::Derived(format!("This is {what} that XProf derived from a profile. Open the profile itself."))
}

/// Returns the keys of the objects that are inside `level` brackets. Level 1 is the outermost object.
fn keys_at(text: &[u8], level: u64) -> Vec<&[u8]> {
    /// Maximum number of keys to return, which is enough to detect the kind. A list of a million objects has millions
    /// of keys.
    const MOST: usize = 256;
    let mut keys = Vec::new();
    let (mut depth, mut at, mut key_next) = (0u64, 0, false);
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'{' => {
                depth += 1;
                key_next = depth == level;
            }
            b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => key_next = depth == level,
            b'"' => {
                let Some(length) = string_length(text.get(at..).unwrap_or_default()) else { break };
                if key_next {
                    key_next = false;
                    keys.push(text.get(at..at + length).unwrap_or_default());
                    if keys.len() == MOST {
                        break;
                    }
                }
                at += length + 1;
            }
            _ => {}
        }
        // Ignore text after the outermost value.
        if depth == 0 {
            break;
        }
    }
    keys
}

/// Returns the maximum nesting depth of brackets.
fn depth(text: &[u8]) -> u64 {
    brackets(text).1
}

/// Returns the number of brackets that are open at the end of the text, and the maximum nesting depth.
fn brackets(text: &[u8]) -> (u64, u64) {
    let (mut depth, mut deepest, mut at) = (0u64, 0, 0);
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => match string_length(text.get(at..).unwrap_or_default()) {
                Some(length) => at += length + 1,
                None => break,
            },
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    (depth, deepest)
}

/// Returns the length of a string up to its closing quote, or `None` if the closing quote is missing.
fn string_length(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let quote = from + memchr::memchr(b'"', text.get(from..)?)?;
        let backslashes = text.get(..quote)?.iter().rev().take_while(|byte| **byte == b'\\').count();
        if backslashes % 2 == 0 {
            return Some(quote);
        }
        from = quote + 1;
    }
}

/// Shortens a key from the file, which can have any length.
fn shortened(text: &str) -> String {
    const MOST: usize = 80;
    if text.chars().count() <= MOST { text.to_owned() } else { text.chars().take(MOST).chain(['…']).collect() }
}
