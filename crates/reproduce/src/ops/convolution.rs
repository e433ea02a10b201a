//! Convolutions.

use std::fmt::Write as _;

use hlo::DataType;

use super::{Op, dot};
use crate::Unsupported;
use crate::functions::Functions;
use crate::python::{dtype, tuple};

pub(super) fn expression(_: &mut Functions<'_>, op: &Op<'_>, opcode: &str) -> Result<Option<String>, Unsupported> {
    if opcode != "convolution" {
        return Ok(None);
    }
    let widest = op.widest(2)?;
    general(op, &op.typed(0, widest)?, &op.typed(1, widest)?, [widest, widest, op.result()?.data_type]).map(Some)
}

/// Returns `lax.conv_general_dilated` of two expressions, with the window and dimension numbers of the instruction.
pub(super) fn general(
    op: &Op<'_>,
    lhs: &str,
    rhs: &str,
    [lhs_type, rhs_type, result]: [DataType; 3],
) -> Result<String, Unsupported> {
    let own = op.own();
    let numbers = own.convolution.as_deref().ok_or_else(|| op.lacks("the dimension numbers"))?;
    let list = |value: fn(&hlo::WindowDimension) -> String| tuple(own.window.iter().map(value));
    let reversed: Vec<i64> =
        numbers.kernel_spatial.iter().zip(&own.window).filter(|(_, it)| it.reversal).map(|(&at, _)| at).collect();
    let kernel = if reversed.is_empty() { rhs.to_owned() } else { format!("lax.rev({rhs}, {})", tuple(&reversed)) };
    let spec = |first: i64, second: i64, spatial: &[i64]| tuple([first, second].iter().chain(spatial));
    let mut out = format!(
        "lax.conv_general_dilated({lhs}, {kernel}, {}, {}",
        list(|it| it.stride.to_string()),
        list(|it| tuple([it.padding_low, it.padding_high]))
    );
    if own.window.iter().any(|it| it.base_dilation != 1) {
        let _ = write!(out, ", lhs_dilation={}", list(|it| it.base_dilation.to_string()));
    }
    if own.window.iter().any(|it| it.window_dilation != 1) {
        let _ = write!(out, ", rhs_dilation={}", list(|it| it.window_dilation.to_string()));
    }
    let _ = write!(
        out,
        ", dimension_numbers=lax.ConvDimensionNumbers({}, {}, {})",
        spec(numbers.input_batch, numbers.input_feature, &numbers.input_spatial),
        spec(numbers.kernel_output_feature, numbers.kernel_input_feature, &numbers.kernel_spatial),
        spec(numbers.output_batch, numbers.output_feature, &numbers.output_spatial)
    );
    for (name, count) in
        [("feature_group_count", own.feature_group_count), ("batch_group_count", own.batch_group_count)]
    {
        if count > 1 {
            let _ = write!(out, ", {name}={count}");
        }
    }
    out.push_str(&dot::precision(op));
    if lhs_type != result || rhs_type != result {
        let _ = write!(out, ", preferred_element_type={}", dtype(result)?);
    }
    out.push(')');
    Ok(out)
}
