//! `cargo xtask build`: the page in dist/, ready for any static host.
//!
//! `bundle` compiles the programs and lays out the files as Trunk would. For a release, `finish` then gives the functions of
//! each program an order that gzip packs well. It always moves the page's inline start script into a file (so that its
//! Content-Security-Policy needs no exception) and gives the service worker the list of its files.

mod assets;
mod bundle;
mod finish;
mod names;
mod order;
pub mod size;
mod steps;

use crate::tools::WasmOpt;
use crate::{Result, cache, sources, toolchain};
use std::path::PathBuf;
use steps::Steps;

pub use bundle::{bindgen, target};

/// How the page is compiled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// The code that is published: small and fast, built in minutes.
    Release,
    /// The code for work on the page: built quickly, several times slower.
    Quick,
}

impl Variant {
    /// Cargo profile of a program.
    fn profile_of(self, program: &assets::Program) -> &str {
        match self {
            Variant::Release => program.profile.as_deref().unwrap_or("page"),
            Variant::Quick => "page-quick",
        }
    }

    /// Takes `--quick` or `--release` out of the words of a command line.
    pub fn take(words: &mut Vec<String>, default: Variant) -> Variant {
        let mut variant = default;
        words.retain(|word| {
            match word.as_str() {
                "--quick" => variant = Variant::Quick,
                "--release" => variant = Variant::Release,
                _ => return true,
            }
            false
        });
        variant
    }

    /// Build id of the present sources. A quick build's begins with `quick-`: the page's footer shows it.
    fn build_id(self) -> Result<String> {
        match self {
            Variant::Release => sources::build_id("page"),
            Variant::Quick => Ok(format!("quick-{}", sources::build_id("page-quick")?)),
        }
    }

    fn compile_time(self) -> &'static str {
        match self {
            Variant::Release => "3 minutes; 5 the first time",
            Variant::Quick => "3 minutes the first time, then seconds",
        }
    }

    fn bind_time(self) -> &'static str {
        match self {
            Variant::Release => "1 minute",
            Variant::Quick => "5 seconds",
        }
    }
}

/// `cargo xtask build [--quick]`
pub fn command(words: &[String]) -> Result {
    let mut words = words.to_vec();
    let variant = Variant::take(&mut words, Variant::Release);
    if let Some(word) = words.first() {
        return Err(format!("`build` does not know {word:?}."));
    }
    let dist = page(variant)?;
    size::print(&dist)
}

/// The folder of the built page.
pub fn dist() -> PathBuf {
    cache::repository().join("dist")
}

/// Builds the page, unless dist/ contains it already.
pub fn page(variant: Variant) -> Result<PathBuf> {
    let dist = dist();
    let id = variant.build_id()?;
    let marker = dist.join("build-id.txt");
    if std::fs::read_to_string(&marker).is_ok_and(|built| built.trim() == id) {
        eprintln!("dist/ is up to date (build {id}).");
        return Ok(dist);
    }
    let mut steps = Steps::new();
    steps.start("Finding the compiler for WebAssembly", "1 second");
    let toolchain = toolchain::find()?;
    let wasm_opt = match variant {
        Variant::Release => Some(WasmOpt::find()?),
        Variant::Quick => None,
    };
    let bundled = target().join("bundle");
    bundle::bundle(&bundled, variant, &bundle::Tools { toolchain, wasm_opt }, &id, &mut steps)?;
    steps.start("Finishing the page", "2 seconds");
    if dist.exists() {
        std::fs::remove_dir_all(&dist).map_err(|error| format!("{} cannot be emptied: {error}", dist.display()))?;
    }
    bundle::copy_folder(&bundled, &dist)?;
    finish::finish(&dist, variant, &id)?;
    cache::write(&marker, format!("{id}\n"))?;
    steps.end(&format!("The page is in dist/ (build {id})."));
    Ok(dist)
}
