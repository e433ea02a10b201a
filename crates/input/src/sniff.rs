//! Detects the kind of a file from its first bytes. The name is never used.
//!
//! | starts with | is |
//! |---|---|
//! | `1f 8b 08` | gzip |
//! | `PK 03 04` | zip |
//! | a header whose checksum agrees, 512 bytes | tar |
//! | `{` with `traceEvents`, `[` of objects with `ph` | Chrome trace JSON |
//! | `{` with `step_timing` or another section, `[` of such objects | unified profile JSON |
//! | `{` with `format`, which is `crossprof-lake` | trends of a lake |
//! | `{` of objects with `execution_time` | a benchmark's results, read as unified profiles |
//! | `{` with `model_type` or `architectures` | Hugging Face `config.json` |
//! | `{` with fields of `model_config` | sidecar `crossprof.json` |
//! | fields of an XSpace with a printable plane name | xplane |
//! | fields of a pprof `Profile` | device memory profile |
//! | a module with a name and an entry computation, in an `HloProto` or by itself | compiled program (HLO) |
//! | `HloModule`, `BufferAssignment:`, `HloLiveRange` | text of a compiled program |
//! | plain text, JSON of a log | log, which may contain an out-of-memory error |
//!
//! A byte order mark, spaces and comments before JSON are skipped. Other known kinds of files are named, so that the
//! error message can advise the user.

mod json;
mod known;
mod protobuf;

use super::archive::{tar::looks_like_tar, zip::looks_like_zip};
use super::gzip::looks_like_gzip;
use super::{report_html, xplane};
use base::Error;

/// Advice for most files that are not a profile.
const DROP_A_PROFILE: &str = "Open the *.xplane.pb or *.trace.json.gz that the profiler wrote, or its whole folder.";

/// Number of leading bytes that identify every format except JSON.
pub(crate) const HEAD_BYTES: usize = 4096;

/// First bytes of the texts that XLA writes about a compiled program: its HLO, its buffer assignment, and the lifetimes
/// of its values.
const TEXTS_OF_PROGRAMS: [&[u8]; 4] = [b"HloModule ", b"HloModule,", b"BufferAssignment:", b"HloLiveRange (max"];

/// Kind of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// The file has no bytes.
    Empty,
    /// A gzip file, which must be decompressed.
    Gzip,
    /// A zip archive, which must be unpacked.
    Zip,
    /// A tar archive, which must be unpacked.
    Tar,
    /// A Chrome trace.
    TraceJson,
    /// An XSpace.
    XSpace,
    /// Earlier results.
    UnifiedProfile,
    /// Trends of a lake, written by `crossprof lake export`.
    LakeTrends,
    /// A comparison report: a web page that contains profiles.
    Report,
    /// A Hugging Face `config.json`.
    HuggingFaceConfig,
    /// A `crossprof.json` sidecar.
    Sidecar,
    /// A device memory profile (pprof).
    MemoryProfile,
    /// A compiled program (`xla.HloProto`, `xla.HloModuleProto` or HLO text), or its buffer assignment as text.
    Program,
    /// Plain text: a log that may contain an out-of-memory error of XLA.
    Log,
    /// A file that profilers and XProf leave next to profiles. The text is the reason for ignoring the file.
    Derived(String),
    /// The file is not a profile.
    Other(Error),
}

/// Detects the kind of a file from its first bytes. `complete` is true if the file has no more bytes. Returns `None` if
/// more bytes are needed. More bytes are needed only for JSON, whose decisive key may come late, or if `head` has fewer
/// than `HEAD_BYTES` bytes.
pub fn sniff(head: &[u8], complete: bool) -> Option<Format> {
    if head.is_empty() {
        return complete.then_some(Format::Empty);
    }
    if looks_like_gzip(head) {
        return Some(Format::Gzip);
    }
    if looks_like_zip(head) {
        return Some(Format::Zip);
    }
    if let Some(text) = json::start(head) {
        return json::detect(text, complete);
    }
    if head.len() < HEAD_BYTES && !complete {
        return None;
    }
    if looks_like_tar(head) {
        return Some(Format::Tar);
    }
    if let Some(format) = known::by_magic(head) {
        return Some(format);
    }
    if report_html::looks_like_report(head) {
        return Some(Format::Report);
    }
    if xplane::looks_like_xspace(head) {
        return Some(Format::XSpace);
    }
    if protobuf::is_pprof(head) {
        return Some(Format::MemoryProfile);
    }
    if protobuf::is_hlo_proto(head)
        || protobuf::is_hlo_module(head)
        || TEXTS_OF_PROGRAMS.iter().any(|start| head.starts_with(start))
    {
        return Some(Format::Program);
    }
    if protobuf::is_perfetto(head) {
        return Some(Format::Other(Error::not_a_profile("a Perfetto trace (protobuf)", known::FROM_PERFETTO)));
    }
    Some(xplane::what_else(head).map_or_else(|| known::by_appearance(head), Format::Other))
}

/// Returns a compiled program as an `xla.HloProto`. Wraps an `xla.HloModuleProto`, and returns any other program unchanged.
pub(super) fn as_hlo_proto(program: Vec<u8>) -> Vec<u8> {
    if !protobuf::is_hlo_module(program.get(..HEAD_BYTES).unwrap_or(&program)) {
        return program;
    }
    // The module becomes field 1.
    let mut wrapped = vec![0x0a];
    let mut rest = program.len();
    while rest >= 0x80 {
        wrapped.push(rest.to_le_bytes()[0] | 0x80);
        rest >>= 7;
    }
    wrapped.push(rest.to_le_bytes()[0]);
    wrapped.extend(program);
    wrapped
}

/// Returns true if this key of a JSON object is a section of a unified profile.
pub(super) fn is_profile_section(key: &str) -> bool {
    json::is_profile_section(key.as_bytes())
}

/// Builds an [`Error::NotAProfile`] with the usual advice.
fn not_a_profile(what: &str) -> Format {
    Format::Other(Error::not_a_profile(what, DROP_A_PROFILE))
}

#[cfg(test)]
mod tests;
