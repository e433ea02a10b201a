//! Determines from the warnings of a capture how the capture was cut.

use super::{Warning, WarningCode};

/// Way in which a capture is incomplete. The mildest is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cut {
    /// Cut in time: all events up to a certain time are present.
    Earliest,
    /// The profiler did not record some device ops.
    Ops,
    /// Cut in the file or during recording: events of some devices or threads are missing.
    Anywhere,
}

/// Codes of warnings about missing events, each with its kind of cut.
const CUTS: [(WarningCode, Cut); 11] = [
    (WarningCode::JsonTruncated, Cut::Earliest),
    (WarningCode::RunsWithoutOps, Cut::Ops),
    (WarningCode::StepsWithoutOps, Cut::Ops),
    (WarningCode::LaunchesWithoutOps, Cut::Ops),
    (WarningCode::JsonCutOff, Cut::Anywhere),
    (WarningCode::GzipTruncated, Cut::Anywhere),
    (WarningCode::ArchiveTruncated, Cut::Anywhere),
    (WarningCode::XplaneTruncated, Cut::Anywhere),
    (WarningCode::InflateLimit, Cut::Anywhere),
    (WarningCode::TooManyEvents, Cut::Anywhere),
    (WarningCode::ProfilerDroppedEvents, Cut::Anywhere),
];

/// Returns the worst cut that the warnings report, or `None` if the capture is complete.
pub fn cut<'w>(warnings: impl IntoIterator<Item = &'w Warning>) -> Option<Cut> {
    let known = |warning: &Warning| CUTS.iter().find(|(code, _)| warning.is(*code)).map(|&(_, cut)| cut);
    warnings.into_iter().filter_map(known).max()
}
