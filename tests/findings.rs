//! Findings: which rules fire on real profiles and which do not, where each rule's limits are, and that rules, files and
//! docs/findings.md name each other.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod support;

#[path = "findings/impossible.rs"]
mod impossible;
#[path = "findings/links.rs"]
mod links;
#[path = "findings/memory.rs"]
mod memory;
#[path = "findings/not_checked.rs"]
mod not_checked;
#[path = "findings/real.rs"]
mod real;
#[path = "findings/registry.rs"]
mod registry;
#[path = "findings/runs.rs"]
mod runs;
#[path = "findings/thresholds.rs"]
mod thresholds;
#[path = "findings/thresholds_of_ops.rs"]
mod thresholds_of_ops;
