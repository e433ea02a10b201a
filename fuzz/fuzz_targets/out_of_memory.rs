//! The text of an out-of-memory error through everything.

#![no_main]

use fuzzing::{Format, drive};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    drive::drive(Format::OutOfMemory, bytes).unwrap();
});
