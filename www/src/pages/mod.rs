//! The views. `blocks` renders all views that consist only of blocks. For each other view, there is a file with the
//! name that the view has in the URL.

pub mod blocks;
pub mod compare;
pub mod export;
pub mod graph;
pub mod model;
pub mod overview;
pub mod start;
pub mod timeline;
