//! Finds the messages inside a message, so that each can be decoded separately.

use base::wire::{Fault, Reader, Value};

use crate::problems::{Problem, Problems};

/// Returns the messages and texts in a message, by field number, up to the first unreadable field. For a truncated
/// field, returns the available bytes.
pub(crate) fn messages<'a>(message: &'a [u8], problems: &mut Problems) -> Vec<(u32, &'a [u8])> {
    let mut reader = Reader::new(message);
    let mut found = Vec::new();
    loop {
        match reader.field() {
            Ok(None) => return found,
            Ok(Some(field)) => {
                if let Value::Bytes(bytes) = field.value {
                    found.push((field.number, bytes));
                }
            }
            Err(error) => {
                problems.add(if matches!(error.fault, Fault::Malformed) { Problem::Unreadable } else { Problem::Cut });
                if let Fault::Short { number, rest, .. } = error.fault {
                    found.push((number, rest));
                }
                return found;
            }
        }
    }
}
