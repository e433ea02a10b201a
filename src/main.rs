//! The command line: see `crossprof::cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(crossprof::cli::run(std::env::args_os()))
}
