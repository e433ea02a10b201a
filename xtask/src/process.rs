//! Starts other programs.

use crate::Result;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Finds a program with this name on PATH.
pub(crate) fn which(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| is_program(file))
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}

/// Returns the value of PATH with these folders added in front.
pub(crate) fn path_with(first: &[PathBuf]) -> Result<std::ffi::OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = first.iter().cloned().chain(std::env::split_paths(&path));
    std::env::join_paths(folders).map_err(|error| format!("PATH cannot be extended: {error}"))
}

/// Runs a program, whose output goes to the terminal. Fails if the exit status is not 0.
pub(crate) fn run(command: &mut Command) -> Result {
    let name = line(command);
    eprintln!("$ {name}");
    let status = command.status().map_err(|error| format!("`{name}` did not start: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{name}` failed ({status}).")) }
}

/// Runs a program and returns its trimmed standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let name = line(command);
    let done = command.stdin(Stdio::null()).output().map_err(|error| format!("`{name}` did not start: {error}"))?;
    if done.status.success() {
        Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
    } else {
        let said = String::from_utf8_lossy(&done.stderr);
        Err(format!("`{name}` failed ({}).\n{}", done.status, said.trim()))
    }
}

/// Runs a program and returns its standard error. If the program fails, the error contains the standard error output.
pub(crate) fn said(command: &mut Command) -> Result<String> {
    let name = line(command);
    eprintln!("$ {name}");
    let done = command.stdin(Stdio::null()).output().map_err(|error| format!("`{name}` did not start: {error}"))?;
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    if done.status.success() { Ok(said) } else { Err(format!("`{name}` failed ({}).\n{said}", done.status)) }
}

/// Runs a program without showing its output, and returns true if the program succeeds.
pub(crate) fn works(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Waits for a program, and kills it if it is still running at the deadline. Returns true if the program succeeded
/// before the deadline.
pub(crate) fn wait_until(child: &mut Child, deadline: Instant) -> bool {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(50)),
            _ => {
                // The program may have ended between the two calls.
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
        }
    }
}

/// Returns a command as a user would type it, without environment variables.
fn line(command: &Command) -> String {
    let mut words = vec![file_name(command.get_program().as_ref())];
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    words.join(" ")
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
