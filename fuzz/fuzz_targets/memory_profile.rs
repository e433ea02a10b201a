//! A device memory profile through everything.

#![no_main]

use fuzzing::{Format, drive};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    drive::drive(Format::MemoryProfile, bytes).unwrap();
});
