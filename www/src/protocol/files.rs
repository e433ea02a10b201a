//! What is said of files.

use crossprof::Warning;
use crossprof::input::plan::FileKind;
use crossprof::report::SourceFile;
use serde::{Deserialize, Serialize};

/// One file of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Path as it was dropped.
    pub path: String,
    /// Size as stored.
    pub size_bytes: u64,
    /// What the file holds, judged by its first bytes.
    pub kind: FileKind,
}

/// What to do with the files of one drop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Groups {
    /// Files that separate workers read, and files left out beside them: one group per run or archive.
    pub loads: Vec<(Vec<usize>, Vec<usize>)>,
    /// Files that are not read, with the reason.
    pub ignored: Vec<(usize, String)>,
}

/// What became of one file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileDone {
    /// Index into the load's files.
    pub file: u32,
    /// Events read from the file.
    pub events: u64,
    /// What the file is.
    pub kind: Option<FileKind>,
    /// What was lost or odd.
    pub warnings: Vec<Warning>,
    /// Why there is nothing to show, as a sentence.
    pub error: Option<String>,
    /// Why the file was not read although nothing is wrong with it, as a sentence.
    pub skipped: Option<String>,
}

/// What a file is, for people.
pub fn kind_name(kind: FileKind) -> &'static str {
    match kind {
        FileKind::XPlane => "XPlane",
        FileKind::TraceJson => "trace JSON",
        FileKind::UnifiedProfile => "unified profile",
        FileKind::ModelConfig => "model configuration",
        FileKind::MemoryProfile => "memory profile",
        FileKind::Program => "compiled program",
        FileKind::Archive => "archive",
        FileKind::Unknown => "not known",
    }
}

/// What a file is, for people, from the word that stands in a profile.
pub fn format_name(format: &str) -> &'static str {
    match format {
        "xplane" => kind_name(FileKind::XPlane),
        "trace_json" => kind_name(FileKind::TraceJson),
        "unified_profile" => kind_name(FileKind::UnifiedProfile),
        "model_config" => kind_name(FileKind::ModelConfig),
        _ => "file",
    }
}

/// Bytes of all files of a run.
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
