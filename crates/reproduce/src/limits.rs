//! Limits that keep scripts small, even for absurd programs.

/// Maximum number of instructions in a script.
pub(crate) const INSTRUCTIONS: usize = 20_000;

/// Maximum depth of nested computations and tuples.
pub(crate) const DEPTH: usize = 64;

/// Maximum number of devices in a mesh.
pub(crate) const DEVICES: usize = 4_096;
