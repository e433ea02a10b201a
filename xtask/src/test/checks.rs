//! The checks. The cheapest check comes first.

use super::real;
use crate::build::{self, Variant, size};
use crate::toolchain::{self, TARGET};
use crate::{Result, browser, cache, fuzz, node, notices, process, prose, python, tools};
use std::path::PathBuf;
use std::process::Command;

/// One check.
pub(super) struct Check {
    pub name: &'static str,
    pub what: &'static str,
    pub run: fn(&mut Run) -> Result,
}

/// Input and results of all checks in one run.
pub(super) struct Run {
    pub real: real::Profiles,
    /// Tests that were skipped because the real profiles are missing.
    pub skipped: Vec<String>,
    /// Browsers that are missing and cannot be installed, each with the reason.
    pub absent: Vec<String>,
}

/// Checks that run only if the user names them, because they need large downloads.
pub(super) const ON_REQUEST: &[Check] =
    &[Check { name: "engines", what: "lakes written by Ray and Spark", run: |_| python::engines() }];

/// All other checks, in the order in which they run.
pub(super) const ALL: &[Check] = &[
    Check { name: "fmt", what: "formatting", run: fmt },
    Check { name: "prose", what: "plain English in comments and documents", run: |_| prose::check() },
    Check { name: "clippy", what: "lints, native", run: clippy },
    Check { name: "native", what: "tests of the library, the command line and xtask", run: native },
    Check { name: "notices", what: "licences of what is shipped", run: |_| notices::check() },
    Check {
        name: "fuzz",
        what: "damaged inputs through everything, for half a minute",
        run: |_| fuzz::check(&tested_programs()?),
    },
    Check { name: "doc", what: "the examples in the documentation", run: doc },
    Check { name: "build", what: "the page, in release mode", run: page },
    Check { name: "python", what: "the Python package with JAX of two versions", run: |_| python::check() },
    Check { name: "clippy-wasm", what: "lints, wasm32", run: clippy_wasm },
    Check { name: "size", what: "wasm sizes", run: sizes },
    Check { name: "browser", what: "tests of the page's parts in headless Chromium", run: in_browser },
    Check { name: "end2end", what: "the built page in Chromium", run: end_to_end },
    Check { name: "browsers", what: "the main ways through the built page in Firefox and WebKit", run: other_browsers },
];

/// Arguments that select the packages and features of the native tests.
const ALL_BUT_PAGE: &[&str] = &["--workspace", "--exclude", "www", "--features", VIEW];

/// Features of the complete command-line tool. The page is not embedded in the tool, because tests pass the page as a
/// folder.
const VIEW: &str = "crossprof/view,crossprof/mcp";

/// Returns a cargo command for this checkout. The cargo belongs to the same toolchain as the running program.
fn cargo(words: &[&str]) -> Command {
    let mut command = Command::new(toolchain::own_cargo());
    command.args(words).current_dir(cache::repository());
    command
}

fn fmt(_: &mut Run) -> Result {
    process::run(&mut cargo(&["fmt", "--all", "--check"]))
}

fn clippy(_: &mut Run) -> Result {
    let words = [
        "clippy",
        "--locked",
        "--workspace",
        "--exclude",
        "www",
        "--features",
        VIEW,
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
    process::run(&mut cargo(&words))
}

/// Lints the code that runs in the browser, which is the page and the library without its command line.
fn clippy_wasm(_: &mut Run) -> Result {
    let toolchain = toolchain::find()?;
    if toolchain.has_clippy() {
        let mut clippy = on_page(toolchain.cargo()?, "clippy");
        return process::run(clippy.args(["--", "-D", "warnings"]));
    }
    eprintln!(
        "The compiler that builds for {TARGET} here comes without clippy: clippy looks at the page as built for \
         this machine, and for {TARGET} the compiler's own warnings count."
    );
    process::run(&mut cargo(&["clippy", "--locked", "--package", "www", "--all-targets", "--", "-D", "warnings"]))?;
    // RUSTFLAGS="-D warnings" would rebuild every dependency, so the output is checked instead.
    let mut check = on_page(toolchain.cargo()?, "check");
    let said = process::said(check.args(["--message-format", "short"]))?;
    match said.lines().filter(|line| line.contains(".rs:") && line.contains(": warning")).count() {
        0 => Ok(()),
        warnings => Err(format!("The compiler has {warnings} warnings:\n{said}")),
    }
}

/// Returns a cargo command for the page on wasm32. All such commands use the page's profile and target folder, so that they
/// share build results.
fn on_page(mut cargo: Command, command: &str) -> Command {
    let tests = if command == "test" { "--tests" } else { "--all-targets" };
    cargo
        .args([command, "--locked", "--package", "www", tests, "--profile", "page", "--target", TARGET])
        .env("CARGO_TARGET_DIR", build::target());
    cargo
}

/// Builds the native tests if needed, and returns the folder of their programs. Other checks use the same programs, so
/// that nothing is built twice.
fn tested_programs() -> Result<PathBuf> {
    process::run(cargo(&["test", "--locked", "--no-run"]).args(ALL_BUT_PAGE))?;
    Ok(cache::target().join("debug"))
}

fn native(run: &mut Run) -> Result {
    let nextest = process::works(&mut cargo(&["nextest", "--version"]));
    let all_but_page = ALL_BUT_PAGE;
    let targets: &[&str] = if nextest { &[] } else { &["--lib", "--bins", "--tests"] };
    let start = |packages: &[&str], words: &[&str]| {
        let runner: &[&str] = if nextest { &["nextest", "run"] } else { &["test"] };
        process::run(cargo(runner).args(["--locked", "--no-fail-fast"]).args(packages).args(words))
    };
    let real: &[&str] = match (run.real.run(), nextest) {
        (false, _) => &[],
        (true, true) => &["--run-ignored", "all"],
        (true, false) => &["--", "--include-ignored"],
    };
    // Tests of the parts of the page that do not use the browser, and of the inflater that only a feature selects. The
    // page's browser tests are a separate check.
    let miniz = &["--package", "input", "--lib", "--no-default-features", "--features", "miniz"];
    let outcome = start(all_but_page, &[targets, real].concat())
        .and(start(&["--package", "www", "--lib"], &[]))
        .and(start(miniz, &[]));
    if !run.real.run() {
        let (runner, list): (&[&str], &[&str]) = if nextest {
            (&["nextest", "list"], &["--run-ignored", "only", "--message-format", "oneline"])
        } else {
            (&["test"], &["--", "--list", "--ignored"])
        };
        let mut command = cargo(runner);
        run.skipped =
            real::names(&process::output(command.arg("--locked").args(all_but_page).args(targets).args(list))?);
    }
    outcome
}

/// Uses the same packages and features as the native tests, so that nothing is built twice.
fn doc(_: &mut Run) -> Result {
    process::run(cargo(&["test", "--locked", "--doc"]).args(ALL_BUT_PAGE))?;
    let mut links = cargo(&["doc", "--locked", "--no-deps", "--document-private-items"]);
    links.args(ALL_BUT_PAGE);
    process::run(links.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private-intra-doc-links"))
}

fn in_browser(_: &mut Run) -> Result {
    let toolchain = toolchain::find()?;
    let runner = tools::wasm_bindgen()?.join("wasm-bindgen-test-runner");
    let mut test = on_page(toolchain.cargo()?, "test");
    test.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", runner)
        .env("CHROMEDRIVER", browser::driver()?)
        .env("WASM_BINDGEN_TEST_TIMEOUT", "120");
    browser::chromium()?;
    process::run(&mut test)
}

fn page(_: &mut Run) -> Result {
    build::page(Variant::Release).map(drop)
}

fn sizes(_: &mut Run) -> Result {
    size::check(&build::dist())
}

fn end_to_end(_: &mut Run) -> Result {
    // Tests compare the page's figures with the command line's.
    let tool = tested_programs()?.join("crossprof");
    let mut run = node::playwright()?;
    run.arg("tests/end2end/run.mjs").arg(build::dist()).env("CROSSPROF_CLI", tool);
    process::run(&mut run)
}

/// Skips each browser that cannot be installed, for example without network access, and reports the browser at the end.
fn other_browsers(run: &mut Run) -> Result {
    let tool = tested_programs()?.join("crossprof");
    let firefox = browser::firefox().map(|firefox| vec![("FIREFOX", firefox)]);
    let webkit =
        browser::webkit_driver().and_then(|driver| Ok(vec![("WEBKIT_DRIVER", driver), ("XVFB", browser::xvfb()?)]));
    let mut outcome = Ok(());
    for (name, programs) in [("firefox", firefox), ("webkit", webkit)] {
        match programs {
            Ok(programs) => {
                let mut script = node::with_packages(&["playwright-core", "puppeteer-core"])?;
                script.arg("tests/end2end/main-ways.mjs").arg(build::dist()).arg(name).envs(programs);
                script.env("CROSSPROF_CLI", &tool);
                outcome = outcome.and(process::run(&mut script));
            }
            Err(reason) => run.absent.push(format!("{name}: {reason}")),
        }
    }
    outcome
}
