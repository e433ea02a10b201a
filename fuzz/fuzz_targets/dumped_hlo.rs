//! Fuzzes a compiled program with its buffer assignment in a file of its own, from reading to all outputs.

#![no_main]

use fuzzing::{Format, drive};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    drive::drive(Format::HloDump, bytes).unwrap();
});
