//! crossprof analyses JAX profiles from TPUs, GPUs and CPUs. The library takes the bytes of a profile and returns one
//! unified profile per run.
//!
//! ```
//! use crossprof::{Session, Settings};
//!
//! let trace = br#"{"traceEvents":[
//!   {"ph":"M","pid":3,"name":"process_name","args":{"name":"/device:TPU:0"}},
//!   {"ph":"M","pid":3,"tid":1,"name":"thread_name","args":{"name":"XLA Ops"}},
//!   {"ph":"X","pid":3,"tid":1,"ts":0,"dur":60,"name":"fusion.1"},
//!   {"ph":"X","pid":3,"tid":1,"ts":80,"dur":20,"name":"copy.2"},
//!   {}]}"#;
//!
//! let mut session = Session::new();
//! let file = session.begin("demo.trace.json", Some(trace.len() as u64));
//! for chunk in trace.chunks(100) {
//!     session.push(file, chunk);
//! }
//! let result = session.finish(file);
//! assert_eq!((result.events, result.error), (2, None));
//!
//! for run in session.runs() {
//!     let report = session.report(run.index, &Settings::default()).unwrap();
//!     assert_eq!(report.metadata.platform, "TPU");
//!     // Busy 80 of 100 microseconds.
//!     assert_eq!(report.compute_utilization.unwrap().compute_util_percent, 80.0);
//! }
//! ```
//!
//! # Design constraints
//!
//! * The library takes bytes and returns values. The library accesses no clock, file, network or browser. The command
//!   line, the web worker and the tests are thin adapters around [`Session`].
//! * Callers push input in chunks of any size. The same bytes always give the same report, bit for bit.
//! * Damage is not an error: the report contains all data that could be read, and [`Warning`]s record what was lost and
//!   where. The only [`Error`] is that a file is not a profile. No input causes a panic.
//!
//! Adapters use the modules [`session`], [`table`], [`document`], [`pages`], [`export`], [`timeline`], [`compare`],
//! [`report`] and [`text`].

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

// The façade that the page and the Python package use.
pub mod session;
pub use {compare, document, export, graph, pages, report, timeline};

/// The table engine, and the tables of a run.
pub mod table {
    pub use ::table::*;
    pub use tables::{AreaQuery, LineQuery, TableName};
}

/// Formats numbers, texts and JSON in the same way for every output.
pub mod text {
    pub use base::{fields, format, home, json, json_text, number, sort};
}

// The parts behind the facade, for the command line, the tests and the benchmark.
pub use base::{fields, format, home, json, json_text, number, sort};
#[cfg(feature = "cli")]
pub use budget;
pub use {expression, facts, hlo, input, insight, memory, metrics, run, tables, trace};

// Lets the command line refer to the library by its public name, as external code does.
#[cfg(feature = "cli")]
extern crate self as crossprof;

// The command line, without its `main`.
#[cfg(feature = "cli")]
pub mod cli;

pub use ::table::{Cell, Column, Query, Sort, Table, Unit};
pub use base::{Error, Ps, Severity, Warning, WarningCode};
pub use input::plan::{Candidate, FileKind, Plan, plan};
pub use input::{Unpacked, Unpacker};
pub use report::{Metric, ModelConfig, UnifiedProfile, metric};
pub use run::{Settings, WindowChoice};
pub use session::{FileId, FileResult, MemberResult, RunSummary, Session};
pub use tables::TableName;
