//! The workers. Three programs: one reads files (looks at them, unpacks, decodes), one analyses what was decoded, one is its
//! deputy for what needs no events. A load has two of the first, one of the second, and one of the third once it
//! is asked for; the request to a reader names the part it takes.

pub mod analyst;
pub mod arguments;
pub mod asker;
pub mod compared;
pub mod decode;
pub mod deputy;
pub mod export;
pub mod groups;
pub mod look;
pub mod pipe;
pub mod rehearsal;
pub mod serve;
pub mod stream;
pub mod text;
pub mod timeline;
pub mod unpack;

use js_sys::Date;
use wasm_bindgen::prelude::*;
use web_sys::DedicatedWorkerGlobalScope;

/// Does something after what waits to be heard.
pub fn soon(then: impl FnOnce() + 'static) {
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    // Only a worker that is being ended has no timer.
    let _ = scope.set_timeout_with_callback(Closure::once_into_js(then).unchecked_ref());
}

/// How often the page hears of progress: it draws what it hears.
#[derive(Default)]
pub struct Pace {
    told_at_ms: f64,
}

impl Pace {
    const EVERY_MS: f64 = 150.0;

    /// True where it was long ago, which is then now.
    pub fn is_due(&mut self) -> bool {
        let now_ms = Date::now();
        let due = now_ms - self.told_at_ms > Pace::EVERY_MS;
        if due {
            self.told_at_ms = now_ms;
        }
        due
    }
}
