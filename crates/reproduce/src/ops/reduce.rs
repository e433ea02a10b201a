//! Reductions, windowed reductions, and the gradients of pooling.

use std::fmt::Write as _;

use hlo::WindowDimension;

use super::{Op, elementwise};
use crate::Unsupported;
use crate::functions::{Functions, simple};
use crate::python::tuple;

pub(super) fn expression(
    functions: &mut Functions<'_>,
    op: &Op<'_>,
    opcode: &str,
) -> Result<Option<String>, Unsupported> {
    let found = match opcode {
        "reduce" => {
            let [values, initial, computation] = parts(functions, op)?;
            format!("lax.reduce({values}, {initial}, {computation}, {})", tuple(&op.own().dimensions))
        }
        "reduce-window" => {
            let [values, initial, computation] = parts(functions, op)?;
            format!("lax.reduce_window({values}, {initial}, {computation}, {})", window(op))
        }
        "select-and-scatter" => select_and_scatter(op)?,
        _ => return Ok(None),
    };
    Ok(Some(found))
}

/// Returns the values, the initial values and the computation. If there are several values, the values and the initial
/// values are tuples.
fn parts(functions: &mut Functions<'_>, op: &Op<'_>) -> Result<[String; 3], Unsupported> {
    let count = op.arguments.len() / 2;
    let (values, initial) = op.arguments.split_at_checked(count).ok_or_else(|| op.lacks("an operand"))?;
    if let ([_], [_]) = (values, initial) {
        let result = op.result()?.data_type;
        let (value, initial) = (op.typed(0, result)?, op.typed(1, result)?);
        let known = simple(op.module, op.it, 0).and_then(elementwise::call);
        let is_boolean = op.operand(0)?.data_type.name() == "pred";
        let computation = match known.filter(|name| !is_boolean || name.starts_with("bitwise")) {
            Some(name) => format!("lax.{name}"),
            None => functions.called(op.it, 0)?,
        };
        return Ok([value, initial, computation]);
    }
    let computation = functions.called(op.it, 0)?;
    Ok([tuple(values), tuple(initial), format!("lambda _a, _b: {computation}(*_a, *_b)")])
}

/// Returns the window's sizes, strides, padding and dilations.
fn window(op: &Op<'_>) -> String {
    let window = &op.own().window;
    let list = |value: fn(&WindowDimension) -> String| tuple(window.iter().map(value));
    let mut out = format!(
        "{}, {}, {}",
        list(|it| it.size.to_string()),
        list(|it| it.stride.to_string()),
        list(|it| tuple([it.padding_low, it.padding_high]))
    );
    if window.iter().any(|it| it.base_dilation != 1) {
        let _ = write!(out, ", base_dilation={}", list(|it| it.base_dilation.to_string()));
    }
    if window.iter().any(|it| it.window_dilation != 1) {
        let _ = write!(out, ", window_dilation={}", list(|it| it.window_dilation.to_string()));
    }
    out
}

/// Returns the gradient of a max or min pooling. JAX uses this opcode only for such gradients.
fn select_and_scatter(op: &Op<'_>) -> Result<String, Unsupported> {
    let select = op.module.called(op.it, 0).and_then(|it| op.module.root(it));
    let direction = select.filter(|it| it.is("compare")).map(|it| it.attributes().comparison_direction.as_str());
    let (initial, call) = match direction {
        Some("GE" | "GT") => ("-jnp.inf", "max"),
        Some("LE" | "LT") => ("jnp.inf", "min"),
        _ => return Err(Unsupported::no_call("a select-and-scatter that is not the gradient of a max or min pooling")),
    };
    if simple(op.module, op.it, 1) != Some("add") || !op.operand(0)?.data_type.is_floating() {
        return Err(Unsupported::no_call("a select-and-scatter that is not the gradient of a max or min pooling"));
    }
    let window = window(op);
    let (operand, source) = (op.arg(0)?, op.arg(1)?);
    Ok(format!("jax.vjp(lambda _x: lax.reduce_window(_x, {initial}, lax.{call}, {window}), {operand})[1]({source})[0]"))
}
