//! `cargo xtask test`: runs every check under its own heading, and prints a summary at the end.
//!
//! ```text
//! this process    fmt  prose  clippy  native  notices  fuzz  doc  | waits |  clippy-wasm  size  browser  end2end  browsers
//! second process  build  python -------------------------------------'
//! ```
//!
//! The checks of the second process mostly use one core, because they link. It runs only if no checks are named.

mod checks;
mod real;
mod second;

use crate::Result;
use std::time::Instant;

/// Parsed command line.
struct Request {
    /// Names of checks. Empty if all checks run.
    checks: Vec<String>,
    /// True if a skipped test is treated as a failure.
    require_traces: bool,
}

impl Request {
    fn read(words: &[String]) -> Result<Request> {
        let (options, checks): (Vec<_>, Vec<_>) = words.iter().cloned().partition(|word| word.starts_with("--"));
        if let Some(option) = options.iter().find(|option| *option != "--require-traces") {
            return Err(format!("There is no option {option:?}; there is --require-traces."));
        }
        let known: Vec<&str> = checks::ALL.iter().chain(checks::ON_REQUEST).map(|check| check.name).collect();
        if let Some(word) = checks.iter().find(|word| !known.contains(&word.as_str())) {
            return Err(format!("There is no check {word:?}; there are: {}.", known.join(", ")));
        }
        Ok(Request { checks, require_traces: !options.is_empty() })
    }
}

/// `cargo xtask test [--require-traces] [CHECK...]`
pub(crate) fn command(words: &[String]) -> Result {
    let request = Request::read(words)?;
    let mut run =
        checks::Run { real: real::Profiles::find(request.require_traces), skipped: Vec::new(), absent: Vec::new() };
    let mut lines = Vec::new();
    // Lines of the summary of the second process.
    let mut others: Vec<String> = Vec::new();
    let (mut passed, mut failed) = (0, 0);
    let is_named = |check: &&checks::Check| request.checks.iter().any(|word| word == check.name);
    let all = checks::ALL.iter().filter(|check| request.checks.is_empty() || is_named(check));
    let mut second = if request.checks.is_empty() { Some(second::Process::start()?) } else { None };
    for check in all.chain(checks::ON_REQUEST.iter().filter(is_named)) {
        if let Some(process) = second.take_if(|_| second::CHECKS.contains(&check.name)) {
            let seconds = process.started.elapsed().as_secs_f64();
            eprintln!("\n=== {}: started {seconds:.0} s ago in a second process ===", second::CHECKS.join(", "));
            others = process.wait()?;
        }
        if let Some(line) = others.iter().find(|line| line.split_whitespace().next() == Some(check.name)) {
            let has_passed = line.ends_with("  passed");
            (passed, failed) = (passed + usize::from(has_passed), failed + usize::from(!has_passed));
            lines.push(line.clone());
            continue;
        }
        eprintln!("\n=== {}: {} ===", check.name, check.what);
        let start = Instant::now();
        let outcome = (check.run)(&mut run);
        let seconds = start.elapsed().as_secs_f64();
        let verdict = match outcome {
            Ok(()) => {
                passed += 1;
                "passed".to_owned()
            }
            Err(message) => {
                failed += 1;
                eprintln!("error: {message}");
                format!("FAILED: {}", message.lines().next().unwrap_or_default())
            }
        };
        lines.push(format!("{:<12} {seconds:>7.1} s  {verdict}", check.name));
    }
    println!("\n=== summary ===");
    for line in lines {
        println!("{line}");
    }
    print!("{}", run.real.notice(&run.skipped));
    for browser in &run.absent {
        println!("SKIPPED: the page was not tried in {browser}");
    }
    println!("{passed} checks passed, {failed} failed, {} tests skipped", run.skipped.len());
    if failed == 0 { Ok(()) } else { Err("A check failed.".into()) }
}

#[cfg(test)]
mod tests {
    use super::Request;

    fn read(words: &[&str]) -> Result<Request, String> {
        Request::read(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn checks_on_request_can_be_named() {
        assert_eq!(read(&["engines"]).unwrap().checks, ["engines"]);
        assert!(!super::checks::ALL.iter().any(|check| check.name == "engines"));
    }

    #[test]
    fn checks_and_the_option_stand_in_any_order() {
        let request = read(&["native", "--require-traces", "doc"]).unwrap();
        assert_eq!((request.checks, request.require_traces), (vec!["native".to_owned(), "doc".to_owned()], true));
        let request = read(&[]).unwrap();
        assert_eq!((request.checks.len(), request.require_traces), (0, false));
        assert!(read(&["--require-trace"]).err().unwrap().contains("--require-traces"));
        assert!(read(&["nativ"]).err().unwrap().contains("native"));
    }
}
