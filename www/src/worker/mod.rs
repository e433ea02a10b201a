//! The workers. Workers run three different programs. The reader inspects, unpacks and decodes files. The analyst
//! analyses the decoded runs. The graph worker draws and prints compiled programs. A load has two readers, one analyst
//! and, on demand, a second analyst for requests that need no events. The analyst and the second analyst run the same
//! program. The request that a worker receives determines its task.

pub mod analyst;
pub mod arguments;
pub mod asker;
pub mod comparison;
pub mod decode;
pub mod export;
pub mod graph;
pub mod groups;
pub mod look;
pub mod memory;
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

/// Runs a function after all messages that have already arrived.
pub fn soon(then: impl FnOnce() + 'static) {
    let scope: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    // Fails only in a worker that is being terminated.
    let _ = scope.set_timeout_with_callback(Closure::once_into_js(then).unchecked_ref());
}

/// Limits the rate of progress messages, because each of them makes the page redraw.
#[derive(Default)]
pub struct Pace {
    told_at_ms: f64,
}

impl Pace {
    const EVERY_MS: f64 = 150.0;

    /// Returns true if it is time for the next message, and then also restarts the interval.
    pub fn is_due(&mut self) -> bool {
        let now_ms = Date::now();
        let due = now_ms - self.told_at_ms > Pace::EVERY_MS;
        if due {
            self.told_at_ms = now_ms;
        }
        due
    }
}
