//! Binary encoding of JSON trees, for data that is too large to convert to JavaScript values one by one. The writer and
//! the reader belong to the same build, so the format has no version number. This module does not access the browser.
//!
//! A value is a tag followed by its content. A number takes eight bytes. A string, list or object begins with its
//! length, which takes four bytes. All numbers are little-endian. Unlike JSON, this format needs no parser for numbers.
//! The page contains no parser for numbers at all.

use serde_json::{Map, Number, Value};

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const UNSIGNED: u8 = 3;
const SIGNED: u8 = 4;
const FLOAT: u8 = 5;
const TEXT: u8 = 6;
const LIST: u8 = 7;
const OBJECT: u8 = 8;

/// Maximum depth of nested lists and objects. The limit is the same as in `serde_json`. A limit is necessary, because
/// the reader is recursive.
const MAX_DEPTH: u32 = 128;

/// Serialises a tree. Returns `None` if a string or list is longer than `u32::MAX`.
pub fn write(tree: &Value) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    value(tree, &mut out)?;
    Some(out)
}

fn value(tree: &Value, out: &mut Vec<u8>) -> Option<()> {
    match tree {
        Value::Null => out.push(NULL),
        Value::Bool(false) => out.push(FALSE),
        Value::Bool(true) => out.push(TRUE),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => tagged(UNSIGNED, &number.to_le_bytes(), out),
            (None, Some(number)) => tagged(SIGNED, &number.to_le_bytes(), out),
            (None, None) => tagged(FLOAT, &number.as_f64()?.to_le_bytes(), out),
        },
        Value::String(text) => {
            out.push(TEXT);
            bytes(text, out)?;
        }
        Value::Array(values) => {
            tagged(LIST, &u32::try_from(values.len()).ok()?.to_le_bytes(), out);
            values.iter().try_for_each(|each| value(each, out))?;
        }
        Value::Object(entries) => {
            tagged(OBJECT, &u32::try_from(entries.len()).ok()?.to_le_bytes(), out);
            entries.iter().try_for_each(|(key, each)| bytes(key, out).and_then(|()| value(each, out)))?;
        }
    }
    Some(())
}

fn tagged(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(bytes);
}

fn bytes(text: &str, out: &mut Vec<u8>) -> Option<()> {
    out.extend_from_slice(&u32::try_from(text.len()).ok()?.to_le_bytes());
    out.extend_from_slice(text.as_bytes());
    Some(())
}

/// Parses a tree. Returns `None` if the bytes are not valid output of [`write`].
pub fn read(bytes: &[u8]) -> Option<Value> {
    let mut rest = Rest(bytes);
    let tree = rest.value(MAX_DEPTH)?;
    rest.0.is_empty().then_some(tree)
}

struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn value(&mut self, depth: u32) -> Option<Value> {
        Some(match self.array::<1>()?[0] {
            NULL => Value::Null,
            FALSE => Value::Bool(false),
            TRUE => Value::Bool(true),
            UNSIGNED => Value::from(u64::from_le_bytes(self.array()?)),
            SIGNED => Value::from(i64::from_le_bytes(self.array()?)),
            FLOAT => Value::Number(Number::from_f64(f64::from_le_bytes(self.array()?))?),
            TEXT => Value::String(self.text()?),
            LIST => {
                let (depth, mut values) = (depth.checked_sub(1)?, Vec::new());
                for _ in 0..self.length()? {
                    values.push(self.value(depth)?);
                }
                Value::Array(values)
            }
            OBJECT => {
                let (depth, mut entries) = (depth.checked_sub(1)?, Map::new());
                for _ in 0..self.length()? {
                    entries.insert(self.text()?, self.value(depth)?);
                }
                Value::Object(entries)
            }
            _ => return None,
        })
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn length(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn text(&mut self) -> Option<String> {
        let length = self.length()? as usize;
        let (first, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(first.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn trees_survive_a_round_trip() {
        for tree in [
            json!(null),
            json!([]),
            json!({}),
            json!({"rows": [[null, true, false, 0, u64::MAX, i64::MIN, -1.5, 3.0, "é\u{202e}\0", ""]], "": {"a": [[]]}}),
        ] {
            assert_eq!(read(&write(&tree).unwrap()), Some(tree));
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        let bytes = write(&json!({"key": ["text", 1, 2.5, {"more": null}]})).unwrap();
        for end in 0..bytes.len() {
            assert_eq!(read(&bytes[..end]), None);
        }
        for at in 0..bytes.len() {
            for byte in [0, 3, 7, 9, 255] {
                let mut damaged = bytes.clone();
                damaged[at] = byte;
                // Damaged bytes must neither cause a panic nor take more memory than the input.
                let _ = read(&damaged);
            }
        }
        assert_eq!(read(&[bytes, vec![0]].concat()), None);
        assert_eq!(read(&[LIST, 255, 255, 255, 255]), None);
        assert_eq!(read(&[TEXT, 1, 0, 0, 0, 0xff]), None);
        assert_eq!(read(&[[LIST, 1, 0, 0, 0].repeat(200), vec![NULL]].concat()), None);
        assert!(read(&[[LIST, 1, 0, 0, 0].repeat(128), vec![NULL]].concat()).is_some());
    }
}
