//! The start page: introduction, drop zone, examples, and instructions to capture a profile.

use leptos::prelude::*;

use crate::boot::EXAMPLES;
use crate::browser;
use crate::components::drop_zone::{DropZone, open_example};
use crate::components::live::live;
use crate::components::loads::Loads;
use crate::components::warnings::bounded;
use crate::state::State;

const SNIPPET: &str = "\
import jax
from jax import profiler

with profiler.trace(\"/tmp/profile\"):
    for step in range(10):
        with profiler.StepTraceAnnotation(\"train\", step_num=step):
            state = train_step(state, batch)
    jax.block_until_ready(state)
";

/// Renders the page.
#[component]
pub fn Start() -> impl IntoView {
    let state = State::get();
    let examples = EXAMPLES
        .iter()
        .map(|example| {
            let file = example.file;
            view! {
                <button class="example" on:click=move |_| open_example(state, file)>
                    <strong>{example.title}</strong><span>{example.about}</span>
                </button>
            }
        })
        .collect_view();
    // After a reload, the URL names a run that no longer exists.
    let gone = move || {
        let id = state.route.with(|route| route.run)?;
        let file = browser::kept(id).unwrap_or_else(|| "its profile".to_owned());
        Some(
            view! { <p class="banner" role="status">"The run that this URL refers to is closed. Drop "<bdi>{bounded(&file)}</bdi>" again to continue."</p> },
        )
    };
    view! {
        <div class="start">
            {live(gone)}
            <section class="lead">
                <h1>"Where does a JAX training step spend its time?"</h1>
                <p>"Inside this tab, crossprof reads a profile from TPUs, GPUs or CPUs and shows step times, idle devices and expensive kernels."</p>
            </section>
            <DropZone />
            <Loads />
            <section class="examples" aria-label="Examples">
                <h2>"Or open an example"</h2>
                <div class="example-row">{examples}</div>
            </section>
            <div class="two">
                <section>
                    <h2>"Nothing leaves this tab"</h2>
                    <p>"The analysis is a WebAssembly program in this page. The page's Content-Security-Policy forbids all connections except to its own files, which are already loaded. A profile goes to another page only if you press Open in Perfetto, and then moves from tab to tab inside this browser."</p>
                    <p>"To check this, watch the footer, which counts requests since load, or go offline: everything still works."</p>
                </section>
                <section>
                    <header class="snippet-head"><h2>"Capture a profile"</h2><span class="spring"></span>
                        <button class="plain" on:click=move |_| state.copy(SNIPPET, "Snippet")>"Copy"</button></header>
                    <pre class="snippet" tabindex="0"><code>{SNIPPET}</code></pre>
                    <p class="quiet">"Then drop the folder /tmp/profile here. The step annotations mark every step, and block_until_ready makes sure that the last one is complete."</p>
                </section>
            </div>
        </div>
    }
}
