//! What was profiled, and the figures that the terminal's one screen has.

use crate::export::text;
use maud::{Markup, html};
use report::UnifiedProfile;

/// Title and headline figures.
pub fn section(profile: &UnifiedProfile) -> Markup {
    html! {
        header {
            h1 { (profile.metadata.full_name()) }
            p.note { (text::title(profile)) }
        }
        section id="summary" {
            h2 { "Summary" }
            dl.figures {
                @for (label, value) in text::headlines(profile) {
                    dt { (label) }
                    dd { (value) }
                }
            }
        }
    }
}
