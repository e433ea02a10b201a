//! Detects the kind of a file from its first bytes, so that the plan can be made before any file is read.

use base::out_of_memory;
use input::plan::FileKind;
use input::{Format, Unpacked, Unpacker, sniff};

/// Returns the kind of the file at `path`. `head` contains the first stored bytes of the file. 64 KiB are enough. If
/// the file is compressed with gzip, the function inflates `head`.
///
/// `complete` is true if `head` contains the whole file.
pub fn peek(path: &str, head: &[u8], complete: bool) -> FileKind {
    if matches!(sniff(head, complete), Some(Format::Zip | Format::Tar)) {
        return FileKind::Archive;
    }
    let mut first: Vec<u8> = Vec::new();
    let mut archive = false;
    let mut unpacker = Unpacker::new(path);
    let mut sink = |piece: Unpacked<'_>| match piece {
        Unpacked::Begin { path: member, .. } => archive |= member != path && path.strip_suffix(".gz") != Some(member),
        Unpacked::Data(bytes) if first.len() < MAX_INFLATED_HEAD => first.extend_from_slice(bytes),
        _ => {}
    };
    unpacker.push(head, &mut sink);
    unpacker.finish(&mut sink);
    if archive {
        return FileKind::Archive;
    }
    match sniff(&first, complete) {
        Some(Format::XSpace) => FileKind::XPlane,
        // JSON whose distinguishing key has not appeared yet. All other large kinds of JSON have a distinguishing key at
        // the start.
        Some(Format::TraceJson) | None => FileKind::TraceJson,
        Some(Format::UnifiedProfile | Format::Report) => FileKind::UnifiedProfile,
        Some(Format::LakeTrends) => FileKind::LakeTrends,
        Some(Format::HuggingFaceConfig | Format::Sidecar) => FileKind::ModelConfig,
        Some(Format::MemoryProfile) => FileKind::MemoryProfile,
        // A log file is read only if it starts with an out-of-memory error.
        Some(Format::Log) if out_of_memory::is_error(&first) => FileKind::MemoryError,
        Some(Format::Program) => FileKind::Program,
        Some(Format::Zip | Format::Tar) => FileKind::Archive,
        Some(Format::Log | Format::Empty | Format::Gzip | Format::Derived(_) | Format::Other(_)) => FileKind::Unknown,
    }
}

/// Number of inflated bytes that are inspected.
const MAX_INFLATED_HEAD: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_detected_from_content() {
        let json = br#"{"displayTimeUnit":"ns","traceEvents":[{"ph":"X","ts":1,"dur":1,"pid":1,"tid":1,"name":"a"}]}"#;
        assert_eq!(peek("any", json, true), FileKind::TraceJson);
        assert_eq!(peek("any", b"PK\x03\x04rest of a zip", false), FileKind::Archive);
        assert_eq!(peek("any", b"<html></html>", true), FileKind::Unknown);
        assert_eq!(peek("any", b"", true), FileKind::Unknown);
    }
}
