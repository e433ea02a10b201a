//! Findings: which rules fire on real profiles, and whether rules, files and docs/findings.md refer to each other.

mod advice;
mod document;
mod impossible;
mod links;
mod memory;
mod not_checked;
mod real;
mod registry;
mod runs;
