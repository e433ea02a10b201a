//! Installs missing programs from Debian's packages, on Debian and its derivatives.

use crate::{Result, process};
use std::process::Command;

/// Installs packages. On machines without apt-get, the error message contains `need`, which describes the purpose of
/// the packages.
pub(crate) fn install(need: &str, packages: &[&str]) -> Result {
    let list = packages.join(" ");
    if process::which("apt-get").is_none() {
        return Err(format!("{need} is missing: install it with this system's package manager (on Debian: {list})."));
    }
    let as_root = is_root();
    let sudo = !as_root && process::works(Command::new("sudo").args(["-n", "true"]));
    if !as_root && !sudo {
        return Err(format!(
            "{need} is missing, and only root can install it here: run `sudo apt-get install {list}`."
        ));
    }
    let apt = |words: &[&str]| {
        let mut command = Command::new(if sudo { "sudo" } else { "apt-get" });
        if sudo {
            command.args(["-n", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
        }
        command.env("DEBIAN_FRONTEND", "noninteractive").args(words);
        process::run(&mut command)
    };
    let mut words = vec!["install", "-y", "-q", "--no-install-recommends"];
    words.extend(packages);
    eprintln!("{need} is missing: installing {list}.");
    // The package lists of an image are old or absent. If the server is unreachable, the packages themselves may still be
    // available, so continue.
    if let Err(message) = apt(&["update", "-q"]) {
        eprintln!("{message}");
    }
    apt(&words)
}

/// Returns true if this process may install packages without sudo.
pub(crate) fn is_root() -> bool {
    process::output(Command::new("id").arg("-u")).is_ok_and(|id| id == "0")
}
