//! Parts of the unified profile that describe the capture and its missing data.

pub(crate) mod document;
pub(crate) mod framework;
pub(crate) mod metadata;
pub(crate) mod missing;
pub(crate) mod not_measured;
pub(crate) mod unrecorded;
