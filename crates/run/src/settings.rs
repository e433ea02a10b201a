//! Settings of an analysis that the user provides.

use crate::WindowChoice;
use report::{ModelConfig, SourceFile};

/// Settings for values that a trace cannot contain. The user provides these values as command-line flags or in a form
/// on the page.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Settings {
    /// Number of steps. Overrides the number of steps found in the trace.
    pub num_steps: Option<u64>,
    /// Device whose peak rates are used. Overrides the device that the profile names. The value may be a key in the
    /// table of devices, a product name or a TPU slice: see `facts::devices::chosen`.
    #[serde(default)]
    pub device: Option<String>,
    /// Dimensions of the model. Each field with a value overrides the field of the sidecar file.
    pub model: ModelConfig,
    /// The part of the run that the metrics cover.
    #[serde(default)]
    pub window: WindowChoice,
    /// Price of one device in dollars per hour.
    #[serde(default)]
    pub dollars_per_device_hour: Option<f64>,
    /// Files from which `model` was read. The report names these files.
    #[serde(default)]
    pub model_files: Vec<SourceFile>,
}
