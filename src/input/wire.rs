//! The protobuf wire format over a byte slice: just enough to walk a message without decoding it into structs.
//!
//! ```text
//! message = field*      field = tag (varint: number << 3 | wire type), then by wire type
//!                       0 varint   1 eight bytes   2 length, bytes   3 group, ended by 4   5 four bytes
//! ```
//!
//! Reading never panics and never allocates. What does not follow the format is an error that knows its position;
//! a field that is longer than its message hands out the bytes that are there, so that a truncated file can be read to
//! its last event.

use std::fmt;

/// The value of a field.
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
    /// The bytes of a length-delimited field.
    pub fn bytes(self) -> Option<&'a [u8]> {
        if let Value::Bytes(bytes) = self { Some(bytes) } else { None }
    }

    /// A varint as `int64`: negative numbers are stored as their two's complement.
    pub fn int64(self) -> Option<i64> {
        if let Value::Varint(value) = self { Some(value as i64) } else { None }
    }
}

/// One field of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field<'a> {
    /// Its number in the message's definition, never 0.
    pub number: u32,
    /// Its value.
    pub value: Value<'a>,
}

/// Why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault<'a> {
    /// The bytes end inside a tag, a number or a group.
    Ended,
    /// A length-delimited field is longer than what is left: its number, and the bytes that are there.
    Short {
        /// Number of the field.
        number: u32,
        /// Its bytes up to the end.
        rest: &'a [u8],
        /// Bytes that are not there.
        missing: u64,
    },
    /// A varint longer than ten bytes, field number 0, wire type 6 or 7, or a group's end without its start.
    Malformed,
}

/// A fault and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireError<'a> {
    /// Start of the field that could not be read, in bytes from the start of the reader's slice.
    pub position: usize,
    /// What is wrong with it.
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

/// Walks the fields of one message.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, position: 0 }
    }

    /// Bytes read so far: where the next field starts.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The next field, `None` at the end.
    ///
    /// # Errors
    /// After an error the reader stays where the bad field starts.
    #[inline]
    pub fn field(&mut self) -> Result<Option<Field<'a>>, WireError<'a>> {
        let start = self.position;
        if start >= self.bytes.len() {
            return Ok(None);
        }
        match self.read() {
            Ok(field) => Ok(Some(field)),
            Err(fault) => {
                self.position = start;
                Err(WireError { position: start, fault })
            }
        }
    }

    #[inline]
    fn read(&mut self) -> Result<Field<'a>, Fault<'a>> {
        let (number, wire_type) = self.tag()?;
        let value = match wire_type {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(u64::from_le_bytes(self.fixed()?)),
            2 => Value::Bytes(self.delimited(number)?),
            3 => {
                self.skip_group()?;
                Value::Group
            }
            5 => Value::Fixed32(u32::from_le_bytes(self.fixed()?)),
            _ => return Err(Fault::Malformed),
        };
        Ok(Field { number, value })
    }

    #[inline]
    fn tag(&mut self) -> Result<(u32, u8), Fault<'a>> {
        let tag = self.varint()?;
        match u32::try_from(tag >> 3) {
            Ok(number) if number != 0 => Ok((number, (tag & 7) as u8)),
            _ => Err(Fault::Malformed),
        }
    }

    /// Bits past the 64th are dropped, as every protobuf implementation does.
    #[inline]
    fn varint(&mut self) -> Result<u64, Fault<'a>> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        // Tags and most ids fit one byte.
        if let Some(&first) = rest.first()
            && first < 0x80
        {
            self.position += 1;
            return Ok(u64::from(first));
        }
        let mut value = 0u64;
        for (i, &byte) in rest.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                self.position += i + 1;
                return Ok(value);
            }
        }
        Err(if rest.len() < 10 { Fault::Ended } else { Fault::Malformed })
    }

    #[inline]
    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], Fault<'a>> {
        let bytes = self.bytes.get(self.position..).and_then(|rest| rest.first_chunk::<N>()).ok_or(Fault::Ended)?;
        self.position += N;
        Ok(*bytes)
    }

    #[inline]
    fn delimited(&mut self, number: u32) -> Result<&'a [u8], Fault<'a>> {
        let length = self.varint()?;
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        match usize::try_from(length).ok().and_then(|length| rest.get(..length)) {
            Some(bytes) => {
                self.position += bytes.len();
                Ok(bytes)
            }
            None => Err(Fault::Short { number, rest, missing: length.saturating_sub(rest.len() as u64) }),
        }
    }

    /// Nested groups are counted, not recursed into: depth costs no stack.
    fn skip_group(&mut self) -> Result<(), Fault<'a>> {
        let mut depth = 1u64;
        while depth > 0 {
            let (number, wire_type) = self.tag()?;
            match wire_type {
                0 => drop(self.varint()?),
                1 => drop(self.fixed::<8>()?),
                2 => drop(self.delimited(number)?),
                3 => depth += 1,
                4 => depth -= 1,
                5 => drop(self.fixed::<4>()?),
                _ => return Err(Fault::Malformed),
            }
        }
        Ok(())
    }
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
    fn faults_know_their_place() {
        let short = Fault::Short { number: 2, rest: b"hi", missing: 3 };
        assert_eq!(all(&[0x08, 1, 0x12, 5, b'h', b'i'])[1], Err(WireError { position: 2, fault: short }));
        assert_eq!(all(&[0x08])[0], Err(WireError { position: 0, fault: Fault::Ended }));
        assert_eq!(all(&[0x00, 0x00])[0], Err(WireError { position: 0, fault: Fault::Malformed }));
        assert_eq!(all(&[0x0e])[0], Err(WireError { position: 0, fault: Fault::Malformed }));
        assert_eq!(all(&[0xff; 11])[0], Err(WireError { position: 0, fault: Fault::Malformed }));
        let endless = vec![0x0b; 200_000];
        assert_eq!(all(&endless)[0], Err(WireError { position: 0, fault: Fault::Ended }));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let read = all(&bytes);
            proptest::prop_assert!(read.len() <= bytes.len());
        }
    }
}
