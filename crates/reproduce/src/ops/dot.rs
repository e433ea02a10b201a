//! Matrix multiplications.

use std::fmt::Write as _;

use hlo::DotDimensions;

use super::Op;
use crate::functions::Functions;
use crate::python::{dtype, tuple};
use crate::{Unsupported, python};

/// Names in `lax.DotAlgorithmPreset`, by number in `xla.PrecisionConfig.Algorithm`.
const ALGORITHMS: [&str; 14] = [
    "",
    "ANY_F8_ANY_F8_F32",
    "ANY_F8_ANY_F8_F32_FAST_ACCUM",
    "F16_F16_F16",
    "F16_F16_F32",
    "BF16_BF16_BF16",
    "BF16_BF16_F32",
    "BF16_BF16_F32_X3",
    "BF16_BF16_F32_X6",
    "TF32_TF32_F32",
    "TF32_TF32_F32_X3",
    "F32_F32_F32",
    "F64_F64_F64",
    "BF16_BF16_F32_X9",
];

pub(super) fn expression(_: &mut Functions<'_>, op: &Op<'_>, opcode: &str) -> Result<Option<String>, Unsupported> {
    let own = op.own();
    let numbers = || own.dot.as_deref().ok_or_else(|| op.lacks("the dimension numbers"));
    match opcode {
        "dot" => Ok(Some(general(op, numbers()?, op.result()?.data_type)?)),
        "ragged-dot" => {
            let numbers = format!(
                "lax.RaggedDotDimensionNumbers({}, {}, {})",
                dimensions(numbers()?),
                python::tuple(&own.ragged_dimensions),
                python::tuple(&own.group_dimensions)
            );
            let dtype = dtype(op.result()?.data_type)?;
            Ok(Some(format!(
                "lax.ragged_dot_general({}, {}, {}, {numbers}, preferred_element_type={dtype})",
                op.arg(0)?,
                op.arg(1)?,
                op.arg(2)?
            )))
        }
        _ => Ok(None),
    }
}

/// Returns `lax.dot_general` of the first two operands.
pub(super) fn general(op: &Op<'_>, numbers: &DotDimensions, result: hlo::DataType) -> Result<String, Unsupported> {
    let (lhs, rhs) = (op.operand(0)?.data_type, op.operand(1)?.data_type);
    let mut out = format!("lax.dot_general({}, {}, {}", op.arg(0)?, op.arg(1)?, dimensions(numbers));
    out.push_str(&precision(op));
    if lhs != result || rhs != result {
        let _ = write!(out, ", preferred_element_type={}", dtype(result)?);
    }
    out.push(')');
    Ok(out)
}

fn dimensions(numbers: &DotDimensions) -> String {
    let pair = |a: &[i64], b: &[i64]| format!("({}, {})", tuple(a), tuple(b));
    format!(
        "({}, {})",
        pair(&numbers.lhs_contracting, &numbers.rhs_contracting),
        pair(&numbers.lhs_batch, &numbers.rhs_batch)
    )
}

/// Returns the argument `precision` of a dot or convolution. The text is empty for the default precision.
pub(super) fn precision(op: &Op<'_>) -> String {
    let own = op.own();
    let algorithm = usize::try_from(own.dot_algorithm).ok().and_then(|at| ALGORITHMS.get(at));
    if let Some(name) = algorithm.filter(|name| !name.is_empty()) {
        return format!(", precision=lax.DotAlgorithmPreset.{name}");
    }
    let name = |number: i64| match number {
        1 => "lax.Precision.HIGH",
        2 => "lax.Precision.HIGHEST",
        _ => "lax.Precision.DEFAULT",
    };
    match *own.operand_precision.as_slice() {
        [a, b, ..] if a != 0 || b != 0 => format!(", precision=({}, {})", name(a), name(b)),
        _ => String::new(),
    }
}
