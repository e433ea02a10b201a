//! crossprof analyses JAX profiles from TPUs, GPUs and CPUs.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod error;
pub mod export;
pub mod facts;
pub mod format;
pub mod input;
pub mod metrics;
pub mod report;
pub mod session;
pub mod trace;
pub mod units;
pub mod warning;
