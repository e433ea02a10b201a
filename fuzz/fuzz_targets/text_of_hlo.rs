//! Fuzzes a compiled program as text with its buffer assignment, from reading to all outputs.

#![no_main]

use fuzzing::{Format, drive};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    drive::drive(Format::HloText, bytes).unwrap();
});
