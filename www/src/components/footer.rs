//! The footer: version, build, licences, and the counter of requests. The counter shows that no data leaves the tab.

use leptos::prelude::*;
use wasm_bindgen::prelude::*;
use web_sys::{PerformanceObserver, PerformanceObserverEntryList, PerformanceObserverInit};

use crate::protocol::BUILD_ID;
use crate::{boot, browser, pool};

/// The footer. The counter of requests starts after the page has fetched all its files.
#[component]
pub fn Footer() -> impl IntoView {
    let requests = RwSignal::new(None::<u32>);
    wasm_bindgen_futures::spawn_local(async move {
        boot::prefetch().await;
        pool::fill();
        // The browser reports completed requests only in a later task.
        set_timeout(move || requests.set(Some(0)), std::time::Duration::from_millis(50));
        observe(requests);
    });
    let text = move || match requests.get() {
        None => "loading".to_owned(),
        Some(1) => "1 request since load".to_owned(),
        Some(count) => format!("{count} requests since load"),
    };
    view! {
        <footer class="footer" class:ready=move || requests.get().is_some()>
            <span class="version">"crossprof "{env!("CARGO_PKG_VERSION")}</span>
            <span>"build "<code>{BUILD_ID}</code></span>
            // Opens in another tab, because leaving this tab would close its runs.
            <a href="third-party-notices.txt" target="_blank" title="Licences of the software that this page contains">"Licences"</a>
            <span class="requests" class:alarm=move || requests.get().is_some_and(|count| count > 0)
                title="This page counts its requests with a PerformanceObserver. Your browser's network panel shows the same number.">{text}</span>
        </footer>
    }
}

/// Counts all requests from this call on.
fn observe(requests: RwSignal<Option<u32>>) {
    let callback =
        Closure::<dyn FnMut(PerformanceObserverEntryList)>::new(move |list: PerformanceObserverEntryList| {
            let sent = |entry: &JsValue| {
                let address = js_sys::Reflect::get(entry, &"name".into()).ok().and_then(|name| name.as_string());
                address.is_none_or(|address| !address.starts_with("blob:") && !address.starts_with("data:"))
            };
            let more = list.get_entries().iter().filter(sent).count() as u32;
            requests.update(|count| *count = Some(count.unwrap_or(0) + more));
        });
    if let Ok(observer) = PerformanceObserver::new(callback.as_ref().unchecked_ref()) {
        let kinds = js_sys::Array::of1(&"resource".into());
        observer.observe(&PerformanceObserverInit::new(&kinds));
    }
    callback.forget();
    browser::mark_ready();
}
