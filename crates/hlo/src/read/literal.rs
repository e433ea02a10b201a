//! Reads `xla.LiteralProto`: the value of a constant with one element, such as the limit or step of a loop. Larger
//! constants are skipped.

use std::cell::Cell;

use super::fields::{bytes, fields, ints};
use super::shape;
use crate::half::{bfloat16, float16};
use base::wire::Value;

/// Returns the value of a literal with one element, as HLO text. Returns `None` for all other literals.
pub(super) fn scalar(message: &[u8], damaged: &Cell<bool>) -> Option<String> {
    let mut value_text = None;
    let mut scalar = false;
    for (number, value) in fields(message, damaged) {
        match number {
            1 => {
                let shape = shape::shape(bytes(value), damaged);
                let array = shape.array()?;
                scalar = array.elements() == 1.0;
                if array.data_type.name() == "pred" {
                    value_text = Some("false".to_owned());
                }
            }
            2 if scalar => value_text = Some(if first(value)? != 0 { "true" } else { "false" }.to_owned()),
            // Packed numbers of at most ten bytes each. Only one number is present.
            4..=7 if scalar => value_text = Some(first(value)?.to_string()),
            3 if scalar => value_text = Some(bytes(value).first()?.to_string()),
            15 if scalar => value_text = Some((*bytes(value).first()? as i8).to_string()),
            8 if scalar => value_text = float32(value),
            9 if scalar => value_text = float64(value),
            11 if scalar => value_text = Some(float(float16(short(value)?).to_string())),
            13 if scalar => value_text = Some(float(bfloat16(short(value)?).to_string())),
            16 if scalar => value_text = Some(short(value)?.to_string()),
            17 if scalar => value_text = Some(short(value)?.cast_signed().to_string()),
            _ => {}
        }
    }
    value_text.filter(|_| scalar)
}

fn first(value: Value<'_>) -> Option<i64> {
    let mut numbers = Vec::new();
    ints(value, &mut numbers);
    numbers.first().copied()
}

fn float32(value: Value<'_>) -> Option<String> {
    let bits = match value {
        Value::Fixed32(bits) => bits,
        value => u32::from_le_bytes(*value.bytes()?.first_chunk()?),
    };
    Some(float(f32::from_bits(bits).to_string()))
}

fn float64(value: Value<'_>) -> Option<String> {
    let bits = match value {
        Value::Fixed64(bits) => bits,
        value => u64::from_le_bytes(*value.bytes()?.first_chunk()?),
    };
    Some(float(f64::from_bits(bits).to_string()))
}

/// Returns the two bytes of an element of a packed field.
fn short(value: Value<'_>) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes(value).first_chunk()?))
}

/// Writes NaN as XLA does.
fn float(text: String) -> String {
    if text == "NaN" { "nan".to_owned() } else { text }
}
