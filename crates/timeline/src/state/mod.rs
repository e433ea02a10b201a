//! The user's choices in a timeline: the order of the tracks, bookmarks, and the visible range.

pub(crate) mod arrangement;
pub(crate) mod bookmarks;
pub(crate) mod viewport;
