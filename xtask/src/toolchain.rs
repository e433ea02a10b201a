//! The Rust toolchain that builds for wasm32.
//!
//! If rustup's server is reachable, the toolchain is the checkout's own toolchain with the wasm32 target. Machines that
//! can reach only Debian's archive use Debian's compiler. `debian-wasm32.sh` then builds the standard library once,
//! into the cache.

use crate::{Result, apt, cache, process, sources};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The target triple of the page and its worker.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// Time limit for rustup to fetch the target. An unreachable server may never answer.
const RUSTUP_SECONDS: u64 = 90;

/// Script that builds the standard library. The digest of the script is part of the name under which the toolchain is
/// cached.
const DEBIAN_SCRIPT: &str = include_str!("../debian-wasm32.sh");
const DEBIAN_PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld-22"];

/// A toolchain that builds for wasm32.
pub(crate) enum Toolchain {
    /// The toolchain that runs this program.
    Own,
    /// Debian's compiler. The folder contains `bin/` and a system root with the wasm32 libraries.
    Debian(PathBuf),
}

impl Toolchain {
    /// Makes a command, and any cargo that the command starts, use this toolchain.
    pub(crate) fn apply(&self, command: &mut Command, more_path: &[PathBuf]) -> Result {
        let mut folders = more_path.to_vec();
        if let Toolchain::Debian(root) = self {
            folders.insert(0, root.join("bin"));
            for name in ["RUSTUP_TOOLCHAIN", "RUSTC", "RUSTDOC"] {
                command.env_remove(name);
            }
            command.env("CARGO", root.join("bin/cargo"));
        }
        command.env("PATH", process::path_with(&folders)?);
        Ok(())
    }

    /// Returns a command for this toolchain's cargo.
    pub(crate) fn cargo(&self) -> Result<Command> {
        let mut command = match self {
            Toolchain::Own => Command::new(own_cargo()),
            Toolchain::Debian(root) => Command::new(root.join("bin/cargo")),
        };
        self.apply(&mut command, &[])?;
        command.current_dir(cache::repository());
        Ok(command)
    }

    /// Returns true if this toolchain includes a clippy that can check code for wasm32.
    pub(crate) fn has_clippy(&self) -> bool {
        matches!(self, Toolchain::Own)
    }
}

/// Returns the path of cargo in the toolchain that runs this program.
pub(crate) fn own_cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// A search for the toolchain, which continues in the background while other tools are installed.
pub(crate) enum Search {
    Found(Toolchain),
    Rustup(Child, Instant),
    Failed,
}

impl Search {
    /// Looks for a toolchain. If no toolchain is installed, requests the wasm32 target from rustup.
    pub(crate) fn start() -> Result<Self> {
        let wish = std::env::var("CROSSPROF_WASM_TOOLCHAIN").unwrap_or_default();
        if wish != "debian" && own_has_target() {
            return Ok(Search::Found(Toolchain::Own));
        }
        if wish != "rustup"
            && let Some(root) = debian_root()?.filter(|root| root.join("complete").is_file())
        {
            return Ok(Search::Found(Toolchain::Debian(root)));
        }
        if wish == "debian" || process::which("rustup").is_none() {
            return Ok(Search::Failed);
        }
        eprintln!("Asking rustup for the target {TARGET}.");
        let child = Command::new("rustup")
            .args(["target", "add", TARGET])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Ok(match child {
            Ok(child) => Search::Rustup(child, Instant::now() + Duration::from_secs(RUSTUP_SECONDS)),
            Err(_) => Search::Failed,
        })
    }

    /// Returns the toolchain. If rustup failed, sets up Debian's toolchain.
    pub(crate) fn finish(self) -> Result<Toolchain> {
        match self {
            Search::Found(toolchain) => return Ok(toolchain),
            Search::Rustup(mut child, deadline) => {
                if process::wait_until(&mut child, deadline) && own_has_target() {
                    return Ok(Toolchain::Own);
                }
                eprintln!("rustup could not fetch {TARGET}; Debian's compiler may help.");
            }
            Search::Failed => {}
        }
        set_up_debian()
    }
}

/// Finds the toolchain, or sets it up if it is missing.
pub(crate) fn find() -> Result<Toolchain> {
    Search::start()?.finish()
}

/// Returns true if the toolchain that runs this program has the wasm32 libraries.
fn own_has_target() -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let folder = process::output(Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET]));
    folder.is_ok_and(|folder| {
        std::fs::read_dir(folder).is_ok_and(|mut files| {
            files.any(|file| file.is_ok_and(|file| file.file_name().to_string_lossy().starts_with("libstd-")))
        })
    })
}

/// Returns the folder of the toolchain that belongs to Debian's installed compiler. Returns `None` if that compiler is
/// not installed.
fn debian_root() -> Result<Option<PathBuf>> {
    let Ok(version) = process::output(Command::new("/usr/bin/rustc").env_remove("RUSTUP_TOOLCHAIN").arg("-V")) else {
        return Ok(None);
    };
    // "rustc 1.96.0 (ac68faa20 2026-05-25) (built from a source tarball)"
    let key: Vec<&str> = version.split_whitespace().skip(1).take(2).map(|word| word.trim_matches('(')).collect();
    let recipe = sources::digest(DEBIAN_SCRIPT.as_bytes());
    Ok(Some(cache::root()?.join("toolchains").join(format!("debian-{}-{recipe}", key.join("-")))))
}

/// Installs Debian's compiler if it is missing, and builds the standard library for wasm32.
fn set_up_debian() -> Result<Toolchain> {
    let help = format!(
        "No Rust toolchain here builds for {TARGET}. Run `rustup target add {TARGET}` where rustup's \
         server can be reached; elsewhere Debian 12 as root works without it (packages {}).",
        DEBIAN_PACKAGES.join(", ")
    );
    let present = ["/usr/bin/rustc", "/usr/bin/cargo", "/usr/bin/lld-22", "/usr/lib/rustlib/src/rust/library"];
    if !present.iter().all(|file| std::path::Path::new(file).exists()) {
        apt::install("A compiler for wasm32", &DEBIAN_PACKAGES).map_err(|error| format!("{help}\n{error}"))?;
    }
    let root = debian_root()?.ok_or(help)?;
    if !root.join("complete").is_file() {
        eprintln!("Building the standard library for {TARGET} (two minutes, once).");
        process::run(
            Command::new("sh")
                .arg(cache::repository().join("xtask/debian-wasm32.sh"))
                .arg(&root)
                .env_remove("RUSTUP_TOOLCHAIN")
                .env_remove("RUSTC")
                .env_remove("CARGO_TARGET_DIR"),
        )?;
    }
    Ok(Toolchain::Debian(root))
}
