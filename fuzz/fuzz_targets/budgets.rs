//! Fuzzes budgets, which are checked against a profile.

#![no_main]

use fuzzing::{Format, drive};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    drive::drive(Format::Budgets, bytes).unwrap();
});
