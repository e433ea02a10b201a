//! Flags and bookmarked ranges: setting, naming, visiting and removing them.

use serde::{Deserialize, Serialize};

use super::{Outcome, area};
use crate::PageQuery;
use base::Ps;
use base::format::{printable, si_of_digits, time_us};
use document::{Block, Figure, Page};
use metrics::Context;
use table::Unit;
use timeline::{Bookmark, Bookmarks, Scene, Sight, Timeline};

/// Action on the kept flags and ranges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// Sets a flag at the pointer, or at the edge of an event near the pointer. If the pointer is elsewhere, sets the flag at
    /// the start of the selected event. If no event is selected, sets it in the middle of the visible range.
    Flag,
    /// Keeps a range.
    Range {
        /// Start and end of the range, in picoseconds from the start of the capture.
        range_ps: (i64, i64),
        /// Vertical positions of the top and the bottom of the range among all rows. Absent if the range covers all
        /// tracks.
        rows: Option<(u32, u32)>,
    },
    /// Selects the flag or range with this number.
    Show(u32),
    /// Selects the next or the previous flag or range.
    Next {
        /// True for the next flag or range.
        forward: bool,
    },
    /// Renames the selected flag or range.
    Rename(String),
    /// Removes the selected flag or range.
    Remove,
}

/// Performs an action on flags and ranges.
pub(super) fn outcome(
    context: Context<'_>,
    kept: &Timeline,
    scene: &Scene<'_>,
    sight: &Sight,
    what: Keep,
    query: &PageQuery,
) -> Outcome {
    let mut bookmarks = scene.bookmarks.clone();
    let selected = scene.bookmark;
    let shown = match what {
        Keep::Flag => {
            let at = flagged(scene, sight);
            Some(bookmarks.add(Bookmark { range_ps: (at, at), ..Bookmark::default() }))
        }
        Keep::Range { range_ps, rows } => Some(bookmarks.add(Bookmark { range_ps, rows, ..Bookmark::default() })),
        Keep::Show(bookmark) => Some(bookmark),
        Keep::Next { forward } => {
            let middle = scene.viewport.time_at(0.5) - scene.zero;
            bookmarks.beside(selected, middle.as_ps(), forward)
        }
        Keep::Rename(name) => {
            selected.into_iter().for_each(|bookmark| bookmarks.rename(bookmark, &name));
            selected
        }
        Keep::Remove => {
            selected.into_iter().for_each(|bookmark| bookmarks.remove(bookmark));
            None
        }
    };
    let found = shown.and_then(|shown| Some((shown, bookmarks.get(shown)?)));
    let outcome = found.map_or_else(Outcome::default, |(shown, bookmark)| {
        let Bookmark { range_ps, rows, name } = bookmark;
        let outcome = match bookmark.is_flag() {
            true => flag(&bookmarks, bookmark),
            false => area::outcome(context, kept, scene, *range_ps, *rows, query, false),
        };
        Outcome { bookmark: Some((shown, name.clone())), ..outcome }
    });
    Outcome { bookmarks: Some(bookmarks.to_string()), ..outcome }
}

/// Returns the time for a new flag, in picoseconds from the start of the capture.
fn flagged(scene: &Scene<'_>, sight: &Sight) -> i64 {
    let width = f64::from(sight.width.max(1));
    let pointer = sight.pointer.filter(|(x, _)| (0.0..=width).contains(x));
    let at_pointer = pointer.map(|(x, y)| scene.edge_near(x, y).unwrap_or_else(|| scene.viewport.time_at(x / width)));
    let of_event = || Some(scene.source(scene.selected?.origin).event(scene.selected?.id())?.2.start);
    let time = at_pointer.or_else(of_event).unwrap_or_else(|| scene.viewport.time_at(0.5));
    (time - scene.zero).as_ps().max(0)
}

/// Describes a flag: its time, and the distance to its neighbours.
fn flag(bookmarks: &Bookmarks, flag: &Bookmark) -> Outcome {
    let (at, _) = flag.range_ps;
    let flags = || bookmarks.all().iter().filter(|it| it.is_flag());
    let before = flags().rev().find(|it| it.range_ps.0 < at).map(|it| (at - it.range_ps.0, it, "before it"));
    let after = flags().find(|it| it.range_ps.0 > at).map(|it| (it.range_ps.0 - at, it, "after it"));
    let figure = |label: &str, ps: i64, note: String| Figure {
        label: label.to_owned(),
        value: Some(Ps::new(ps).as_us()),
        unit: Unit::TimeUs,
        note,
        ..Figure::default()
    };
    let mut figures = vec![figure("Flag", at, "from the start of the capture".to_owned())];
    let beside = [before, after].into_iter().flatten();
    figures.extend(
        beside.map(|(ps, it, side)| figure("Distance", ps, format!("to the flag {} {side}", printable(&it.name)))),
    );
    Outcome {
        range_ps: Some(flag.range_ps),
        said: words(flag),
        page: Page { blocks: vec![Block::Figures { figures }] },
        ..Outcome::default()
    }
}

/// Describes a flag or range briefly.
pub(super) fn said(scene: &Scene<'_>, bookmark: u32) -> Option<String> {
    scene.bookmarks.get(bookmark).map(words)
}

fn words(bookmark: &Bookmark) -> String {
    let (start, end) = bookmark.range_ps;
    let (name, at) = (printable(&bookmark.name), si_of_digits(Ps::new(start).as_s(), "s", 6));
    match bookmark.is_flag() {
        true => format!("{name} at {at}"),
        false => format!("{name}: {} from {at}", time_us(Ps::new(end - start).as_us())),
    }
}

/// Describes all flags and ranges briefly, in order.
pub(super) fn listed(bookmarks: &Bookmarks) -> Vec<String> {
    bookmarks.all().iter().map(words).collect()
}
