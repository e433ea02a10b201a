//! The timeline of a run: every event in its place, at any zoom level, and exact sums over any range. The crate
//! computes geometry and draws on an abstract canvas, so it does not depend on a screen.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

pub mod statistics;

mod draw;
mod events;
mod state;
mod surface;

pub use draw::document::Document;
pub use draw::flows::MOST_ARROWS;
pub use draw::hit::{Hit, SNAP};
pub use draw::labels::fitting;
pub use draw::layout::{Layout, Row, RowContent};
pub use draw::paint::{Change, Paint, Rgb};
pub use draw::scene::{AXIS_HEIGHT, EventRef, Scene};
pub use draw::stage::{Sight, Stage};
pub use draw::step_picture::{MarkName, StepLane, StepMark, StepPicture};
pub use draw::strip::Strip;
pub use draw::ticks::{Tick, ticks};
pub use events::coverage::{Columns, Mark, for_each_mark};
pub use events::find::Found;
pub use events::lane::Lane;
pub use events::lanes::Lanes;
pub use events::lines::{NoLine, chosen_lines, line_labels, process_name};
pub use events::links::{LinkKind, Linked, Links};
pub use events::nesting::{Nesting, Place};
pub use events::scopes::{Flame, Scopes};
pub use events::source::{Origin, Source};
pub use events::step_range::{median_step, step_range};
pub use events::timeline::{Timeline, extent};
pub use events::tracks::{Process, Shows, Track, TrackId};
pub use events::walk::Step;
pub use state::arrangement::{Arrangement, turn};
pub use state::bookmarks::{Bookmark, Bookmarks};
pub use state::viewport::Viewport;
pub use surface::canvas::{Arrow, Canvas, Rect, TextStyle};
pub use surface::raster::{Lettering, Raster};
pub use surface::svg::Svg;
