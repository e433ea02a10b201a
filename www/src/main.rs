//! The page's entry: mounts the application on the document's body.

use leptos::prelude::*;

/// Which build this is; the worker carries the same, so that a stale one is noticed.
const BUILD_ID: &str = match option_env!("CROSSPROF_BUILD_ID") {
    Some(id) => id,
    None => "dev",
};

/// The whole page.
#[component]
fn App() -> impl IntoView {
    view! {
        <main>
            <h1>"crossprof"</h1>
            <p>"Build " <code>{BUILD_ID}</code></p>
        </main>
    }
}

fn main() {
    console_error_panic_hook::set_once();
    mount_to_body(App);
}
