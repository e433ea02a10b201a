//! Formats a warning as one line.

use base::format::{self, printable, shorten};
use base::{Severity, Warning};
use document::columns::SENTENCE;

/// Returns a warning in one line: severity, place, problem and remedy.
pub fn warning_line(warning: &Warning) -> String {
    let severity = match warning.severity {
        Severity::Note => "note",
        Severity::Caution => "caution",
        Severity::Damage => "damage",
    };
    let place = match (&warning.file, warning.byte_offset) {
        (Some(file), Some(byte)) => format!(" {}, byte {}:", shorten(file, 60), format::count(byte)),
        (Some(file), None) => format!(" {}:", shorten(file, 60)),
        (None, Some(byte)) => format!(" byte {}:", format::count(byte)),
        (None, None) => String::new(),
    };
    let remedy = warning.remedy.as_deref().map(|remedy| format!(" {}", shorten(remedy, SENTENCE))).unwrap_or_default();
    printable(&format!("{severity}:{place} {}{remedy}", shorten(&warning.message, SENTENCE)))
}
