//! Reads the `<link data-trunk>` elements of index.html, which name the files and programs of the page.
//!
//! Trunk defines the attributes of these elements, and `trunk build` reads the same file. This module supports only the
//! attributes that the project uses.

use crate::Result;
use std::path::PathBuf;

/// One `<link data-trunk>` element.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// The element's text, up to and including its `>`.
    pub text: String,
    pub asset: Asset,
}

/// The part of the page that a link names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asset {
    /// A style sheet. In the built page, the name of the file contains its hash.
    Css(PathBuf),
    /// A file that keeps its name.
    File(PathBuf),
    /// A folder that keeps its name.
    Folder(PathBuf),
    Program(Program),
}

impl Asset {
    /// Returns the program, if the link names one.
    pub(super) fn program(&self) -> Option<&Program> {
        if let Asset::Program(program) = self { Some(program) } else { None }
    }
}

/// A WebAssembly program of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// Name of the binary in `www/Cargo.toml`.
    pub bin: String,
    /// True for programs that the page's code starts as workers. Such programs keep their names. False for the program
    /// that starts with the page.
    pub is_worker: bool,
    /// Cargo profile, if the link names one.
    pub profile: Option<String>,
    /// Arguments of wasm-opt.
    pub wasm_opt: Vec<String>,
}

/// Returns the links of a page, in the order in which they appear.
pub(super) fn links(page: &str) -> Result<Vec<Link>> {
    let mut links = Vec::new();
    for (start, _) in page.match_indices("<link data-trunk") {
        let end = page[start..].find('>').ok_or("index.html has a link without an end.")?;
        let text = &page[start..=start + end];
        links.push(Link { text: text.to_owned(), asset: asset(text)? });
    }
    Ok(links)
}

fn asset(link: &str) -> Result<Asset> {
    let get = |name| attribute(link, name);
    let need = |name| get(name).ok_or_else(|| format!("index.html: {link} has no {name}."));
    let href = PathBuf::from(need("href")?);
    Ok(match need("rel")? {
        "css" => Asset::Css(href),
        "copy-file" => Asset::File(href),
        "copy-dir" => Asset::Folder(href),
        "rust" => {
            let level = get("data-wasm-opt").map(|level| format!("-O{level}"));
            let parameters = get("data-wasm-opt-params").unwrap_or_default().split_whitespace().map(str::to_owned);
            Asset::Program(Program {
                bin: need("data-bin")?.to_owned(),
                is_worker: get("data-type") == Some("worker"),
                profile: get("data-cargo-profile").map(str::to_owned),
                wasm_opt: level.into_iter().chain(parameters).collect(),
            })
        }
        other => return Err(format!("index.html: `cargo xtask build` does not support rel={other:?}.")),
    })
}

/// Returns the value of an attribute, which is written as `NAME="value"`.
fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let start = format!(" {name}=\"");
    let (_, value) = element.split_once(&start)?;
    value.split_once('"').map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_link_is_read_in_order() {
        let page = "<link rel=\"icon\" href=\"x\"><link data-trunk rel=\"css\" href=\"a.css\">\
            <link data-trunk rel=\"copy-file\" href=\"b\"><link data-trunk rel=\"copy-dir\" href=\"c\">\
            <link data-trunk rel=\"rust\" href=\"Cargo.toml\" data-bin=\"w\" data-type=\"worker\" \
            data-cargo-profile=\"p\" data-wasm-opt=\"4\" data-wasm-opt-params=\"--x=1 --y\">";
        let assets: Vec<Asset> = links(page).unwrap().into_iter().map(|link| link.asset).collect();
        let program = Program {
            bin: "w".into(),
            is_worker: true,
            profile: Some("p".into()),
            wasm_opt: ["-O4", "--x=1", "--y"].map(str::to_owned).to_vec(),
        };
        let expected =
            [Asset::Css("a.css".into()), Asset::File("b".into()), Asset::Folder("c".into()), Asset::Program(program)];
        assert_eq!(assets, expected);
    }

    #[test]
    fn links_that_cannot_be_built_are_errors() {
        for link in ["rel=\"sass\" href=\"a\">", "rel=\"css\">", "rel=\"rust\" href=\"a\">", "rel=\"css\" href=\"a\""] {
            assert!(links(&format!("<link data-trunk {link}")).is_err(), "{link}");
        }
    }
}
