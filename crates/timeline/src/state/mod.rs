//! The user's choices: order of the tracks, bookmarks, the visible range.

pub(crate) mod arrangement;
pub(crate) mod bookmarks;
pub(crate) mod viewport;
