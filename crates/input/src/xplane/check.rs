//! Detects an XSpace. Protobuf has no magic number. Instead, this module requires the first fields of an XSpace, and a
//! printable name of the first plane.
//!
//! Two kinds of files look similar to an XSpace. First, other protobufs of TensorFlow and XProf would decode as an
//! XSpace with garbage in its names if the decoder skipped unknown fields. Second, if a program has decoded an xplane
//! file as text, every byte above 127 became U+FFFD (`EF BF BD`), so the lengths of fields are lost.

use base::Error;
use base::wire::{Fault, Field, Reader, Value, WireError};

/// UTF-8 encoding of U+FFFD.
const REPLACEMENT: &[u8] = b"\xef\xbf\xbd";

/// Returns true if `head` starts an XSpace. `head` contains the first bytes of the file or the whole file. A few
/// hundred bytes are enough.
pub(crate) fn looks_like_xspace(head: &[u8]) -> bool {
    // The bytes `EF BF BD` in place of a length would be read as a valid length.
    if is_decoded_as_text(head) {
        return false;
    }
    let mut reader = Reader::new(head);
    loop {
        match reader.field() {
            Ok(Some(Field { number: 1, value: Value::Bytes(plane) })) => return is_plane(plane),
            Ok(Some(Field { number: 2..=4, value: Value::Bytes(text) })) if is_printable(text, false) => {}
            Err(WireError { fault: Fault::Short { number: 1, rest, .. }, .. }) => return is_plane(rest),
            _ => return false,
        }
    }
}

/// Returns an error for a file of a known kind that looks similar to an XSpace, or `None` for other files.
pub(crate) fn what_else(head: &[u8]) -> Option<Error> {
    if is_decoded_as_text(head) {
        let remedy = "Its lengths and numbers are lost. Copy the original again, as a binary file.";
        return Some(Error::not_a_profile(
            "an xplane file that was decoded as text (its bytes above 127 became U+FFFD)",
            remedy,
        ));
    }
    let what = if looks_like_xspace(head) { None } else { other_protobuf(head) }?;
    Some(Error::not_a_profile(what, "Open the *.xplane.pb or *.trace.json.gz of the same capture instead."))
}

/// Returns the error for a file that is not an XSpace, or `None` for an XSpace.
pub(super) fn refusal(head: &[u8]) -> Option<Error> {
    if head.is_empty() {
        return Some(Error::Empty);
    }
    if looks_like_xspace(head) {
        return None;
    }
    let other = || Error::not_a_profile("a file of another kind", "Open the *.xplane.pb that the profiler wrote.");
    Some(what_else(head).unwrap_or_else(other))
}

/// Returns true if the bytes start a plane. The plane's name comes first, or after the id, and always before large fields.
fn is_plane(bytes: &[u8]) -> bool {
    let mut reader = Reader::new(bytes);
    loop {
        match reader.field() {
            Ok(Some(Field { number: 1, value: Value::Varint(_) })) => {}
            Ok(Some(Field { number: 2, value: Value::Bytes(name) })) => {
                return !name.is_empty() && is_printable(name, false) && rest_of_plane(reader);
            }
            Err(WireError { fault: Fault::Short { number: 2, rest, .. }, .. }) => {
                return !rest.is_empty() && is_printable(rest, true);
            }
            _ => return false,
        }
    }
}

/// Checks the fields after the name: known fields must have the right wire type. Fields with unknown numbers are accepted,
/// because later versions may add fields.
fn rest_of_plane(mut reader: Reader<'_>) -> bool {
    loop {
        match reader.field() {
            Ok(None) => return true,
            Ok(Some(Field { number: 3..=6, value: Value::Bytes(_) })) => {}
            Ok(Some(Field { number: 1..=6, .. })) => return false,
            Ok(Some(_)) => {}
            Err(WireError { fault: Fault::Short { number: 3..=6, .. } | Fault::Ended, .. }) => return true,
            Err(_) => return false,
        }
    }
}

/// Returns true for UTF-8 text without control characters. If `cut` is true, the last character may be incomplete.
fn is_printable(bytes: &[u8], cut: bool) -> bool {
    match std::str::from_utf8(bytes) {
        Ok(text) => !text.chars().any(char::is_control),
        Err(error) => {
            let (valid, rest) = bytes.split_at(error.valid_up_to());
            cut && error.error_len().is_none() && rest.len() < 4 && is_printable(valid, false)
        }
    }
}

/// Returns true if the file was an xplane file that a program decoded as text. Such a file starts like a plane and
/// contains control characters, but it is UTF-8 with U+FFFD in place of every byte above 127.
fn is_decoded_as_text(head: &[u8]) -> bool {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(head.get(..error.valid_up_to()).unwrap_or_default()).unwrap_or_default()
        }
        Err(_) => return false,
    };
    let replaced = text.matches('\u{fffd}').count();
    let binary = text.chars().filter(|c| c.is_control() && !c.is_whitespace()).count();
    let framed = head.first() == Some(&0x0a) && head.windows(REPLACEMENT.len()).take(16).any(|w| w == REPLACEMENT);
    framed && replaced >= 4 && binary >= 4
}

/// Returns the kind of a protobuf file that occurs next to xplane files, according to its first fields.
fn other_protobuf(head: &[u8]) -> Option<&'static str> {
    let first = first_field(head)?;
    let inner = first_bytes_field(first.1);
    match first.0 {
        // Trace { map<uint32, Device> devices = 1; ...  trace_events = 4 }. A map entry is { key = 1, Device = 2 }.
        1 if inner.is_some_and(|(number, device)| number == 2 && first_field(device).is_some()) => {
            Some("a trace viewer's protobuf (trace events without the profile)")
        }
        // TfStatsDatabase { with_idle = 4 { records = 1 { rank = 1; "Device" or "Host" = 2 } } }
        4 | 5
            if inner.is_some_and(|(number, record)| {
                number == 1
                    && first_bytes_field(record).is_some_and(|(number, place)| {
                        number == 2 && (place == b"Device".as_slice() || place == b"Host".as_slice())
                    })
            }) =>
        {
            Some("a cache of TensorFlow op statistics that the profiler's viewer wrote")
        }
        _ => None,
    }
}

/// Returns the first field of a message if the field is length-delimited. The end of the field may be missing.
fn first_field(bytes: &[u8]) -> Option<(u32, &[u8])> {
    match Reader::new(bytes).field() {
        Ok(Some(Field { number, value: Value::Bytes(body) })) => Some((number, body)),
        Err(WireError { fault: Fault::Short { number, rest, .. }, .. }) => Some((number, rest)),
        _ => None,
    }
}

/// Returns the first length-delimited field of a message. Skips numeric fields before this field.
fn first_bytes_field(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let mut reader = Reader::new(bytes);
    loop {
        match reader.field() {
            Ok(Some(Field { number, value: Value::Bytes(body) })) => return Some((number, body)),
            Err(WireError { fault: Fault::Short { number, rest, .. }, .. }) => return Some((number, rest)),
            Ok(Some(_)) => {}
            _ => return None,
        }
    }
}
