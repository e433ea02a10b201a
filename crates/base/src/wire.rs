//! Reads the protobuf wire format from a byte slice, without decoding messages into structs.
//!
//! ```text
//! message = field*      field = tag (varint: number << 3 | wire type), then by wire type
//!                       0 varint   1 eight bytes   2 length, bytes   3 group, ended by 4   5 four bytes
//! ```
//!
//! Reading never panics and never allocates memory. Bytes that violate the format cause an error with their position. If a
//! field is longer than its message, the reader returns the bytes that exist, so that a truncated file can be read to its
//! last event.

use std::fmt;

/// Value of a field, by its wire type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Wire type 0: integers, booleans and enumerations.
    Varint(u64),
    /// Wire type 1: `fixed64` or `double`.
    Fixed64(u64),
    /// Wire type 5: `fixed32` or `float`.
    Fixed32(u32),
    /// Wire type 2: text, bytes, a message, or packed numbers.
    Bytes(&'a [u8]),
    /// Wire types 3 and 4: a group, which was skipped.
    Group,
}

impl<'a> Value<'a> {
    /// Returns the bytes of a length-delimited field.
    pub fn bytes(self) -> Option<&'a [u8]> {
        if let Value::Bytes(bytes) = self { Some(bytes) } else { None }
    }

    /// Returns a varint as `int64`. Negative numbers are stored in two's complement.
    pub fn int64(self) -> Option<i64> {
        if let Value::Varint(value) = self { Some(value as i64) } else { None }
    }
}

/// A field of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field<'a> {
    /// Number of the field in the message's definition, never 0.
    pub number: u32,
    /// Value of the field.
    pub value: Value<'a>,
}

/// Reason why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault<'a> {
    /// The bytes end inside a tag, a number or a group.
    Ended,
    /// A length-delimited field of the message extends past the end of the input.
    Short {
        /// Number of the field.
        number: u32,
        /// Bytes of the field up to the end of the input.
        rest: &'a [u8],
        /// Number of bytes that are missing.
        missing: u64,
    },
    /// A varint longer than ten bytes, field number 0, wire type 6 or 7, or the end of a group without its start.
    Malformed,
}

/// A fault with its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireError<'a> {
    /// Start of the unreadable field, in bytes from the start of the reader's slice.
    pub position: usize,
    /// Reason why the field is unreadable.
    pub fault: Fault<'a>,
}

impl fmt::Display for WireError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fault {
            Fault::Ended => write!(f, "the bytes end inside the field at byte {}", self.position),
            Fault::Short { number, missing, .. } => {
                write!(f, "field {number} at byte {} lacks {missing} bytes", self.position)
            }
            Fault::Malformed => write!(f, "no protobuf field at byte {}", self.position),
        }
    }
}

/// Iterates over the fields of a message.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Reader<'a> {
    /// Creates a reader at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, position: 0 }
    }

    /// Returns the start of the next field: the number of bytes read so far.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Returns the next field, or `None` at the end.
    ///
    /// # Errors
    /// Returns an error if the field is malformed or cut. The reader then stays at the start of that field.
    #[inline(always)]
    pub fn field(&mut self) -> Result<Option<Field<'a>>, WireError<'a>> {
        let start = self.position;
        if start >= self.bytes.len() {
            return Ok(None);
        }
        match self.read() {
            Some(field) => Ok(Some(field)),
            None => {
                self.position = start;
                Err(WireError { position: start, fault: self.fault() })
            }
        }
    }

    /// Reads the next field as a varint if the field's tag is this byte (field number times 8, wire type 0). Otherwise the
    /// reader does not move. Speeds up messages whose fields almost always come in the same order.
    #[inline(always)]
    pub fn varint_with_tag(&mut self, tag: u8) -> Option<u64> {
        let start = self.position;
        if self.bytes.get(start) != Some(&tag) {
            return None;
        }
        self.position += 1;
        let value = self.varint();
        if value.is_none() {
            self.position = start;
        }
        value
    }

    /// Returns the bytes of the next field if the field's tag is this byte (field number times 8, plus wire type 2).
    /// Otherwise the reader does not move.
    #[inline(always)]
    pub fn bytes_with_tag(&mut self, tag: u8) -> Option<&'a [u8]> {
        let start = self.position;
        if self.bytes.get(start) != Some(&tag) {
            return None;
        }
        self.position += 1;
        let value = self.delimited();
        if value.is_none() {
            self.position = start;
        }
        value
    }

    /// Returns the next field, or `None` if it is unreadable. [`Reader::fault`] then reads the field again to find the
    /// reason, so that the common case stays fast.
    #[inline(always)]
    fn read(&mut self) -> Option<Field<'a>> {
        let (number, wire_type) = self.tag()?;
        let value = match wire_type {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(u64::from_le_bytes(self.fixed()?)),
            2 => Value::Bytes(self.delimited()?),
            3 => self.group()?,
            5 => Value::Fixed32(u32::from_le_bytes(self.fixed()?)),
            _ => return None,
        };
        Some(Field { number, value })
    }

    #[inline(always)]
    fn tag(&mut self) -> Option<(u32, u8)> {
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).ok().filter(|&number| number != 0)?;
        Some((number, (tag & 7) as u8))
    }

    /// Returns the next number without a tag, as in packed lists. At the end or at a malformed number, returns `None` and does
    /// not move.
    #[inline(always)]
    pub fn varint(&mut self) -> Option<u64> {
        let rest = self.bytes.get(self.position..)?;
        let &first = rest.first()?;
        // Tags and most ids fit one byte.
        let (value, length) = if first < 0x80 { (u64::from(first), 1) } else { long_varint(rest)? };
        self.position += length;
        Some(value)
    }

    #[inline(always)]
    fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = self.bytes.get(self.position..)?.first_chunk::<N>()?;
        self.position += N;
        Some(*bytes)
    }

    #[inline(always)]
    fn delimited(&mut self) -> Option<&'a [u8]> {
        let length = self.varint()?;
        let bytes = self.bytes.get(self.position..)?.get(..usize::try_from(length).ok()?)?;
        self.position += bytes.len();
        Some(bytes)
    }

    /// Skips a group. Counts nested groups instead of recursing, so that deep nesting needs no stack.
    #[cold]
    fn group(&mut self) -> Option<Value<'a>> {
        let mut depth = 1u64;
        while depth > 0 {
            match self.tag()?.1 {
                0 => drop(self.varint()?),
                1 => drop(self.fixed::<8>()?),
                2 => drop(self.delimited()?),
                3 => depth += 1,
                4 => depth -= 1,
                5 => drop(self.fixed::<4>()?),
                _ => return None,
            }
        }
        Some(Value::Group)
    }

    /// Finds the reason why the field at the reader's position is unreadable.
    #[cold]
    fn fault(&self) -> Fault<'a> {
        let mut probe = *self;
        let rest = |probe: &Reader<'a>| probe.bytes.get(probe.position..).unwrap_or_default();
        // An unfinished varint with ten or more bytes is malformed. With fewer bytes it is cut.
        let unfinished = |rest: &[u8]| if rest.len() < 10 { Fault::Ended } else { Fault::Malformed };
        let mut depth = 0u64;
        loop {
            let Some(tag) = probe.varint() else { return unfinished(rest(&probe)) };
            let Some(number) = u32::try_from(tag >> 3).ok().filter(|&number| number != 0) else {
                return Fault::Malformed;
            };
            match tag & 7 {
                0 if probe.varint().is_none() => return unfinished(rest(&probe)),
                1 if probe.fixed::<8>().is_none() => return Fault::Ended,
                5 if probe.fixed::<4>().is_none() => return Fault::Ended,
                2 => {
                    let Some(length) = probe.varint() else { return unfinished(rest(&probe)) };
                    let rest = rest(&probe);
                    match usize::try_from(length) {
                        Ok(length) if length <= rest.len() => probe.position += length,
                        // A field inside a group is not a field of the message, so nothing can be skipped by its length.
                        _ if depth > 0 => return Fault::Ended,
                        _ => return Fault::Short { number, rest, missing: length.saturating_sub(rest.len() as u64) },
                    }
                }
                3 => depth += 1,
                4 if depth > 0 => depth -= 1,
                4 | 6 | 7 => return Fault::Malformed,
                _ => {}
            }
        }
    }
}

/// Reads a varint of two to ten bytes. Returns the value and its length. Drops bits above the 64th, as every protobuf
/// implementation does.
///
/// If possible, the function reads eight bytes at once. The first byte whose top bit is 0 ends the number:
///
/// ```text
/// bytes   1ggggggg 1fffffff ... 0aaaaaaa    (low groups of seven bits first)
/// value   aaaaaaa ... fffffff ggggggg       pairs of groups are joined: 7+7, 14+14, 28+28 bits
/// ```
#[inline(always)]
fn long_varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let Some(word) = bytes.first_chunk::<8>().map(|chunk| u64::from_le_bytes(*chunk)) else {
        return slow_varint(bytes);
    };
    let ends = !word & 0x8080_8080_8080_8080;
    if ends == 0 {
        return slow_varint(bytes);
    }
    let bits = ends.trailing_zeros() + 1;
    let word = word & (u64::MAX >> (64 - bits)) & 0x7f7f_7f7f_7f7f_7f7f;
    let word = (word & 0x007f_007f_007f_007f) | ((word & 0x7f00_7f00_7f00_7f00) >> 1);
    let word = (word & 0x0000_3fff_0000_3fff) | ((word & 0x3fff_0000_3fff_0000) >> 2);
    let word = (word & 0x0fff_ffff) | ((word & 0x0fff_ffff_0000_0000) >> 4);
    Some((word, bits as usize / 8))
}

fn slow_varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (i, &byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Some((value, i + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Vec<Result<Field<'_>, WireError<'_>>> {
        let mut reader = Reader::new(bytes);
        let mut fields = Vec::new();
        loop {
            match reader.field() {
                Ok(Some(field)) => fields.push(Ok(field)),
                Ok(None) => return fields,
                Err(error) => {
                    fields.push(Err(error));
                    return fields;
                }
            }
        }
    }

    #[test]
    fn every_wire_type_is_read() {
        let bytes = [
            0x08, 0x96, 0x01, // 1: varint 150, the example of the protobuf documentation
            0x12, 0x02, b'h', b'i', // 2: "hi"
            0x19, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, // 3: 1.0
            0x25, 1, 0, 0, 0, // 4: fixed32
            0x2b, 0x2b, 0x08, 0x01, 0x2c, 0x2c, // 5: a group in a group
        ];
        let expected = [
            (1, Value::Varint(150)),
            (2, Value::Bytes(b"hi")),
            (3, Value::Fixed64(1.0f64.to_bits())),
            (4, Value::Fixed32(1)),
            (5, Value::Group),
        ];
        let fields: Vec<_> = all(&bytes).into_iter().map(|field| field.map(|f| (f.number, f.value)).unwrap()).collect();
        assert_eq!(fields, expected);
    }

    #[test]
    fn negative_numbers_take_ten_bytes() {
        let bytes = [0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(all(&bytes)[0].unwrap().value.int64(), Some(-1));
    }

    #[test]
    fn faults_have_a_position() {
        let short = Fault::Short { number: 2, rest: b"hi", missing: 3 };
        assert_eq!(all(&[0x08, 1, 0x12, 5, b'h', b'i'])[1], Err(WireError { position: 2, fault: short }));
        assert_eq!(all(&[0x08])[0], Err(WireError { position: 0, fault: Fault::Ended }));
        assert_eq!(all(&[0x00, 0x00])[0], Err(WireError { position: 0, fault: Fault::Malformed }));
        assert_eq!(all(&[0x0e])[0], Err(WireError { position: 0, fault: Fault::Malformed }));
        assert_eq!(all(&[0xff; 11])[0], Err(WireError { position: 0, fault: Fault::Malformed }));
        // A group of field 1, in which a field lacks three bytes.
        assert_eq!(all(&[0x0b, 0x12, 5, b'h', b'i'])[0], Err(WireError { position: 0, fault: Fault::Ended }));
        let endless = vec![0x0b; 200_000];
        assert_eq!(all(&endless)[0], Err(WireError { position: 0, fault: Fault::Ended }));
    }

    proptest::proptest! {
        #[test]
        fn varints_are_read_whatever_follows(value: u64, tail: Vec<u8>) {
            let mut bytes = wire_writer::varint(value);
            let length = bytes.len();
            bytes.extend_from_slice(&tail);
            let mut reader = Reader::new(&bytes);
            proptest::prop_assert_eq!((reader.varint(), reader.position()), (Some(value), length));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let read = all(&bytes);
            proptest::prop_assert!(read.len() <= bytes.len());
        }
    }
}
