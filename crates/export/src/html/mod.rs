//! Renders the report of one run as a self-contained web page. The report of a comparison uses the same parts.
//!
//! This module reads only the unified profile, so imported results also have a report, and the same profile always
//! produces the same bytes.

mod card;
pub(crate) mod frame;

#[cfg(test)]
mod tests;

pub use card::card;

use super::text;
use document::{Section, html::render};
use frame::Frame;
use maud::{Markup, html};
use pages::sections::sections;
use report::UnifiedProfile;

/// Returns the report of the run in `profile`.
pub fn report(profile: &UnifiedProfile) -> String {
    frame::whole(&Frame {
        title: &profile.metadata.full_name(),
        body: body(profile, sections(profile)),
        go_on: html! {
            "Drop this page onto crossprof, or pass it to " code { "crossprof" } " as a file, to continue with the \
                profile that it contains."
        },
        download: "Download the profile (JSON)",
        profiles: vec![profile.copied()],
        median_steps: Vec::new(),
    })
}

/// Renders the name and origin of the run, then the sections.
fn body(profile: &UnifiedProfile, mut sections: Vec<Section>) -> Markup {
    // A page needs a heading even if the next block has a title. A terminal does not.
    for (id, title) in [("summary", "Summary"), ("host", "Hosts and other devices"), ("ops", "Ops")] {
        sections.iter_mut().filter(|section| section.id == id).for_each(|section| section.title = title.to_owned());
    }
    html! {
        header {
            h1 { (profile.metadata.full_name()) }
            p.note { (text::title(profile)) }
        }
        (render(&sections))
    }
}
