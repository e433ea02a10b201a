//! Statistics, caches and labels that several measurements use.

pub(crate) mod cache;
pub(crate) mod civil;
pub(crate) mod histogram;
pub(crate) mod labels;
pub(crate) mod questions;
pub(crate) mod statistics;
