//! The tools that build and test the page. Each tool has one fixed version.

use crate::toolchain::{Search, Toolchain};
use crate::{Result, browser, cache, node, process, toolchain};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Version of binaryen, which contains wasm-opt. Linux distributions contain older versions, which cannot read the
/// compiler's output.
const BINARYEN: &str = "132.0.0";

/// The program that optimises WebAssembly for size and speed.
pub(crate) struct WasmOpt(PathBuf);

impl WasmOpt {
    /// Finds wasm-opt. Installs wasm-opt if it is missing.
    pub(crate) fn find() -> Result<WasmOpt> {
        Ok(WasmOpt(node::package("binaryen", BINARYEN)?.join("bin/wasm-opt")))
    }

    /// Optimises a program.
    pub(crate) fn run(&self, program: &Path, arguments: &[String]) -> Result {
        let output = program.with_extension("optimised");
        process::run(Command::new(&self.0).arg("--output").arg(&output).args(arguments).arg(program))?;
        std::fs::rename(&output, program).map_err(|error| format!("{} cannot be replaced: {error}", program.display()))
    }
}

/// `cargo xtask setup`: installs everything that the other commands need.
pub(crate) fn setup() -> Result {
    // rustup can wait for its server while the tools compile.
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

/// Returns the folder of wasm-bindgen and its test runner. The version of both is the version in Cargo.lock.
pub(crate) fn wasm_bindgen() -> Result<PathBuf> {
    let version = locked_version("wasm-bindgen")?;
    // Builds without --locked, because wasm-bindgen's own lock file names a crate that some registries no longer have.
    // The test runner needs no encryption, because it connects only to the browser's driver on this machine.
    let programs = ["wasm-bindgen", "wasm-bindgen-test-runner"];
    cargo_tool("wasm-bindgen-cli", &version, &programs, &["--no-default-features"])
}

/// Returns the version of a package in Cargo.lock.
fn locked_version(package: &str) -> Result<String> {
    let lock = cache::read(&cache::repository().join("Cargo.lock"))?;
    let mut lines = lock.lines().skip_while(|line| *line != format!("name = {package:?}"));
    lines
        .nth(1)
        .and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))
        .map(str::to_owned)
        .ok_or_else(|| format!("Cargo.lock has no package {package}."))
}

/// Returns the folder of a package's programs. If programs on PATH have this version, returns their folder. Otherwise,
/// returns a folder in the cache, and builds the programs there if they are missing.
///
/// These programs run only for seconds, so they are built with little optimisation and without link-time optimisation.
/// The programs share a target folder, so that common dependencies are built once.
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
        // Run cargo outside this checkout, because the checkout's .cargo/config.toml applies only to the page.
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

/// Returns the folder on PATH whose programs all have this version. Each program prints its name and version, such as
/// `trunk 0.21.14`.
fn on_path(version: &str, programs: &[&str]) -> Option<PathBuf> {
    let folder = process::which(programs.first()?)?.parent()?.to_owned();
    let is_it = |program: &&str| {
        let said = process::output(Command::new(folder.join(program)).arg("--version"));
        said.is_ok_and(|said| said.split_whitespace().any(|word| word == version))
    };
    programs.iter().all(is_it).then_some(folder)
}
