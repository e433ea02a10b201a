//! Mutations of one field of a protobuf message, at any depth. The mutated message has correct lengths in all enclosing
//! messages.

use super::{NUMBERS, bytes, hostile_text};
use crate::Random;
use crate::wire::{self, Field, Value};

/// Maximum depth of nested messages that a mutation can reach.
const MOST_DEPTH: usize = 12;

/// Mutates one field of the message. If the bytes are not a message, mutates single bytes.
pub(super) fn changed(message: &[u8], random: &mut Random) -> Vec<u8> {
    // Wrong lengths and truncated fields cannot be produced field by field.
    if random.once_in(12) {
        return bytes::changed(message, message, random);
    }
    in_message(message, MOST_DEPTH, random).unwrap_or_else(|| bytes::changed(message, message, random))
}

fn in_message(message: &[u8], depth: usize, random: &mut Random) -> Option<Vec<u8>> {
    let mut fields = wire::read(message).filter(|fields| !fields.is_empty())?;
    let at = chosen(&fields, random);
    if depth > 0
        && !random.once_in(4)
        && let Value::Bytes(inner) = &fields[at].value
        && let Some(inner) = in_message(inner, depth - 1, random)
    {
        fields[at].value = Value::Bytes(inner);
    } else {
        change(&mut fields, at, random);
    }
    Some(wire::write(&fields))
}

/// Chooses a field. Each field number is equally likely, no matter how many fields have that number.
fn chosen(fields: &[Field], random: &mut Random) -> usize {
    let mut numbers: Vec<u64> = fields.iter().map(|field| field.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let number = *random.pick(&numbers);
    let of_number: Vec<usize> = (0..fields.len()).filter(|&at| fields[at].number == number).collect();
    *random.pick(&of_number)
}

fn change(fields: &mut Vec<Field>, at: usize, random: &mut Random) {
    match random.below(10) {
        0 => drop(fields.remove(at)),
        1 => fields.truncate(at),
        2 => {
            let copies = vec![fields[at].clone(); 1 << random.below(10)];
            fields.splice(at..at, copies);
        }
        3 => {
            let other = random.below(fields.len());
            fields.swap(at, other);
        }
        4 => fields[at].number = 1 + random.below(16) as u64,
        5 => fields[at].value = any_value(random),
        6 => {
            let other = fields[random.below(fields.len())].value.clone();
            fields[at].value = other;
        }
        _ => match &mut fields[at].value {
            Value::Varint(value) => *value = changed_number(*value, random),
            Value::Fixed64(value) => *value = any_double(random).to_le_bytes(),
            Value::Fixed32(value) => *value = (any_double(random) as f32).to_le_bytes(),
            Value::Bytes(value) if random.once_in(2) => *value = hostile_text(random).into_bytes(),
            Value::Bytes(value) => *value = bytes::changed(value, b"", random),
        },
    }
}

fn changed_number(value: u64, random: &mut Random) -> u64 {
    match random.below(5) {
        0 => value.wrapping_add(1),
        1 => value.wrapping_neg(),
        2 => value.wrapping_mul(1000),
        3 => value ^ 1 << random.below(64),
        _ => *random.pick(&NUMBERS),
    }
}

fn any_value(random: &mut Random) -> Value {
    match random.below(5) {
        0 => Value::Fixed64(any_double(random).to_le_bytes()),
        1 => Value::Fixed32((any_double(random) as f32).to_le_bytes()),
        2 => Value::Bytes(hostile_text(random).into_bytes()),
        3 => Value::Bytes((0..random.below(64)).map(|_| random.next() as u8).collect()),
        _ => Value::Varint(*random.pick(&NUMBERS)),
    }
}

fn any_double(random: &mut Random) -> f64 {
    *random.pick(&[0.0, -0.0, 1.0, -1.0, 1e308, -1e308, 5e-324, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e18])
}
