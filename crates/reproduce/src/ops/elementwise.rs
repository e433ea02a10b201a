//! Elementwise operations.

use hlo::DataType;

use super::Op;
use crate::functions::Functions;
use crate::{Unsupported, python};

/// Pairs of an opcode and its function in `jax.lax`. Each function takes as many arguments as the opcode has operands.
const CALLS: &[(&str, &str)] = &[
    ("abs", "abs"),
    ("acos", "acos"),
    ("acosh", "acosh"),
    ("add", "add"),
    ("and", "bitwise_and"),
    ("asin", "asin"),
    ("asinh", "asinh"),
    ("atan2", "atan2"),
    ("atanh", "atanh"),
    ("cbrt", "cbrt"),
    ("ceil", "ceil"),
    ("clamp", "clamp"),
    ("complex", "complex"),
    ("cosh", "cosh"),
    ("cosine", "cos"),
    ("count-leading-zeros", "clz"),
    ("divide", "div"),
    ("erf", "erf"),
    ("exponential", "exp"),
    ("exponential-minus-one", "expm1"),
    ("floor", "floor"),
    ("imag", "imag"),
    ("is-finite", "is_finite"),
    ("log", "log"),
    ("log-plus-one", "log1p"),
    ("logistic", "logistic"),
    ("maximum", "max"),
    ("minimum", "min"),
    ("multiply", "mul"),
    ("mulhi", "mulhi"),
    ("negate", "neg"),
    ("not", "bitwise_not"),
    ("or", "bitwise_or"),
    ("popcnt", "population_count"),
    ("power", "pow"),
    ("real", "real"),
    ("remainder", "rem"),
    ("rsqrt", "rsqrt"),
    ("select", "select"),
    ("shift-left", "shift_left"),
    ("shift-right-arithmetic", "shift_right_arithmetic"),
    ("shift-right-logical", "shift_right_logical"),
    ("sign", "sign"),
    ("sine", "sin"),
    ("sinh", "sinh"),
    ("sqrt", "sqrt"),
    ("subtract", "sub"),
    ("tan", "tan"),
    ("tanh", "tanh"),
    ("xor", "bitwise_xor"),
];

/// Returns the function of `jax.lax` for an elementwise opcode.
pub(super) fn call(opcode: &str) -> Option<&'static str> {
    CALLS.iter().find(|row| row.0 == opcode).map(|row| row.1)
}

pub(super) fn expression(
    functions: &mut Functions<'_>,
    op: &Op<'_>,
    opcode: &str,
) -> Result<Option<String>, Unsupported> {
    let found = match opcode {
        "compare" => {
            let name = match op.own().comparison_direction.as_str() {
                "EQ" => "eq",
                "NE" => "ne",
                "GE" => "ge",
                "GT" => "gt",
                "LE" => "le",
                "LT" => "lt",
                _ => return Err(op.lacks("the direction")),
            };
            format!("lax.{name}({})", op.all_typed(op.widest(2)?)?.join(", "))
        }
        "convert" => format!("lax.convert_element_type({}, {})", op.arg(0)?, python::dtype(op.result()?.data_type)?),
        "round-nearest-afz" => format!("lax.round({}, lax.RoundingMethod.AWAY_FROM_ZERO)", op.arg(0)?),
        "round-nearest-even" => format!("lax.round({}, lax.RoundingMethod.TO_NEAREST_EVEN)", op.arg(0)?),
        "reduce-precision" => {
            let (exponent, mantissa) = op.own().reduced_precision.ok_or_else(|| op.lacks("the precision"))?;
            format!("lax.reduce_precision({}, {exponent}, {mantissa})", op.arg(0)?)
        }
        "map" => format!("jnp.vectorize({})({})", functions.called(op.it, 0)?, op.all()),
        _ => {
            let Some(name) = call(opcode) else { return Ok(None) };
            // JAX has no arithmetic on booleans.
            let name = match name {
                "add" | "max" if op.result()?.data_type.name() == "pred" => "bitwise_or",
                "mul" | "min" if op.result()?.data_type.name() == "pred" => "bitwise_and",
                "sub" if op.result()?.data_type.name() == "pred" => "bitwise_xor",
                name => name,
            };
            arithmetic(op, name)?
        }
    };
    Ok(Some(found))
}

/// Returns the call with all operands converted to the widest type. If the result has another type, converts the result
/// to that type.
fn arithmetic(op: &Op<'_>, name: &str) -> Result<String, Unsupported> {
    let result = op.result()?.data_type;
    // The first operand of a select is a boolean, and the functions below change the type.
    let changes = matches!(name, "real" | "imag" | "complex" | "is_finite" | "abs");
    let first = usize::from(name == "select");
    let types: Vec<DataType> =
        (first..op.arguments.len()).map(|n| Ok(op.operand(n)?.data_type)).collect::<Result<_, Unsupported>>()?;
    if changes || types.iter().all(|&it| it == result) {
        return Ok(format!("lax.{name}({})", op.all()));
    }
    let mut widest = result;
    for &it in &types {
        widest = if it.bits() > widest.bits() { it } else { widest };
    }
    let mut arguments = op.all_typed(widest)?;
    if let (Some(place), true) = (arguments.first_mut(), first == 1) {
        *place = op.arg(0)?.to_owned();
    }
    let value = format!("lax.{name}({})", arguments.join(", "));
    Ok(if widest == result { value } else { format!("lax.convert_element_type({value}, {})", python::dtype(result)?) })
}
