//! What a run looks like: tables, pages and documents as values.

pub mod export;
pub mod pages;
pub mod table;
pub mod tables;
pub mod views;
