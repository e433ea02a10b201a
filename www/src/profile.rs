//! The part of a unified profile that the page itself shows: headlines, steps, devices, warnings. Everything else reaches
//! it as blocks and tables that a worker makes, so this program need not know every section of the document.

use std::collections::BTreeMap;

use crossprof::Warning;
use crossprof::report::{
    Compilation, ComputeUtilization, KernelCategory, MainWindow, Metadata, ModelConfig, MultiDevice, NotMeasured,
    ParameterCounts, SourceFile, Step, StepTiming, Throughput,
};
use serde::Deserialize;

/// See [`crossprof::report::UnifiedProfile`]; fields that are not listed are passed over.
#[derive(Clone, Debug, PartialEq, Deserialize)]
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

/// Kernel time by category.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Kernels {
    /// By name.
    pub kernels_by_category: BTreeMap<String, KernelCategory>,
}
