//! Writes Protobuf messages field by field, for tests and the benchmark. Callers choose the field numbers, and can
//! therefore also write undefined fields and invalid values. `prost` encodes tags and numbers.
//!
//! ```
//! use wire_writer::message;
//!
//! let plane = message().int(1, 150).bytes(2, "hi");
//! assert_eq!(plane.0, [0x08, 0x96, 0x01, 0x12, 2, b'h', b'i']);
//! ```

use prost::encoding::{WireType, encode_key, encode_varint};

/// A message that is being written: the bytes of its fields so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message(pub Vec<u8>);

/// Creates an empty message.
pub fn message() -> Message {
    Message::default()
}

/// Encodes a number without a tag, as in lengths and packed lists.
pub fn varint(value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_varint(value, &mut bytes);
    bytes
}

impl Message {
    /// Appends an integer. Negative integers take ten bytes.
    pub fn int(mut self, field: u32, value: i64) -> Message {
        encode_key(field, WireType::Varint, &mut self.0);
        encode_varint(value as u64, &mut self.0);
        self
    }

    /// Appends a `double`.
    pub fn double(mut self, field: u32, value: f64) -> Message {
        encode_key(field, WireType::SixtyFourBit, &mut self.0);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Appends text or bytes.
    pub fn bytes(mut self, field: u32, value: impl AsRef<[u8]>) -> Message {
        encode_key(field, WireType::LengthDelimited, &mut self.0);
        encode_varint(value.as_ref().len() as u64, &mut self.0);
        self.0.extend(value.as_ref());
        self
    }

    /// Appends a nested message.
    pub fn message(self, field: u32, value: Message) -> Message {
        self.bytes(field, value.0)
    }

    /// Appends an entry of an XPlane's metadata. `field` is 4 for events or 5 for stats. `body` is the metadata
    /// without its id.
    pub fn entry(self, field: u32, id: i64, body: Message) -> Message {
        let body = [message().int(1, id).0, body.0].concat();
        self.message(field, message().int(1, id).bytes(2, body))
    }

    /// Appends an `XEventMetadata` of an XPlane, with the name of its events.
    pub fn event_metadata(self, id: i64, name: &str) -> Message {
        self.entry(4, id, message().bytes(2, name))
    }

    /// Appends an `XStatMetadata` of an XPlane, with the name of a stat.
    pub fn stat_metadata(self, id: i64, name: &str) -> Message {
        self.entry(5, id, message().bytes(2, name))
    }
}
