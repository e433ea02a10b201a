//! Findings: which rules fire on real profiles, the limits of each rule, and whether rules, files and docs/findings.md refer
//! to each other.

mod impossible;
mod links;
mod memory;
mod not_checked;
mod real;
mod registry;
mod runs;
mod thresholds;
mod thresholds_of_ops;
