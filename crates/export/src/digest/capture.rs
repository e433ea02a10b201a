//! Describes what a capture contains and whether it is complete.

use base::{Cut, cut};
use report::{UNKNOWN, UnifiedProfile};
use schemars::JsonSchema;
use serde::Serialize;

use super::{NAME, SENTENCE, quotable, rounded};
use base::format::shorten;

/// Contents and completeness of the capture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CaptureDigest {
    /// Name of the run.
    pub run: String,
    /// Model of the devices.
    pub device: String,
    /// Platform: `TPU`, `GPU`, `CPU`, or `Unknown` if no op ran.
    pub platform: String,
    /// Framework of the profiled program.
    pub framework: String,
    /// Number of devices that ran at least one op.
    pub num_devices: u64,
    /// Number of hosts whose profiles were read. Absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_hosts: Option<u64>,
    /// Number of files that were read.
    pub num_files: u64,
    /// Start of the capture, in ISO 8601. Absent if the capture does not record its start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Time from the first to the last event, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_us: Option<f64>,
    /// Number of events with a duration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_events: Option<u64>,
    /// One of `complete`, `cut_in_time` (every event up to a certain time is present), `ops_missing` (the profiler did
    /// not record some device ops) and `events_missing` (events of some devices or threads are missing).
    pub completeness: String,
    /// Part of the capture that all numbers cover. Absent if no device ran an op.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<String>,
    /// Caution about the part of the capture in `window`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caution: Option<String>,
}

impl CaptureDigest {
    /// Returns the facts about the capture of a profile.
    pub fn of(profile: &UnifiedProfile) -> CaptureDigest {
        let metadata = &profile.metadata;
        let window = profile.window.as_ref();
        let known = |text: &str| if text == UNKNOWN { String::new() } else { quotable(text, NAME) };
        CaptureDigest {
            run: quotable(&shorten(&metadata.full_name(), NAME), NAME),
            device: quotable(&metadata.device_type, NAME),
            platform: quotable(&metadata.platform, NAME),
            framework: known(&metadata.framework),
            num_devices: metadata.num_devices,
            num_hosts: metadata.num_hosts,
            num_files: profile.provenance.len() as u64,
            start: metadata.timestamp.as_deref().map(|time| quotable(time, NAME)),
            duration_us: metadata.capture_duration_us.map(rounded),
            num_events: metadata.num_events,
            completeness: completeness(profile).to_owned(),
            window: window.map(|window| quotable(&window.sentence, SENTENCE)),
            caution: window.and_then(|window| window.caution.as_deref()).map(|text| quotable(text, SENTENCE)),
        }
    }
}

/// Returns the value of [`CaptureDigest::completeness`] for a profile.
fn completeness(profile: &UnifiedProfile) -> &'static str {
    match cut(&profile.warnings) {
        None => "complete",
        Some(Cut::Earliest) => "cut_in_time",
        Some(Cut::Ops) => "ops_missing",
        Some(Cut::Anywhere) => "events_missing",
    }
}
