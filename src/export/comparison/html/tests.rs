use super::*;
use crate::export::comparison::example;
use crate::input::decoder::{Decoded, Decoder};

fn report() -> String {
    html(&example::comparison(), &example::subjects())
}

#[test]
fn it_has_every_part() {
    let page = report();
    for id in [
        "summary",
        "fairness",
        "scored",
        "not-scored",
        "step-time",
        "waterfall",
        "scaling",
        "trend",
        "categories",
        "ops",
        "kernels",
        "collectives",
        "matching",
        "devices",
        "findings",
        "environment",
        "definitions",
        "warnings",
    ] {
        assert_eq!(page.matches(&format!(" id=\"{id}\"")).count(), 1, "{id}");
    }
    assert!(page.contains("▲ 2.00x faster") && page.contains("new is twice as fast as main."), "{page}");
    assert!(page.contains("Mean of steps[].duration_us"), "{page}");
}

/// The page is markup that nests, and no text of a trace is in it as such.
#[test]
fn texts_are_no_markup_and_elements_nest() {
    let page = report();
    assert!(page.contains("&lt;img onerror=x&gt;") && !page.contains("<img"));
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(
        !page.contains("style=\"") && !page.contains("http://") && !page.contains("https://"),
        "nothing from elsewhere"
    );
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
    let page = report();
    assert!(page.contains(&format!("script-src 'sha256-{}'", hash(SCRIPT))), "{}", hash(SCRIPT));
    assert!(page.contains(&format!("style-src 'sha256-{}'", hash(STYLE))), "{}", hash(STYLE));
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

#[test]
fn the_profiles_in_it_are_read_as_they_were() {
    let page = report();
    for chunk in [1000, usize::MAX] {
        let mut decoder = Decoder::new("report.html");
        page.as_bytes().chunks(chunk).for_each(|bytes| decoder.push(bytes).unwrap());
        let Decoded::Profiles(found) = decoder.finish().unwrap() else { panic!("no profiles") };
        let found: Vec<_> = found.runs.into_iter().map(|run| run.profile).collect();
        let given: Vec<_> = example::subjects().into_iter().map(|subject| subject.profile).collect();
        assert_eq!(found, given);
    }
}
