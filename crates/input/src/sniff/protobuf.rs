//! Detects protobuf files next to profiles. They have no magic number, so their first fields must match the message.

use base::wire::{Fault, Field, Reader, Value, WireError};

/// Returns true for a pprof `Profile`, which starts with its sample types: pairs of small string indices.
///
/// ```text
/// Profile  1 sample_type*  2 sample*  3 mapping*  4 location*  5 function*  6 string_table*  ...  14 default_sample_type
/// ValueType  1 type (index)  2 unit (index)
/// ```
pub(super) fn is_pprof(head: &[u8]) -> bool {
    let mut reader = Reader::new(head);
    let mut sample_types = 0;
    loop {
        match reader.field() {
            Ok(Some(Field { number: 1, value: Value::Bytes(value_type) })) if is_value_type(value_type) => {
                sample_types += 1
            }
            Ok(Some(Field { number: 2..=6, value: Value::Bytes(_) }))
            | Err(WireError { fault: Fault::Short { number: 2..=6, .. }, .. }) => return sample_types > 0,
            _ => return false,
        }
    }
}

fn is_value_type(bytes: &[u8]) -> bool {
    let mut reader = Reader::new(bytes);
    let mut fields = 0;
    loop {
        match reader.field() {
            Ok(None) => return fields > 0,
            Ok(Some(Field { number: 1 | 2, value: Value::Varint(0..=9999) })) => fields += 1,
            _ => return false,
        }
    }
}

/// Returns true for an `HloProto`, whose module starts with its name and the name of its entry computation.
///
/// ```text
/// HloProto  1 hlo_module  3 buffer_assignment      HloModuleProto  1 name  2 entry_computation_name  3 computations*
/// ```
pub(super) fn is_hlo_proto(head: &[u8]) -> bool {
    let module = match Reader::new(head).field() {
        Ok(Some(Field { number: 1, value: Value::Bytes(module) })) => module,
        Err(WireError { fault: Fault::Short { number: 1, rest, .. }, .. }) => rest,
        _ => return false,
    };
    let mut reader = Reader::new(module);
    let mut is_name = |expected: u32| match reader.field() {
        Ok(Some(Field { number, value: Value::Bytes(name) })) => {
            number == expected
                && !name.is_empty()
                && std::str::from_utf8(name).is_ok_and(|name| !name.chars().any(char::is_control))
        }
        _ => false,
    };
    is_name(1) && is_name(2)
}

/// Returns true for a Perfetto trace: packets that each have a timestamp or the number of their writer.
///
/// ```text
/// Trace  1 packet*      TracePacket  8 timestamp  10 trusted_packet_sequence_id  11 track_event  60 track_descriptor  ...
/// ```
pub(super) fn is_perfetto(head: &[u8]) -> bool {
    let mut reader = Reader::new(head);
    let mut packets = 0;
    loop {
        match reader.field() {
            Ok(Some(Field { number: 1, value: Value::Bytes(packet) })) if is_packet(packet) => packets += 1,
            Ok(None) | Err(WireError { fault: Fault::Short { number: 1, .. }, .. }) => return packets > 0,
            _ => return false,
        }
    }
}

fn is_packet(bytes: &[u8]) -> bool {
    let mut reader = Reader::new(bytes);
    let mut has_writer = false;
    loop {
        match reader.field() {
            Ok(None) => return has_writer,
            Ok(Some(Field { number: 8 | 10, value: Value::Varint(_) })) => has_writer = true,
            Ok(Some(_)) => {}
            Err(_) => return false,
        }
    }
}
