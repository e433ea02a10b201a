//! A web page that stands for itself: no script, style, font or image from elsewhere, readable without its own script, in print, and
//! with a light or a dark background.
//!
//! ```text
//! head       what it is (told when it is dropped back), Content-Security-Policy, style
//! main       what the report says
//! profiles   the profiles that it is of as JSON, with every "<" escaped: read by a drop, saved by the button
//! steps      the pictures of their median steps, where there are any: read by a drop
//! script     of the button only
//! ```
//!
//! `maud` escapes every text that is spliced into markup. What is markup already, or must not be escaped, is [`PreEscaped`]: the
//! style, the script, the profiles. The policy lets nothing run but the one script whose hash it names.

use base::format::printable;
use base::home::shared;
use base::json_text;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use report::UnifiedProfile;
use serde::Serialize;

/// The page's style sheet.
pub(super) const STYLE: &str = include_str!("report.css");
/// What the button does.
const SCRIPT: &str = include_str!("download.js");
/// What may run and what may style, by the hash of its text (a test holds them equal). Nothing is fetched.
const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; \
    style-src 'sha256-yH6i9bxIDorWaCnQD2s6BNIHeFH0RGOw7r9di1W+YuU='; \
    script-src 'sha256-HzuAAQqYtAKGbtVfkm3u67P5h1t1rmtTiCa7/vM0HWk='";

/// What one report differs in from another.
pub struct Document<'a> {
    /// Title of the report.
    pub title: &'a str,
    /// Sections of the report.
    pub body: Markup,
    /// How to go on with the profiles of the report: a sentence.
    pub go_on: Markup,
    /// What the button that saves the profiles is called.
    pub download: &'a str,
    /// The profiles that the report is of.
    pub profiles: Vec<UnifiedProfile>,
    /// The picture of the median step of each of them as a text, where there are any.
    pub median_steps: Vec<Option<String>>,
}

/// The page.
pub fn whole(document: &Document<'_>) -> String {
    let Document { title, body, go_on, download, profiles, median_steps } = document;
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

/// The markup with the control characters that texts in it have written out: markup itself has none.
pub(super) fn visible(markup: &Markup) -> Markup {
    PreEscaped(printable(&markup.0))
}

/// JSON that cannot end the element that it is in.
fn json(value: &impl Serialize) -> Markup {
    PreEscaped(json_text::compact(value).replace('<', "\\u003c"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Fails where an element of the page's body is not closed by its own end tag.
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
        let page = whole(&Document {
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

    /// SHA-256 in base64, as a Content-Security-Policy has it.
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
