//! Collects all details of selected events in a Chrome trace: their `args`, and all members except name, time and
//! thread.
//!
//! An event has an index only after it is stored. Most events are stored as soon as they are read. The first events of
//! a file wait for its clock, and the first half of a pair waits for the second half. Until an event is stored, the
//! text of every event that may be selected is kept:
//!
//! ```text
//! {"ph":"B",...,"args":{"a":1}}   kept                     {"ph":"E",...,"args":{"b":2}}   placed: a and b
//! ```

use super::event::RawEvent;
use super::lexer::{Kind, Span, colon, peek, string, value};
use super::marks::Marks;
use super::store::Store;
use super::text::text;
use super::watched::Watched;
use crate::watch::{ArgumentList, EventArguments, Watch};
use trace::EventId;

/// Maximum depth of nested objects whose members are listed separately. An object at a greater depth is listed as one
/// value.
const MAX_DEPTH: u32 = 8;

/// Names of the event members that a trace stores for every event.
const KNOWN: [&[u8]; 6] = [b"name", b"ph", b"pid", b"tid", b"ts", b"dur"];

impl Store {
    /// Sets the events to watch for.
    pub(super) fn watch(&mut self, watch: Option<Watch>) {
        self.watched = watch.map(|watch| Box::new(Watched { watch, ..Watched::default() }));
    }

    /// Frees the memory of the events read so far, and returns the number of selected events that are still missing.
    pub(super) fn forget(&mut self) -> usize {
        self.trace.events.forget();
        self.marks = Marks::default();
        self.watched.as_ref().map_or(0, |watched| watched.watch.left())
    }

    /// Handles the text of an event after the event was stored.
    #[inline(never)]
    pub(super) fn note(&mut self, event: &RawEvent, text: &[u8], offset: u64) {
        let is_settled = self.anchor_us.is_some();
        let Some(watched) = &mut self.watched else { return };
        let ended = watched.ended.take();
        if let Some(kept) = ended.and_then(|begin| watched.kept.get_mut(&begin)) {
            (kept.end, kept.is_whole) = (text.into(), true);
        } else if matches!(event.phase, b'B' | b'b') || !is_settled && event.phase == b'X' {
            watched.keep(offset, text, event.phase == b'X');
        }
        let is_settling = is_settled && !watched.is_settled;
        watched.is_settled = is_settled;
        if !watched.placed.is_empty() {
            self.found(Some((offset, text)));
        }
        let Some(watched) = &mut self.watched else { return };
        if is_settling {
            watched.kept.retain(|_, kept| !kept.is_whole);
            watched.kept_bytes = watched.kept.values().map(|kept| kept.begin.len()).sum();
        } else if let Some(begin) = ended.filter(|_| is_settled) {
            watched.drop_kept(begin);
        }
    }

    /// Ends the file and returns the watch with the events found.
    pub(super) fn finish_watch(&mut self) -> Option<Watch> {
        self.finish();
        self.found(None);
        self.watched.take().map(|watched| watched.watch)
    }

    /// Collects the details of the selected events that were just stored. `current` is the last event that was read.
    fn found(&mut self, current: Option<(u64, &[u8])>) {
        let Some(watched) = &mut self.watched else { return };
        for (event, offset) in std::mem::take(&mut watched.placed) {
            let (begin, end) = match (watched.kept.get(&offset), current) {
                (Some(kept), _) => (&*kept.begin, &*kept.end),
                (None, Some((here, text))) if here == offset => (text, &[][..]),
                (None, _) => continue,
            };
            let name = self.trace.events.get(EventId::new(event)).map(|event| self.trace.text(event.name).to_owned());
            let arguments = arguments(begin, end);
            watched.watch.found(EventArguments { event, name: name.unwrap_or_default(), arguments });
        }
    }
}

/// Collects the arguments in the texts of an event and of its end event.
fn arguments(begin: &[u8], end: &[u8]) -> Vec<(String, String)> {
    let mut list = ArgumentList::default();
    let mut others = Vec::new();
    for object in [begin, end] {
        for_each_member(object, 0, |key, value| match key.bytes(object) {
            known if KNOWN.contains(&known) => {}
            b"args" if object.get(value.start) == Some(&b'{') => members(object, value, "", 0, &mut list),
            _ => others.push((object, key, value)),
        });
    }
    for (object, key, value) in others {
        member(object, key, value, "", 0, &mut list);
    }
    list.finish()
}

fn members(buf: &[u8], object: Span, prefix: &str, depth: u32, list: &mut ArgumentList) {
    for_each_member(buf, object.start, |key, value| member(buf, key, value, prefix, depth, list));
}

/// Adds a member to the list. If the value is an object, adds each of its members instead, with `key` as
/// a prefix.
fn member(buf: &[u8], key: Span, value: Span, prefix: &str, depth: u32, list: &mut ArgumentList) {
    let name = format!("{prefix}{}", text(key, buf, &mut String::new()));
    let bytes = value.bytes(buf);
    let is_object = value.kind == Kind::Nested && bytes.first() == Some(&b'{');
    if is_object && depth < MAX_DEPTH && bytes.iter().skip(1).find(|byte| !byte.is_ascii_whitespace()) != Some(&b'}') {
        members(buf, value, &format!("{name}."), depth + 1, list);
    } else if value.kind == Kind::Nested {
        list.add(&name, &compact(bytes));
    } else {
        list.add(&name, text(value, buf, &mut String::new()));
    }
}

/// Calls `visit` with the key and value of each member of the object at `start`. Stops at the first malformed member.
fn for_each_member(buf: &[u8], start: usize, mut visit: impl FnMut(Span, Span)) {
    let mut pos = start + 1;
    while let Ok(byte) = peek(buf, &mut pos) {
        if byte == b',' {
            pos += 1;
            continue;
        }
        if byte != b'"' {
            return;
        }
        let Ok((end, escaped)) = string(buf, pos + 1) else { return };
        let key = Span { start: pos + 1, end, kind: if escaped { Kind::Escaped } else { Kind::Text } };
        let Ok((value, next)) = colon(buf, end + 1).and_then(|at| value(buf, at)) else { return };
        visit(key, value);
        pos = next;
    }
}

/// Removes white space between the tokens of a JSON text.
fn compact(json: &[u8]) -> String {
    let (mut out, mut in_string, mut is_escaped) = (Vec::with_capacity(json.len()), false, false);
    for &byte in json {
        if in_string || !byte.is_ascii_whitespace() {
            out.push(byte);
        }
        let is_quote = byte == b'"' && !is_escaped;
        is_escaped = in_string && byte == b'\\' && !is_escaped;
        in_string ^= is_quote;
    }
    String::from_utf8_lossy(&out).into_owned()
}
