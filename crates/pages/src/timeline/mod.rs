//! Answers all requests of the timeline except for its picture: the event at a point, keyboard steps, and the details of an
//! event.

mod area;
mod arrange;
mod changes;
mod details;
mod first_range;
mod keep;
mod linked;
mod place;

pub use arrange::TrackChange;
pub use changes::{OpChanges, colours, tells_apart};
pub use details::named_values;
pub use first_range::first_range;
pub use keep::Keep;
pub use place::{EVENT, RANGE, SELECTION, link_to_row, options};
pub(crate) use place::{link_to_events, link_to_time_of};

use serde::{Deserialize, Serialize};

use crate::PageQuery;
use crate::source::Absent;
use base::Ps;
use base::format::{printable, si_of_digits};
use document::{Block, Page};
use metrics::Context;
use table::Filter;
use timeline::{
    Arrangement, Bookmarks, EventRef, Hit, Origin, Scene, Sight, Source, Stage, Step, Timeline, extent, median_step,
    step_range,
};

/// Action on the timeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// A click at the pointer.
    Pick {
        /// True if a click on the name of a track pins the track.
        pins: bool,
    },
    /// Shows the selected event, for example one from a URL.
    Show,
    /// Moves the selection from the selected event.
    Step(Step),
    /// Selects a range, with the tracks that it crosses.
    Area {
        /// Start and end of the range, in picoseconds from the start of the capture.
        range_ps: (i64, i64),
        /// Vertical positions of the top and the bottom of the range among all rows. Absent if the range covers all
        /// tracks.
        rows: Option<(u32, u32)>,
        /// True to return only the first rows of the range's table. Returning the first rows takes a fraction of the
        /// time that all rows take.
        first_look: bool,
    },
    /// Returns the time of a step, and selects nothing.
    WhenIs {
        /// Index of the step. Absent for the step with the median duration.
        step: Option<u32>,
    },
    /// Selects the next or the previous event that passes the filter.
    Find {
        /// True for the next event.
        forward: bool,
    },
    /// Changes the display of the tracks.
    Arrange(TrackChange),
    /// Changes the kept flags and ranges.
    Keep(Keep),
}

impl Action {
    /// Returns true if the whole result of the action must be scrolled into view.
    pub fn leads_to_range(&self) -> bool {
        matches!(self, Action::Keep(Keep::Show(_) | Keep::Next { .. }))
    }
}

/// Result of an action on the timeline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// New arrangement of the tracks, if it changed. If the arrangement changed, nothing else did.
    pub arrangement: Option<String>,
    /// New list of kept flags and ranges, if it changed.
    pub bookmarks: Option<String>,
    /// Descriptions of all flags and ranges, in order, and the number of hidden tracks.
    pub kept: (Vec<String>, u32),
    /// Selected flag or range, and its name.
    pub bookmark: Option<(u32, String)>,
    /// Event that is now selected.
    pub event: Option<EventRef>,
    /// Time of the selected event: start and end in picoseconds from the start of the capture.
    pub range_ps: Option<(i64, i64)>,
    /// Vertical positions of the top and the bottom of the selected range among all rows.
    pub rows: Option<(u32, u32)>,
    /// Vertical position of the upper edge of the selected event's lane among all rows, and the height of the lane.
    pub place: Option<(u32, u32)>,
    /// Details of the selection.
    pub page: Page,
    /// Path of the file that contains the event, and the index of the event in that file. With these two values, all other
    /// data of the event can be read from the file again.
    pub in_file: Option<(String, u32)>,
    /// Description of the selection in one sentence, for screen readers.
    pub said: String,
    /// Start and end of the capture, if the time of a step was requested.
    pub extent_ps: Option<(i64, i64)>,
    /// Number of events that pass the filter, if a filter is set.
    pub passing: Option<u64>,
    /// True if the table of a range has more rows than were returned.
    pub has_more_rows: bool,
}

/// Returns the blocks below the picture. Empty for a run with events. Earlier results and other runs without events
/// have no picture, and get one block that states why.
///
/// # Errors
///
/// Returns the reason if the run was imported from an earlier result.
pub(super) fn blocks(source: super::Source<'_>) -> Result<Vec<Block>, Absent> {
    let is_empty = source.events("timeline")?.trace().events.is_empty();
    let reason = "This run has no events. Its memory data is on the Memory page.";
    Ok(is_empty.then(|| Block::Empty { reason: reason.to_owned(), remedy: None }).into_iter().collect())
}

/// Performs an action.
pub fn act(
    context: Context<'_>,
    kept: &Timeline,
    stage: &mut Stage,
    sight: &Sight,
    action: Action,
    query: &PageQuery,
) -> Outcome {
    let scene = scene(context, kept, stage, sight);
    let outcome = done(context, kept, &scene, sight, action, query);
    let bookmarks = Bookmarks::parse(outcome.bookmarks.as_ref().unwrap_or(&sight.bookmarks));
    let arrangement = Arrangement::parse(outcome.arrangement.as_ref().unwrap_or(&sight.arrangement));
    Outcome { kept: (keep::listed(&bookmarks), arrange::hidden(&scene, &arrangement)), ..outcome }
}

fn done(
    context: Context<'_>,
    kept: &Timeline,
    scene: &Scene<'_>,
    sight: &Sight,
    action: Action,
    query: &PageQuery,
) -> Outcome {
    let event = match action {
        Action::Pick { pins } => {
            let hit = sight.pointer.and_then(|(x, y)| scene.hit(x, y)).map(|hit| on_name(sight, hit));
            match hit {
                Some(Hit::Heading(process)) => return arrange::fold(scene, process),
                Some(Hit::Name(track)) => {
                    let change = if pins { TrackChange::Pin } else { TrackChange::Narrow };
                    return arrange::outcome(scene, change, Some(track));
                }
                Some(Hit::Bookmark(bookmark)) => {
                    return keep::outcome(context, kept, scene, sight, Keep::Show(bookmark), query);
                }
                Some(Hit::Track(_, event)) => event,
                None => None,
            }
        }
        Action::Show => scene.selected,
        // If there is no next event, the selection does not change.
        Action::Step(step) => scene.step(step).or(scene.selected),
        Action::Find { forward } => scene.next_passing(forward),
        Action::Area { range_ps, rows, first_look } => {
            return area::outcome(context, kept, scene, range_ps, rows, query, first_look);
        }
        Action::Arrange(change) => return arrange::outcome(scene, change, arrange::meant(scene, sight)),
        Action::WhenIs { step } => {
            let step = step.map_or_else(|| median_step(context), |step| Some(step as usize));
            let range = step.and_then(|step| step_range(context, step));
            return Outcome {
                range_ps: range.map(|range| scene.from_zero(range)),
                extent_ps: Some(scene.from_zero(extent(context))),
                ..Outcome::default()
            };
        }
        Action::Keep(what) => return keep::outcome(context, kept, scene, sight, what, query),
    };
    let mut outcome = Outcome::default();
    if matches!(action, Action::Find { .. } | Action::Show) {
        outcome.passing = scene.found.map(|found| found.events);
    }
    if let Some((_, _, time)) = event.and_then(|event| scene.source(event.origin).event(event.id())) {
        outcome.event = event;
        outcome.range_ps = Some(scene.from_zero(time));
    }
    if let Some(event) = outcome.event {
        let placed = scene.place_of(event);
        outcome.place =
            placed.map(|(row, lane, height, _)| (row.top.saturating_add(lane.saturating_mul(height)), height));
        outcome.page = details::page(context, kept, scene, event);
        let captured = Some(event.id()).filter(|_| event.origin == Origin::Captured);
        let in_file = captured.and_then(|id| context.run.in_file(id));
        outcome.in_file = in_file.map(|(path, index)| (path.to_owned(), index));
        outcome.said = said(scene, event).join(", ");
    }
    outcome
}

/// Maps a hit on the names, which are to the left of the events, to a track without an event.
fn on_name(sight: &Sight, hit: Hit) -> Hit {
    match hit {
        Hit::Track(track, _) if sight.pointer.is_some_and(|(x, _)| x < 0.0) => Hit::Name(track),
        hit => hit,
    }
}

/// Returns the visible part of a run.
pub fn scene<'a>(context: Context<'a>, kept: &'a Timeline, stage: &'a mut Stage, sight: &Sight) -> Scene<'a> {
    let filter = Filter::parse(&sight.filter);
    let devices = &context.analysis.devices;
    let devices_of = |trace: &trace::Trace| std::ptr::eq(trace, context.trace()).then_some(devices);
    stage.scene(kept, context, sight, &|trace, kind| place::passes(&filter, trace, devices_of(trace), kind))
}

/// Returns the lines of the tooltip at the pointer: they describe the event or, if the pointer is on the name of a
/// track, the track.
pub fn tip(scene: &Scene<'_>, sight: &Sight) -> Vec<String> {
    let pointer = sight.pointer.filter(|_| !sight.is_dragging);
    let hit = pointer.and_then(|(x, y)| scene.hit(x, y)).map(|hit| on_name(sight, hit));
    match hit {
        Some(Hit::Track(_, Some(event))) => said(scene, event),
        Some(Hit::Name(id)) => {
            let track = scene.track(id);
            let lines = track.map(|track| [Some(printable(&track.name)), track.definition.map(str::to_owned)]);
            lines.into_iter().flatten().flatten().collect()
        }
        Some(Hit::Bookmark(bookmark)) => keep::said(scene, bookmark).into_iter().collect(),
        Some(Hit::Heading(_) | Hit::Track(_, None)) | None => Vec::new(),
    }
}

/// Returns the number of digits, at most nine, with which `start` is precise to a hundredth of `length`.
fn digits(start: Ps, length: Ps) -> usize {
    let mut lengths = start.as_ps() / length.as_ps().max(1);
    let mut digits = 3;
    while lengths > 0 {
        (lengths, digits) = (lengths / 10, digits + 1);
    }
    digits.clamp(4, 9)
}

/// Describes an event, one line per fact.
fn said(scene: &Scene<'_>, event: EventRef) -> Vec<String> {
    let source = scene.source(event.origin);
    let Some((kind, name, time)) = source.event(event.id()) else { return Vec::new() };
    let at = |start: Ps| {
        let start = start - scene.zero;
        si_of_digits(start.as_s(), "s", digits(start, time.length()))
    };
    let mut lines = vec![
        printable(source.trace.text(name)),
        match time.length() {
            Ps::ZERO => format!("a moment at {}", at(time.start)),
            length => format!("{} from {}", base::format::time_us(length.as_us()), at(time.start)),
        },
    ];
    lines.extend(line_of(source, kind).map(|(process, line)| format!("{line} of {process}")));
    lines
}

/// Returns the names of an event's process and line.
fn line_of(source: Source<'_>, kind: usize) -> Option<(String, String)> {
    let line = source.trace.lines.get(source.trace.events.kinds().get(kind)?.line.index())?;
    let process = source.trace.plane_of(line)?;
    Some((printable(source.trace.text(process.name)), printable(source.trace.text(line.name))))
}
