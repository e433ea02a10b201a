//! Time and peak memory of a program.

use crate::Result;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What one run of a program cost.
#[derive(Clone, Copy)]
pub struct Cost {
    pub seconds: f64,
    /// The largest resident set; `None` where the system does not tell.
    pub peak_bytes: Option<u64>,
}

/// Runs a program several times and returns the fastest run's time and the largest memory seen.
/// The fastest run is the one that other programs disturbed least.
pub fn best_of(runs: u32, mut command: impl FnMut() -> Command) -> Result<Cost> {
    let mut best: Option<Cost> = None;
    for _ in 0..runs {
        let cost = once(&mut command())?;
        best = Some(match best {
            None => cost,
            Some(best) => {
                Cost { seconds: best.seconds.min(cost.seconds), peak_bytes: best.peak_bytes.max(cost.peak_bytes) }
            }
        });
    }
    best.ok_or_else(|| "A measurement needs at least one run.".into())
}

fn once(command: &mut Command) -> Result<Cost> {
    let start = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{} did not start: {error}", command.get_program().to_string_lossy()))?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak_bytes = None;
    loop {
        // The kernel keeps the peak itself, so a reading every few milliseconds misses only what
        // is allocated in the last of them.
        peak_bytes = peak(&status).max(peak_bytes);
        match child.try_wait().map_err(|error| error.to_string())? {
            None => std::thread::sleep(Duration::from_millis(2)),
            Some(end) if end.success() => break,
            Some(end) => return Err(format!("{} failed ({end}).", command.get_program().to_string_lossy())),
        }
    }
    Ok(Cost { seconds: start.elapsed().as_secs_f64(), peak_bytes })
}

/// The largest resident set so far of the process with this status file.
fn peak(status: &str) -> Option<u64> {
    let text = std::fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}
