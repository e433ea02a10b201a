//! How many members and warnings one file may give: what comes after is counted, not read.

use super::Unpacked;
use base::{Warning, WarningCode};

/// Members that are read. A profile folder has about four files per host, so this is the capture of 25,000 hosts; what
/// has more is no archive of profiles, and every member costs the reader a decoder, a message and an entry in its list.
const MAX_MEMBERS: u64 = 100_000;

/// Warnings that are given, each of which the page shows.
const MAX_WARNINGS: u64 = 200;

/// Passes on what a file may give, and counts the rest.
#[derive(Debug)]
pub(super) struct Quota {
    path: String,
    members: u64,
    warnings: u64,
}

impl Quota {
    /// The quota of the file at `path`, which only warnings use.
    pub(super) fn new(path: &str) -> Quota {
        Quota { path: path.to_owned(), members: 0, warnings: 0 }
    }

    /// The next piece.
    pub(super) fn pass(&mut self, piece: Unpacked<'_>, sink: &mut dyn FnMut(Unpacked<'_>)) {
        let passes = match piece {
            Unpacked::Begin { .. } => {
                self.members += 1;
                self.members <= MAX_MEMBERS
            }
            Unpacked::Data(_) | Unpacked::End => self.members <= MAX_MEMBERS,
            Unpacked::Warning(_) => {
                self.warnings += 1;
                self.warnings <= MAX_WARNINGS
            }
        };
        if passes {
            sink(piece);
        }
    }

    /// The file ends: says what was left out.
    pub(super) fn finish(&self, sink: &mut dyn FnMut(Unpacked<'_>)) {
        let unread = self.members.saturating_sub(MAX_MEMBERS);
        if unread > 0 {
            let message = format!(
                "The archive holds {} files. The first {MAX_MEMBERS} were read, the other {unread} were not.",
                self.members
            );
            let warning = Warning::new(WarningCode::ArchiveTooManyMembers, message)
                .with_remedy("Pack only the folders plugins/profile/<run> that you want to see.")
                .with_file(&self.path)
                .with_count(unread);
            sink(Unpacked::Warning(warning));
        }
        let untold = self.warnings.saturating_sub(MAX_WARNINGS);
        if untold > 0 {
            let message = format!(
                "{} things are wrong with the packing of this file; the first {MAX_WARNINGS} are listed.",
                self.warnings
            );
            let warning =
                Warning::new(WarningCode::ArchiveMoreWarnings, message).with_file(&self.path).with_count(untold);
            sink(Unpacked::Warning(warning));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many members, bytes, ends and warnings are passed on of `members` members, each with a byte and a warning.
    fn passed(members: u64) -> ([u64; 4], Vec<(String, Option<u64>)>) {
        let (mut counts, mut last) = ([0; 4], Vec::new());
        let mut sink = |piece: Unpacked<'_>| match piece {
            Unpacked::Begin { .. } => counts[0] += 1,
            Unpacked::Data(_) => counts[1] += 1,
            Unpacked::End => counts[2] += 1,
            Unpacked::Warning(warning) if warning.is(WarningCode::ArchiveCorrupt) => counts[3] += 1,
            Unpacked::Warning(warning) => last.push((warning.code, warning.count)),
        };
        let mut quota = Quota::new("a.zip");
        for _ in 0..members {
            let warning = Warning::new(WarningCode::ArchiveCorrupt, "");
            let pieces = [
                Unpacked::Begin { path: "a.zip/b", size: None },
                Unpacked::Data(b"c"),
                Unpacked::End,
                Unpacked::Warning(warning),
            ];
            pieces.into_iter().for_each(|piece| quota.pass(piece, &mut sink));
        }
        quota.finish(&mut sink);
        (counts, last)
    }

    #[test]
    fn what_is_over_the_limit_is_counted() {
        assert_eq!(passed(200), ([200; 4], vec![]));
        let (counts, last) = passed(MAX_MEMBERS + 3);
        assert_eq!(counts, [MAX_MEMBERS, MAX_MEMBERS, MAX_MEMBERS, MAX_WARNINGS]);
        let more = MAX_MEMBERS + 3 - MAX_WARNINGS;
        let code = |code: &str, count| (code.to_owned(), Some(count));
        assert_eq!(last, [code("archive_too_many_members", 3), code("archive_more_warnings", more)]);
    }
}
