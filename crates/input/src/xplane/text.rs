//! Converts texts of the file into strings of the trace.

use super::losses::{XPlaneLoss, XPlaneLosses};
use trace::{StrId, Strings};

/// Interns a text from the file. Invalid bytes become U+FFFD, and the text is counted as a loss.
pub(super) fn text(bytes: &[u8], offset: u64, strings: &mut Strings, losses: &mut XPlaneLosses) -> StrId {
    match std::str::from_utf8(bytes) {
        Ok(text) => strings.intern(text),
        Err(_) => {
            losses.add(XPlaneLoss::InvalidText, offset);
            strings.intern(&String::from_utf8_lossy(bytes))
        }
    }
}
