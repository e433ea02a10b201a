//! Reproduces cuDNN's fused attention with `jax.nn.dot_product_attention`, which makes the same call on a GPU.

use hlo::ArrayShape;
use serde_json::Value;

use super::Op;
use super::matmul::{config, numbers, part};
use crate::Unsupported;
use crate::functions::Functions;
use crate::python::number;

/// Order of the dimensions that swaps heads and sequence.
const SWAP: &str = "(0, 2, 1, 3)";

pub(super) fn expression(functions: &mut Functions<'_>, op: &Op<'_>, target: &str) -> Result<String, Unsupported> {
    let config = config(op)?;
    let fmha = part(&config, "cudnn_fmha_backend_config");
    let pairs = fmha.get("intermediate_tensor_shape").and_then(|it| it.get("dimensions"));
    let pairs = numbers(pairs);
    let &[_, heads, queries, _] = pairs.as_slice() else { return Err(op.lacks("the shape of the scores")) };
    let (q, v) = (op.operand(0)?, op.operand(2)?);
    if q.dimensions.last() != v.dimensions.last() {
        return Err(Unsupported::no_call("attention whose values and keys have different head dimensions"));
    }
    let is_backward = target.contains("Backward");
    if target.contains("F8") {
        return Err(Unsupported::no_call("attention of 8-bit floating-point numbers"));
    }
    let text = |name| fmha.get(name).and_then(Value::as_str).unwrap_or("");
    let count = |name| fmha.get(name).and_then(Value::as_i64).unwrap_or(0);
    let mut options = String::new();
    if let Some(scale) = fmha.get("fmha_scale").and_then(Value::as_f64) {
        options += &format!(", scale={}", number(&format!("{scale:?}")).unwrap_or_default());
    }
    if text("mask_type").contains("CAUSAL") {
        options += ", is_causal=True";
    }
    if text("mask_type").contains("PADDING") {
        functions.note("The program pads sequences. The script leaves out their lengths.");
    }
    match count("sliding_window_length") {
        0 => {}
        // The program's window includes the query itself, but JAX's window does not.
        window => options += &format!(", local_window_size=({}, 0)", window - 1),
    }
    let has_bias = !is_backward && op.operand(3).is_ok_and(|it| it.dimensions.len() == 4);
    if has_bias {
        options += &format!(", bias={}", op.arg(3)?);
    }
    functions.note("The call uses cuDNN on GPUs, and JAX's own attention elsewhere.");
    let call = |q: &str, k: &str, v: &str| {
        format!(
            "jax.nn.dot_product_attention({q}, {k}, {v}{options}, \
             implementation=\"cudnn\" if jax.default_backend() == \"gpu\" else None)"
        )
    };
    // JAX's order is batch, sequence, heads, width.
    let (heads, queries) = (heads.cast_unsigned(), queries.cast_unsigned());
    let has_heads_first = |array: &ArrayShape| matches!(*array.dimensions.as_slice(), [_, a, b, _] if (a, b) == (heads, queries) && heads != queries);
    let q_swapped = has_heads_first(q);
    let turn = |value: &str, is_swapped: bool| {
        if is_swapped { format!("lax.transpose({value}, {SWAP})") } else { value.to_owned() }
    };
    let forward = |q: &str, k: &str, v: &str| call(&turn(q, q_swapped), &turn(k, q_swapped), &turn(v, q_swapped));
    if !is_backward {
        let value = forward(op.arg(0)?, op.arg(1)?, op.arg(2)?);
        let out = op.first_result()?;
        return Ok(op.as_result(turn(&value, has_heads_first(out))));
    }
    let is_swapped = has_heads_first(op.operand(4)?);
    let parts = op.it.shape.tuple();
    functions.note("The script also runs the forward pass. The program reads the stored results of that pass instead.");
    let results: Vec<String> = (0..3)
        .zip(parts)
        .map(|(n, part)| {
            let dimensions = part.array().map(|it| it.dimensions.as_slice()).unwrap_or_default();
            let operand = op.operand(n).map(|it| it.dimensions.as_slice()).unwrap_or_default();
            turn(&format!("_g[{n}]"), dimensions != operand)
        })
        .collect();
    Ok(format!(
        "(lambda _g: ({}))(jax.vjp(lambda _q, _k, _v: {}, {}, {}, {})[1]({}))",
        results.join(", "),
        forward("_q", "_k", "_v"),
        op.arg(0)?,
        op.arg(1)?,
        op.arg(2)?,
        turn(op.arg(4)?, is_swapped)
    ))
}
