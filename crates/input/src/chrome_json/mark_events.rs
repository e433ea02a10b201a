//! Reads events without a duration: counters (`C`), instants (`i`, `I`) and flows (`s`, `t`, `f`).
//!
//! ```text
//! {"ph":"C","pid":1,"ts":5,"name":"memory","args":{"used":3,"free":5}}     tracks "memory used" and "memory free"
//! {"ph":"i","pid":1,"tid":2,"ts":5,"s":"t","name":"checkpoint"}            an instant of thread 2
//! {"ph":"s","pid":1,"tid":2,"ts":5,"cat":"ac2g","name":"ac2g","id":7}             a flow starts at an event of thread 2
//! {"ph":"f","pid":0,"tid":4,"ts":8,"cat":"ac2g","name":"ac2g","id":7,"bp":"e"}    and ends at an event of thread 4
//! ```
//!
//! All points of a flow have the same category, name and id. Ids apply to the whole file, unless they are marked as
//! local to a process (`"id2":{"local":"0x7"}`).
//!
//! If the thread of an instant is unknown, the instant belongs to its process. If the process is unknown too, the
//! instant belongs to the whole trace. Counters of an unknown process, flow points on an unknown thread, and events
//! without a time are skipped.

use super::event::RawEvent;
use super::id::Id;
use super::lexer::{Kind, Span, colon, peek, string, value};
use super::marks::{Marks, WaitingFlowPoint, WaitingInstant, WaitingTrack};
use super::number;
use super::store::Store;
use super::text::text;
use trace::{CounterTrack, FlowBinding, FlowPoint, FlowRole, Instant, InstantScope, StrId};

impl Store {
    pub(super) fn counter(&mut self, event: &RawEvent, buf: &[u8]) {
        let Ok(time) = number::time(event.ts.bytes(buf)) else { return };
        if !event.args.is_given() {
            return;
        }
        let (pid, counter, id) = (self.id(event.pid, buf), self.intern(event.name, buf), self.id(event.id, buf));
        let mut pos = event.args.start + 1;
        while let Some((key, sample, next)) = series(buf, pos) {
            pos = next;
            let Some(number) = base::number::json(sample.bytes(buf)) else { continue };
            let key = self.intern(key, buf);
            let tracks = self.marks.tracks.len();
            let track = *self.marks.track_of.entry((pid, counter, id, key)).or_insert(tracks);
            if track == tracks {
                let name = self.track_name(counter, key, event.id, buf);
                self.marks.tracks.push(WaitingTrack { pid, name, samples: Vec::new() });
            }
            self.marks.tracks.get_mut(track).into_iter().for_each(|track| track.samples.push((time, number)));
        }
    }

    /// Returns the name of a counter track: `memory used`, or `memory 0x7 used` if the counter has an id. A series with
    /// the name `value` adds nothing to the name.
    fn track_name(&mut self, counter: StrId, series: StrId, id: Span, buf: &[u8]) -> StrId {
        let mut name = self.trace.text(counter).to_owned();
        if id.is_given() {
            name.push(' ');
            name.push_str(text(id, buf, &mut String::new()));
        }
        let series = self.trace.text(series);
        if !series.is_empty() && series != "value" {
            name.push(' ');
            name.push_str(series);
        }
        self.trace.strings.intern(&name)
    }

    pub(super) fn instant(&mut self, event: &RawEvent, buf: &[u8]) {
        let Ok(time) = number::time(event.ts.bytes(buf)) else { return };
        let (pid, tid, name) = (self.id(event.pid, buf), self.id(event.tid, buf), self.intern(event.name, buf));
        self.marks.instants.push(WaitingInstant { scope: event.scope, pid, tid, name, time });
    }

    pub(super) fn flow(&mut self, event: &RawEvent, role: FlowRole, buf: &[u8]) {
        let Ok(time) = number::time(event.ts.bytes(buf)) else { return };
        let (pid, tid, id) = (self.id(event.pid, buf), self.id(event.tid, buf), self.id(event.id, buf));
        let (cat, name) = (self.intern(event.cat, buf), self.intern(event.name, buf));
        let is_local =
            event.id.kind == Kind::Nested && memchr::memmem::find(event.id.bytes(buf), b"\"local\"").is_some();
        let Ok(next) = u32::try_from(self.marks.flow_of.len()) else { return };
        let flow = *self.marks.flow_of.entry((is_local.then_some(pid), cat, name, id)).or_insert(next);
        let is_next = role == FlowRole::End && event.binding != b'e';
        let binding = if is_next { FlowBinding::Next } else { FlowBinding::Enclosing };
        let point = FlowPoint { flow, role, binding, name, ..FlowPoint::default() };
        self.marks.flows.push(WaitingFlowPoint { pid, tid, time, point });
    }

    /// Moves all waiting marks into the trace. `anchor_us` is the time in the file at which the trace's clock is zero.
    pub(super) fn place_marks(&mut self, anchor_us: i64) {
        let Marks { tracks, track_of: _, instants, flows, flow_of: _, orders } = std::mem::take(&mut self.marks);
        for (line, id) in self.trace.lines.iter_mut().zip(&self.line_ids) {
            line.id = match id {
                Id::Number(tid) => Some(*tid),
                _ => None,
            };
        }
        for (pid, tid, order) in orders {
            let line = self.known_line(pid, tid).and_then(|line| self.trace.lines.get_mut(line.index()));
            line.into_iter().for_each(|line| line.order = Some(order));
        }
        for WaitingTrack { pid, name, mut samples } in tracks {
            let Some(plane) = self.known_plane(pid) else { continue };
            samples.sort_by_key(|(time, _)| *time);
            let placed = samples.iter().filter_map(|(time, value)| Some((time.since_us(anchor_us)?, *value)));
            let (times, values) = placed.unzip();
            self.trace.counters.push(CounterTrack { plane, name, times, values });
        }
        for WaitingInstant { scope, pid, tid, name, time } in instants {
            let Some(time) = time.since_us(anchor_us) else { continue };
            let line = self.known_line(pid, tid).filter(|_| !matches!(scope, b'g' | b'p')).map(InstantScope::Line);
            let plane = || self.known_plane(pid).filter(|_| scope != b'g').map(InstantScope::Plane);
            let scope = line.or_else(plane).unwrap_or_default();
            self.trace.instants.push(Instant { scope, name, time });
        }
        for WaitingFlowPoint { pid, tid, time, point } in flows {
            let (Some(time), Some(line)) = (time.since_us(anchor_us), self.known_line(pid, tid)) else { continue };
            self.trace.flows.push(FlowPoint { line, time, ..point });
        }
    }
}

/// Returns the key and value of the next member of an object, and the position after it.
fn series(buf: &[u8], mut pos: usize) -> Option<(Span, Span, usize)> {
    if peek(buf, &mut pos).ok()? == b',' {
        pos += 1;
    }
    if peek(buf, &mut pos).ok()? != b'"' {
        return None;
    }
    let (end, escaped) = string(buf, pos + 1).ok()?;
    let key = Span { start: pos + 1, end, kind: if escaped { Kind::Escaped } else { Kind::Text } };
    let (sample, next) = value(buf, colon(buf, end + 1).ok()?).ok()?;
    Some((key, sample, next))
}
