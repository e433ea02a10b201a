//! The timeline view. The worker that owns the events draws the picture. This module keeps the visible range and
//! handles input.
//!
//! ```text
//! key, wheel, pointer --> Surface (visible range) -- FrameRequest --> analyst
//!                            |  last picture, scaled meanwhile           |
//!                          canvas <--------- two bitmaps ----------------+
//! ```
//!
//! At most one request is pending. Changes during that time are drawn after its response. Until then, the page moves
//! and scales the last picture.

pub mod bar;
mod beside;
mod hand;
mod keyboard;
mod motion;
mod pane;
mod perfetto;
mod pointer;
mod surface;

pub use beside::{BESIDE, Beside};
pub use pane::{Details, Pane};
pub use surface::{Area, Said, Surface, interval, put};
