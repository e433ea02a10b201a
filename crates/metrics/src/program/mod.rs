//! Measurements of compiled programs: arguments, parameters, memory and compilation.

pub(crate) mod arguments;
pub(crate) mod autotuning;
pub(crate) mod compilation;
pub(crate) mod freezing;
pub mod memory_use;
pub(crate) mod parameters;
pub(crate) mod programs;
