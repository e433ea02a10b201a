//! Tests which rules fire on real profiles, and the references between rules, files and docs/findings.md.

mod advice;
mod document;
mod impossible;
mod links;
mod memory;
mod not_checked;
mod real;
mod registry;
mod runs;
