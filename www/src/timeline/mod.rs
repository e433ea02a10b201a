//! The timeline on the screen. The worker that holds the events draws; here is what is in sight, and what the hand does with it.
//!
//! ```text
//! key, wheel, pointer --> Surface (what is to be seen) -- FrameRequest --> analyst
//!                            |  the last picture, scaled meanwhile           |
//!                         canvas <--------------- two bitmaps ---------------+
//! ```
//!
//! One request is under way at most; whatever changes meanwhile is drawn when it is answered. Until then the page moves and scales the
//! picture that it has.

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
