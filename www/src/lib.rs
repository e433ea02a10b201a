//! The screen of crossprof: everything that touches the browser, and nothing that measures.
//!
//! Components are skins over pure values. The pure parts (`route`, `status`, `headline`, `model`, `table`, `plot`, the
//! key map, the grouping of files, what is asked and not yet answered) are tested natively; the rest runs in the browser's tests.

pub mod app;
pub mod ask;
pub mod blocks;
pub mod boot;
pub mod browser;
pub mod client;
pub mod components;
pub mod connection;
pub mod deputy;
pub mod files;
pub mod keys;
pub mod model;
pub mod pages;
pub mod plot;
pub mod pool;
pub mod profile;
pub mod protocol;
pub mod route;
pub mod state;
pub mod table;
pub mod teams;
pub mod theme;
pub mod timeline;
pub mod worker;
