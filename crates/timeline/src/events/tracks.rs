//! Tracks of a run in display order. Devices come first, in file order. All other processes follow, also in file order.
//! In a process, derived tracks come first, then the lines in file order, then the counters.

use base::sort;
use trace::{LineId, LineKind, Plane, PlaneKind, Trace};

use crate::events::derived;
use crate::events::lines::process_name;
use crate::events::scopes::{Flame, Scopes};
use crate::events::source::{Origin, Source};

/// If there are more tracks than this, hosts are initially folded, because hosts have many threads.
const MANY_TRACKS: usize = 60;

/// Identifies a track by its process and its position in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrackId {
    /// Index of the process.
    pub process: u32,
    /// Index of the track in the process.
    pub track: u32,
}

/// Returns true if host processes are initially folded. Hosts are folded if there are many tracks, and the run has
/// devices in addition to hosts.
pub(crate) fn hosts_fold(processes: &[Process]) -> bool {
    let many = processes.iter().map(|process| process.tracks.len()).sum::<usize>() > MANY_TRACKS;
    many && processes.iter().any(|process| !process.is_host)
}

/// Content of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// The events of a line.
    Events(Origin, LineId),
    /// The name scopes or source lines of the ops of a recorded line.
    Scopes(Flame, LineId),
    /// A counter, identified by its index in [`Trace::counters`] of the trace of this origin.
    Counter(Origin, u32),
}

/// A track, which has one row per lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Track {
    /// Name of the track in the file.
    pub name: String,
    /// Content of the track.
    pub shows: Shows,
    /// Number of lanes. A counter has one lane.
    pub lanes: u32,
    /// Definition of the track if it is derived. `None` for a recorded track.
    pub definition: Option<&'static str>,
}

/// Tracks of a device or host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Name of the process in the file. If the run has several hosts, the name begins with the host's name.
    pub name: String,
    /// Tracks of the process.
    pub tracks: Vec<Track>,
    /// Number of events on the lines of the process.
    pub events: u64,
    /// True for a host. Hosts have many threads, so their tracks start folded if the trace also contains devices.
    pub is_host: bool,
}

/// Returns the processes that have tracks.
pub(crate) fn processes([captured, derived]: [Source<'_>; 2], flames: &[Scopes; 2]) -> Vec<Process> {
    let whole = captured.trace;
    let (captured, derived) = ((Origin::Captured, captured), (Origin::Derived, derived));
    // Devices come first, because most users look for them. A stack of Python functions fills a screen, and PyTorch traces
    // start with such a stack.
    let place = |(index, plane): (usize, &Plane)| {
        (!matches!(plane.kind, PlaneKind::Device { .. }), plane.order.unwrap_or(i64::MAX), index)
    };
    let mut order: Vec<(bool, i64, usize)> = whole.planes.iter().enumerate().map(place).collect();
    sort::sort_by(&mut order, |a, b| a.cmp(b));
    let mut found = Vec::new();
    for (.., index) in order {
        let mut process =
            Process { name: name(whole, index), tracks: Vec::new(), events: 0, is_host: is_host(whole, index) };
        for (origin, source) in [derived, captured] {
            let mut lines: Vec<(i64, usize)> = source
                .by_line
                .lines_of(source.trace, index)
                .filter(|(.., events)| !events.is_empty())
                .map(|(line, of, _)| (of.order.unwrap_or(i64::MAX), line))
                .collect();
            sort::sort_by(&mut lines, |a, b| a.cmp(b));
            if origin == Origin::Captured {
                for (flame, scopes) in Flame::ALL.into_iter().zip(flames) {
                    let with_scopes = lines.iter().filter_map(|&(_, line)| {
                        let (id, of) = (source.trace.line_id(line)?, source.trace.lines.get(line)?);
                        let lanes = scopes.depth(id);
                        let (title, definition) = flame.title();
                        let name = format!("{title} of {}", source.trace.text(of.name));
                        let shows = Shows::Scopes(flame, id);
                        (lanes > 0).then_some(Track { name, shows, lanes, definition: Some(definition) })
                    });
                    process.tracks.extend(with_scopes);
                }
            }
            for (_, line) in lines {
                let (Some(id), Some(of)) = (source.trace.line_id(line), source.trace.lines.get(line)) else { continue };
                let text = source.trace.text(of.name);
                let definition = match origin {
                    Origin::Derived => derived::definition(text),
                    Origin::Captured => (of.kind == LineKind::Derived).then_some(BY_PROFILER),
                };
                let lanes = u32::try_from(source.lanes(id).len()).unwrap_or(u32::MAX);
                if origin == Origin::Captured {
                    process.events += source.by_line.events.get(line).map_or(0, |events| events.len() as u64);
                }
                let name = if text.is_empty() { unnamed(of) } else { text.to_owned() };
                process.tracks.push(Track { name, shows: Shows::Events(origin, id), lanes, definition });
            }
        }
        for (origin, source) in [captured, derived] {
            for (counter, of) in (0..).zip(&source.trace.counters).filter(|(_, of)| of.plane.index() == index) {
                let name = source.trace.text(of.name).to_owned();
                let definition = derived::definition(&name).filter(|_| origin == Origin::Derived);
                process.tracks.push(Track { name, shows: Shows::Counter(origin, counter), lanes: 1, definition });
            }
        }
        if !process.tracks.is_empty() {
            found.push(process);
        }
    }
    found
}

const BY_PROFILER: &str = "The profiler derived this line from other lines. The numbers in crossprof come only from XLA Ops on a TPU, and from streams on a GPU.";

fn unnamed(line: &trace::Line) -> String {
    line.id.map_or_else(|| "unnamed line".to_owned(), |id| format!("line {id}"))
}

fn name(whole: &Trace, plane: usize) -> String {
    let name = whole.planes.get(plane).map(|plane| process_name(whole, plane).into_owned());
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "unnamed process".to_owned())
}

fn is_host(whole: &Trace, plane: usize) -> bool {
    whole.planes.get(plane).is_some_and(|plane| !matches!(plane.kind, PlaneKind::Device { .. }))
}
