//! Changes to the display of tracks.

use serde::{Deserialize, Serialize};
use timeline::{Arrangement, EventRef, Hit, Scene, Sight, TrackId, turn};

use super::{Outcome, on_name};

/// Change to the display of tracks. Most changes apply to one track: the track whose name is below the pointer, or else the
/// track of the selected event, or else the track below the pointer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrackChange {
    /// Switches between low and high lanes.
    Narrow,
    /// Pins the track above all others, or unpins it.
    Pin,
    /// Hides the track.
    Hide,
    /// Moves the track up by one place.
    Up,
    /// Moves the track down by one place.
    Down,
    /// Moves a track to the position of the pointer, after the user dragged the track by its name. Coordinates are in
    /// CSS pixels from the upper left corner of the events.
    Move {
        /// Position where the drag began.
        from: (f64, f64),
    },
    /// Shows all hidden tracks again.
    ShowHidden,
}

/// Returns the track that a change applies to.
pub(super) fn meant(scene: &Scene<'_>, sight: &Sight) -> Option<TrackId> {
    let below = below(scene, sight, sight.pointer);
    let of_event = |event: EventRef| scene.track_of(event);
    match below {
        Some((id, true)) => Some(id),
        Some((id, false)) => Some(scene.selected.and_then(of_event).unwrap_or(id)),
        None => scene.selected.and_then(of_event),
    }
}

/// Returns the track below a point, and true if the track's name is at that point.
fn below(scene: &Scene<'_>, sight: &Sight, point: Option<(f64, f64)>) -> Option<(TrackId, bool)> {
    let (x, y) = point?;
    match on_name(sight, scene.hit(x, y)?) {
        Hit::Name(id) => Some((id, true)),
        Hit::Track(id, _) => Some((id, false)),
        Hit::Heading(_) | Hit::Bookmark(_) => None,
    }
}

/// Folds a process, or opens it again.
pub(super) fn fold(scene: &Scene<'_>, process: u32) -> Outcome {
    changed(scene, |arrangement| turn(&mut arrangement.turned, process))
}

/// Applies a change to a track.
pub(super) fn outcome(scene: &Scene<'_>, change: TrackChange, meant: Option<TrackId>) -> Outcome {
    changed(scene, |arrangement| {
        let processes = scene.processes;
        match (change, meant) {
            (TrackChange::ShowHidden, _) => arrangement.hidden.clear(),
            (TrackChange::Narrow, Some(id)) => turn(&mut arrangement.narrow, id),
            (TrackChange::Pin, Some(id)) => turn(&mut arrangement.pinned, id),
            (TrackChange::Hide, Some(id)) => {
                arrangement.pinned.retain(|pinned| *pinned != id);
                arrangement.hidden.push(id);
            }
            (TrackChange::Up | TrackChange::Down, Some(id)) => {
                arrangement.shift(processes, id, change == TrackChange::Up)
            }
            (TrackChange::Move { from: (_, y) }, Some(target)) => {
                if let Some(Hit::Track(id, _)) = scene.hit(-1.0, y) {
                    arrangement.move_to(processes, id, target);
                }
            }
            (_, None) => {}
        }
    })
}

/// Counts the hidden tracks.
pub(super) fn hidden(scene: &Scene<'_>, arrangement: &Arrangement) -> u32 {
    let hidden = arrangement.hidden.iter().filter(|id| scene.track(**id).is_some());
    u32::try_from(hidden.count()).unwrap_or(u32::MAX)
}

fn changed(scene: &Scene<'_>, change: impl FnOnce(&mut Arrangement)) -> Outcome {
    let mut arrangement = scene.arrangement.clone();
    change(&mut arrangement);
    Outcome { arrangement: Some(arrangement.to_string()), ..Outcome::default() }
}
