//! Content of tables: values as text, sorting after a click, visible rows, and filters. This module does not access the
//! browser.

pub mod cell;
pub mod completion;
pub mod order;
pub mod terms;
pub mod window;
