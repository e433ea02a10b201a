//! A child process with a memory limit. The parent measures the time of the child's cases.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::Result;

/// Time after which a case is treated as hanging. With all checks, most cases take only hundredths of a second.
pub(crate) const MOST_TIME: Duration = Duration::from_secs(10);
/// Time limit of a case that is driven alone. The limit is long, because other programs may keep the machine busy.
const MOST_ALONE: Duration = Duration::from_secs(20 * MOST_TIME.as_secs());
/// Maximum size of a child's address space. A browser tab may use far more, but the input of a case has only a few
/// hundred kilobytes.
const MOST_MEMORY_KIB: u64 = 1 << 20;
/// Maximum length of the output that is shown after a child has failed.
const MOST_SAID_BYTES: usize = 4000;

/// Outcome of a child's work.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The child has driven all its cases.
    Done,
    /// The run has reached its time limit.
    TimeOver,
    /// A case took longer than [`MOST_TIME`].
    Hangs,
    /// The process ended early. The text is the output of the process.
    Fails(String),
}

/// Drives the case in a file, and no other case. The time limit applies to CPU time, so other programs on the machine
/// do not affect it.
pub(crate) fn alone(file: &Path) -> Result<End> {
    let limits = format!("ulimit -t {} 2>/dev/null;", MOST_TIME.as_secs());
    let child = with_limits(&limits, &["--case".to_owned(), file.display().to_string()])?;
    let end = wait(child, Instant::now() + MOST_ALONE, MOST_ALONE, |_| {});
    Ok(if end == End::TimeOver { End::Hangs } else { end })
}

/// Starts this program as a child process. The child has a memory limit if the shell can set one.
pub(crate) fn start(arguments: &[String]) -> Result<Child> {
    with_limits("", arguments)
}

fn with_limits(more: &str, arguments: &[String]) -> Result<Child> {
    let program = std::env::current_exe().map_err(|error| format!("This program cannot start itself: {error}"))?;
    Command::new("sh")
        // Not every system can limit the address space. The time limit of a case works everywhere.
        .args(["-c", &format!("ulimit -v {MOST_MEMORY_KIB} 2>/dev/null; {more} exec \"$0\" \"$@\"")])
        .arg(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("A child process cannot be started: {error}"))
}

/// Waits until a child ends or the deadline passes, and calls `progress` with each line that it prints. If the child is
/// still running at the deadline, kills it.
pub(crate) fn watch(child: Child, deadline: Instant, progress: impl FnMut(&str)) -> End {
    wait(child, deadline, MOST_TIME, progress)
}

fn wait(mut child: Child, deadline: Instant, most_silence: Duration, mut progress: impl FnMut(&str)) -> End {
    let lines = child.stdout.take().map(lines);
    let said = child.stderr.take().map(|mut stderr| {
        std::thread::spawn(move || {
            let mut said = Vec::new();
            // The output up to this point is enough for the message.
            let _ = stderr.read_to_end(&mut said);
            said
        })
    });
    let end = loop {
        let Some(lines) = &lines else { break None };
        let left = deadline.saturating_duration_since(Instant::now());
        match lines.recv_timeout(left.min(most_silence)) {
            Ok(line) => progress(&line),
            Err(RecvTimeoutError::Timeout) if left <= most_silence => break Some(End::TimeOver),
            Err(RecvTimeoutError::Timeout) => break Some(End::Hangs),
            Err(RecvTimeoutError::Disconnected) => break None,
        }
        if Instant::now() >= deadline {
            break Some(End::TimeOver);
        }
    };
    if end.is_some() {
        // The child may have just ended by itself.
        let _ = child.kill();
    }
    let status = child.wait();
    let said = said.and_then(|thread| thread.join().ok()).unwrap_or_default();
    match (end, status) {
        (Some(end), _) => end,
        (None, Ok(status)) if status.success() => End::Done,
        (None, status) => {
            let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
            let tail = &said[said.len().saturating_sub(MOST_SAID_BYTES)..];
            End::Fails(format!("{status}\n{}", String::from_utf8_lossy(tail).trim()))
        }
    }
}

/// Reads the output of a child in a thread, so that the caller can stop waiting for a line.
fn lines(stdout: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(std::result::Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, time: Duration) -> (End, Vec<String>) {
        let child = Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut lines = Vec::new();
        let end = watch(child.unwrap(), Instant::now() + time, |line| lines.push(line.to_owned()));
        (end, lines)
    }

    #[test]
    fn outcomes_are_distinguished() {
        let (end, lines) = shell("echo 1; echo 2", Duration::from_secs(60));
        assert_eq!((end, lines), (End::Done, vec!["1".to_owned(), "2".to_owned()]));
        let (end, lines) = shell("echo 1; echo broken >&2; exit 3", Duration::from_secs(60));
        assert_eq!(lines, ["1"]);
        assert!(matches!(end, End::Fails(said) if said.contains('3') && said.ends_with("broken")));
        assert_eq!(shell("exec sleep 100", Duration::from_millis(100)).0, End::TimeOver);
    }
}
