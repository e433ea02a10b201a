//! The checks, cheapest first.

use crate::build::{self, Variant, size};
use crate::toolchain::{self, TARGET};
use crate::{Result, browser, cache, node, process, tools};
use std::process::Command;

/// One check.
pub struct Check {
    pub name: &'static str,
    pub what: &'static str,
    pub run: fn() -> Result,
}

/// Every check, in the order in which they run.
pub const ALL: &[Check] = &[
    Check { name: "fmt", what: "formatting", run: fmt },
    Check { name: "clippy", what: "lints, native", run: clippy },
    Check { name: "clippy-wasm", what: "lints, wasm32", run: clippy_wasm },
    Check { name: "native", what: "tests of the library, the command line and xtask", run: native },
    Check { name: "doc", what: "the examples in the documentation", run: doc },
    Check { name: "browser", what: "tests of the page's parts in headless Chromium", run: in_browser },
    Check { name: "build", what: "the page, in release mode", run: page },
    Check { name: "size", what: "wasm sizes", run: sizes },
    Check { name: "end2end", what: "the built page in Chromium", run: end_to_end },
];

/// Cargo of the toolchain that runs this program, in this checkout.
fn cargo(words: &[&str]) -> Command {
    let mut command = Command::new(toolchain::own_cargo());
    command.args(words).current_dir(cache::repository());
    command
}

fn fmt() -> Result {
    process::run(&mut cargo(&["fmt", "--all", "--check"]))
}

fn clippy() -> Result {
    let words = ["clippy", "--locked", "--workspace", "--exclude", "www", "--all-targets", "--", "-D", "warnings"];
    process::run(&mut cargo(&words))
}

/// Lints of what runs in the browser: the library without its command line, and the page.
fn clippy_wasm() -> Result {
    let toolchain = toolchain::find()?;
    let lint = |words: &[&str]| {
        let mut command = cargo(&["clippy", "--locked", "--package", "www", "--all-targets"]);
        process::run(command.args(words).args(["--", "-D", "warnings"]))
    };
    if toolchain.has_clippy() {
        return lint(&["--target", TARGET]);
    }
    // Debian's compiler, which builds for wasm32 here, comes without clippy: its warnings are
    // checked for wasm32, clippy's for this machine's own target.
    eprintln!(
        "The toolchain that builds for {TARGET} here has no clippy: clippy checks the page for this machine's own target, and the compiler alone for {TARGET}."
    );
    lint(&[])?;
    let mut check = toolchain.cargo()?;
    check
        .args(["check", "--locked", "--package", "www", "--all-targets", "--target", TARGET])
        .env("CARGO_TARGET_DIR", cache::target().join("page"))
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", "-D warnings");
    process::run(&mut check)
}

fn native() -> Result {
    let workspace = ["--locked", "--workspace", "--exclude", "www"];
    let nextest = process::works(&mut cargo(&["nextest", "--version"]));
    let words: &[&str] = if nextest { &["nextest", "run"] } else { &["test", "--lib", "--bins", "--tests"] };
    process::run(cargo(words).args(workspace))
}

fn doc() -> Result {
    process::run(&mut cargo(&["test", "--locked", "--doc", "--package", "crossprof"]))?;
    let mut links = cargo(&["doc", "--locked", "--no-deps", "--package", "crossprof"]);
    process::run(links.env("RUSTDOCFLAGS", "-D warnings"))
}

fn in_browser() -> Result {
    let toolchain = toolchain::find()?;
    let runner = tools::wasm_bindgen()?.join("wasm-bindgen-test-runner");
    let mut test = toolchain.cargo()?;
    test.args(["test", "--locked", "--package", "www", "--tests", "--target", TARGET])
        .env("CARGO_TARGET_DIR", cache::target().join("page"))
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", runner)
        .env("CHROMEDRIVER", browser::driver()?)
        .env("WASM_BINDGEN_TEST_TIMEOUT", "120");
    browser::chromium()?;
    process::run(&mut test)
}

fn page() -> Result {
    build::page(Variant::Release).map(drop)
}

fn sizes() -> Result {
    size::check(&build::dist())
}

fn end_to_end() -> Result {
    // Tests compare the page's figures with the command line's.
    process::run(&mut cargo(&["build", "--locked", "--release", "--bin", "crossprof"]))?;
    let mut run = node::playwright()?;
    run.arg("tests/end2end/run.mjs").arg(build::dist()).env("CROSSPROF_CLI", cache::target().join("release/crossprof"));
    process::run(&mut run)
}
