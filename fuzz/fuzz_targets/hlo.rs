//! Fuzzes a compiled module embedded in an xplane file, from reading to all outputs.

#![no_main]

use fuzzing::{Format, drive};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    drive::drive(Format::Hlo, bytes).unwrap();
});
