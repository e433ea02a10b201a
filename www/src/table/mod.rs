//! What a table shows: its values as texts, the order after a click, which rows lie in the window. Pure values.

pub mod cell;
pub mod completion;
pub mod order;
pub mod terms;
pub mod window;
