//! What the timeline of a run answers beside its picture: what is at a point, where a step of the keyboard leads, what is said of an
//! event.

mod area;
mod changes;
mod details;
mod linked;
mod place;

pub use changes::colours;
pub use place::{EVENT, RANGE, SELECTION};

use serde::{Deserialize, Serialize};

use super::{Block, Page, PageQuery};
use crate::table::Filter;
use base::Ps;
use base::format::{printable, si_of_digits};
use metrics::Context;
use timeline::{EventRef, Hit, Scene, Sight, Source, Stage, Step, Timeline, TrackId, median_step, step_range};

/// What is done on the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// A click at the pointer.
    Pick,
    /// The selected event is shown, as when an address names it.
    Show,
    /// A step from the selected event.
    Step(Step),
    /// A range is selected, with the tracks that it crosses.
    Area {
        /// Its start and end in picoseconds from the start of the capture.
        range_ps: (i64, i64),
        /// From which height among the rows to which; all tracks where absent.
        rows: Option<(u32, u32)>,
    },
    /// Nothing is selected; the answer is when a step is.
    WhenIs {
        /// Its index; where absent that of the median duration.
        step: Option<u32>,
    },
    /// The next event that passes the filter, or the one before.
    Find {
        /// The next one.
        forward: bool,
    },
}

/// What comes of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The process whose heading was clicked.
    pub heading: Option<u32>,
    /// The track whose name was clicked.
    pub track: Option<TrackId>,
    /// The event that is selected now.
    pub event: Option<EventRef>,
    /// When it is: start and end in picoseconds from the start of the capture.
    pub range_ps: Option<(i64, i64)>,
    /// Upper edge of its lane and its height, among the rows.
    pub place: Option<(u32, u32)>,
    /// What is said of it.
    pub page: Page,
    /// The same in one sentence, for who cannot see it.
    pub said: String,
    /// Events that pass the filter, where there is one.
    pub passing: Option<u64>,
}

/// Below the picture of a run nothing stands; an earlier result has no picture, and says why.
pub(super) fn blocks(source: super::Source<'_>) -> Vec<Block> {
    match source {
        super::Source::Trace(_) => Vec::new(),
        super::Source::Profile(_) => vec![source.not_measured("timeline")],
    }
}

/// Does it.
pub fn act(
    context: Context<'_>,
    kept: &Timeline,
    stage: &mut Stage,
    sight: &Sight,
    action: Action,
    query: &PageQuery,
) -> Outcome {
    let scene = scene(context, kept, stage, sight);
    let hit = match action {
        Action::Pick => sight.pointer.and_then(|(x, y)| scene.hit(x, y)).map(|hit| on_name(sight, hit)),
        Action::Show | Action::Step(_) | Action::Find { .. } | Action::Area { .. } | Action::WhenIs { .. } => None,
    };
    let event = match (action, hit) {
        (Action::Pick, Some(Hit::Track(_, event))) => event,
        (Action::Pick, _) => None,
        (Action::Show, _) => scene.selected,
        (Action::Area { .. } | Action::WhenIs { .. }, _) => None,
        (Action::Step(step), _) => scene.step(step),
        (Action::Find { forward }, _) => scene.next_passing(forward),
    };
    let mut outcome = Outcome::default();
    match hit {
        Some(Hit::Heading(process)) => outcome.heading = Some(process),
        Some(Hit::Name(track)) => outcome.track = Some(track),
        Some(Hit::Track(..)) | None => {}
    }
    if let Action::Area { range_ps, rows } = action {
        return area::outcome(context, kept, &scene, range_ps, rows, query);
    }
    if let Action::WhenIs { step } = action {
        let step = step.map_or_else(|| median_step(context), |step| Some(step as usize));
        outcome.range_ps = step.and_then(|step| step_range(context, step)).map(|range| scene.from_zero(range));
        return outcome;
    }
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
        outcome.page = details::page(context, kept, &scene, event);
        outcome.said = said(&scene, event).join(", ");
    }
    outcome
}

/// Left of the events stand the names: a track, and no event of it.
fn on_name(sight: &Sight, hit: Hit) -> Hit {
    match hit {
        Hit::Track(track, _) if sight.pointer.is_some_and(|(x, _)| x < 0.0) => Hit::Name(track),
        hit => hit,
    }
}

/// What is seen of a run.
pub fn scene<'a>(context: Context<'a>, kept: &'a Timeline, stage: &'a mut Stage, sight: &Sight) -> Scene<'a> {
    let filter = Filter::parse(&sight.filter);
    stage.scene(kept, context, sight, &|trace, kind| place::passes(&filter, trace, kind))
}

/// What the tip says of what is below the pointer, a line each: the event, or where a name is, the track and what it means.
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
        Some(Hit::Heading(_) | Hit::Track(_, None)) | None => Vec::new(),
    }
}

/// What is said of an event, a line each.
fn said(scene: &Scene<'_>, event: EventRef) -> Vec<String> {
    let source = scene.source(event.origin);
    let Some((kind, name, time)) = source.event(event.id()) else { return Vec::new() };
    // Nanoseconds of a second.
    let at = |time: Ps| si_of_digits((time - scene.zero).as_s(), "s", 9);
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

/// The names of an event's process and line.
fn line_of(source: Source<'_>, kind: usize) -> Option<(String, String)> {
    let line = source.trace.lines.get(source.trace.events.kinds().get(kind)?.line.index())?;
    let process = source.trace.plane_of(line)?;
    Some((printable(source.trace.text(process.name)), printable(source.trace.text(line.name))))
}
