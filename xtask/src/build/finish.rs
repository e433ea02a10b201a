//! Turns the bundle in dist/ into the published page.

use super::bundle::digest;
use super::{Variant, names, order};
use crate::{Result, cache, sources};
use std::path::Path;

pub(super) fn finish(dist: &Path, variant: Variant, id: &str) -> Result {
    let index = dist.join("index.html");
    let mut page = cache::read(&index)?;
    if variant == Variant::Release {
        page = pack(dist, page)?;
    }
    let (page, scripts) = externalise(&page)?;
    for (name, text) in scripts {
        cache::write(&dist.join(name), text)?;
    }
    cache::write(&index, page)?;
    service_worker(dist, id)
}

/// Shortens the names that each program shares with its script, and reorders the program's functions so that they
/// compress well. Returns the page's text with the new digests of the programs and scripts.
fn pack(dist: &Path, mut page: String) -> Result<String> {
    for file in sources::with_extension(dist, "wasm")? {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
        let program = std::fs::read(&file).map_err(|error| failed(&error))?;
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let glue = file.with_file_name(format!("{}.js", stem.trim_end_matches("_bg")));
        let script = cache::read(&glue)?;
        let (short, short_script) = names::shorten(&program, &script).map_err(|error| failed(&error))?;
        let ordered = order::order(&short).map_err(|error| failed(&error))?;
        page = page.replace(&digest(&program), &digest(&ordered));
        page = page.replace(&digest(script.as_bytes()), &digest(short_script.as_bytes()));
        std::fs::write(&file, ordered).map_err(|error| failed(&error))?;
        cache::write(&glue, short_script)?;
    }
    Ok(page)
}

/// Moves every inline script of a page into a file. Returns the new text of the page, and the name and the text of each
/// file.
fn externalise(page: &str) -> Result<(String, Vec<(String, String)>)> {
    let mut out = String::with_capacity(page.len());
    let mut scripts = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find("<script") {
        let (before, tag_on) = rest.split_at(start);
        out.push_str(before);
        let body = tag_on.find('>').ok_or("dist/index.html has a script tag without an end.")? + 1;
        let end = tag_on.find("</script>").filter(|end| *end >= body);
        let end = end.ok_or("dist/index.html has a script without an end.")?;
        let (tag, text) = (&tag_on[..body], &tag_on[body..end]);
        if text.trim().is_empty() {
            out.push_str(&tag_on[..end]);
        } else {
            let name = format!("start-{}.js", sources::digest(text.as_bytes()));
            out.push_str(tag.trim_end_matches('>'));
            out.push_str(&format!(" src=\"./{name}\">"));
            scripts.push((name, text.to_owned()));
        }
        out.push_str("</script>");
        rest = &tag_on[end + "</script>".len()..];
    }
    out.push_str(rest);
    Ok((out, scripts))
}

/// Writes the build id and the list of files to cache into the service worker.
fn service_worker(dist: &Path, id: &str) -> Result {
    let mut files = Vec::new();
    sources::collect(dist, &mut files)?;
    let mut names: Vec<String> = files
        .iter()
        .filter_map(|file| file.strip_prefix(dist).ok())
        .map(|file| file.to_string_lossy().replace('\\', "/"))
        .filter(|name| name != "sw.js" && name != "build-id.txt")
        .map(|name| format!("{:?}", format!("./{name}")))
        .collect();
    // The URL of the page without a file name.
    names.push("\"./\"".into());
    names.sort();
    let file = dist.join("sw.js");
    let text = cache::read(&file)?;
    if !text.contains("@BUILD_ID@") || !text.contains("/*@FILES@*/") {
        return Err("www/assets/sw.js has lost a place that the build fills in.".into());
    }
    let text = text.replace("@BUILD_ID@", id).replace("/*@FILES@*/", &names.join(", "));
    cache::write(&file, text)
}

#[cfg(test)]
mod tests {
    use super::externalise;

    #[test]
    fn inline_scripts_become_files_and_others_stay() {
        let page = "<p><script src=\"a.js\"></script><script type=\"module\">go()</script></p>";
        let (page, scripts) = externalise(page).unwrap();
        let [(name, text)] = &scripts[..] else { panic!("one inline script, got {scripts:?}") };
        assert_eq!(text, "go()");
        let expected =
            format!("<p><script src=\"a.js\"></script><script type=\"module\" src=\"./{name}\"></script></p>");
        assert_eq!(page, expected);
    }

    #[test]
    fn a_script_without_an_end_is_refused() {
        assert!(externalise("<script>go()").is_err());
    }
}
