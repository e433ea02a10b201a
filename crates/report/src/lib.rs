//! The unified profile: the document that the analysis writes and all other parts read.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod communication;
mod compared;
#[cfg(feature = "example")]
pub mod example;
mod experts;
mod findings;
mod framework;
mod goodput;
mod hardware;
mod host_activity;
mod hosts;
mod input_pipeline;
mod kernel_statistics;
mod lake_trends;
mod launches;
mod layer_freezing;
mod layers;
mod level;
mod megascale;
mod memory;
mod metric;
mod names;
mod op_statistics;
mod paths;
mod pipeline;
mod programs;
mod roofline;
mod sections;
mod serving;
mod step_breakdown;
mod step_ops;
mod tracing;
pub mod v1;
mod views;
mod vocabulary;
mod window;

pub use framework::{Framework, Words};
pub use lake_trends::{LakeCapture, LakeTrends, LakeVerdict, LakeWorkload};
pub use level::Level;
pub use metric::Metric;
pub use names::{Naming, distinct as distinct_names};
pub use paths::{methods as methods_of_paths, parts as parts_of_path};
pub use v1::*;
pub use views::View;
pub use vocabulary::{Platform, SourceFormat, UNKNOWN, WindowKind};
