//! Draws the visible part of a timeline: layout, marks, labels, colours.

pub(crate) mod bookmark_marks;
pub(crate) mod document;
pub(crate) mod flows;
pub(crate) mod hit;
pub(crate) mod labels;
pub(crate) mod lane_painter;
pub(crate) mod layout;
pub(crate) mod paint;
pub(crate) mod picture;
pub(crate) mod scene;
pub(crate) mod stage;
pub(crate) mod step_picture;
pub(crate) mod strip;
pub(crate) mod ticks;
