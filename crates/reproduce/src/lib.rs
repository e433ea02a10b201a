//! Standalone JAX scripts that reproduce one op of a compiled program.
//!
//! ```text
//! instruction -> operands     shapes, types and layouts; constants of the program keep their values
//!             -> functions    one Python function per called computation, one `jax.lax` call per instruction
//!             -> mesh         devices of collectives, from their replica groups
//!             -> script       head comment, operands, check of the result, measurement
//! ```
//!
//! Text from a program never becomes code: names become identifiers of letters, digits and underscores, and the head
//! comment has no control characters.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod functions;
mod head;
mod layout;
mod limits;
mod mesh;
mod names;
mod operands;
mod ops;
mod python;
mod script;
mod unsupported;

#[cfg(test)]
mod tests;

pub use head::Measured;
pub use script::script;
pub use unsupported::Unsupported;
