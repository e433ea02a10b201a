//! Renders a run on one screen, for display in a notebook.

use super::frame::{STYLE, visible};
use base::format::printable;
use base::home::shared;
use maud::{DOCTYPE, PreEscaped, html};
use pages::sections::{summary, what_to_do};
use report::UnifiedProfile;

/// With this policy, the page fetches nothing and runs no script. Inline styles are allowed, because crossprof wrote
/// the only style sheet of the page.
const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'";

/// Renders headline figures and findings. If `step` is given, the card also contains this SVG of a step, which
/// crossprof itself must have drawn.
pub fn card(profile: &UnifiedProfile, step: Option<&str>) -> String {
    let body = html! {
        (super::body(profile, vec![summary(profile), what_to_do(profile)]))
        @if let Some(step) = step {
            section id="step" {
                h2 { "The median step" }
                figure { (PreEscaped(step)) }
            }
        }
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (printable(&profile.metadata.full_name())) }
                style { (PreEscaped(STYLE)) "figure { margin: 0; overflow-x: auto; } figure svg { background: #fff; }" }
            }
            body {
                main { (visible(&body)) }
            }
        }
    };
    shared(page.into_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_shows_the_figures_and_runs_no_script() {
        let mut profile = report::example::profile();
        profile.metadata.run_name = Some("<script>alert(1)</script>".to_owned());
        let with = card(&profile, Some("<svg></svg>"));
        assert!(with.contains("&lt;script&gt;alert") && !with.contains("<script"), "{with}");
        assert!(with.contains("<figure><svg></svg></figure>") && with.contains("What to do"), "{with}");
        assert!(!card(&profile, None).contains("The median step"));
        for address in ["http:", "https:", "src=", "url("] {
            assert!(!with.contains(address), "{address}");
        }
    }
}
