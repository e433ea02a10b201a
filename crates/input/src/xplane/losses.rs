//! Counts lost data by kind, with the position of the first loss of each kind. Therefore, a damaged file causes only a
//! few warnings, instead of one for each of a million events.

use base::{Warning, WarningCode};

/// A kind of loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum XPlaneLoss {
    /// A field inside a plane is malformed or longer than the enclosing message.
    Corrupt,
    /// Events that refer to missing event metadata.
    MissingMetadata,
    /// Texts that are not UTF-8.
    InvalidText,
    /// Events with a negative duration, or with a start or duration that cannot be represented.
    BadTime,
    /// Events beyond the maximum number in a trace.
    TooMany,
    /// Events that are sums over occurrences (`num_occurrences`) and have no time.
    Aggregated,
    /// Lines whose time is stored after their events in the file.
    LateTime,
    /// Lines with a relative clock in a file whose other lines have absolute times.
    MixedClocks,
}

/// Entries of `(kind, position of the first loss, count)`, sorted by position.
#[derive(Debug, Default)]
pub(super) struct XPlaneLosses {
    counted: Vec<(XPlaneLoss, u64, u64)>,
    unreadable: Option<(u64, u64)>,
}

impl XPlaneLosses {
    /// Counts one loss at `offset` in the file.
    pub(super) fn add(&mut self, loss: XPlaneLoss, offset: u64) {
        match self.counted.iter_mut().find(|(kind, ..)| *kind == loss) {
            Some((.., count)) => *count += 1,
            None => self.counted.push((loss, offset, 1)),
        }
    }

    /// Records that the top level of the file is unreadable from `offset` on.
    pub(super) fn unreadable(&mut self, offset: u64, bytes: u64) {
        self.unreadable = Some((offset, bytes));
    }

    /// Adds one warning for each kind of loss, in the order of the first losses.
    pub(super) fn append_to(&self, warnings: &mut Vec<Warning>) {
        if let Some((offset, bytes)) = self.unreadable {
            let sentence = format!(
                "The file does not follow the XPlane format from byte {offset} on. The last {bytes} bytes were not read."
            );
            let remedy = "Copy the file again from where it was captured.";
            let warning = Warning::new(WarningCode::XplaneUnreadable, sentence).with_remedy(remedy);
            warnings.push(warning.with_offset(offset).with_count(bytes));
        }
        for &(loss, offset, count) in &self.counted {
            let (code, sentence) = loss.words(count);
            warnings.push(Warning::new(code, sentence).with_offset(offset).with_count(count));
        }
    }
}

impl XPlaneLoss {
    fn words(self, count: u64) -> (WarningCode, String) {
        let s = |one: &str, many: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {many}") };
        let event = |rest: &str| format!("{} {rest}", s("event", "events"));
        match self {
            XPlaneLoss::Corrupt => (
                WarningCode::XplaneCorrupt,
                format!("{} not follow the XPlane format. Their content was skipped.", s("field does", "fields do")),
            ),
            XPlaneLoss::MissingMetadata => (
                WarningCode::XplaneMissingMetadata,
                event("refer to a name that the file lacks. Its id is shown instead."),
            ),
            XPlaneLoss::InvalidText => (
                WarningCode::XplaneInvalidUtf8,
                format!("{} not valid UTF-8. The invalid bytes are shown as U+FFFD.", s("text is", "texts are")),
            ),
            XPlaneLoss::BadTime => (
                WarningCode::XplaneBadTime,
                event("with a negative duration or with a time out of range were skipped."),
            ),
            XPlaneLoss::TooMany => (WarningCode::XplaneTooManyEvents, event("past the 2^32nd were skipped.")),
            XPlaneLoss::Aggregated => (
                WarningCode::XplaneAggregatedEvents,
                event("that only count occurrences and have no time were skipped."),
            ),
            XPlaneLoss::LateTime => (
                WarningCode::XplaneLateTime,
                format!(
                    "{} start time after events in the file. These events are shown as if the line began with the \
                     capture.",
                    s("line has its", "lines have their")
                ),
            ),
            XPlaneLoss::MixedClocks => (
                WarningCode::XplaneMixedClocks,
                format!(
                    "{} time from the start of the capture and others use absolute time, so they may not line up.",
                    s("line counts", "lines count")
                ),
            ),
        }
    }
}

/// Builds the warning for a truncated file. The file ends inside `plane`, or between planes if `plane` is `None`.
pub(super) fn truncated(plane: Option<&str>, missing: u64, length: u64, kept: u64) -> Warning {
    let place = match plane {
        Some(name) => format!("inside the plane `{name}`, which lacks at least {missing} bytes"),
        None => format!("inside a field that lacks at least {missing} bytes"),
    };
    let sentence = format!(
        "The file is truncated: it ends at byte {length}, {place}. {kept} events of that plane were kept. The rest is lost."
    );
    Warning::new(WarningCode::XplaneTruncated, sentence)
        .with_remedy(
            "Copy the file again. If the original is truncated too, the program ended before the profiler had written it.",
        )
        .with_offset(length)
        .with_count(missing)
}
