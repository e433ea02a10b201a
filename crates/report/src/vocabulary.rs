//! Field values that the code depends on: platforms, sources and windows. Fields store text, because profiles of other
//! tools contain other words. The enums list the words that crossprof recognises.

use crate::{Framework, MainWindow, Metadata};

/// Text of a field whose value the analysis could not determine.
pub const UNKNOWN: &str = "Unknown";

/// Kind of accelerator or processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Platform {
    /// Google TPU.
    Tpu,
    /// NVIDIA or AMD GPU.
    Gpu,
    /// The host's processor as XLA's device.
    Cpu,
}

/// Format that a profile was made from. The format determines which data is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceFormat {
    /// `*.xplane.pb`: the complete recording of the profiler.
    XPlane,
    /// Chrome trace JSON: an export that lacks parts of the recording.
    ChromeJson,
    /// An earlier result, which has no events.
    UnifiedProfile,
}

/// Kind of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowKind {
    /// Steps of the trace.
    Steps,
    /// Steps, if the user gave the number of steps. The window extends from the start of the first step to the end of
    /// the last step that was found.
    GivenSteps,
    /// From the start of each device's first op to the end of its last op.
    #[default]
    ActiveSpan,
    /// The whole capture.
    Capture,
    /// A time range.
    Range,
}

impl Platform {
    const ALL: [Platform; 3] = [Platform::Tpu, Platform::Gpu, Platform::Cpu];

    /// Returns `TPU`, `GPU` or `CPU`.
    pub fn label(self) -> &'static str {
        match self {
            Platform::Tpu => "TPU",
            Platform::Gpu => "GPU",
            Platform::Cpu => "CPU",
        }
    }

    /// Returns the platform with this label.
    pub fn named(text: &str) -> Option<Platform> {
        Platform::ALL.into_iter().find(|it| it.label() == text)
    }
}

impl SourceFormat {
    const ALL: [SourceFormat; 3] = [SourceFormat::XPlane, SourceFormat::ChromeJson, SourceFormat::UnifiedProfile];

    /// Returns the text of `metadata.source_format`.
    pub fn label(self) -> &'static str {
        match self {
            SourceFormat::XPlane => "xplane",
            SourceFormat::ChromeJson => "trace_json",
            SourceFormat::UnifiedProfile => "unified_profile",
        }
    }

    /// Returns the format with this label.
    pub fn named(text: &str) -> Option<SourceFormat> {
        SourceFormat::ALL.into_iter().find(|it| it.label() == text)
    }
}

impl WindowKind {
    const ALL: [WindowKind; 5] =
        [WindowKind::Steps, WindowKind::GivenSteps, WindowKind::ActiveSpan, WindowKind::Capture, WindowKind::Range];

    /// Returns the text of `window.kind`.
    pub fn label(self) -> &'static str {
        match self {
            WindowKind::Steps => "steps",
            WindowKind::GivenSteps => "given_steps",
            WindowKind::ActiveSpan => "active_span",
            WindowKind::Capture => "capture",
            WindowKind::Range => "range",
        }
    }

    /// Returns the kind with this label.
    pub fn named(text: &str) -> Option<WindowKind> {
        WindowKind::ALL.into_iter().find(|it| it.label() == text)
    }

    /// Returns true if the window consists of steps.
    pub fn has_steps(self) -> bool {
        matches!(self, WindowKind::Steps | WindowKind::GivenSteps)
    }
}

impl Metadata {
    /// Returns the platform. `None` if the platform is unknown, or if another tool recorded a platform that crossprof
    /// does not recognise.
    pub fn platform(&self) -> Option<Platform> {
        Platform::named(&self.platform)
    }

    /// Returns the framework. Libraries on top of JAX are treated as JAX.
    pub fn framework(&self) -> Framework {
        Framework::of_name(&self.framework)
    }

    /// Returns the format that the profile was made from. `None` if the profile does not record it.
    pub fn source_format(&self) -> Option<SourceFormat> {
        self.source_format.as_deref().and_then(SourceFormat::named)
    }
}

impl MainWindow {
    /// Returns the kind of the window. `None` if another tool recorded a kind that crossprof does not recognise.
    pub fn kind(&self) -> Option<WindowKind> {
        WindowKind::named(&self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_label_leads_back_to_its_value() {
        assert!(Platform::ALL.into_iter().all(|it| Platform::named(it.label()) == Some(it)));
        assert!(SourceFormat::ALL.into_iter().all(|it| SourceFormat::named(it.label()) == Some(it)));
        assert!(WindowKind::ALL.into_iter().all(|it| WindowKind::named(it.label()) == Some(it)));
    }

    #[test]
    fn words_of_other_tools_are_kept_and_are_no_known_value() {
        let text = r#"{"platform":"Metal","device_type":"M4","trace_file":"","framework":"Flax","num_devices":1,
            "profiler_version":"","source_format":"nsys"}"#;
        let metadata: Metadata = serde_json::from_str(text).unwrap();
        assert_eq!((metadata.platform(), metadata.source_format()), (None, None));
        assert_eq!(metadata.framework(), Framework::Jax);
        let written = serde_json::to_string(&metadata).unwrap();
        assert!(
            written.contains(r#""platform":"Metal""#) && written.contains(r#""source_format":"nsys""#),
            "{written}"
        );
        let metadata = Metadata { platform: UNKNOWN.to_owned(), framework: UNKNOWN.to_owned(), ..metadata };
        assert_eq!((metadata.platform(), metadata.framework()), (None, Framework::Unknown));
    }
}
