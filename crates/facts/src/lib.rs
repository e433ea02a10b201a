//! Tables of facts with their sources: devices, kernel families, categories, host spans, tensor cores, model presets.
//!
//! Each table is a CSV file with a source column. A module of the same name loads the table and offers functions that
//! query it (`accelerators::is`, `devices::all`). Names of products, kernels and spans belong in these tables and not
//! in the code that measures.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

pub mod accelerators;
mod arithmetic;
mod checkpoint_spans;
pub mod devices;
mod frameworks;
pub mod gpu_rates;
pub mod hlo_categories;
pub mod host_callbacks;
pub mod host_spans;
pub mod host_threads;
pub mod host_transfers;
pub mod input_stages;
pub mod kernel_families;
pub mod library_files;
pub mod meters;
pub mod model_presets;
pub mod module_graphs;
mod pattern;
mod program_spans;
pub mod python_waits;
mod serving_spans;
mod table;
pub mod tensor_cores;
pub mod tpu_units;

pub use arithmetic::{Arithmetic, Rates};
pub use checkpoint_spans::is_checkpoint;
pub use frameworks::{FrameworkClues, FrameworkEvidence};
pub use pattern::{Name, Pattern};
pub use program_spans::{ProgramActivity, program_activity};
pub use serving_spans::{FORWARD_PASS, ServedBatch, ServingPhase, marks_step};
