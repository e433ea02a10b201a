//! `cargo xtask notices`: writes a file with the licences of all packages that the command line, the page and the
//! Python package contain. All three include this file.
//!
//! ```text
//! cargo tree -> packages -> licence: the best one that each offers -> text: from its sources -> one file
//! ```
//!
//! The file is committed, because the command line embeds it. `cargo xtask test` compares the file with the packages in
//! Cargo.lock. The command fails if a package has a licence that is not in [`licence::ALLOWED`].

mod licence;
mod package;

use crate::{Result, cache, process, toolchain};
use licence::Licence;
use package::Package;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

const FILE: &str = "docs/third-party-notices.txt";

const HEAD: &str = "\
Third-party software in crossprof

The crossprof command line (marked C), the WebAssembly programs of its page (marked P) and its Python package (marked W)
are built from the packages below, and from the Rust standard library (MIT OR Apache-2.0). Where a package offers several licences, it is used under
the one that it is listed under here. Each text stands below the packages that it belongs to.
";

/// Published programs. Each program has a letter, which marks it in the file, and the cargo arguments that list its
/// packages.
const PROGRAMS: [(char, &[&str]); 3] = [
    ('C', &["--package", "crossprof", "--features", "view,mcp", "--target", "all"]),
    ('P', &["--package", "www", "--target", toolchain::TARGET]),
    ('W', &["--package", "python", "--features", "view,mcp", "--target", "all"]),
];

/// `cargo xtask notices`: writes the file.
pub(crate) fn command(words: &[String]) -> Result {
    if let Some(word) = words.first() {
        return Err(format!("`notices` has no option {word:?}."));
    }
    let text = text()?;
    cache::write(&cache::repository().join(FILE), &text)?;
    println!("{FILE}: {} bytes", text.len());
    Ok(())
}

/// Fails if the file is out of date.
pub(crate) fn check() -> Result {
    let kept = cache::read(&cache::repository().join(FILE))?;
    if kept == text()? { Ok(()) } else { Err(format!("{FILE} is not that of Cargo.lock: run `cargo xtask notices`.")) }
}

/// Licence texts, with the packages under each text and the letters of the programs that contain the packages.
type Texts = BTreeMap<(&'static str, String), BTreeMap<Package, String>>;

fn text() -> Result<String> {
    let apache = cache::read(&cache::repository().join("LICENSE"))?;
    let sources = sources()?;
    let mut texts = Texts::new();
    for (mark, of_program) in PROGRAMS {
        for (package, expression) in packages(of_program)? {
            let folder = package.folder(&sources)?;
            for licence in Licence::of_expression(&expression).map_err(|wrong| format!("{package}: {wrong}"))? {
                let text = licence.text_in(&folder, &apache)?;
                let marks = texts.entry((licence.name, text)).or_default().entry(package.clone()).or_default();
                if !marks.contains(mark) {
                    marks.push(mark);
                }
            }
        }
    }
    Ok(written(&texts))
}

fn written(texts: &Texts) -> String {
    let mut out = HEAD.to_owned();
    let line = "=".repeat(80);
    for ((licence, text), packages) in texts {
        out.push_str(&format!("\n{line}\n{licence}\n\n"));
        for (package, marks) in packages {
            out.push_str(&format!("  {marks:<3}  {package}\n"));
        }
        out.push_str(&format!("\n{text}\n"));
    }
    out
}

/// Returns the packages of a program, each with its licence expression. The result does not include build dependencies.
fn packages(of_program: &[&str]) -> Result<Vec<(Package, String)>> {
    let mut tree = Command::new(toolchain::own_cargo());
    tree.args(["tree", "--quiet", "--locked", "--edges", "no-dev,no-build,no-proc-macro", "--prefix", "none"])
        .args(["--format", "{p}|{l}"])
        .args(of_program)
        .current_dir(cache::repository());
    let lines = process::output(&mut tree)?;
    let found = lines.lines().filter_map(package_of_line).collect::<Vec<_>>();
    if found.is_empty() { Err("cargo tree names no package.".into()) } else { Ok(found) }
}

/// Parses `serde v1.0.229|MIT OR Apache-2.0 (*)`. Returns `None` for a package of this workspace. The line of such a
/// package has a path after the version.
fn package_of_line(line: &str) -> Option<(Package, String)> {
    let (package, licence) = line.split_once('|')?;
    let (name, version) = package.split_once(" v")?;
    let package = Package { name: name.to_owned(), version: version.to_owned() };
    (!version.contains(' ')).then(|| (package, licence.trim_end_matches(" (*)").to_owned()))
}

/// Returns the folders into which cargo unpacks the sources of packages.
fn sources() -> Result<Vec<PathBuf>> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = set("CARGO_HOME").or_else(|| set("HOME").map(|home| home.join(".cargo")));
    let folder = home.ok_or("There is no folder of cargo: set CARGO_HOME.")?.join("registry/src");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_cargo_tree_are_read() {
        let (package, licence) = package_of_line("toml v1.2.1+spec-1.1.0|MIT OR Apache-2.0 (*)").unwrap();
        assert_eq!((package.to_string().as_str(), licence.as_str()), ("toml 1.2.1+spec-1.1.0", "MIT OR Apache-2.0"));
        assert_eq!(package_of_line("www v0.1.0 (/home/x/www)|Apache-2.0"), None);
    }

    #[test]
    fn packages_with_the_same_text_share_it() {
        let package = |name: &str| Package { name: name.to_owned(), version: "1.0.0".to_owned() };
        let mut texts = Texts::new();
        for (name, marks) in [("b", "CP"), ("a", "P")] {
            let of_text = texts.entry(("MIT", "The text.".to_owned())).or_default();
            of_text.insert(package(name), marks.to_owned());
        }
        let out = written(&texts);
        assert!(out.ends_with("MIT\n\n  P    a 1.0.0\n  CP   b 1.0.0\n\nThe text.\n"), "{out}");
    }
}
