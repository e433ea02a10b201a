//! Detects the kinds of protobuf files that occur next to profiles. These files have no magic number, so their first
//! fields must match the expected message.

use base::wire::{Fault, Field, Reader, Value, WireError};

/// Returns true for a pprof `Profile`, which starts with its sample types. Each sample type is a pair of small string
/// indices.
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

/// Returns true for an `HloProto`, which starts with its module.
///
/// ```text
/// HloProto  1 hlo_module  3 buffer_assignment
/// ```
pub(super) fn is_hlo_proto(head: &[u8]) -> bool {
    bytes_field(&mut Reader::new(head), 1).is_some_and(|module| starts_with_names(&mut Reader::new(module)))
}

/// Returns true for an `HloModuleProto`. Many messages start with two names, so the first instruction must also have a name and
/// an opcode.
///
/// ```text
/// HloModuleProto       1 name  2 entry_computation_name  3 computations*
/// HloComputationProto  1 name  2 instructions*
/// HloInstructionProto  1 name  2 opcode
/// ```
pub(crate) fn is_hlo_module(head: &[u8]) -> bool {
    let mut module = Reader::new(head);
    if !starts_with_names(&mut module) {
        return false;
    }
    let Some(computation) = bytes_field(&mut module, 3) else { return false };
    let mut computation = Reader::new(computation);
    if !bytes_field(&mut computation, 1).is_some_and(is_name) {
        return false;
    }
    let Some(instruction) = bytes_field(&mut computation, 2) else { return false };
    let mut instruction = Reader::new(instruction);
    let is_opcode = |opcode: &[u8]| {
        opcode.first().is_some_and(u8::is_ascii_lowercase)
            && opcode.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
    };
    bytes_field(&mut instruction, 1).is_some_and(is_name) && bytes_field(&mut instruction, 2).is_some_and(is_opcode)
}

/// Reads the names of an HLO module and of its entry computation. Returns false if one of the names is missing.
fn starts_with_names(module: &mut Reader<'_>) -> bool {
    bytes_field(module, 1).is_some_and(is_name) && bytes_field(module, 2).is_some_and(is_name)
}

fn is_name(bytes: &[u8]) -> bool {
    !bytes.is_empty() && std::str::from_utf8(bytes).is_ok_and(|name| !name.chars().any(char::is_control))
}

/// Reads the next field and returns its bytes, which are incomplete if the head ends inside the field. Returns `None`
/// if the field has another number or no bytes.
fn bytes_field<'a>(reader: &mut Reader<'a>, expected: u32) -> Option<&'a [u8]> {
    match reader.field() {
        Ok(Some(Field { number, value: Value::Bytes(bytes) })) if number == expected => Some(bytes),
        Err(WireError { fault: Fault::Short { number, rest, .. }, .. }) if number == expected => Some(rest),
        _ => None,
    }
}

/// Returns true for a Perfetto trace, which consists of packets. Each packet has a timestamp or the number of its
/// writer.
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
