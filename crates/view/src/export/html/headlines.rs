//! What was profiled, and the figures that the terminal's one screen has.

use super::page::{escape, push};
use crate::export::text;
use report::UnifiedProfile;

/// Title and headline figures.
pub fn section(page: &mut String, profile: &UnifiedProfile) {
    let name = escape(&profile.metadata.full_name());
    push(
        page,
        &["<header>\n<h1>", &name, "</h1>\n<p class=\"note\">", &escape(&text::title(profile)), "</p>\n</header>\n"],
    );
    page.push_str("<section id=\"summary\">\n<h2>Summary</h2>\n<dl class=\"figures\">\n");
    for (label, value) in text::headlines(profile) {
        push(page, &["<dt>", &escape(label), "</dt><dd>", &escape(&value), "</dd>\n"]);
    }
    page.push_str("</dl>\n</section>\n");
}
