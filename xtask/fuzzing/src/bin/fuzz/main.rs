//! The program that `cargo xtask fuzz` runs. The program is built with overflow checks.
//!
//! ```text
//! run      mutates samples until its time is over ── starts ──> cases    one process per core, limited in memory,
//! replay   drives kept cases again                ── starts ──> case     ended when a case takes too long
//! corpus   writes the samples
//! ```

mod cases;
mod child;
mod options;
mod replay;
mod run;

use std::process::ExitCode;

use fuzzing::corpus;

use options::{Command, Options};

/// Result of every command. The error is a message for the user.
type Result<T = ()> = std::result::Result<T, String>;

fn main() -> ExitCode {
    let outcome = Options::parse(std::env::args().skip(1)).and_then(|options| match &options.command {
        Command::Run => run::run(&options),
        Command::Replay(files) => replay::replay(files),
        Command::WriteCorpus(folder) => cases::write_corpus(folder, &corpus::all()?),
        Command::Cases { corpus, first, step } => {
            cases::cases(&cases::read_corpus(corpus)?, options.seed, *first, *step)
        }
        Command::Case(file) => cases::drive_file(file),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
