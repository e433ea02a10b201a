//! Reads data about the whole capture: its times, the host, the program that wrote the file, and the profiler's error
//! messages and warnings.

use super::metadata::is_jax_name;
use super::plane::PlaneDecoder;
use super::stream::TopLevel;
use base::{Warning, WarningCode};
use trace::{Framework, StatValue, Trace};

/// Maximum number of the profiler's messages to show. Further messages are only counted.
const MAX_COMPLAINTS: usize = 20;
/// Maximum length of a message of the profiler, in characters.
const MAX_CHARACTERS: usize = 500;

/// The text fields of the XSpace message.
#[derive(Debug, Default)]
pub(super) struct XSpaceTexts {
    hostnames: Vec<String>,
    /// The profiler's messages in file order. Each entry is true for an error or false for a warning, and has the text.
    complaints: Vec<(bool, String)>,
    more: u64,
}

impl XSpaceTexts {
    /// Adds the body of the field `number` of the XSpace.
    pub(super) fn add(&mut self, number: u32, body: &[u8]) {
        let text = || {
            let all = String::from_utf8_lossy(body);
            let mut text: String = all.chars().take(MAX_CHARACTERS).collect();
            if text.len() < all.len() {
                text.push('…');
            }
            text
        };
        match number {
            TopLevel::HOSTNAME if self.hostnames.len() < MAX_COMPLAINTS => self.hostnames.push(text()),
            TopLevel::ERROR | TopLevel::WARNING if self.complaints.len() < MAX_COMPLAINTS => {
                self.complaints.push((number == TopLevel::ERROR, text()));
            }
            TopLevel::ERROR | TopLevel::WARNING => self.more += 1,
            _ => {}
        }
    }

    /// Turns the profiler's messages into warnings. The severity of such a warning is never `damage`, because the file
    /// itself is complete: the profiler lost the data before it wrote the file.
    pub(super) fn append_to(&self, warnings: &mut Vec<Warning>) {
        for (is_error, text) in &self.complaints {
            let dropped = text.to_lowercase().contains("drop");
            let (code, sentence) = match (is_error, dropped) {
                (_, true) => (WarningCode::ProfilerDroppedEvents, "The profiler dropped events during recording"),
                (true, false) => (WarningCode::ProfilerError, "The profiler reported an error during recording"),
                (false, false) => (WarningCode::ProfilerWarning, "The profiler gave a warning during recording"),
            };
            let warning = Warning::new(code, format!("{sentence}: {text}"));
            warnings.push(if dropped {
                warning.with_remedy("Capture fewer steps, or raise the profiler's event limit.")
            } else {
                warning
            });
        }
        if self.more > 0 {
            let sentence = format!("The profiler gave {} more warnings, which are not shown.", self.more);
            warnings.push(Warning::new(WarningCode::ProfilerMoreWarnings, sentence).with_count(self.more));
        }
    }
}

/// Sets the data about the capture once all planes are decoded.
pub(super) fn describe(trace: &mut Trace, planes: &PlaneDecoder, texts: &XSpaceTexts) {
    trace.capture.anchor_ns = planes.file.clock.anchor_ns.unwrap_or(0);
    if !texts.hostnames.is_empty() {
        // One file is one host here, regardless of the host names in it.
        trace.hosts = vec![texts.hostnames.join(", ")];
    }
    let task = trace.planes.iter().rev().find(|plane| trace.text(plane.name) == "Task Environment");
    let time = |name: &str| match task.and_then(|plane| trace.plane_stat(plane, name)) {
        Some(StatValue::Int(ns)) if ns > 0 => Some(ns),
        _ => None,
    };
    (trace.capture.start_unix_ns, trace.capture.stop_unix_ns) = (time("profile_start_time"), time("profile_stop_time"));
    trace.framework = framework(trace, planes.jax);
}

/// Detects the framework. JAX is recognised by its version or by the names of its compiled functions. A JAX program
/// that also uses TensorFlow for its input is still JAX.
fn framework(trace: &Trace, named_by_jax: bool) -> Framework {
    let has_stat = |name| trace.planes.iter().any(|plane| trace.plane_stat(plane, name).is_some());
    let mut modules = (0..trace.args.len()).filter_map(|index| trace.args.set(index)).map(|set| set.hlo_module);
    if named_by_jax || has_stat("jax_version") || modules.any(|module| is_jax_name(trace.text(module).as_bytes())) {
        return Framework::Jax;
    }
    let mut lines = trace.lines.iter().map(|line| trace.text(line.name));
    let tensorflow =
        lines.any(|line| line.starts_with("TensorFlow ") || line.starts_with("tf_data_") || line == "tf_Compute");
    if tensorflow || has_stat("tf_version") { Framework::TensorFlow } else { Framework::Unknown }
}
