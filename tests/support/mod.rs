//! Shared code of the integration tests: finds profiles, loads them, and writes traces with known content.

pub(crate) mod chrome;
pub(crate) mod cli;
pub(crate) mod gpu;
pub(crate) mod samples;
pub(crate) mod seven_steps;
pub(crate) mod tpu;
pub(crate) mod xprof;

use std::path::Path;

use crossprof::input::ChromeJsonDecoder;
use crossprof::input::XPlaneDecoder;
use crossprof::trace::Trace;
use crossprof::{FileResult, Session, Settings, UnifiedProfile};

/// Returns a session that has read one file.
pub(crate) fn open(path: &str, bytes: &[u8]) -> Session {
    let mut session = Session::new();
    let file = session.begin(path, Some(bytes.len() as u64));
    session.push(file, bytes);
    session.finish(file);
    session.runs();
    session
}

/// Pushes one file in chunks of `chunk` bytes. Returns the result of the file, and the reports of its runs.
pub(crate) fn load_chunked(path: &str, bytes: &[u8], chunk: usize) -> (FileResult, Vec<UnifiedProfile>) {
    let mut session = Session::new();
    let file = session.begin(path, Some(bytes.len() as u64));
    for part in bytes.chunks(chunk.max(1)) {
        session.push(file, part);
    }
    let result = session.finish(file);
    (result, reports(&mut session))
}

/// Pushes one file as a single chunk. Returns the result of the file, and the reports of its runs under these settings.
pub(crate) fn load_with(path: &str, bytes: &[u8], settings: &Settings) -> (FileResult, Vec<UnifiedProfile>) {
    let mut session = Session::new();
    let file = session.begin(path, Some(bytes.len() as u64));
    session.push(file, bytes);
    let result = session.finish(file);
    (result, session.runs().iter().filter_map(|run| session.report(run.index, settings)).collect())
}

/// Pushes one file as a single chunk.
pub(crate) fn load(path: &str, bytes: &[u8]) -> (FileResult, Vec<UnifiedProfile>) {
    load_chunked(path, bytes, usize::MAX)
}

/// Returns the reports of all runs, with default settings.
pub(crate) fn reports(session: &mut Session) -> Vec<UnifiedProfile> {
    session.runs().iter().filter_map(|run| session.report(run.index, &Settings::default())).collect()
}

/// Returns the events of an xplane file or a trace JSON, compressed or not.
pub(crate) fn decode(path: &Path) -> Trace {
    let name = path.to_string_lossy();
    let stored = std::fs::read(path).expect("a readable sample");
    let plain = if name.ends_with(".gz") { gunzip(&stored) } else { stored };
    if !name.contains(".pb") {
        return decode_json(&plain);
    }
    let mut decoder = XPlaneDecoder::new(&name);
    decoder.push(&plain).expect("an xplane");
    decoder.finish().expect("an xplane")
}

/// Returns the events of a trace JSON.
pub(crate) fn decode_json(text: &[u8]) -> Trace {
    let mut decoder = ChromeJsonDecoder::new("a.trace.json");
    decoder.push(text).expect("a trace JSON");
    decoder.finish().expect("a trace JSON")
}

/// Compresses bytes to a gzip stream.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(9));
    encoder.write_all(bytes).expect("writing to memory");
    encoder.finish().expect("writing to memory")
}

/// Returns the content of a gzip stream.
pub(crate) fn gunzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Read;
    let mut plain = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut plain).expect("a whole gzip stream");
    plain
}
