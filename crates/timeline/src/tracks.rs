//! The tracks of a run in the order in which they are shown: devices, then the other processes, each as the file orders them, below each what is derived of it, its
//! lines in the file's order, and its counters.

use base::sort;
use trace::{LineId, LineKind, Plane, PlaneKind, Trace};

use crate::derived;
use crate::lines::process_name;
use crate::scopes::{Flame, Scopes};
use crate::source::{Origin, Source};

/// Tracks that a timeline shows at once before it folds the hosts, whose threads are many.
const MANY_TRACKS: usize = 60;

/// A track, by its process and its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrackId {
    /// Index of the process.
    pub process: u32,
    /// Index of the track in it.
    pub track: u32,
}

/// True if processes of hosts are folded at first: if there are many tracks, and devices beside the hosts.
pub(crate) fn hosts_fold(processes: &[Process]) -> bool {
    let many = processes.iter().map(|process| process.tracks.len()).sum::<usize>() > MANY_TRACKS;
    many && processes.iter().any(|process| !process.is_host)
}

/// What a track shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// The events of a line.
    Events(Origin, LineId),
    /// The name scopes or source lines of the ops of a recorded line.
    Scopes(Flame, LineId),
    /// A counter, as an index into [`Trace::counters`] of that trace.
    Counter(Origin, u32),
}

/// One row of the timeline, or several: one per lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Track {
    /// Name of the track in the file.
    pub name: String,
    /// What the track shows.
    pub shows: Shows,
    /// Number of the track's lanes; 1 of a counter.
    pub lanes: u32,
    /// What the track means, where it is derived and not recorded.
    pub definition: Option<&'static str>,
}

/// The tracks of a device or host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Name of the process in the file; with the host in front where a run has several.
    pub name: String,
    /// Tracks of the process.
    pub tracks: Vec<Track>,
    /// Number of the events on the lines of the process.
    pub events: u64,
    /// True for a host: its threads are many, and folded where devices stand beside them.
    pub is_host: bool,
}

/// The processes that show anything.
pub(crate) fn processes([captured, derived]: [Source<'_>; 2], flames: &[Scopes; 2]) -> Vec<Process> {
    let whole = captured.trace;
    let (captured, derived) = ((Origin::Captured, captured), (Origin::Derived, derived));
    // A stack of Python functions fills a screen, and PyTorch's traces begin with it: whoever opens the timeline looks for the devices.
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

const BY_PROFILER: &str =
    "The profiler derived this line from others: on a TPU only XLA Ops, on a GPU only streams are measured.";

fn unnamed(line: &trace::Line) -> String {
    line.id.map_or_else(|| "line without a name".to_owned(), |id| format!("line {id}"))
}

fn name(whole: &Trace, plane: usize) -> String {
    let name = whole.planes.get(plane).map(|plane| process_name(whole, plane).into_owned());
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "process without a name".to_owned())
}

fn is_host(whole: &Trace, plane: usize) -> bool {
    whole.planes.get(plane).is_some_and(|plane| !matches!(plane.kind, PlaneKind::Device { .. }))
}
