//! Python expressions for numbers, lists and types.

use std::fmt::Display;

use hlo::{ArrayShape, DataType, Shape};

use crate::Unsupported;

/// Returns a tuple: `()`, `(1,)`, `(1, 2)`.
pub(crate) fn tuple<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    match items.as_slice() {
        [one] => format!("({one},)"),
        all => format!("({})", all.join(", ")),
    }
}

/// Returns the element type: `jnp.float32`.
pub(crate) fn dtype(data_type: DataType) -> Result<String, Unsupported> {
    let name = data_type.name();
    let known = match name {
        "pred" => "bool_",
        "bf16" => "bfloat16",
        "f16" => "float16",
        "f32" => "float32",
        "f64" => "float64",
        "c64" => "complex64",
        "c128" => "complex128",
        "f8e5m2" => "float8_e5m2",
        "f8e4m3fn" => "float8_e4m3fn",
        "f8e4m3b11fnuz" => "float8_e4m3b11fnuz",
        "f8e5m2fnuz" => "float8_e5m2fnuz",
        "f8e4m3fnuz" => "float8_e4m3fnuz",
        "f8e4m3" => "float8_e4m3",
        "f8e3m4" => "float8_e3m4",
        "f8e8m0fnu" => "float8_e8m0fnu",
        "f4e2m1fn" => "float4_e2m1fn",
        _ => {
            let bits = name.trim_start_matches(['s', 'u']);
            return match name.as_bytes().first() {
                Some(b's') if matches!(bits, "2" | "4" | "8" | "16" | "32" | "64") => Ok(format!("jnp.int{bits}")),
                Some(b'u') if matches!(bits, "2" | "4" | "8" | "16" | "32" | "64") => Ok(format!("jnp.uint{bits}")),
                _ => Err(Unsupported::Type(name.to_owned())),
            };
        }
    };
    Ok(format!("jnp.{known}"))
}

/// Returns true if JAX supports the type only with `jax_enable_x64`.
pub(crate) fn is_wide(data_type: DataType) -> bool {
    matches!(data_type.name(), "f64" | "s64" | "u64" | "c128")
}

/// Returns a scalar constant: `jnp.float32(0.5)`.
pub(crate) fn scalar(array: &ArrayShape, literal: &str) -> Result<String, Unsupported> {
    let dtype = dtype(array.data_type)?;
    let number = number(literal).ok_or_else(|| Unsupported::missing("the value", "a constant"))?;
    Ok(if array.dimensions.is_empty() {
        format!("{dtype}({number})")
    } else {
        format!("lax.full({}, {number}, {dtype})", tuple(&array.dimensions))
    })
}

/// Returns the Python form of a number in HLO text. `None` if the text is not a number.
pub(crate) fn number(literal: &str) -> Option<String> {
    match literal {
        "true" => return Some("True".to_owned()),
        "false" => return Some("False".to_owned()),
        "inf" => return Some("jnp.inf".to_owned()),
        "-inf" => return Some("-jnp.inf".to_owned()),
        "nan" | "-nan" | "NaN" => return Some("jnp.nan".to_owned()),
        _ => {}
    }
    if let Some(inner) = literal.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        let (real, imaginary) = inner.split_once(',')?;
        return Some(format!("complex({}, {})", real_number(real.trim())?, real_number(imaginary.trim())?));
    }
    real_number(literal)
}

fn real_number(text: &str) -> Option<String> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E'));
    (plain && text.parse::<f64>().is_ok()).then(|| {
        let whole = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        if whole {
            text.to_owned()
        } else {
            text.parse::<f64>().map_or(text.to_owned(), |number| format!("{number:?}"))
        }
    })
}

/// Returns a list of sizes as signed numbers.
pub(crate) fn sizes(array: &ArrayShape) -> String {
    tuple(&array.dimensions)
}

/// Returns the array shape, or an error if `shape` is not an array.
pub(crate) fn array<'s>(shape: &'s Shape, name: &str) -> Result<&'s ArrayShape, Unsupported> {
    shape.array().ok_or_else(|| Unsupported::missing("the shape", name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_python() {
        let made: Vec<_> =
            ["1", "-0.5", "1e-08", "inf", "(1, -2.5)", "true", "__import__('os')", "1_0", ""].map(number).into();
        let expected = [
            Some("1"),
            Some("-0.5"),
            Some("1e-8"),
            Some("jnp.inf"),
            Some("complex(1, -2.5)"),
            Some("True"),
            None,
            None,
            None,
        ];
        assert_eq!(made, expected.map(|it| it.map(str::to_owned)));
    }

    #[test]
    fn lists_are_tuples() {
        assert_eq!(tuple::<i64>([]), "()");
        assert_eq!(tuple([1]), "(1,)");
        assert_eq!(tuple([1, 2]), "(1, 2)");
    }
}
