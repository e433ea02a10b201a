//! Changes of how the tracks are shown.

use serde::{Deserialize, Serialize};
use timeline::{Arrangement, EventRef, Hit, Scene, Sight, TrackId, turn};

use super::{Outcome, on_name};

/// A change of how the tracks are shown, mostly of the one that is meant: that whose name is below the pointer, else that of the selected
/// event, else the one below the pointer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrackChange {
    /// Low lanes, or high ones again.
    Narrow,
    /// Shown above all others, or no more.
    Pin,
    /// The track is not shown.
    Hide,
    /// The track goes up by one place.
    Up,
    /// The track goes down by one place.
    Down,
    /// The track moves from where its name was taken, in CSS pixels from the upper left corner of the events, to where
    /// the pointer is.
    Move {
        /// Where the name was taken.
        from: (f64, f64),
    },
    /// All hidden tracks are shown again.
    ShowHidden,
}

/// The track that is meant.
pub(super) fn meant(scene: &Scene<'_>, sight: &Sight) -> Option<TrackId> {
    let below = below(scene, sight, sight.pointer);
    let of_event = |event: EventRef| scene.track_of(event);
    match below {
        Some((id, true)) => Some(id),
        Some((id, false)) => Some(scene.selected.and_then(of_event).unwrap_or(id)),
        None => scene.selected.and_then(of_event),
    }
}

/// The track below a point, and whether its name is there.
fn below(scene: &Scene<'_>, sight: &Sight, point: Option<(f64, f64)>) -> Option<(TrackId, bool)> {
    let (x, y) = point?;
    match on_name(sight, scene.hit(x, y)?) {
        Hit::Name(id) => Some((id, true)),
        Hit::Track(id, _) => Some((id, false)),
        Hit::Heading(_) | Hit::Bookmark(_) => None,
    }
}

/// The process is folded, or open again.
pub(super) fn fold(scene: &Scene<'_>, process: u32) -> Outcome {
    changed(scene, |arrangement| turn(&mut arrangement.turned, process))
}

/// What comes of a change of the track that is meant.
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

/// How many tracks are hidden.
pub(super) fn hidden(scene: &Scene<'_>, arrangement: &Arrangement) -> u32 {
    let hidden = arrangement.hidden.iter().filter(|id| scene.track(**id).is_some());
    u32::try_from(hidden.count()).unwrap_or(u32::MAX)
}

fn changed(scene: &Scene<'_>, change: impl FnOnce(&mut Arrangement)) -> Outcome {
    let mut arrangement = scene.arrangement.clone();
    change(&mut arrangement);
    Outcome { arrangement: Some(arrangement.to_string()), ..Outcome::default() }
}
