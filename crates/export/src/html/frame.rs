//! Writes a self-contained web page. The page loads no scripts, styles, fonts or images from elsewhere. The page is
//! readable without its own script, in print, and on a light or dark background.
//!
//! ```text
//! head       kind of document (identifies it when it is loaded again), Content-Security-Policy, style
//! main       sections of the report
//! profiles   profiles of the report as JSON, with every "<" escaped: read if the report is dropped onto crossprof's page
//! steps      pictures of their median steps, if any: read if the report is dropped onto crossprof's page
//! script     for the button only, which saves the profiles
//! ```
//!
//! `maud` escapes all text that is inserted into markup. The style, the script and the profiles are [`PreEscaped`],
//! because they must not be escaped. The Content-Security-Policy allows only the one script whose hash it contains.

use base::format::printable;
use base::home::shared;
use base::json_text;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use report::UnifiedProfile;
use serde::Serialize;

/// Style sheet of the page.
pub(super) const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("download.js");
/// Content-Security-Policy that allows only the script and the style with these hashes. A test checks the hashes. With
/// this policy, the page fetches nothing.
const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; \
    style-src 'sha256-1cdDabw1GX1MO/sQYMj680Jg4P/ieZHUXh4jHfE9HUo='; \
    script-src 'sha256-HzuAAQqYtAKGbtVfkm3u67P5h1t1rmtTiCa7/vM0HWk='";

/// Content of the page that differs between reports.
pub(crate) struct Frame<'a> {
    /// Title of the report.
    pub title: &'a str,
    /// Sections of the report.
    pub body: Markup,
    /// Sentence that explains how to continue with the profiles of the report.
    pub go_on: Markup,
    /// Label of the button that saves the profiles.
    pub download: &'a str,
    /// Profiles that the report describes.
    pub profiles: Vec<UnifiedProfile>,
    /// Picture of the median step of each profile, as text. `None` for a profile without such a picture.
    pub median_steps: Vec<Option<String>>,
}

/// Returns the text of the whole page.
pub(crate) fn whole(document: &Frame<'_>) -> String {
    let Frame { title, body, go_on, download, profiles, median_steps } = document;
    let version = env!("CARGO_PKG_VERSION");
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="crossprof-report" content="1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content={ "crossprof " (version) };
                title { (printable(title)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    (visible(body))
                    footer {
                        p {
                            "Made by crossprof " (version) ". This page fetches nothing. " (go_on) " "
                            button id="crossprof-download" type="button" hidden { (download) }
                        }
                    }
                }
                script type="application/json" id="crossprof-profiles" {
                    "["
                    @for (index, profile) in profiles.iter().enumerate() {
                        @if index > 0 { "," }
                        "\n" (json(profile))
                    }
                    "\n]"
                }
                @if median_steps.iter().any(Option::is_some) {
                    script type="application/json" id="crossprof-median-steps" { (json(median_steps)) }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    shared(page.into_string())
}

/// Escapes the control characters of texts in the markup. The markup itself contains no control characters.
pub(super) fn visible(markup: &Markup) -> Markup {
    PreEscaped(printable(&markup.0))
}

/// Writes JSON in a form that cannot close the enclosing element.
fn json(value: &impl Serialize) -> Markup {
    PreEscaped(json_text::compact(value).replace('<', "\\u003c"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Panics if any element in the body of the page lacks its own end tag.
    pub(crate) fn assert_elements_nest(page: &str) {
        let mut open: Vec<&str> = Vec::new();
        let body = page.split_once("<body>").unwrap().1.split_once("<script").unwrap().0;
        for tag in body.split('<').skip(1) {
            let (tag, _) = tag.split_once('>').unwrap_or_else(|| panic!("{tag}"));
            let name = tag.split(' ').next().unwrap();
            match name.strip_prefix('/') {
                Some(closed) => assert_eq!(open.pop(), Some(closed), "{tag}"),
                None if name == "br" => {}
                None => open.push(name),
            }
        }
        assert_eq!(open, Vec::<&str>::new());
    }

    #[test]
    fn no_text_is_markup_or_hides_characters() {
        let page = whole(&Frame {
            title: "<a>\u{202e}",
            body: html! { p title="\u{1}" { ("<b>\u{7}&") } },
            go_on: html! {},
            download: "Save",
            profiles: Vec::new(),
            median_steps: Vec::new(),
        });
        assert!(page.contains(r"<title>&lt;a&gt;\u{202e}</title>"), "{page}");
        assert!(page.contains(r#"<p title="\u{1}">&lt;b&gt;\u{7}&amp;</p>"#), "{page}");
    }

    #[test]
    fn the_policy_names_the_style_and_the_script() {
        assert!(POLICY.contains(&format!("script-src 'sha256-{}'", hash(SCRIPT))), "{}", hash(SCRIPT));
        assert!(POLICY.contains(&format!("style-src 'sha256-{}'", hash(STYLE))), "{}", hash(STYLE));
    }

    /// Returns the SHA-256 hash of a text in base64, the form that a Content-Security-Policy requires.
    fn hash(text: &str) -> String {
        use sha2::{Digest, Sha256};
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let digest = Sha256::digest(text);
        let mut base64 = String::new();
        for three in digest.chunks(3) {
            let bits = three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
            for place in 0..4 {
                let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63] as char;
                base64.push(if place <= three.len() { letter } else { '=' });
            }
        }
        base64
    }
}
