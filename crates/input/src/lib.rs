//! Turns the bytes of files into traces. The format of a file is detected from its content, and never from its name
//! alone.
//!
//! ```text
//!  bytes --> unpack (gzip, zip, tar) --> decoder (sniff) --> chrome_json | xplane | profile_json | model_config
//! ```
//!
//! Callers push chunks of any size to both stages (unpacking and decoding). The stages can run on different threads.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod archive;
mod arguments;
mod chrome_json;
mod decoder;
mod gzip;
mod inflate;
mod lake_trends;
mod log;
mod model_config;
pub mod plan;
mod profile_json;
mod report_html;
mod sniff;
mod unpack;
mod watch;
mod xplane;

pub use arguments::{ArgumentsReader, NOT_FOUND};
pub use chrome_json::ChromeJsonDecoder;
pub use decoder::{Decoded, Decoder};
pub use lake_trends::read_lake_trends;
pub use model_config::{SIDECAR_FIELDS, Sidecar, read_sidecar};
pub use profile_json::NamedProfile;
pub use sniff::{Format, sniff};
pub use unpack::{Unpacked, Unpacker};
pub use watch::EventArguments;
pub use xplane::{Outline, Outliner, XPlaneDecoder};

#[cfg(test)]
mod registry_tests;
