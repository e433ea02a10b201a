//! A compiled program with its buffer assignment, as a file by itself, through everything.

#![no_main]

use fuzzing::{Format, drive};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    drive::drive(Format::HloDump, bytes).unwrap();
});
