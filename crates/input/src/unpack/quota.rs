//! Limits the number of members and warnings of a file. Further members and warnings are only counted.

use super::Unpacked;
use base::{Warning, WarningCode};

/// Maximum number of members to read. A profile folder has about four files per host, so this limit covers a capture of
/// 25,000 hosts. A file with more members is not an archive of profiles. Each member costs a decoder, a message and a
/// list entry.
const MAX_MEMBERS: u64 = 100_000;

/// Maximum number of warnings. The page shows all warnings.
const MAX_WARNINGS: u64 = 200;

/// Passes on members and warnings up to the limits, and counts the members and warnings beyond them.
#[derive(Debug)]
pub(super) struct Quota {
    path: String,
    members: u64,
    warnings: u64,
}

impl Quota {
    /// Creates the quota of the file at `path`. Only warnings use this path.
    pub(super) fn new(path: &str) -> Quota {
        Quota { path: path.to_owned(), members: 0, warnings: 0 }
    }

    /// Passes on or drops the next item of the unpacker's output.
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

    /// Warns if members or warnings were dropped. Callers call this at the end of a file.
    pub(super) fn finish(&self, sink: &mut dyn FnMut(Unpacked<'_>)) {
        let unread = self.members.saturating_sub(MAX_MEMBERS);
        if unread > 0 {
            let message = format!(
                "The archive contains {} files. The first {MAX_MEMBERS} were read, and the other {unread} were not.",
                self.members
            );
            let warning = Warning::new(WarningCode::ArchiveTooManyMembers, message)
                .with_remedy("Pack only the folders plugins/profile/<run> that you want to see.")
                .with_file(&self.path)
                .with_count(unread);
            sink(Unpacked::Warning(warning));
        }
        let dropped = self.warnings.saturating_sub(MAX_WARNINGS);
        if dropped > 0 {
            let message = format!(
                "The compression or the archive of this file caused {} warnings. The first {MAX_WARNINGS} are listed.",
                self.warnings
            );
            let warning =
                Warning::new(WarningCode::ArchiveMoreWarnings, message).with_file(&self.path).with_count(dropped);
            sink(Unpacked::Warning(warning));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the members, bytes, ends and warnings that the quota passes on. Each of the `members` members has one
    /// byte and one warning.
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
    fn items_over_the_limit_are_counted() {
        assert_eq!(passed(200), ([200; 4], vec![]));
        let (counts, last) = passed(MAX_MEMBERS + 3);
        assert_eq!(counts, [MAX_MEMBERS, MAX_MEMBERS, MAX_MEMBERS, MAX_WARNINGS]);
        let more = MAX_MEMBERS + 3 - MAX_WARNINGS;
        let code = |code: &str, count| (code.to_owned(), Some(count));
        assert_eq!(last, [code("archive_too_many_members", 3), code("archive_more_warnings", more)]);
    }
}
