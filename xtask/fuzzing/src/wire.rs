//! Protobuf messages as lists of fields. Code can change the fields and then write the messages again.

/// A field of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Field number.
    pub number: u64,
    /// Value, as encoded.
    pub value: Value,
}

/// Value of a field. Each variant stands for one wire type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Wire type 0.
    Varint(u64),
    /// Wire type 1.
    Fixed64([u8; 8]),
    /// Wire type 2: text, bytes, packed numbers or a message.
    Bytes(Vec<u8>),
    /// Wire type 5.
    Fixed32([u8; 4]),
}

/// Returns the fields of a message. Returns `None` if the bytes are not a message.
pub fn read(mut bytes: &[u8]) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let number = tag >> 3;
        let value = match tag & 7 {
            0 => Value::Varint(varint(&mut bytes)?),
            1 => Value::Fixed64(take(&mut bytes, 8)?.try_into().ok()?),
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                Value::Bytes(take(&mut bytes, length)?.to_vec())
            }
            5 => Value::Fixed32(take(&mut bytes, 4)?.try_into().ok()?),
            _ => return None,
        };
        if number == 0 {
            return None;
        }
        fields.push(Field { number, value });
    }
    Some(fields)
}

/// Returns the bytes of a message.
pub fn write(fields: &[Field]) -> Vec<u8> {
    let mut out = Vec::new();
    for field in fields {
        let tag = field.number << 3;
        match &field.value {
            Value::Varint(value) => {
                put_varint(&mut out, tag);
                put_varint(&mut out, *value);
            }
            Value::Fixed64(bytes) => {
                put_varint(&mut out, tag | 1);
                out.extend(bytes);
            }
            Value::Bytes(bytes) => {
                put_varint(&mut out, tag | 2);
                put_varint(&mut out, bytes.len() as u64);
                out.extend(bytes);
            }
            Value::Fixed32(bytes) => {
                put_varint(&mut out, tag | 5);
                out.extend(bytes);
            }
        }
    }
    out
}

/// Creates a field with a number.
pub fn number(number: u64, value: u64) -> Field {
    Field { number, value: Value::Varint(value) }
}

/// Creates a field with bytes or text.
pub fn bytes(number: u64, value: impl AsRef<[u8]>) -> Field {
    Field { number, value: Value::Bytes(value.as_ref().to_vec()) }
}

/// Creates a field with a message.
pub fn message(number: u64, fields: &[Field]) -> Field {
    bytes(number, write(fields))
}

/// Appends a varint.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *take(bytes, 1)?.first()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (head, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let fields = [number(1, u64::MAX), bytes(2, "text"), message(3, &[number(900, 0)])];
        assert_eq!(read(&write(&fields)).as_deref(), Some(&fields[..]));
        assert_eq!(read(b"\x0f"), None);
    }
}
