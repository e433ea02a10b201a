//! Graphs of compiled programs, from the neighbourhood of one op to a whole module.
//!
//! ```text
//! Module --selection--> Selection --tree--> Tree --visible--> Visible --drawing--> Drawing --svg--> picture
//!            |              |                 |                  |
//!   neighbourhood or     names of         groups by scope    nodes and edges of the opened
//!   computation          instructions     or computation     groups, with times
//! ```
//!
//! Every step is iterative and ends on cyclic or damaged modules.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod class;
mod concrete;
mod critical;
mod dot;
mod drawing;
mod flow;
pub mod layout;
mod listing;
pub mod model_explorer;
mod numbers;
mod opening;
mod picture;
mod program;
mod scope;
mod selection;
mod source;
mod svg;
mod tree;
mod visible;

pub use class::Class;
pub use critical::{CriticalPath, critical_path};
pub use dot::dot;
pub use drawing::{Drawing, Drawn, draw};
pub use flow::{Choices, Users};
pub use listing::{Listing, Row, RowLink};
pub use numbers::{Measured, Numbers};
pub use opening::{Opens, open};
pub use picture::{Look, Picture, PictureEdge, PictureNode};
pub use program::{Details, Format, Match, Program};
pub use selection::{Omitted, Selection, neighbourhood, whole};
pub use source::{Grouping, Source};
pub use svg::{path, svg};
pub use tree::{MOST_CHILDREN, Tree};
pub use visible::{Edge, Node, Visible};
