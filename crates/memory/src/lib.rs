//! Use of a device's memory: the buffers of a compiled program, with their lifetimes and purposes.
//!
//! ```text
//! xla.HloProto (bytes) + hlo::Module -> Assignment        buffers, allocations, heap traces as the file has them
//!                                          |-> ProgramMemory       peak and totals of each memory space
//!                                          |     '-> Heap          bytes over program order, lifetimes of buffers
//!                                          |-> xla_peak            the peak that XLA itself reports
//!                                          '-> Classifier          parameter, activation, output, ...
//! ```
//!
//! [`HeapProfile`] is a device memory profile (pprof). [`allocator`] contains the events that allocators report while a
//! program runs. [`Recorded`] combines all of these for a run.
//!
//! Messages are decoded one at a time with `prost`, on demand. So damage affects only one buffer, allocation or
//! event, and is counted in [`Problems`].

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

pub mod allocator;
mod assignment;
mod blocks;
mod class;
mod donation;
mod heap;
mod heap_profile;
mod messages;
mod oom;
mod paths;
mod peak;
mod problems;
mod program;
mod program_use;
mod proto;
mod recorded;
mod references;
mod share;
mod space;
mod summary;
mod text;
mod tiling;
mod unpadded;
mod what_if;
mod xla_peak;

pub use assignment::{Allocation, Assignment, Buffer, BufferIndex, Category, HeapEvent, HeapEventKind, HeapTrace};
pub use blocks::{Block, blocks};
pub use class::{Class, Classification, Classifier, Confidence};
pub use donation::{UnsharedArgument, unshared_arguments};
pub use heap::{Heap, HeapPoint, Lifetime};
pub use heap_profile::{Frame, FrameIndex, HeapKey, HeapProfile, HeapSample, HeapSum, HeapSums};
pub use oom::{Figures, ListedBuffer, OutOfMemory, Padded};
pub use peak::PeakBuffer;
pub use problems::{Problem, Problems};
pub use program::{LiveBuffer, ProgramMemory, SpaceMemory};
pub use program_use::{ProgramUse, Replicated, buffer_groups, memory_classes, program_uses};
pub use recorded::{Recorded, RecordedProgram};
pub use share::share;
pub use space::{MAIN, space_name};
pub use summary::{BufferGroup, ClassSum, PaddedShape, ScopeSum, Summary};
pub use tiling::{Reshaped, better_shape, tiled_bytes};
pub use what_if::{Change, ChangeError, Taken, WhatIf};
pub use xla_peak::xla_peak;

#[cfg(test)]
mod test_program;
#[cfg(test)]
mod tests;
