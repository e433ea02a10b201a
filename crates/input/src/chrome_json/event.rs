//! One object of the event list, as places in the text: nothing is converted or stored yet, so an event that turns out
//! to be cut off or malformed has left no trace.

use super::args::{self, ArgField, Own};
use super::bytes::equal;
use super::lexer::{Kind, Scan, Span, Stop, colon, peek, string, value};
use super::memo::Memo;

/// Phase of an event whose `ph` is longer than a letter.
const UNKNOWN_PHASE: u8 = 0xff;

/// The parts of an event that are used. Keys come in any order; of a repeated key the last one counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RawEvent {
    /// Letter of `ph`; 0 where it is missing.
    pub phase: u8,
    pub pid: Span,
    pub tid: Span,
    pub ts: Span,
    pub dur: Span,
    pub name: Span,
    pub cat: Span,
    /// `id`, or `id2` with its braces.
    pub id: Span,
    pub args: Span,
    /// First letter of `s`: what an instant belongs to; 0 where it is missing.
    pub scope: u8,
    /// First letter of `bp`: which event the end of a flow belongs to; 0 where it is missing.
    pub binding: u8,
    /// The remembered event whose name and arguments this one repeats, and what differs.
    pub repeats: Option<(usize, Own)>,
    /// False for `{}`.
    pub has_keys: bool,
}

/// Reads the event at `start` (its `{`) and returns it with the position after it.
///
/// `fields` receives its arguments unless they repeat those of a remembered event.
pub(super) fn parse(buf: &[u8], start: usize, memo: &Memo, fields: &mut Vec<ArgField>) -> Scan<(RawEvent, usize)> {
    fields.clear();
    let (mut event, mut pos) = usual_head(buf, start).unwrap_or_else(|| (RawEvent::default(), start + 1));
    // After the usual head, a comma or brace comes next; else a key.
    let mut after_value = pos > start + 1;
    loop {
        if after_value {
            match peek(buf, &mut pos)? {
                b',' => pos += 1,
                b'}' => break,
                _ => return Err(Stop::Bad(pos)),
            }
        }
        after_value = true;
        match peek(buf, &mut pos)? {
            b'"' => event.has_keys = true,
            b'}' => break,
            _ => return Err(Stop::Bad(pos)),
        }
        let (key_end, _) = string(buf, pos + 1)?;
        let key = buf.get(pos + 1..key_end).unwrap_or_default();
        let at = colon(buf, key_end + 1)?;
        if key == b"args" && buf.get(at) == Some(&b'{') {
            let end = args(buf, at, memo, fields, &mut event)?;
            event.args = Span { start: at, end, kind: Kind::Nested };
            pos = end;
        } else {
            let (value, next) = value(buf, at)?;
            match key {
                b"ph" => event.phase = phase(value.bytes(buf)),
                b"ts" => event.ts = value,
                b"dur" => event.dur = value,
                b"pid" => event.pid = value,
                b"tid" => event.tid = value,
                b"cat" => event.cat = value,
                b"s" => event.scope = value.bytes(buf).first().copied().unwrap_or(0),
                b"bp" => event.binding = value.bytes(buf).first().copied().unwrap_or(0),
                b"id" | b"id2" => event.id = value,
                b"name" => {
                    // A name after the arguments: those of a remembered event stand in no field yet.
                    if event.repeats.take().is_some() {
                        args::parse(buf, event.args.start, fields)?;
                    }
                    event.name = value;
                }
                _ => {}
            }
            pos = next;
        }
    }
    if !event.args.is_given() {
        event.repeats = memo.find_without_args(event.name, event.tid, buf).map(|slot| (slot, Own::default()));
    }
    Ok((event, pos + 1))
}

/// The keys of a complete event up to its name, as XLA writes them: always in this order, without spaces. Returns the
/// position after the name; what looks otherwise is left to the general case, which would read the same.
#[inline]
fn usual_head(buf: &[u8], start: usize) -> Option<(RawEvent, usize)> {
    let mut event = RawEvent { phase: b'X', has_keys: true, ..RawEvent::default() };
    let mut pos = literal(buf, start, br#"{"ph":"X","pid":"#)?;
    (event.pid, pos) = number(buf, pos)?;
    (event.tid, pos) = number(buf, literal(buf, pos, br#","tid":"#)?)?;
    (event.ts, pos) = number(buf, literal(buf, pos, br#","ts":"#)?)?;
    (event.dur, pos) = number(buf, literal(buf, pos, br#","dur":"#)?)?;
    pos = literal(buf, pos, br#","name":""#)?;
    let (end, escaped) = string(buf, pos).ok()?;
    event.name = Span { start: pos, end, kind: if escaped { Kind::Escaped } else { Kind::Text } };
    Some((event, end + 1))
}

#[inline]
fn literal(buf: &[u8], pos: usize, expected: &[u8]) -> Option<usize> {
    let end = pos + expected.len();
    equal(buf.get(pos..end)?, expected).then_some(end)
}

#[inline]
fn number(buf: &[u8], start: usize) -> Option<(Span, usize)> {
    let length = buf.get(start..)?.iter().position(|&byte| !args::is_number_byte(byte))?;
    let end = start + length;
    (length > 0).then_some((Span { start, end, kind: Kind::Word }, end))
}

fn args(buf: &[u8], at: usize, memo: &Memo, fields: &mut Vec<ArgField>, event: &mut RawEvent) -> Scan<usize> {
    if let Some((slot, own, end)) = memo.find(event.name, event.tid, buf, at) {
        event.repeats = Some((slot, own));
        return Ok(end);
    }
    event.repeats = None;
    args::parse(buf, at, fields)
}

fn phase(text: &[u8]) -> u8 {
    match text {
        [letter] => *letter,
        _ => UNKNOWN_PHASE,
    }
}
