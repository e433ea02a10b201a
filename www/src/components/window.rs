//! The window that the numbers of a run cover, and the field that selects it. The window and the field are shown above
//! every view.

use crossprof::report::WindowKind;
use crossprof::session::{Settings, WindowChoice};
use crossprof::{Metric, metric};
use leptos::prelude::*;

use super::live::{live, shown};
use super::tip::term;
use crate::state::{Run, State};
use crate::{browser, client};

/// Named windows. Each entry contains the name on the page, then the name in URLs and on the command line.
const NAMED: [(&str, &str); 3] = [("counted steps", "main"), ("active span", "active"), ("whole capture", "all")];

/// Accepted input of the field.
const EXPECTED: &str = "counted steps, active span, whole capture, steps:3-98, or a range such as 1500-2500 in microseconds from the start of the capture.";

/// Key of the window in URLs.
const OPTION: &str = "window";

const WINDOW: Metric = metric!("window.sentence");

/// Renders the description of the window and the field.
#[component]
pub fn Window(
    /// The run that the window belongs to.
    run: Run,
) -> impl IntoView {
    let (state, settings, report) = (State::get(), run.settings, run.report);
    let wrong = RwSignal::new(false);
    let sentences = move || {
        let window = report.get().profile.window.clone()?;
        let caution = window.caution.map(|text| view! { <strong>{text}</strong>" " });
        Some(
            view! { {caution}{term("Window".to_owned(), crossprof::text::fields::plain(WINDOW.definition), None)}": "{window.sentence} },
        )
    };
    let chosen = move || {
        let mut choice = settings.with(|settings| settings.window.to_string());
        // Without steps, the main window is the active span.
        let kind = report
            .with(|report| report.profile.window.as_ref().map(|window| window.kind() == Some(WindowKind::ActiveSpan)));
        if choice == "main" && kind == Some(true) {
            choice = "active".to_owned();
        }
        NAMED.iter().find(|(_, key)| *key == choice).map_or(choice, |(name, _)| (*name).to_owned())
    };
    let chosen_for = run.clone();
    let choose = move |event: web_sys::Event| {
        let text = event_target_value(&event);
        let text = text.trim();
        let key = NAMED.iter().find(|(name, _)| *name == text).map_or(text, |(_, key)| key);
        let choice = if key.is_empty() { Ok(WindowChoice::Main) } else { key.parse() };
        wrong.set(choice.is_err());
        if let Ok(window) = choice {
            client::analyse(state, &chosen_for, Settings { window, ..settings.get_untracked() });
        }
    };
    let followed = run.clone();
    Effect::new(move |before: Option<Option<String>>| {
        let wanted = state.route.with(|route| route.query.options.get(OPTION).cloned());
        let now = settings.with(|settings| settings.window.clone());
        let text = (now != WindowChoice::Main).then(|| now.to_string());
        if wanted == text {
            return wanted;
        }
        match wanted.as_deref().map(str::parse::<WindowChoice>) {
            // The user opened a URL with another window.
            Some(Ok(window)) if before.as_ref() != Some(&wanted) => {
                client::analyse(state, &followed, Settings { window, ..settings.get_untracked() });
                wanted
            }
            // The user selected another window or view, so update the URL.
            _ => {
                let mut route = state.route.get_untracked();
                match &text {
                    Some(text) => drop(route.query.options.insert(OPTION.to_owned(), text.clone())),
                    None => drop(route.query.options.remove(OPTION)),
                }
                browser::replace(&route);
                state.route.update_untracked(|known| *known = route);
                text
            }
        }
    });
    let options = NAMED.map(|(name, _)| view! { <option value=name></option> }).collect_view();
    // An imported report cannot be analysed again.
    let is_measured = move || report.with(|report| report.profile.window.is_some() && report.profile.is_from_events());
    view! {
        <p class="window">
            <span>{live(sentences)}</span>
            {shown(is_measured, move || view! {
                <label class="field" class:wrong=move || wrong.get()>"Measure "
                    <input type="text" list="windows" autocomplete="off" name="window" prop:value=chosen
                        title=EXPECTED
                        aria-invalid=move || wrong.get().to_string() on:change=choose.clone() />
                </label>
            })}
            <datalist id="windows">{options}</datalist>
            {shown(move || wrong.get(), || view! { <span class="hint" role="alert">{EXPECTED}</span> })}
        </p>
    }
}
