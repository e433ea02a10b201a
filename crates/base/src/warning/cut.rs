//! How a capture was cut, by its warnings.

use super::{Warning, WarningCode};

/// How a capture was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cut {
    /// Cut in time: everything up to a moment is there.
    Earliest,
    /// The profiler did not record some of the devices' ops.
    Ops,
    /// Cut in the file, or while it was recorded: events of some devices or threads are missing.
    Anywhere,
}

/// Codes of what leaves events out, and how.
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

/// How the capture was cut that has these warnings; `None` where it is whole.
pub fn cut<'w>(warnings: impl IntoIterator<Item = &'w Warning>) -> Option<Cut> {
    let known = |warning: &Warning| CUTS.iter().find(|(code, _)| warning.is(*code)).map(|&(_, cut)| cut);
    warnings.into_iter().filter_map(known).max()
}
