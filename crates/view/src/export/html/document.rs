//! A web page that stands for itself: no script, style, font or image from elsewhere, readable without its own script, in print, and
//! with a light or a dark background.
//!
//! ```text
//! head       what it is (told when it is dropped back), Content-Security-Policy, style
//! main       what the report says
//! profiles   the profiles that it is of as JSON, with every "<" escaped: read by a drop, saved by the button
//! script     of the button only
//! ```
//!
//! Texts of a trace pass [`page::escape`](super::page::escape), and the policy lets nothing run but the one script whose hash it
//! names.

use super::page::{escape, push};
use report::UnifiedProfile;

/// The page's style sheet.
const STYLE: &str = include_str!("report.css");
/// What the button does.
const SCRIPT: &str = include_str!("download.js");
/// What may run and what may style, by the hash of its text (a test holds them equal). Nothing is fetched.
const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; \
    style-src 'sha256-VUIRe4fTmfO684opMlFmhDzM3ZYJTiFSc3jCNkdfkAA='; \
    script-src 'sha256-HzuAAQqYtAKGbtVfkm3u67P5h1t1rmtTiCa7/vM0HWk='";

/// What one report differs in from another.
pub struct Document<'a> {
    /// Its title, a text.
    pub title: &'a str,
    /// What it says, as markup: sections.
    pub body: &'a str,
    /// How to go on with the profiles in it: a sentence, as markup.
    pub go_on: &'a str,
    /// What the button that saves the profiles is called.
    pub download: &'a str,
    /// The profiles that it is of.
    pub profiles: Vec<UnifiedProfile>,
}

/// The page.
pub fn whole(document: &Document<'_>) -> String {
    let Document { title, body, go_on, download, profiles } = document;
    let (title, version) = (escape(title), env!("CARGO_PKG_VERSION"));
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"crossprof-report\" content=\"1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"crossprof {version}\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{body}"
    );
    push(
        &mut page,
        &[
            "<footer>\n<p>Made by crossprof ",
            version,
            ". This page fetches nothing. ",
            go_on,
            " <button id=\"crossprof-download\" type=\"button\" hidden>",
            download,
            "</button></p>\n</footer>\n</main>\n",
        ],
    );
    page.push_str("<script type=\"application/json\" id=\"crossprof-profiles\">[");
    for (index, profile) in profiles.iter().enumerate() {
        // Only a map with keys that are not strings could fail here, and there is none.
        let json = serde_json::to_string(profile).unwrap_or_default();
        push(&mut page, &[if index > 0 { ",\n" } else { "\n" }, &json.replace('<', "\\u003c")]);
    }
    page.push_str("\n]</script>\n");
    push(&mut page, &["<script>", SCRIPT, "</script>\n</body>\n</html>\n"]);
    page
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
            let name = tag.trim_end_matches('/').split(' ').next().unwrap();
            match name.strip_prefix('/') {
                Some(closed) => assert_eq!(open.pop(), Some(closed), "{tag}"),
                None if tag.ends_with('/') || matches!(name, "br" | "meta") => {}
                None => open.push(name),
            }
        }
        assert_eq!(open, Vec::<&str>::new());
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
