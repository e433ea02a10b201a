//! Measurements of ops, kernels, copies and collectives.

pub(crate) mod categories;
pub(crate) mod collectives;
pub(crate) mod copies;
pub(crate) mod experts;
pub(crate) mod kernel_stats;
pub(crate) mod kernels;
pub(crate) mod layers;
pub(crate) mod megascale;
pub(crate) mod ops;
pub(crate) mod placement;
pub mod roofline;
pub(crate) mod transfers;
