//! Fuzzes gzip, zip and tar archives, from reading to all outputs.

#![no_main]

use fuzzing::{Format, drive};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    drive::drive(Format::Archives, bytes).unwrap();
});
