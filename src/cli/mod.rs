//! The native command line: a thin adapter around [`crate::Session`] that reads files, shows progress and prints results.
//! [`open`] serves programs that show the results themselves.
//!
//! Standard output contains only the result. Standard error contains errors, warnings and progress.
//!
//! Errors in these modules are sentences (`String`) that name the file or option. Such sentences are only printed, and
//! always lead to the same exit status. If the caller must choose an exit status, an option or a remedy, the library
//! returns an enum instead of a sentence.

mod agent;
mod analyze;
mod area;
mod args;
mod arguments;
mod baseline;
mod check;
mod colour;
mod compare;
mod digest;
mod hlo;
mod in_order;
mod input;
mod load;
#[cfg(feature = "mcp")]
mod mcp;
pub mod open;
mod output;
mod output_format;
mod progress;
mod sidecars;
mod skill;
mod table;
mod time;
mod timeline;
#[cfg(feature = "view")]
mod view;

use std::ffi::OsString;
use std::io::{ErrorKind, Write};

use clap::{CommandFactory, FromArgMatches};
use crossprof::format::{printable, shorten};

use args::{Args, Command, Completions};

/// Exit status if all files were read.
const READ: u8 = 0;
/// Exit status if the files were read, but some are damaged.
const DAMAGED: u8 = 1;
/// Exit status if a file is not a profile, or if the arguments are wrong.
const FAILED: u8 = 2;

/// Exit status if a finding has the severity of `--fail-on`, or if a condition of `--fail-on` is met.
const FOUND: u8 = 3;

/// Licences of the software in this program, written by `cargo xtask notices`.
const NOTICES: &str = include_str!("../../docs/third-party-notices.txt");

/// Runs the command line and returns its exit status. The first argument is the program's own name.
pub fn run(arguments: impl Iterator<Item = OsString>) -> u8 {
    run_with(arguments, &[])
}

/// Runs the command line like [`run()`]. `others` are commands that the caller implements, each with its help text. Help
/// lists these commands, and shells complete them.
pub fn run_with(arguments: impl Iterator<Item = OsString>, others: &[(&'static str, &'static str)]) -> u8 {
    let command = others
        .iter()
        .fold(Args::command(), |command, &(name, help)| command.subcommand(clap::Command::new(name).about(help)));
    let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    let arguments = match args::with_default_command(arguments, &names) {
        Ok(arguments) => arguments,
        Err(message) => {
            complain(&message);
            return FAILED;
        }
    };
    let parsed = command.clone().try_get_matches_from(arguments);
    let arguments = match parsed.and_then(|matches| Args::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(message) => {
            // Help and version are results. Everything else is a usage error.
            if message.use_stderr() {
                wrong_call(&message);
                return FAILED;
            }
            return printed(message.print(), READ);
        }
    };
    match arguments.command {
        Command::Analyze(command) => analyze::run(&command),
        Command::Table(command) => table::run(&command),
        Command::Check(command) => check::run(&command),
        Command::Compare(command) => compare::run(&command),
        Command::Timeline(command) => timeline::run(&command),
        Command::Hlo(command) => hlo::run(&command),
        #[cfg(feature = "view")]
        Command::View(command) => view::run(&command),
        Command::Digest(command) => digest::run(&command),
        Command::Inspect(command) => digest::inspect(&command),
        Command::Ask(command) => digest::ask(&command),
        Command::Baseline(command) => baseline::run(&command),
        Command::Skill(command) => skill::run(&command),
        #[cfg(feature = "mcp")]
        Command::Mcp(command) => mcp::run(&command),
        Command::Schema(command) => {
            let schema = match command.document {
                args::Document::Digest => crossprof::export::digest::schema(),
                args::Document::Profile => crossprof::export::json::schema(),
                args::Document::Comparison => crossprof::export::comparison::schema(),
            };
            print_result(schema, READ)
        }
        Command::Completions(Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command.clone(), "crossprof", &mut script);
            print_result(&String::from_utf8_lossy(&script), READ)
        }
        Command::Notices => print_result(NOTICES, READ),
    }
}

/// Writes a text to standard output, in colour if wanted, and returns the exit status.
fn print_text(text: &str, status: u8) -> u8 {
    if colour::is_wanted() { print_result(&colour::coloured(text), status) } else { print_result(text, status) }
}

/// Writes a result to standard output. Returns `status`, or the exit status of a failure. It is not a failure if the reader
/// stops early (`| head`).
fn print_result(text: &str, status: u8) -> u8 {
    printed(std::io::stdout().lock().write_all(text.as_bytes()), status)
}

fn printed(written: std::io::Result<()>, status: u8) -> u8 {
    match written.and_then(|()| std::io::stdout().flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            complain(&format!("The result cannot be written to standard output: {error}"));
            FAILED
        }
        _ => status,
    }
}

/// Writes a message to standard error.
fn complain(message: &str) {
    let _ = writeln!(std::io::stderr().lock(), "crossprof: {}", bounded(&printable(message)));
}

/// Prints a usage error.
fn wrong_call(message: &clap::Error) {
    let text = message.render().to_string();
    let lines: Vec<String> = text.lines().map(bounded).collect();
    if lines.iter().map(String::as_str).eq(text.lines()) {
        // Lets clap add its colours.
        let _ = message.print();
    } else {
        let _ = writeln!(std::io::stderr().lock(), "{}", lines.join("\n"));
    }
}

/// Shortens a line for the terminal. Messages quote arguments and file contents, which can have any length.
fn bounded(line: &str) -> String {
    const LONGEST_WORD: usize = 400;
    const LONGEST_LINE: usize = 2_000;
    let is_long = |word: &str| word.chars().count() > LONGEST_WORD;
    let words = line.split(' ').map(|word| if is_long(word) { shorten(word, 160) } else { word.to_owned() });
    shorten(&words.collect::<Vec<_>>().join(" "), LONGEST_LINE)
}
