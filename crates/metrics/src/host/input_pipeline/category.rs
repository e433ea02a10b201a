//! Categories that XProf gives to the ops of an input pipeline (`op_stats_to_input_pipeline_analysis.cc`).

use facts::input_stages::iterator;
use report::InputOpTime;

/// Category of an op in XProf's `input_pipeline_analyzer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputCategory {
    /// Sends data to the devices.
    Enqueue,
    /// Reads a file when the next op requests data.
    DemandedFileRead,
    /// Reads ahead.
    AdvancedFileRead,
    /// Everything else.
    Preprocessing,
}

/// tf.data iterators that read files, and iterators that read ahead.
const READERS: [&str; 5] = ["::TFRecord", "::TextLine", "::FixedLengthRecord", "::SSTable", "::RecordIO"];
const AHEAD: [&str; 5] = ["::MemoryReader", "::MemoryWriter", "::Interleave", "::Prefetch", "::ParallelMap"];

impl InputCategory {
    /// Returns the category of an op. `None` for ops that XProf does not list.
    pub fn of(op: &InputOpTime) -> Option<InputCategory> {
        let has = |parts: &[&str]| parts.iter().any(|part| op.name.contains(part));
        if iterator(&op.name).is_some() {
            return Some(match READERS.iter().any(|reader| op.name.ends_with(reader)) {
                false => InputCategory::Preprocessing,
                true if has(&AHEAD) => InputCategory::AdvancedFileRead,
                true => InputCategory::DemandedFileRead,
            });
        }
        match op.stage.as_str() {
            "enqueue" => Some(InputCategory::Enqueue),
            "transfer" if has(&["MemcpyHToD", "MEMCPYHtoD"]) => Some(InputCategory::Enqueue),
            "read" if op.detail.is_some() => Some(InputCategory::DemandedFileRead),
            "preprocess" | "batch" | "other" if op.detail.is_some() => Some(InputCategory::Preprocessing),
            _ => None,
        }
    }

    /// Returns the name in XProf.
    pub fn label(self) -> &'static str {
        match self {
            InputCategory::Enqueue => "Enqueue",
            InputCategory::DemandedFileRead => "Demanded file read",
            InputCategory::AdvancedFileRead => "Advanced file read",
            InputCategory::Preprocessing => "Preprocessing",
        }
    }
}
