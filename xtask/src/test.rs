//! `cargo xtask test`: every check, each under its heading, with a count at the end.

mod checks;

use crate::Result;
use std::time::Instant;

/// `cargo xtask test [CHECK...]`
pub fn command(words: &[String]) -> Result {
    let known: Vec<&str> = checks::ALL.iter().map(|check| check.name).collect();
    if let Some(word) = words.iter().find(|word| !known.contains(&word.as_str())) {
        return Err(format!("There is no check {word:?}; there are: {}.", known.join(", ")));
    }
    let mut lines = Vec::new();
    let (mut passed, mut failed) = (0, 0);
    for check in checks::ALL {
        if !words.is_empty() && !words.iter().any(|word| word == check.name) {
            continue;
        }
        eprintln!("\n=== {}: {} ===", check.name, check.what);
        let start = Instant::now();
        let outcome = (check.run)();
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
    println!("{passed} passed, {failed} failed");
    if failed == 0 { Ok(()) } else { Err("A check failed.".into()) }
}
