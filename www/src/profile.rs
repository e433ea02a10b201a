//! The part of a unified profile that the page itself shows: headlines, steps, devices, warnings. Everything else reaches
//! it as blocks and tables that a worker makes, so this program need not know every section of the document.

use std::collections::BTreeMap;

use crossprof::Warning;
use crossprof::report::{
    Compilation, ComputeUtilization, KernelCategory, MainWindow, Metadata, ModelConfig, MultiDevice, NotMeasured,
    ParameterCounts, SourceFile, Step, StepTiming, Throughput, UnifiedProfile,
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
    /// How busy the devices are.
    #[serde(default)]
    pub compute_utilization: Option<ComputeUtilization>,
    /// Where device time goes.
    pub kernels: Kernels,
    /// The devices beside each other.
    #[serde(default)]
    pub multi_device: Option<MultiDevice>,
    /// Time spent compiling.
    #[serde(default)]
    pub compilation: Option<Compilation>,
    /// What the numbers are of.
    #[serde(default)]
    pub window: Option<MainWindow>,
    /// Every step.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// What was lost or odd.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// Numbers that this run cannot have.
    #[serde(default)]
    pub not_measured: Vec<NotMeasured>,
    /// The files.
    #[serde(default)]
    pub provenance: Vec<SourceFile>,
}

impl Profile {
    /// True where it was made from events, which can be measured anew; a report that was read cannot.
    pub fn is_from_events(&self) -> bool {
        self.metadata.source_format.as_deref().is_some_and(|format| format != "unified_profile")
    }
}

impl From<UnifiedProfile> for Profile {
    fn from(all: UnifiedProfile) -> Profile {
        Profile {
            metadata: all.metadata,
            model_config: all.model_config,
            parameter_counts: all.parameter_counts,
            step_timing: all.step_timing,
            throughput: all.throughput,
            compute_utilization: all.compute_utilization,
            kernels: Kernels { kernels_by_category: all.kernels.kernels_by_category },
            multi_device: all.multi_device,
            compilation: all.compilation,
            window: all.window,
            steps: all.steps,
            warnings: all.warnings,
            not_measured: all.not_measured,
            provenance: all.provenance,
        }
    }
}

/// Kernel time by category.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kernels {
    /// By name.
    pub kernels_by_category: BTreeMap<String, KernelCategory>,
}
