//! Operations that move values without arithmetic.

use hlo::ArrayShape;

use super::Op;
use crate::functions::Functions;
use crate::layout::{inverse, is_identity, is_on_host, major_to_minor};
use crate::python::{dtype, scalar, sizes, tuple};
use crate::{Unsupported, names};

pub(super) fn expression(
    functions: &mut Functions<'_>,
    op: &Op<'_>,
    opcode: &str,
) -> Result<Option<String>, Unsupported> {
    let own = op.own();
    let found = match opcode {
        "broadcast" => {
            format!("lax.broadcast_in_dim({}, {}, {})", op.arg(0)?, sizes(op.result()?), tuple(&own.dimensions))
        }
        "reshape" => format!("lax.reshape({}, {})", op.arg(0)?, sizes(op.result()?)),
        "bitcast" => bitcast(op)?,
        "bitcast-convert" => {
            format!("lax.bitcast_convert_type({}, {})", op.arg(0)?, dtype(op.result()?.data_type)?)
        }
        "transpose" => format!("lax.transpose({}, {})", op.arg(0)?, tuple(&own.dimensions)),
        "reverse" => format!("lax.rev({}, {})", op.arg(0)?, tuple(&own.dimensions)),
        "slice" => {
            let list = |value: fn(&hlo::SliceDimension) -> i64| tuple(own.slices.iter().map(value));
            let (start, limit) = (list(|it| it.start), list(|it| it.limit));
            let strided = own.slices.iter().any(|it| it.stride != 1);
            let strides = if strided { format!(", {}", list(|it| it.stride)) } else { String::new() };
            format!("lax.slice({}, {start}, {limit}{strides})", op.arg(0)?)
        }
        "pad" => {
            let padding = own.padding.iter().map(|&(low, high, interior)| tuple([low, high, interior]));
            let value = op.typed(1, op.operand(0)?.data_type)?;
            format!("lax.pad({}, {value}, {})", op.arg(0)?, tuple(padding))
        }
        "concatenate" => {
            let dimension = own.dimensions.first().ok_or_else(|| op.lacks("the dimension"))?;
            format!("lax.concatenate({}, {dimension})", tuple(op.all_typed(op.result()?.data_type)?))
        }
        "iota" => {
            let result = op.result()?;
            let dimension = own.dimensions.first().unwrap_or(&0);
            format!("lax.broadcasted_iota({}, {}, {dimension})", dtype(result.data_type)?, sizes(result))
        }
        "dynamic-slice" => {
            let indices = indices(op, 1, 1)?;
            let sizes = tuple(&own.dynamic_slice_sizes);
            format!("lax.dynamic_slice({}, {indices}, {sizes}, allow_negative_indices=False)", op.arg(0)?)
        }
        "dynamic-update-slice" => {
            let indices = indices(op, 2, 2)?;
            let (operand, update) = (op.arg(0)?, op.typed(1, op.operand(0)?.data_type)?);
            format!("lax.dynamic_update_slice({operand}, {update}, {indices}, allow_negative_indices=False)")
        }
        "copy" => copy(op)?,
        "optimization-barrier" | "opt-barrier" => format!("lax.optimization_barrier({})", op.arg(0)?),
        "tuple" => tuple(op.arguments),
        "get-tuple-element" => format!("{}[{}]", op.arg(0)?, own.tuple_index),
        "add-dependency" | "domain" => op.arg(0)?.to_owned(),
        "after-all" => "None".to_owned(),
        "get-dimension-size" => {
            let dimension = own.dimensions.first().copied().unwrap_or(-1);
            let size = op.operand(0)?.dimension(dimension).ok_or_else(|| op.lacks("the dimension"))?;
            format!("jnp.int32({size})")
        }
        "constant" => constant(functions, op)?,
        _ => return Ok(None),
    };
    Ok(Some(found))
}

/// Returns a copy, which may be between device memory and host memory.
fn copy(op: &Op<'_>) -> Result<String, Unsupported> {
    // The start of an asynchronous copy returns the result and the operand.
    let result = op.it.shape.first_array().ok_or_else(|| op.lacks("the shape"))?;
    Ok(match (op.operand(0).is_ok_and(is_on_host), is_on_host(result)) {
        (true, false) => format!("jax.device_put({}, jax.memory.Space.Device)", op.arg(0)?),
        (false, true) => format!("jax.device_put({}, jax.memory.Space.Host)", op.arg(0)?),
        _ => format!("jnp.copy({})", op.arg(0)?),
    })
}

/// Returns the value of a constant. The module contains only the values of constants with a single number.
fn constant(functions: &mut Functions<'_>, op: &Op<'_>) -> Result<String, Unsupported> {
    let result = op.result()?;
    let literal = op.own().literal.as_str();
    if !literal.is_empty() {
        return scalar(result, literal).map_err(|error| match error {
            Unsupported::Missing { what, .. } => op.lacks(what),
            other => other,
        });
    }
    let name = names::comment(&op.it.name);
    functions.note(&format!("crossprof does not read the values of the constant {name}, so the script uses ones."));
    Ok(format!("jnp.ones({}, {})", sizes(result), dtype(result.data_type)?))
}

/// Returns the indices of a dynamic slice: one scalar per dimension, or one array in old programs.
fn indices(op: &Op<'_>, from: usize, first: usize) -> Result<String, Unsupported> {
    let scalars = op.arguments.get(from..).unwrap_or_default();
    let is_array = scalars.len() == 1 && op.operand(first)?.dimensions.len() == 1;
    Ok(if is_array { scalars.concat() } else { tuple(scalars) })
}

/// Returns a bitcast: the same bytes with another shape, layout or type. JAX works on logical dimensions, so the script
/// transposes the value into memory order, reshapes it, and transposes it back. The compiler removes all three steps.
fn bitcast(op: &Op<'_>) -> Result<String, Unsupported> {
    let (from, to) = (op.operand(0)?, op.result()?);
    let mut value = op.arg(0)?.to_owned();
    let order = major_to_minor(from);
    if !is_identity(&order) && from.dimensions.len() > 1 {
        value = format!("lax.transpose({value}, {})", tuple(&order));
    }
    let mut memory = in_memory(from, &order);
    let order = major_to_minor(to);
    let wanted = in_memory(to, &order);
    if from.data_type != to.data_type {
        let (old, new) = (from.data_type.bytes(), to.data_type.bytes());
        let name = dtype(to.data_type)?;
        if old > new {
            value = format!("lax.bitcast_convert_type({value}, {name})");
            memory.push(old / new.max(1));
        } else if old < new {
            let parts = new / old.max(1);
            memory = wanted.iter().copied().chain([parts]).collect();
            value = format!("lax.bitcast_convert_type(lax.reshape({value}, {}), {name})", tuple(&memory));
            memory = wanted.clone();
        } else {
            value = format!("lax.bitcast_convert_type({value}, {name})");
        }
    }
    if memory != wanted {
        value = format!("lax.reshape({value}, {})", tuple(&wanted));
    }
    let back = inverse(&order);
    if !is_identity(&back) && wanted.len() > 1 {
        value = format!("lax.transpose({value}, {})", tuple(&back));
    }
    Ok(value)
}

/// Returns the sizes of the dimensions in memory order.
fn in_memory(array: &ArrayShape, order: &[usize]) -> Vec<u64> {
    order.iter().filter_map(|&it| array.dimensions.get(it).copied()).collect()
}
