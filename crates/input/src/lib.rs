//! Bytes in, traces out. Formats are told by content, never by file name alone.
//!
//! ```text
//!  bytes --> unpack (gzip, zip, tar) --> decoder (sniff) --> chrome_json | xplane | profile_json | model_config
//! ```
//!
//! Both stages are pushed chunks of any size and can run on different threads.

pub mod archive;
pub mod chrome_json;
pub mod decoder;
pub mod gzip;
pub mod inflate;
pub mod model_config;
pub mod plan;
pub mod profile_json;
pub mod report_html;
pub mod sniff;
pub mod unpack;
pub mod xplane;
