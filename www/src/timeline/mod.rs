//! The timeline view. The worker that owns the events draws the picture. This module stores the visible range and handles
//! input.
//!
//! ```text
//! key, wheel, pointer --> Surface (visible range) -- FrameRequest --> analyst
//!                            |  last picture, scaled meanwhile           |
//!                          canvas <--------- two bitmaps ----------------+
//! ```
//!
//! At most one request is pending. If the range changes while a request is pending, the page requests another picture
//! after the response. Until the new picture arrives, the page moves and scales the last picture.

pub mod bar;
pub mod beside;
mod hand;
mod keyboard;
mod motion;
pub mod pane;
mod perfetto;
mod pointer;
mod surface;

pub use beside::{BESIDE, Beside};
pub use pane::{Details, Pane};
pub use surface::{Area, Said, Surface, interval, put};
