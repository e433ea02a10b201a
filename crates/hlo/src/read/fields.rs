//! Iterates over the fields of messages. Unreadable bytes set a flag, and the rest of their message is skipped.

use std::cell::Cell;

use base::wire::{Fault, Reader, Value};

/// Fields of a message, up to the first unreadable field.
pub(super) struct Fields<'a, 'd> {
    reader: Reader<'a>,
    ended: bool,
    damaged: &'d Cell<bool>,
}

/// Returns the fields of `bytes`. Sets `damaged` if any field violates the format.
pub(super) fn fields<'a, 'd>(bytes: &'a [u8], damaged: &'d Cell<bool>) -> Fields<'a, 'd> {
    Fields { reader: Reader::new(bytes), ended: false, damaged }
}

impl<'a> Iterator for Fields<'a, '_> {
    type Item = (u32, Value<'a>);

    fn next(&mut self) -> Option<(u32, Value<'a>)> {
        if self.ended {
            return None;
        }
        match self.reader.field() {
            Ok(field) => field.map(|field| (field.number, field.value)),
            Err(error) => {
                self.ended = true;
                self.damaged.set(true);
                match error.fault {
                    Fault::Short { number, rest, .. } => Some((number, Value::Bytes(rest))),
                    _ => None,
                }
            }
        }
    }
}

/// Returns the value of a field as text. Bytes that are not UTF-8 are replaced.
pub(super) fn text(value: Value<'_>) -> String {
    String::from_utf8_lossy(value.bytes().unwrap_or_default()).into_owned()
}

/// Returns the value of a field as a number, or 0 if the value is not a number.
pub(super) fn int(value: Value<'_>) -> i64 {
    value.int64().unwrap_or_default()
}

/// Returns the bytes of a length-delimited field. The result is empty for other fields.
pub(super) fn bytes(value: Value<'_>) -> &[u8] {
    value.bytes().unwrap_or_default()
}

/// Appends the numbers of a repeated field, packed or not.
pub(super) fn ints(value: Value<'_>, out: &mut Vec<i64>) {
    match value {
        Value::Varint(number) => out.push(number as i64),
        Value::Bytes(packed) => {
            let mut packed = Reader::new(packed);
            out.extend(std::iter::from_fn(|| packed.varint()).map(|number| number as i64));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_and_single_numbers_are_read() {
        let mut out = Vec::new();
        ints(Value::Varint(7), &mut out);
        ints(Value::Bytes(&[3, 0x96, 0x01, 0]), &mut out);
        ints(Value::Bytes(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]), &mut out);
        ints(Value::Bytes(&[0x80]), &mut out);
        assert_eq!(out, [7, 3, 150, 0, -1]);
    }

    #[test]
    fn a_short_field_hands_out_what_is_there() {
        let damaged = Cell::new(false);
        let read: Vec<_> = fields(&[0x08, 1, 0x12, 5, b'h', b'i'], &damaged).collect();
        assert_eq!(read, [(1, Value::Varint(1)), (2, Value::Bytes(b"hi"))]);
        assert!(damaged.get());
    }
}
