//! The part of a unified profile that the page itself reads, such as environment, model and warnings. A worker turns
//! all other sections into blocks and tables, so the page needs no code for them.

use crossprof::Warning;
use crossprof::report::{
    MainWindow, Metadata, ModelConfig, ParameterCounts, SourceFile, StepTiming, Throughput, UNKNOWN, UnifiedProfile,
};
use serde::{Deserialize, Serialize};

/// A subset of [`crossprof::report::UnifiedProfile`]. The analyst leaves out all other fields of the profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Hardware, software and source of the run.
    pub metadata: Metadata,
    /// Dimensions of the model.
    pub model_config: ModelConfig,
    /// The model's parameter counts.
    #[serde(default)]
    pub parameter_counts: Option<ParameterCounts>,
    /// Duration of steps.
    pub step_timing: StepTiming,
    /// Work per second.
    pub throughput: Throughput,
    /// Price of the time that is lost in each hour. Absent if the user gives no price per device.
    #[serde(default)]
    pub lost_dollars_per_hour: Option<f64>,
    /// Time range that all numbers cover.
    #[serde(default)]
    pub window: Option<MainWindow>,
    /// Warnings about lost or unusual data.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// Source files of the run.
    #[serde(default)]
    pub provenance: Vec<SourceFile>,
    /// True if the file is an earlier result without events. The unified profile does not have this field, because an
    /// earlier result names the source of the original run.
    #[serde(default)]
    pub is_earlier_result: bool,
}

impl Profile {
    /// Extracts the fields that the page needs.
    pub fn new(all: UnifiedProfile, is_earlier_result: bool) -> Profile {
        Profile {
            metadata: all.metadata,
            model_config: all.model_config,
            parameter_counts: all.parameter_counts,
            step_timing: all.step_timing,
            throughput: all.throughput,
            lost_dollars_per_hour: all.goodput.and_then(|goodput| goodput.lost_dollars_per_hour),
            window: all.window,
            warnings: all.warnings,
            provenance: all.provenance,
            is_earlier_result,
        }
    }

    /// Returns true if the profile was computed from events, so that it can be analysed again with other settings. Returns
    /// false for imported reports and memory profiles.
    pub fn is_from_events(&self) -> bool {
        self.metadata.source_format.is_some() && !self.is_earlier_result && !self.is_of_memory()
    }

    /// Returns the name of the platform. If no device is known, returns "memory", "lake" or "host only".
    pub fn platform(&self) -> String {
        match self.metadata.platform.as_str() {
            UNKNOWN if self.is_of_memory() => "memory".to_owned(),
            UNKNOWN if self.is_of_lake() => "lake".to_owned(),
            UNKNOWN if self.metadata.num_devices == 0 => "host only".to_owned(),
            platform => platform.to_owned(),
        }
    }

    /// Returns true if the file contains the trends of a lake, which only the overview shows.
    pub fn is_of_lake(&self) -> bool {
        self.provenance.first().is_some_and(|file| file.format == "lake_trends")
    }

    /// Returns true if the run contains only memory data: compiled programs, a device memory profile or an
    /// out-of-memory error.
    pub fn is_of_memory(&self) -> bool {
        self.provenance
            .first()
            .is_some_and(|file| matches!(file.format.as_str(), "hlo" | "memory_profile" | "out_of_memory_error"))
    }
}
