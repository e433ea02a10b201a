//! The command line.

use std::path::PathBuf;

use crate::Result;

/// Default duration of a run.
const SECONDS: u64 = 60;

/// A command of this program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Mutates samples and drives cases until the time limit.
    Run,
    /// Drives saved cases.
    Replay(Vec<PathBuf>),
    /// Writes the samples into a folder, with one subfolder per format.
    WriteCorpus(PathBuf),
    /// Drives a sequence of cases. Used only in child processes.
    Cases {
        /// Folder that contains the samples.
        corpus: PathBuf,
        /// Number of the first case.
        first: u64,
        /// Difference between the numbers of successive cases.
        step: u64,
    },
    /// Drives one saved case. Used only in child processes.
    Case(PathBuf),
}

/// Parsed command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub command: Command,
    /// Duration of a run.
    pub seconds: u64,
    /// Seed that determines the cases.
    pub seed: u64,
}

impl Options {
    /// Parses the arguments of a command line.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Options> {
        let mut options = Options { command: Command::Run, seconds: SECONDS, seed: 1 };
        let (mut first, mut step, mut corpus) = (0, 1, None);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value."));
            let number = |text: String| text.parse::<u64>().map_err(|_| format!("{text:?} is not a whole number."));
            match word.as_str() {
                "--seconds" => options.seconds = number(value()?)?,
                "--seed" => options.seed = number(value()?)?,
                "--first" => first = number(value()?)?,
                "--step" => step = number(value()?)?.max(1),
                "--write-corpus" => options.command = Command::WriteCorpus(value()?.into()),
                "--cases" => corpus = Some(value()?.into()),
                "--case" => options.command = Command::Case(value()?.into()),
                "--replay" => {
                    let mut files = vec![PathBuf::from(value()?)];
                    files.extend(words.by_ref().map(PathBuf::from));
                    options.command = Command::Replay(files);
                }
                _ => return Err(format!("`fuzz` has no option {word:?}.")),
            }
        }
        if let Some(corpus) = corpus {
            options.command = Command::Cases { corpus, first, step };
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_are_read() {
        assert_eq!(parse(""), Ok(Options { command: Command::Run, seconds: SECONDS, seed: 1 }));
        let command = Command::Cases { corpus: "c".into(), first: 3, step: 2 };
        assert_eq!(parse("--cases c --seed 7 --first 3 --step 2"), Ok(Options { command, seconds: SECONDS, seed: 7 }));
        assert_eq!(parse("--replay a b").unwrap().command, Command::Replay(vec!["a".into(), "b".into()]));
        assert!(parse("--seconds").is_err() && parse("--seed x").is_err() && parse("--other").is_err());
    }
}
