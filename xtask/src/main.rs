//! The project's commands: `cargo xtask serve`, `test`, `build`, `bench`, `fuzz`, `notices`, `wheel`.
//!
//! Each command installs the tools that it needs into a cache outside the checkout. The names in the cache contain
//! versions, so a second run of the command installs nothing.

mod apt;
#[allow(unreachable_pub, reason = "the fuzzer includes these modules in its library")]
mod bench;
mod browser;
mod build;
mod cache;
mod fuzz;
mod node;
mod notices;
mod process;
mod prose;
mod python;
mod serve;
mod sources;
mod test;
mod toolchain;
mod tools;

use std::process::ExitCode;

const USAGE: &str = "\
The project's commands. Each installs what it needs and is missing.

    cargo xtask serve [--port N] [--release]   build the page quickly and serve it at http://127.0.0.1:8080
    cargo xtask build [--quick]            build the page into dist/, ready for any static host
    cargo xtask test [CHECK...]            run every check (or the ones named); with --require-traces,
                                           tests of real profiles must run, too
    cargo xtask bench [--events N]         time loads and tables, natively and in a browser tab
    cargo xtask fuzz [--seconds N] [--seed N]   put damaged inputs through everything (CONTRIBUTING.md)
    cargo xtask notices                    write docs/third-party-notices.txt
    cargo xtask wheel [--page DIR]         build the Python wheel into target/wheels, with the page inside (that of DIR)
    cargo xtask setup                      install every tool and stop

A quick build takes a third of the time of a release and runs several times slower; the page's footer names it.

    CROSSPROF_CACHE            where tools are kept (else $XDG_CACHE_HOME/crossprof or ~/.cache/crossprof)
    CROSSPROF_WASM_TOOLCHAIN   rustup or debian: which toolchain builds for wasm32 (else whichever works)
    CHROME, CHROMEDRIVER       the browser and its driver (else the ones on PATH)
";

/// Result of every command. The error is a message for the user.
type Result<T = ()> = std::result::Result<T, String>;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let command = words.next().unwrap_or_default();
    let rest: Vec<String> = words.collect();
    let outcome = match command.as_str() {
        "serve" => serve::command(&rest),
        "build" => build::command(&rest),
        "test" => test::command(&rest),
        "bench" => bench::command(&rest),
        "fuzz" => fuzz::command(&rest),
        "notices" => notices::command(&rest),
        "wheel" => python::command(&rest),
        "setup" => tools::setup(),
        "" | "help" | "-h" | "--help" => {
            print!("{USAGE}");
            Ok(())
        }
        other => Err(format!("There is no command {other:?}.\n\n{USAGE}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
