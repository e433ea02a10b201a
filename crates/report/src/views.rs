//! Views of a run: their names in the report, in URLs and for display.

use base::fields::Fields;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// View of a run.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, Fields,
)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// Headline figures.
    #[default]
    Overview,
    /// Recommended actions, most important first.
    Findings,
    /// Breakdown of each step's time.
    Steps,
    /// Every event on a time axis.
    Timeline,
    /// Time by layer of the model, phase of the training step and source line.
    Layers,
    /// Every op with its time and cost.
    Ops,
    /// Compiled programs as graphs and text.
    Graph,
    /// Kernels and their categories.
    Kernels,
    /// Ops compared with the peaks of the device.
    Roofline,
    /// Collectives, sends and receives.
    Communication,
    /// Copies between host and devices.
    Transfers,
    /// Forward passes of an inference engine, by phase.
    Serving,
    /// Stages of the input pipeline, and the time that the devices wait for it.
    Input,
    /// Memory of the devices, by its content.
    Memory,
    /// Hosts and devices side by side, step by step.
    Devices,
    /// Questions of the profiling guide, with answers for this run.
    Checklist,
    /// Form for data that the trace cannot contain, such as the model's dimensions. The view has no page blocks.
    Model,
}

impl View {
    /// All views, in display order.
    pub const ALL: [View; 17] = [
        View::Overview,
        View::Findings,
        View::Steps,
        View::Timeline,
        View::Layers,
        View::Ops,
        View::Graph,
        View::Kernels,
        View::Roofline,
        View::Communication,
        View::Transfers,
        View::Serving,
        View::Input,
        View::Memory,
        View::Devices,
        View::Checklist,
        View::Model,
    ];

    /// Returns the name of the view in URLs and source file names.
    pub fn key(self) -> &'static str {
        match self {
            View::Overview => "overview",
            View::Findings => "findings",
            View::Steps => "steps",
            View::Serving => "serving",
            View::Timeline => "timeline",
            View::Layers => "layers",
            View::Ops => "ops",
            View::Graph => "graph",
            View::Kernels => "kernels",
            View::Roofline => "roofline",
            View::Communication => "communication",
            View::Transfers => "transfers",
            View::Input => "input",
            View::Memory => "memory",
            View::Devices => "devices",
            View::Checklist => "checklist",
            View::Model => "model",
        }
    }

    /// Returns the display name.
    pub fn title(self) -> &'static str {
        match self {
            View::Overview => "Overview",
            View::Findings => "Findings",
            View::Steps => "Steps",
            View::Serving => "Serving",
            View::Timeline => "Timeline",
            View::Layers => "Layers",
            View::Ops => "Ops",
            View::Graph => "Graph",
            View::Kernels => "Kernels",
            View::Roofline => "Roofline",
            View::Communication => "Communication",
            View::Transfers => "Transfers",
            View::Input => "Input pipeline",
            View::Memory => "Memory",
            View::Devices => "Hosts and devices",
            View::Checklist => "Checklist",
            View::Model => "Model",
        }
    }

    /// Returns the view with this name in URLs.
    pub fn from_key(key: &str) -> Option<View> {
        // The view of devices also shows the hosts.
        let key = if key == "hosts" { View::Devices.key() } else { key };
        View::ALL.into_iter().find(|view| view.key() == key)
    }
}

/// Reads the name of a view. A view that this version lacks is read as absent, so that profiles of newer versions can
/// be read.
pub(super) fn known<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<View>, D::Error> {
    Ok(Option::<String>::deserialize(reader)?.and_then(|name| View::from_key(&name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_parsed_from_its_name_and_written_as_its_name() {
        for view in View::ALL {
            assert_eq!(View::from_key(view.key()), Some(view));
            assert_eq!(serde_json::to_string(&view).unwrap(), format!("\"{}\"", view.key()));
        }
        assert_eq!(View::from_key("hosts"), Some(View::Devices));
    }
}
