//! Tests the whole decoder with small files that each have one oddity, for any chunk sizes and any damage.

mod damage;
mod kineto;
mod marks;
mod repeats;
mod totals;

use super::ChromeJsonDecoder;
use base::Error;
use trace::{Event, EventColumn, Trace};

/// Decodes `text` in chunks of `size` bytes.
fn decode_in(text: &[u8], size: usize) -> Result<Trace, Error> {
    let mut decoder = ChromeJsonDecoder::new("test.json");
    text.chunks(size).try_for_each(|chunk| decoder.push(chunk))?;
    decoder.finish()
}

/// Decodes `text` in one chunk, and checks that chunks of 1, 7 and 4096 bytes give the same result.
fn decode(text: impl AsRef<[u8]>) -> Result<Trace, Error> {
    let text = text.as_ref();
    let whole = decode_in(text, text.len().max(1));
    for size in [1, 7, 4096] {
        let pieces = decode_in(text, size);
        match (&whole, &pieces) {
            (Ok(whole), Ok(pieces)) => assert_eq!(describe(whole), describe(pieces), "chunks of {size} bytes"),
            _ => assert_eq!(whole.as_ref().err(), pieces.as_ref().err(), "chunks of {size} bytes"),
        }
    }
    whole
}

/// Formats everything in a trace as text.
fn describe(trace: &Trace) -> String {
    use std::fmt::Write;
    let mut out = format!(
        "{:?} {:?} {:?} complete {}\n{:?}\n{:?} {:?} {:?}\n",
        trace.format,
        trace.framework,
        trace.capture,
        trace.complete_events,
        trace.warnings,
        trace.counters,
        trace.instants,
        trace.flows
    );
    for plane in &trace.planes {
        let stats: Vec<_> = plane.stats.iter().map(|&(key, value)| (trace.text(key), value)).collect();
        writeln!(out, "{} {:?} {stats:?}", trace.text(plane.name), plane.kind).unwrap();
    }
    for id in trace.events.ids() {
        let event = trace.events.get(id).unwrap();
        let line = trace.lines.get(event.line.index()).unwrap();
        let ids = (
            trace.events.column(EventColumn::Correlation).get(id),
            trace.events.column(EventColumn::RunId).get(id),
            trace.events.column(EventColumn::StepNum).get(id),
        );
        let names = (trace.text(event.name), trace.text(line.name), line.plane.index(), line.kind);
        writeln!(out, "{names:?} {:?} {:?} {ids:?} {:?}", event.start, event.duration, trace.args_of(&event)).unwrap();
    }
    out
}

/// Returns name, start and duration (in picoseconds) of every event.
fn events(trace: &Trace) -> Vec<(&str, i64, i64)> {
    let told = |event: Event| (trace.text(event.name), event.start.as_ps(), event.duration.as_ps());
    trace.events.iter().map(told).collect()
}

/// Returns the index and the value of each event that has a value in this column.
fn values(trace: &Trace, column: EventColumn) -> Vec<(u32, i64)> {
    trace.events.column(column).iter().map(|(id, value)| (id.get(), value)).collect()
}

/// Returns `(code, count)` of every warning.
fn warnings(trace: &Trace) -> Vec<(&str, Option<u64>)> {
    trace.warnings.iter().map(|warning| (warning.code.as_str(), warning.count)).collect()
}
