//! Values that the user gives.

use crate::WindowChoice;
use report::{ModelConfig, SourceFile};

/// Values that the trace cannot contain. The user gives them as command-line flags or in a form on the page.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Settings {
    /// Number of steps. Overrides the number found in the trace.
    pub num_steps: Option<u64>,
    /// Device that provides the peaks. Overrides the profile's device. The text is a key of the facts, a name from a
    /// profile or a TPU slice: see `facts::devices::chosen`.
    #[serde(default)]
    pub device: Option<String>,
    /// Dimensions of the model. Each given field overrides the field of the sidecar file.
    pub model: ModelConfig,
    /// The part of the run that the numbers cover.
    #[serde(default)]
    pub window: WindowChoice,
    /// Price of one device in dollars per hour.
    #[serde(default)]
    pub dollars_per_device_hour: Option<f64>,
    /// Files that `model` was read from. The report names them.
    #[serde(default)]
    pub model_files: Vec<SourceFile>,
}
