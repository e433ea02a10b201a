//! The part of a unified profile that the page itself shows: the environment, the model, warnings. Everything else reaches
//! it as blocks and tables that a worker makes, so this program need not know every section of the document.

use crossprof::Warning;
use crossprof::report::{
    MainWindow, Metadata, ModelConfig, ParameterCounts, SourceFile, StepTiming, Throughput, UnifiedProfile,
};
use serde::{Deserialize, Serialize};

/// See [`crossprof::report::UnifiedProfile`]: the analyst leaves out the fields that are not listed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// What was profiled.
    pub metadata: Metadata,
    /// Dimensions of the model.
    pub model_config: ModelConfig,
    /// Parameters of the model.
    #[serde(default)]
    pub parameter_counts: Option<ParameterCounts>,
    /// How long a step takes.
    pub step_timing: StepTiming,
    /// Work done per second.
    pub throughput: Throughput,
    /// What the numbers are of.
    #[serde(default)]
    pub window: Option<MainWindow>,
    /// What was lost or odd.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// The files.
    #[serde(default)]
    pub provenance: Vec<SourceFile>,
    /// A report was read: there are no events. No field of the unified profile, which says of a report what it was made from.
    #[serde(default)]
    pub is_earlier_result: bool,
}

impl Profile {
    /// What the page shows of a profile.
    pub fn new(all: UnifiedProfile, is_earlier_result: bool) -> Profile {
        Profile {
            metadata: all.metadata,
            model_config: all.model_config,
            parameter_counts: all.parameter_counts,
            step_timing: all.step_timing,
            throughput: all.throughput,
            window: all.window,
            warnings: all.warnings,
            provenance: all.provenance,
            is_earlier_result,
        }
    }

    /// True where it was made from events, which can be measured anew; a report that was read and what is of memory alone cannot.
    pub fn is_from_events(&self) -> bool {
        self.metadata.source_format.is_some() && !self.is_earlier_result && !self.is_of_memory()
    }

    /// Where it ran, or what it is of where no device is known.
    pub fn platform(&self) -> String {
        match self.metadata.platform.as_str() {
            "Unknown" if self.is_of_memory() => "memory".to_owned(),
            "Unknown" if self.metadata.num_devices == 0 => "host only".to_owned(),
            platform => platform.to_owned(),
        }
    }

    /// True where it is of compiled programs, of a device memory profile or of an error alone: it has nothing but memory.
    pub fn is_of_memory(&self) -> bool {
        self.provenance
            .first()
            .is_some_and(|file| matches!(file.format.as_str(), "hlo" | "memory_profile" | "out_of_memory_error"))
    }
}
