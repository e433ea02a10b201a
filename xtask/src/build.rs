//! `cargo xtask build`: builds the page in dist/. Any static host can serve dist/.
//!
//! `bundle` compiles the WebAssembly programs, and arranges the files in the same way as Trunk. For a release, `finish`
//! then reorders the functions of each program so that gzip compresses them well. For every build, `finish` moves the
//! page's inline start script into a file, so that the Content-Security-Policy needs no exception. `finish` also writes
//! the list of files into the service worker.

mod assets;
mod bundle;
mod finish;
mod names;
mod order;
pub(crate) mod size;
mod steps;

use crate::tools::WasmOpt;
use crate::{Result, cache, sources, toolchain};
use std::path::PathBuf;
use steps::Steps;

pub(crate) use bundle::{bindgen, target};

/// Variant of the page: for users or for development.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    /// Small and fast code, which is published. The build takes minutes.
    Release,
    /// Code for development, which builds quickly but runs several times slower.
    Quick,
}

impl Variant {
    /// Returns the cargo profile with which a program is built.
    fn profile_of(self, program: &assets::Program) -> &str {
        match self {
            Variant::Release => program.profile.as_deref().unwrap_or("page"),
            Variant::Quick => "page-quick",
        }
    }

    /// Removes `--quick` or `--release` from the arguments of a command line, and returns the variant.
    pub(crate) fn take(words: &mut Vec<String>, default: Variant) -> Variant {
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

    /// Returns the build id of the current sources. The id of a quick build begins with `quick-`. The page's footer
    /// shows the id.
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
pub(crate) fn command(words: &[String]) -> Result {
    let mut words = words.to_vec();
    let variant = Variant::take(&mut words, Variant::Release);
    if let Some(word) = words.first() {
        return Err(format!("`build` has no option {word:?}."));
    }
    let dist = page(variant)?;
    size::print(&dist)
}

/// Returns the folder of the built page.
pub(crate) fn dist() -> PathBuf {
    cache::repository().join("dist")
}

/// Builds the page, unless dist/ already contains it.
pub(crate) fn page(variant: Variant) -> Result<PathBuf> {
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
