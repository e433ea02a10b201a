//! Compares the two inflaters that `input` supports, natively and in a browser tab.

use crate::toolchain::Toolchain;
use crate::{Result, build, cache, node, process, toolchain};
use std::path::Path;
use std::process::Command;

/// The cargo features that select each inflater.
const INFLATERS: [(&str, &[&str]); 2] =
    [("zlib-rs", &[]), ("miniz_oxide", &["--no-default-features", "--features", "miniz"])];

/// Unpacks a gzip file with each inflater.
pub fn compare(file: &Path, in_tab: bool) -> Result {
    println!("\nInflating, native:");
    for (_, features) in INFLATERS {
        let mut cargo = Command::new(toolchain::own_cargo());
        cargo.args(["run", "--quiet", "--locked", "--release", "--package", "input", "--example", "inflate_speed"]);
        process::run(cargo.args(features).arg("--").arg(file).current_dir(cache::repository()))?;
    }
    if !in_tab {
        return Ok(());
    }
    let toolchain = toolchain::find()?;
    for (name, features) in INFLATERS {
        println!("\nInflating in a tab, {name}:");
        process::run(node::playwright()?.arg(script()).arg(program(&toolchain, name, features)?).arg(file))?;
    }
    Ok(())
}

fn script() -> std::path::PathBuf {
    cache::repository().join("tests/end2end/bench-inflate.mjs")
}

/// Builds an inflater in the same way as the page's reader. Returns the folder that contains the program.
fn program(toolchain: &Toolchain, name: &str, features: &[&str]) -> Result<std::path::PathBuf> {
    let target = build::target();
    let mut cargo = toolchain.cargo()?;
    cargo
        .args(["build", "--quiet", "--locked", "--profile", "page", "--package", "inflating"])
        .args(["--target", toolchain::TARGET])
        .args(features)
        .env("CARGO_TARGET_DIR", &target);
    process::run(&mut cargo)?;
    let folder = target.join("inflating").join(name);
    build::bindgen(&target.join(toolchain::TARGET).join("page/inflating.wasm"), "inflating", &folder)?;
    Ok(folder)
}
