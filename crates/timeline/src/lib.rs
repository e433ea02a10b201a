//! The timeline of a run: every event in its place, at any zoom, and exact sums over any range. Pure geometry: it draws nothing by
//! itself and knows no screen.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod arrangement;
mod bookmark_marks;
mod bookmarks;
mod canvas;
mod coverage;
mod derived;
mod document;
mod find;
mod flows;
mod hit;
mod labels;
mod lane;
mod lane_painter;
mod lanes;
mod layout;
mod lines;
mod links;
mod nesting;
mod order;
mod paint;
mod picture;
mod raster;
mod scene;
mod scopes;
mod source;
mod stage;
pub mod statistics;
mod step_range;
mod strip;
mod svg;
mod ticks;
mod timeline;
mod tracks;
mod viewport;
mod walk;

pub use arrangement::{Arrangement, turn};
pub use bookmarks::{Bookmark, Bookmarks};
pub use canvas::{Arrow, Canvas, Rect, TextStyle};
pub use coverage::{Columns, Mark, for_each_mark};
pub use document::Document;
pub use find::Found;
pub use flows::MOST_ARROWS;
pub use hit::{Hit, SNAP};
pub use lane::Lane;
pub use lanes::Lanes;
pub use layout::{Layout, Row, RowContent};
pub use lines::{chosen_lines, line_labels, process_name};
pub use links::{LinkKind, Linked, Links};
pub use nesting::{Nesting, Place};
pub use paint::{Change, Paint, Rgb};
pub use raster::{Lettering, Raster};
pub use scene::{AXIS_HEIGHT, EventRef, Scene};
pub use scopes::{Flame, Scopes};
pub use source::{Origin, Source};
pub use stage::{Sight, Stage};
pub use step_range::{median_step, step_range};
pub use strip::Strip;
pub use svg::Svg;
pub use ticks::{Tick, ticks};
pub use timeline::{Timeline, extent};
pub use tracks::{Process, Shows, Track, TrackId};
pub use viewport::Viewport;
pub use walk::Step;
