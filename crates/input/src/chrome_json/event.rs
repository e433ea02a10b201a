//! Reads one object of the event list as positions in the text. Nothing is converted or stored yet, so an event that
//! turns out to be incomplete or malformed has no effect.

use super::args::{self, ArgField, Own};
use super::bytes::equal;
use super::lexer::{Kind, Scan, Span, Stop, colon, peek, string, value};
use super::memo::Memo;

/// Phase of an event whose `ph` is longer than one letter.
const UNKNOWN_PHASE: u8 = 0xff;

/// The parts of an event that the decoder uses. The keys of an event may come in any order. If a key is repeated, the
/// last one is used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RawEvent {
    /// Letter in `ph`, or 0 if the event has no `ph`.
    pub phase: u8,
    pub pid: Span,
    pub tid: Span,
    pub ts: Span,
    pub dur: Span,
    pub name: Span,
    pub cat: Span,
    /// Value of `id`, or value of `id2` with its braces.
    pub id: Span,
    pub args: Span,
    /// First letter of `s`, which is the scope of an instant event, or 0 if the event has no `s`.
    pub scope: u8,
    /// First letter of `bp`, or 0 if the event has no `bp`. This letter selects the event that the end of a flow
    /// belongs to.
    pub binding: u8,
    /// Index of the cached event with the same name and arguments, and the values that differ from it.
    pub repeats: Option<(usize, Own)>,
    /// False for `{}`.
    pub has_keys: bool,
}

/// Reads the event whose `{` is at `start`, and returns it with the position after it.
///
/// Stores the event's arguments in `fields`, unless they repeat the arguments of a cached event.
pub(super) fn parse(buf: &[u8], start: usize, memo: &Memo, fields: &mut Vec<ArgField>) -> Scan<(RawEvent, usize)> {
    fields.clear();
    let (mut event, mut pos) = usual_head(buf, start).unwrap_or_else(|| (RawEvent::default(), start + 1));
    // After the usual head, a comma or brace comes next. Without it, a key comes next.
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
                    // The name follows the arguments, so the cached event does not apply. Parse the arguments.
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

/// Reads the keys of a complete event up to its name, if they have XLA's form: a fixed order without spaces. Returns
/// the position after the name. The general code reads events of any other form, with the same result.
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
