//! Messages about files.

use crossprof::Warning;
use crossprof::report::SourceFile;
use crossprof::session::plan::FileKind;
use serde::{Deserialize, Serialize};

/// A file of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Path as dropped.
    pub path: String,
    /// Size of the stored file in bytes.
    pub size_bytes: u64,
    /// Kind of the file, which is determined from its first bytes.
    pub kind: FileKind,
}

/// Groups into which the files of one drop are divided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Groups {
    /// For each run or archive, the indices of the files to read and of the files to leave out. Each run or archive is
    /// read by its own workers.
    pub loads: Vec<(Vec<usize>, Vec<usize>)>,
    /// Indices of files that are not read. Each has a reason.
    pub ignored: Vec<(usize, String)>,
}

/// Result of reading one file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileDone {
    /// Index of the file within the load.
    pub file: u32,
    /// Number of events read from the file.
    pub events: u64,
    /// Kind of the file.
    pub kind: Option<FileKind>,
    /// Warnings about lost or unusual data.
    pub warnings: Vec<Warning>,
    /// Reason why there is nothing to show, as a sentence.
    pub error: Option<String>,
    /// Reason why a valid file was not read, as a sentence.
    pub skipped: Option<String>,
}

/// Returns the name of a file kind for display.
pub fn kind_name(kind: FileKind) -> &'static str {
    match kind {
        FileKind::XPlane => "XPlane",
        FileKind::TraceJson => "trace JSON",
        FileKind::UnifiedProfile => "unified profile",
        FileKind::LakeTrends => "lake export",
        FileKind::ModelConfig => "model configuration",
        FileKind::MemoryProfile => "memory profile",
        FileKind::MemoryError => "out-of-memory error",
        FileKind::Program => "compiled program",
        FileKind::Archive => "archive",
        FileKind::Unknown => "unknown",
    }
}

/// Returns the name of a file format for display. `format` is the name of the format in a profile.
pub fn format_name(format: &str) -> &'static str {
    match format {
        "xplane" => kind_name(FileKind::XPlane),
        "trace_json" => kind_name(FileKind::TraceJson),
        "unified_profile" => kind_name(FileKind::UnifiedProfile),
        "lake_trends" => kind_name(FileKind::LakeTrends),
        "model_config" => kind_name(FileKind::ModelConfig),
        _ => "file",
    }
}

/// Returns the total size of a run's files in bytes.
pub fn total_bytes(files: &[SourceFile]) -> u64 {
    files.iter().fold(0, |sum, file| sum.saturating_add(file.size_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_do_not_overflow() {
        let file = SourceFile { path: "a".into(), size_bytes: u64::MAX, format: "xplane".into(), num_events: None };
        assert_eq!(total_bytes(&[file.clone(), file]), u64::MAX);
    }
}
