//! Drives an input through the whole library: the reader (in chunks of any size), the report, tables, pages, exports,
//! comparisons and budgets.
//!
//! All random choices (such as chunk sizes, sort orders and filters) depend only on the bytes of the input. If an input
//! breaks a promise, it therefore breaks the same promise each time.

mod arguments;
mod budget;
mod compare;
mod hlo;
mod promise;
mod run;

use std::sync::OnceLock;

use crossprof::input::Outliner;
use crossprof::trace::snapshot::{Piece, Reader};
use crossprof::{FileResult, Session, Settings, UnifiedProfile};

use crate::{Format, Random};

/// Success, or a message that names the promise that the input breaks.
pub type Kept<T = ()> = Result<T, String>;

/// Maximum number of runs that are examined in one input.
const MOST_RUNS: usize = 2;

/// Drives bytes of a format through everything that the library does with this format.
///
/// # Errors
///
/// Fails if a promise is broken: a number that is not finite, text that could control a terminal or a page, or a result
/// that depends on the sizes of the chunks.
///
/// # Panics
///
/// Panics if the library panics, because fuzzing looks for panics.
pub fn drive(format: Format, bytes: &[u8]) -> Kept {
    let mut random = Random::of_bytes(bytes);
    match format {
        Format::Budgets => budget::text(bytes),
        Format::ChromeJson => profile("run/host.trace.json", bytes, true, &mut random),
        Format::Xplane => {
            outlined(bytes);
            profile("run/host.xplane.pb", bytes, true, &mut random)
        }
        Format::Hlo => {
            hlo::difference(&crossprof::hlo::read_module(bytes))?;
            of_memory("dump/module.pb", bytes, &mut random)?;
            profile("run/host.xplane.pb", &hlo::in_an_xplane(bytes), true, &mut random)
        }
        // These formats are not passed to another session, because the page reads them differently.
        Format::HloDump => of_memory("dump/module.hlo.pb", bytes, &mut random),
        Format::HloText => {
            hlo::difference(&crossprof::hlo::read_module(bytes))?;
            of_memory("dump/module_0001.jit_f.txt", bytes, &mut random)
        }
        Format::MemoryProfile => of_memory("memory.prof", bytes, &mut random),
        Format::OutOfMemory => of_memory("train.log", bytes, &mut random),
        Format::Archives => profile("upload", bytes, true, &mut random),
        Format::ProfileJson => {
            beside_a_trace(bytes)?;
            profile("run/profile.json", bytes, false, &mut random)
        }
    }
}

/// Returns the reference profile, which has three steps on one GPU. Other profiles are compared with it.
fn reference() -> &'static UnifiedProfile {
    static REFERENCE: OnceLock<UnifiedProfile> = OnceLock::new();
    REFERENCE.get_or_init(|| Session::rehearsal(3).report(0, &Settings::default()).unwrap_or_default())
}

/// Drives a profile. `measured` is true if the numbers come from events, and false if they come from a document.
fn profile(path: &str, bytes: &[u8], measured: bool, random: &mut Random) -> Kept {
    let (whole, mut session) = load(path, bytes, &[bytes.len()]);
    let sizes: Vec<usize> = (0..16).map(|_| 1 + random.size(16)).collect();
    let (in_pieces, mut other) = load(path, bytes, &sizes);
    promise::equal("the result of a file, read in chunks of other sizes", &whole, &in_pieces)?;
    promise::equal("the runs, read in chunks of other sizes", &session.runs(), &other.runs())?;
    let mut other = if random.once_in(2) { handed_over(other)? } else { other };
    for run in session.runs().iter().take(MOST_RUNS) {
        let settings = Settings::default();
        let reports = (session.report(run.index, &settings), other.report(run.index, &settings));
        promise::equal("a report, read in other chunks or handed over", &reports.0, &reports.1)?;
        run::examine(&mut session, run.index, measured, random)?;
        arguments::read_again(&mut session, run.index, path, bytes, &sizes)?;
    }
    Ok(())
}

/// Drives a file that contains only memory data.
fn of_memory(path: &str, bytes: &[u8], random: &mut Random) -> Kept {
    let (whole, mut session) = load(path, bytes, &[bytes.len()]);
    let sizes: Vec<usize> = (0..16).map(|_| 1 + random.size(16)).collect();
    let (in_pieces, mut other) = load(path, bytes, &sizes);
    promise::equal("the result of a file, read in chunks of other sizes", &whole, &in_pieces)?;
    for run in session.runs().iter().take(MOST_RUNS) {
        let settings = Settings::default();
        other.runs();
        let reports = (session.report(run.index, &settings), other.report(run.index, &settings));
        promise::equal("a report, read in other chunks", &reports.0, &reports.1)?;
        run::examine(&mut session, run.index, false, random)?;
    }
    Ok(())
}

/// Returns a session with one file. The file is read in chunks, whose sizes are the numbers in `sizes` in turn.
fn load(path: &str, bytes: &[u8], sizes: &[usize]) -> (FileResult, Session) {
    let mut session = Session::new();
    let file = session.begin(path, Some(bytes.len() as u64));
    push(&mut session, file, bytes, sizes);
    let result = session.finish(file);
    (result, session)
}

fn push(session: &mut Session, file: crossprof::FileId, bytes: &[u8], sizes: &[usize]) {
    let mut rest = bytes;
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at((*size).clamp(1, rest.len()));
        session.push(file, piece);
        rest = after;
    }
}

/// Reads the file in the way that the command line reads files on disk, so that the lines of large planes are skipped
/// at first.
fn outlined(bytes: &[u8]) {
    let mut outliner = Outliner::new(bytes.len() as u64);
    while let Some(wanted) = outliner.wanted() {
        let end = usize::try_from(wanted.end).unwrap_or(usize::MAX).min(bytes.len());
        let start = usize::try_from(wanted.start).unwrap_or(usize::MAX).min(end);
        outliner.give(&bytes[start..end]);
    }
    let mut session = Session::new();
    let file = session.begin("run/host.xplane.pb", Some(bytes.len() as u64));
    for outline in outliner.outlines() {
        session.add_outline(file, outline);
    }
    push(&mut session, file, bytes, &[1 << 16]);
    session.finish(file);
    for run in session.runs() {
        session.report(run.index, &Settings::default());
    }
}

/// Reads the document together with a trace, because the document may be a model configuration.
fn beside_a_trace(document: &[u8]) -> Kept {
    const TRACE: &[u8] = br#"{"traceEvents":[{"ph":"M","pid":3,"name":"process_name","args":{"name":"/device:TPU:0"}},
        {"ph":"M","pid":3,"tid":1,"name":"thread_name","args":{"name":"XLA Ops"}},
        {"ph":"M","pid":3,"tid":2,"name":"thread_name","args":{"name":"Steps"}},
        {"ph":"X","pid":3,"tid":2,"ts":0,"dur":90,"name":"1"},{"ph":"X","pid":3,"tid":2,"ts":100,"dur":90,"name":"2"},
        {"ph":"X","pid":3,"tid":1,"ts":0,"dur":60,"name":"fusion.1"},
        {"ph":"X","pid":3,"tid":1,"ts":110,"dur":60,"name":"fusion.1"},{}]}"#;
    let mut session = Session::new();
    for (path, bytes) in [("run/config.json", document), ("run/t.trace.json", TRACE)] {
        let file = session.begin(path, None);
        session.push(file, bytes);
        session.finish(file);
    }
    for run in session.runs() {
        if let Some(report) = session.report(run.index, &Settings::default()) {
            promise::finite("a report with a model's configuration", &report)?;
        }
    }
    Ok(())
}

/// Passes the runs to another session. The page also does this, because it decodes runs in one worker and analyses them
/// in another.
fn handed_over(mut from: Session) -> Kept<Session> {
    let mut to = Session::new();
    while let Some(image) = from.hand_over() {
        let mut reader = Reader::new();
        for piece in image {
            match piece {
                Piece::Rows(rows) => reader.push_rows(rows),
                Piece::Bytes(bytes) => reader.push(&bytes),
            }
        }
        to.take_over(reader).map_err(|_| "The image of a run cannot be read again.".to_owned())?;
    }
    Ok(to)
}
