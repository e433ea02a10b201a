//! The header above every view of a run: name, hardware, source and warnings.

use crossprof::Severity;
use crossprof::text::format;
use leptos::prelude::*;

use super::live::{live, says};
use super::strip::Strip;
use super::tip::Name;
use super::window::Window;
use crate::client;
use crate::protocol::files::{format_name, total_bytes};
use crate::state::{Run, State};

/// The header of a run.
#[component]
pub fn RunHeader(
    /// The run to describe.
    run: Run,
) -> impl IntoView {
    let state = State::get();
    let (id, report) = (run.id, run.report);
    let facts = move || {
        let report = report.get();
        let profile = &report.profile;
        let metadata = &profile.metadata;
        let devices = format::counted(metadata.num_devices, "device");
        let mut facts = match metadata.num_devices {
            // The devices of this run are unknown. The overview shows details that are known.
            0 if metadata.device_type == "Unknown" => Vec::new(),
            _ => vec![format!("{}, {devices}", metadata.device_type)],
        };
        if let Some(hosts) = metadata.num_hosts.filter(|hosts| *hosts > 1) {
            facts.push(format!("{hosts} hosts"));
        }
        if let Some(duration) = metadata.capture_duration_us {
            facts.push(format!("{} captured", format::time_us(duration)));
        }
        if let Some(events) = metadata.num_events {
            facts.push(format::counted(events, "event"));
        }
        if let Some(file) = profile.provenance.first() {
            let more = profile.provenance.len() - 1;
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            facts.push(format!(
                "read from {}{more}, {}",
                format_name(&file.format),
                format::bytes(total_bytes(&profile.provenance))
            ));
        }
        if profile.is_earlier_result {
            facts.push("an earlier result, without events".to_owned());
        }
        facts.into_iter().map(|fact| view! { <li>{format::printable(&format::shorten(&fact, 80))}</li> }).collect_view()
    };
    let alerts = move || {
        let report = report.get();
        let warnings = report.profile.warnings.iter();
        let worst = warnings.clone().map(|warning| warning.severity).max()?;
        let count = warnings.filter(|warning| warning.severity > Severity::Note).count();
        if worst == Severity::Note {
            return None;
        }
        let class = if worst == Severity::Damage { "bad" } else { "warning" };
        let text = if count == 1 { "1 warning".to_owned() } else { format!("{count} warnings") };
        Some(view! { <a class=format!("badge {class}") href="#warnings" on:click=show_warnings>{text}</a> })
    };
    let closing = run.clone();
    view! {
        <header class="run-header">
            <h1>{live(move || view! { <Name text=state.name_of(id) width=48 /> })}</h1>
            <span class="platform-badge">{says(move || report.get().profile.platform())}</span>
            {live(alerts)}
            <span class="spring"></span>
            <button class="plain" title="Close this run and free its memory" on:click=move |_| client::close(state, &closing)>"Close run"</button>
            <ul class="facts">{live(facts)}</ul>
            <Window run=run.clone() />
            <Strip run=run.clone() />
        </header>
    }
}

/// Scrolls to the warnings. Does not change the URL, which names the current view.
fn show_warnings(event: web_sys::MouseEvent) {
    event.prevent_default();
    if let Some(element) = document().get_element_by_id("warnings") {
        element.scroll_into_view();
    }
}
