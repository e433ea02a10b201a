//! Matrix multiplications of cuBLAS and rocBLAS, with the operations that they apply to the product.

use hlo::DotDimensions;
use serde_json::Value;

use super::{Op, dot};
use crate::Unsupported;
use crate::functions::Functions;
use crate::python::{dtype, number, tuple};

/// Returns the configuration of a library call.
pub(super) fn config(op: &Op<'_>) -> Result<Value, Unsupported> {
    serde_json::from_str(&op.own().backend_config).map_err(|_| op.lacks("the configuration"))
}

/// Returns a part of the configuration. Older programs store the part without a wrapper.
pub(super) fn part<'v>(config: &'v Value, name: &str) -> &'v Value {
    config.get(name).unwrap_or(config)
}

/// Returns a list of numbers, which the configuration may contain as text.
pub(super) fn numbers(value: Option<&Value>) -> Vec<i64> {
    let items = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(|it| it.as_i64().or_else(|| it.as_str()?.parse().ok())).collect()
}

pub(super) fn expression(functions: &mut Functions<'_>, op: &Op<'_>) -> Result<String, Unsupported> {
    let config = config(op)?;
    let gemm = part(&config, "gemm_backend_config");
    let list = |name| numbers(gemm.get("dot_dimension_numbers").and_then(|it| it.get(name)));
    let dimensions = DotDimensions {
        lhs_contracting: list("lhs_contracting_dimensions"),
        rhs_contracting: list("rhs_contracting_dimensions"),
        lhs_batch: list("lhs_batch_dimensions"),
        rhs_batch: list("rhs_batch_dimensions"),
    };
    if dimensions.lhs_contracting.is_empty() {
        return Err(op.lacks("the dimension numbers"));
    }
    let result = op.first_result()?;
    let kind = dtype(result.data_type)?;
    let is_scaled = op.own().custom_call_target.ends_with("$f8");
    let mut value = dot::general(op, &dimensions, result.data_type)?;
    let scale = |name: &str, default: f64| gemm.get(name).and_then(Value::as_f64).unwrap_or(default);
    let (alpha, beta) = (scale("alpha_real", 1.0), scale("beta", 0.0));
    let factor = |number_: f64| number(&format!("{number_:?}")).unwrap_or_default();
    let mut next = 2;
    let shape = tuple(&result.dimensions);
    if alpha != 1.0 {
        value = format!("lax.mul({value}, lax.full({shape}, {}, {kind}))", factor(alpha));
    }
    if beta != 0.0 {
        let added = op.arg(next)?;
        next += 1;
        value = match beta == 1.0 {
            true => format!("lax.add({value}, {added})"),
            false => format!("lax.add({value}, lax.mul({added}, lax.full({shape}, {}, {kind})))", factor(beta)),
        };
    }
    if is_scaled {
        // The scales of both operands come before the bias.
        for n in next..(next + 2).min(op.arguments.len()) {
            value =
                format!("lax.mul({value}, lax.broadcast(lax.convert_element_type({}, {kind}), {shape}))", op.arg(n)?);
        }
        next += 2;
    }
    let epilogue = gemm.get("epilogue").and_then(Value::as_str).unwrap_or("DEFAULT");
    if epilogue.starts_with("BIAS") {
        let last = result.dimensions.len().saturating_sub(1);
        let bias = format!("lax.broadcast_in_dim({}, {shape}, ({last},))", op.arg(next)?);
        value = format!("lax.add({value}, lax.convert_element_type({bias}, {kind}))");
    }
    match epilogue.trim_start_matches("BIAS_").trim_end_matches("_AUX") {
        "DEFAULT" | "BIAS" => {}
        "RELU" => value = format!("jax.nn.relu({value})"),
        "GELU" => value = format!("jax.nn.gelu({value})"),
        "SILU" => value = format!("jax.nn.silu({value})"),
        _ => functions.note("The script leaves out the function that the library applies to the product."),
    }
    Ok(op.as_result(value))
}
