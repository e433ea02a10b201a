//! `cargo xtask build`: the page in dist/, ready for any static host.
//!
//! Trunk compiles and links; `finish` then lays the functions of each program in an order that packs well, moves the page's
//! inline start script into a file (so that its Content-Security-Policy needs no exception) and gives the service worker the list of its files.

mod finish;
mod names;
mod order;
pub mod size;

use crate::tools::Tools;
use crate::{Result, cache, process, sources, toolchain};
use std::path::PathBuf;

/// How the page is compiled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    Release,
    Dev,
}

impl Variant {
    fn profile(self) -> &'static str {
        match self {
            Variant::Release => "page",
            Variant::Dev => "page-dev",
        }
    }

    /// Takes `--dev` out of the words of a command line.
    pub fn take(words: &mut Vec<String>) -> Self {
        let before = words.len();
        words.retain(|word| word != "--dev");
        if words.len() < before { Variant::Dev } else { Variant::Release }
    }
}

/// `cargo xtask build [--dev]`
pub fn command(words: &[String]) -> Result {
    let mut words = words.to_vec();
    let variant = Variant::take(&mut words);
    if let Some(word) = words.first() {
        return Err(format!("`build` does not know {word:?}."));
    }
    let dist = page(variant)?;
    size::print(&dist)
}

/// Where the page lies.
pub fn dist() -> PathBuf {
    cache::repository().join("dist")
}

/// Builds the page, unless dist/ holds it already.
pub fn page(variant: Variant) -> Result<PathBuf> {
    let dist = dist();
    let id = sources::build_id(variant.profile())?;
    let marker = dist.join("build-id.txt");
    if std::fs::read_to_string(&marker).is_ok_and(|built| built.trim() == id) {
        eprintln!("dist/ is up to date (build {id}).");
        return Ok(dist);
    }
    let tools = Tools::find()?;
    // Trunk is told to stay off the network, so what cargo needs is fetched before.
    let mut fetch = tools.toolchain.cargo()?;
    process::run(fetch.args(["fetch", "--quiet", "--locked", "--target", toolchain::TARGET]))?;
    let mut trunk = tools.command("trunk")?;
    trunk
        .args(["build", "--release", "--cargo-profile", variant.profile()])
        .env("CROSSPROF_BUILD_ID", &id)
        .env("CARGO_TARGET_DIR", cache::target().join("page"))
        // Trunk takes NO_COLOR for one of its options and refuses any value but true and false.
        .env_remove("NO_COLOR");
    process::run(&mut trunk)?;
    finish::finish(&dist, &id)?;
    cache::write(&marker, format!("{id}\n"))?;
    Ok(dist)
}
