//! Finds the host span that requested a copy: the innermost span on the calling thread that encloses the launch call.
//!
//! ```text
//! thread   [ train_step          [ device_put    [cudaMemcpyAsync] ] ]
//! site                             '- this one
//! ```
//!
//! ROCm's collector puts calls on separate threads, where nothing encloses them, so the copies in its traces have no
//! call site.

use rustc_hash::FxHashMap;

use crate::device::devices::Devices;
use base::Ps;
use trace::{EventId, LineEvents, LineKind, StrId, Trace};

#[derive(Debug, Default)]
pub(super) struct CallSites {
    sites: FxHashMap<EventId, StrId>,
}

impl CallSites {
    /// Finds the call sites of the calls `wanted`, which must be in ascending order. Reads only the threads of these
    /// calls.
    pub(super) fn new(trace: &Trace, devices: &Devices, wanted: &[EventId]) -> CallSites {
        let mut has_calls = vec![false; trace.lines.len()];
        for event in wanted.iter().filter_map(|&id| trace.events.get(id)) {
            if let Some(flag) = has_calls.get_mut(event.line.index()) {
                *flag = true;
            }
        }
        let mut found = CallSites::default();
        for ((line, events), has_calls) in trace.lines.iter().zip(devices.by_line.events.iter()).zip(has_calls) {
            if has_calls && line.kind == LineKind::Host {
                found.walk(trace, events, wanted);
            }
        }
        found
    }

    /// Reads the events of one thread, parents first, with a stack of open spans.
    fn walk(&mut self, trace: &Trace, events: &LineEvents, wanted: &[EventId]) {
        let mut open: Vec<(Ps, StrId)> = Vec::new();
        for id in events.iter() {
            let Some(event) = trace.events.get(id) else { continue };
            while open.last().is_some_and(|&(end, _)| end <= event.start) {
                open.pop();
            }
            if wanted.binary_search(&id).is_ok() {
                let around = open.iter().rev().find(|&&(end, _)| end >= event.end());
                self.sites.extend(around.map(|&(_, name)| (id, name)));
            } else {
                open.push((event.end(), event.name));
            }
        }
    }

    pub(super) fn site(&self, call: EventId) -> Option<StrId> {
        self.sites.get(&call).copied()
    }
}
