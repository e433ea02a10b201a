//! The events of a run, in lanes and tracks: their order and nesting, search, and navigation.

pub(crate) mod coverage;
pub(crate) mod derived;
pub(crate) mod find;
pub(crate) mod lane;
pub(crate) mod lanes;
pub(crate) mod lines;
pub(crate) mod links;
pub(crate) mod nesting;
pub(crate) mod scopes;
pub(crate) mod search;
pub(crate) mod source;
pub(crate) mod step_range;
pub(crate) mod timeline;
pub(crate) mod tracks;
pub(crate) mod walk;
