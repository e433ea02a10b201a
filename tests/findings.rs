//! Findings: which rules fire on real profiles and which do not, where each rule's limits are, and that rules, files and
//! docs/findings.md name each other.

mod impossible;
mod links;
mod memory;
mod not_checked;
mod real;
mod registry;
mod runs;
mod thresholds;
mod thresholds_of_ops;
