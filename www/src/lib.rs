//! The web page of crossprof. This crate contains all code that uses the browser, and no analysis.
//!
//! Components render plain values. The parts without browser access (`route`, `model`, `table`, `plot`, the key map and
//! the pending requests) have native unit tests. Browser tests cover all other code.

pub mod app;
pub mod ask;
pub mod blocks;
pub mod boot;
pub mod browser;
pub mod client;
pub mod components;
pub mod connection;
pub mod files;
pub mod graph;
pub mod keys;
pub mod model;
pub mod pages;
pub mod plot;
pub mod pool;
pub mod profile;
pub mod programs;
pub mod protocol;
pub mod route;
pub mod second_analyst;
pub mod state;
pub mod table;
pub mod teams;
pub mod theme;
pub mod timeline;
pub mod worker;
