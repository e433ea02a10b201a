//! The command line: see `cli`.

fn main() {}
