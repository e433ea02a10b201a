//! The two inflaters that `input` can be built with, natively and in the tab.

use crate::tools::Tools;
use crate::{Result, cache, node, process, toolchain};
use std::path::Path;
use std::process::Command;

/// What chooses each, for cargo.
const INFLATERS: [(&str, &[&str]); 2] =
    [("zlib-rs", &[]), ("miniz_oxide", &["--no-default-features", "--features", "miniz"])];

/// Unpacks a gzip file with each.
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
    let tools = Tools::find()?;
    for (name, features) in INFLATERS {
        println!("\nInflating in a tab, {name}:");
        process::run(node::playwright()?.arg(script()).arg(program(&tools, name, features)?).arg(file))?;
    }
    Ok(())
}

fn script() -> std::path::PathBuf {
    cache::repository().join("tests/end2end/bench-inflate.mjs")
}

/// The folder with the program of an inflater, built as the page's reader is.
fn program(tools: &Tools, name: &str, features: &[&str]) -> Result<std::path::PathBuf> {
    let target = cache::target().join("page");
    let mut cargo = tools.toolchain.cargo()?;
    cargo
        .args(["build", "--quiet", "--locked", "--profile", "page", "--package", "inflating"])
        .args(["--target", toolchain::TARGET])
        .args(features)
        .env("CARGO_TARGET_DIR", &target);
    process::run(&mut cargo)?;
    let folder = target.join("inflating").join(name);
    let mut bindgen = tools.command("wasm-bindgen")?;
    bindgen.args(["--target", "web", "--no-typescript", "--out-dir"]).arg(&folder);
    process::run(bindgen.arg(target.join(toolchain::TARGET).join("page/inflating.wasm")))?;
    Ok(folder)
}
