//! The views of a run: their names in addresses and for people.

use serde::{Deserialize, Serialize};

/// A view of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// The headline figures.
    #[default]
    Overview,
    /// What to do, most important first.
    Findings,
    /// Where the time of each step goes.
    Steps,
    /// Every event in its place.
    Timeline,
    /// Every op with its time and cost.
    Ops,
    /// Kernels and their categories.
    Kernels,
    /// The ops against the peaks of the device.
    Roofline,
    /// Collectives, sends and receives.
    Communication,
    /// Copies between host and devices.
    Transfers,
    /// What fills the memory of the devices.
    Memory,
    /// The devices beside each other, and their gaps.
    Devices,
    /// The questions of the profiling guide and their answers.
    Checklist,
    /// What the trace cannot know, the model's dimensions: a form, which has no blocks.
    Model,
}

impl View {
    /// All views, in the order in which they are listed.
    pub const ALL: [View; 13] = [
        View::Overview,
        View::Findings,
        View::Steps,
        View::Timeline,
        View::Ops,
        View::Kernels,
        View::Roofline,
        View::Communication,
        View::Transfers,
        View::Memory,
        View::Devices,
        View::Checklist,
        View::Model,
    ];

    /// The name in addresses, and that of the file with its page.
    pub fn key(self) -> &'static str {
        match self {
            View::Overview => "overview",
            View::Findings => "findings",
            View::Steps => "steps",
            View::Timeline => "timeline",
            View::Ops => "ops",
            View::Kernels => "kernels",
            View::Roofline => "roofline",
            View::Communication => "communication",
            View::Transfers => "transfers",
            View::Memory => "memory",
            View::Devices => "devices",
            View::Checklist => "checklist",
            View::Model => "model",
        }
    }

    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            View::Overview => "Overview",
            View::Findings => "Findings",
            View::Steps => "Steps",
            View::Timeline => "Timeline",
            View::Ops => "Ops",
            View::Kernels => "Kernels",
            View::Roofline => "Roofline",
            View::Communication => "Communication",
            View::Transfers => "Transfers",
            View::Memory => "Memory",
            View::Devices => "Devices",
            View::Checklist => "Checklist",
            View::Model => "Model",
        }
    }

    /// The view of that name in addresses.
    pub fn from_key(key: &str) -> Option<View> {
        View::ALL.into_iter().find(|view| view.key() == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_found_by_its_name_and_written_as_it() {
        for view in View::ALL {
            assert_eq!(View::from_key(view.key()), Some(view));
            assert_eq!(serde_json::to_string(&view).unwrap(), format!("\"{}\"", view.key()));
        }
    }
}
