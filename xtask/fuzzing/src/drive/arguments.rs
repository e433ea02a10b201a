//! Reads the file a second time for the arguments of events, and checks that the second reading finds every event of
//! the first.

use crossprof::input::ArgumentsReader;
use crossprof::tables::AreaQuery;
use crossprof::{Query, Session, Settings};

use super::{Kept, promise};

/// Maximum number of events whose arguments are looked up.
const MOST_EVENTS: u32 = 40;

/// Looks up the events of a run in the file from which they were read. The file is read in chunks of the sizes in
/// `sizes`.
pub(super) fn read_again(session: &mut Session, run: u32, path: &str, bytes: &[u8], sizes: &[usize]) -> Kept {
    let query = Query { top: Some(MOST_EVENTS), ..Query::default() };
    let listed = session.listed_events(run, &Settings::default(), &AreaQuery::default(), &query);
    let Some(Ok((_, events))) = listed else { return Ok(()) };
    // In an archive, members with the same path cannot be distinguished.
    let mut expected: Vec<(u32, String)> =
        events.into_iter().flatten().filter(|it| it.path == path).map(|it| (it.index, it.name)).collect();
    expected.sort_unstable();
    let mut reader = ArgumentsReader::new(path, path, expected.iter().map(|(index, _)| *index).collect());
    let mut rest = bytes;
    for size in sizes.iter().cycle() {
        if rest.is_empty() || reader.is_done() {
            break;
        }
        let (piece, after) = rest.split_at((*size).clamp(1, rest.len()));
        reader.push(piece);
        rest = after;
    }
    let found: Vec<(u32, String)> = reader.finish().into_iter().map(|it| (it.event, it.name)).collect();
    promise::equal("events, read again", &expected, &found)
}
