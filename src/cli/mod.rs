//! The native tool: a thin adapter of [`crossprof::Session`] that reads files, shows progress and prints results.
//!
//! Standard output holds the result and nothing else; errors, warnings and progress go to standard error.

mod analyze;
mod args;
mod check;
mod compare;
mod load;
mod progress;
mod sidecars;
mod table;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};

/// The files were read.
const READ: u8 = 0;
/// They were read, and something in them was damaged.
const DAMAGED: u8 = 1;
/// A file is not a profile, or the call was wrong.
const FAILED: u8 = 2;

/// A finding fires that the call asked about.
const FOUND: u8 = 3;

/// Licences of what this program contains, made by `cargo xtask notices`.
const NOTICES: &str = include_str!("../../docs/third-party-notices.txt");

/// Runs the tool with the given arguments (the first is its own name).
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments = match Args::try_parse_from(args::with_default_command(arguments)) {
        Ok(arguments) => arguments,
        Err(message) => {
            // Help and version are results; anything else is a wrong call.
            let code = if message.use_stderr() { FAILED } else { READ };
            let _ = message.print();
            return ExitCode::from(code);
        }
    };
    let code = match arguments.command {
        Command::Analyze(command) => analyze::run(&command),
        Command::Table(command) => table::run(&command),
        Command::Check(command) => check::run(&command),
        Command::Compare(command) => compare::run(&command),
        Command::Schema(command) => {
            print_result(match command.document {
                args::Document::Profile => crossprof::export::json::schema(),
                args::Document::Comparison => crossprof::export::comparison::schema(),
            });
            READ
        }
        Command::Notices => {
            print_result(NOTICES);
            READ
        }
    };
    ExitCode::from(code)
}

/// Writes a result to standard output. A reader that stops early (`| head`) is no failure.
fn print_result(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// Writes a message for the person at the terminal.
fn complain(message: &str) {
    let _ = writeln!(std::io::stderr().lock(), "crossprof: {}", crossprof::format::printable(message));
}
