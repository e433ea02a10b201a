//! Measures the time and peak memory of a program.

use crate::Result;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Time and peak memory of one run of a program.
#[derive(Clone, Copy)]
pub struct Cost {
    pub seconds: f64,
    /// Largest resident set. `None` if the system does not report the peak memory.
    pub peak_bytes: Option<u64>,
}

/// Runs a program several times. Returns the time of the fastest run, because other programs disturbed that run least.
/// Measures the memory in a further run, because the measurement of memory slows the program down.
pub fn best_of(runs: u32, mut command: impl FnMut() -> Command) -> Result<Cost> {
    let mut seconds = f64::INFINITY;
    for _ in 0..runs {
        let start = Instant::now();
        let mut child = start_of(&mut command())?;
        let end = child.wait().map_err(|error| error.to_string())?;
        seconds = seconds.min(start.elapsed().as_secs_f64());
        check(end)?;
    }
    Ok(Cost { seconds, peak_bytes: watched(&mut command())? })
}

fn start_of(command: &mut Command) -> Result<Child> {
    let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    started.map_err(|error| format!("{} did not start: {error}", command.get_program().to_string_lossy()))
}

fn check(end: ExitStatus) -> Result {
    if end.success() { Ok(()) } else { Err(format!("A measured program failed ({end}).")) }
}

fn watched(command: &mut Command) -> Result<Option<u64>> {
    let mut child = start_of(command)?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak_bytes = None;
    loop {
        // The kernel records the peak, so polling every few milliseconds misses only memory that is allocated during the
        // last few milliseconds.
        peak_bytes = peak(&status).max(peak_bytes);
        match child.try_wait().map_err(|error| error.to_string())? {
            None => std::thread::sleep(Duration::from_millis(2)),
            Some(end) => return check(end).map(|()| peak_bytes),
        }
    }
}

/// Reads the peak size of the resident set from the text of a process's status file.
fn peak(status: &str) -> Option<u64> {
    let text = std::fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}
