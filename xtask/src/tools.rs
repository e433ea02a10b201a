//! The tools that build and test the page, each of one exact version.

use crate::toolchain::{Search, Toolchain};
use crate::{Result, browser, cache, node, process, toolchain};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Ships wasm-opt; distributions' own are too old for what the compiler writes.
const BINARYEN: &str = "132.0.0";

/// The program that shrinks WebAssembly and makes it faster.
pub struct WasmOpt(PathBuf);

impl WasmOpt {
    /// Finds wasm-opt, and installs it if it is missing.
    pub fn find() -> Result<WasmOpt> {
        Ok(WasmOpt(node::package("binaryen", BINARYEN)?.join("bin/wasm-opt")))
    }

    /// Rewrites a program.
    pub fn run(&self, program: &Path, arguments: &[String]) -> Result {
        let output = program.with_extension("optimised");
        process::run(Command::new(&self.0).arg("--output").arg(&output).args(arguments).arg(program))?;
        std::fs::rename(&output, program).map_err(|error| format!("{} cannot be replaced: {error}", program.display()))
    }
}

/// `cargo xtask setup`: everything that the other commands would install.
pub fn setup() -> Result {
    // rustup waits for its server while the tools compile.
    let search = Search::start()?;
    wasm_bindgen()?;
    WasmOpt::find()?;
    let toolchain = search.finish()?;
    node::with_packages(&["playwright-core", "puppeteer-core", "axe-core"])?;
    let browser = browser::chromium()?;
    let driver = browser::driver()?;
    println!("Tools: {}", cache::root()?.display());
    match &toolchain {
        Toolchain::Own => println!("Compiler for {}: this toolchain", toolchain::TARGET),
        Toolchain::Debian(root) => println!("Compiler for {}: {}", toolchain::TARGET, root.display()),
    }
    println!("Browser: {}, driver: {}", browser.display(), driver.display());
    let webkit = browser::webkit_driver().and_then(|driver| browser::xvfb().map(|_| driver));
    for (name, found) in [("Firefox", browser::firefox()), ("WebKit's driver", webkit)] {
        match found {
            Ok(path) => println!("{name}: {}", path.display()),
            Err(reason) => println!("{name} is absent: {reason}"),
        }
    }
    Ok(())
}

/// The folder of wasm-bindgen and its test runner, of the version in Cargo.lock.
pub fn wasm_bindgen() -> Result<PathBuf> {
    let version = locked_version("wasm-bindgen")?;
    // Without --locked: its own lock file names a crate that not every registry still has. It talks to the browser's driver on
    // this machine, which needs no encryption.
    let programs = ["wasm-bindgen", "wasm-bindgen-test-runner"];
    cargo_tool("wasm-bindgen-cli", &version, &programs, &["--no-default-features"])
}

/// The version of a package in Cargo.lock.
fn locked_version(package: &str) -> Result<String> {
    let lock = cache::read(&cache::repository().join("Cargo.lock"))?;
    let mut lines = lock.lines().skip_while(|line| *line != format!("name = {package:?}"));
    lines
        .nth(1)
        .and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))
        .map(str::to_owned)
        .ok_or_else(|| format!("Cargo.lock has no package {package}."))
}

/// The folder of the programs of a package: where they are on PATH in this version, else in the cache, built where they are missing.
///
/// Helpers run for seconds, so they are built without link-time optimisation and with little of any other; they share a target
/// folder, so that what they have in common is built once.
fn cargo_tool(name: &str, version: &str, programs: &[&str], more: &[&str]) -> Result<PathBuf> {
    if let Some(folder) = on_path(version, programs) {
        return Ok(folder);
    }
    let root = cache::folder("tools")?.join(format!("{name}-{version}"));
    let complete = root.join("complete");
    if complete.is_file() {
        return Ok(root.join("bin"));
    }
    eprintln!("Building {name} {version} (minutes, once; not where {} {version} is on PATH).", programs.join(" and "));
    let scratch = cache::folder("build")?;
    let mut command = Command::new(toolchain::own_cargo());
    command
        .args(["install", name, "--version", version, "--force", "--root"])
        .arg(&root)
        .args(programs.iter().flat_map(|program| ["--bin", program]))
        .args(more)
        // Away from this checkout, whose .cargo/config.toml is for the page alone.
        .current_dir(&scratch)
        .env("CARGO_TARGET_DIR", &scratch)
        .env("CARGO_PROFILE_RELEASE_LTO", "false")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "256")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
        .env_remove("RUSTFLAGS");
    process::run(&mut command)?;
    cache::mark(&complete)?;
    Ok(root.join("bin"))
}

/// The folder on PATH whose programs are all of this version; each says it: `trunk 0.21.14`.
fn on_path(version: &str, programs: &[&str]) -> Option<PathBuf> {
    let folder = process::which(programs.first()?)?.parent()?.to_owned();
    let is_it = |program: &&str| {
        let said = process::output(Command::new(folder.join(program)).arg("--version"));
        said.is_ok_and(|said| said.split_whitespace().any(|word| word == version))
    };
    programs.iter().all(is_it).then_some(folder)
}
