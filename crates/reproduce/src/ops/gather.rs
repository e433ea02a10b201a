//! Gathers and scatters.

use super::Op;
use crate::Unsupported;
use crate::functions::{Functions, simple};
use crate::python::tuple;

pub(super) fn expression(_: &mut Functions<'_>, op: &Op<'_>, opcode: &str) -> Result<Option<String>, Unsupported> {
    match opcode {
        "gather" => gather(op).map(Some),
        "scatter" => scatter(op).map(Some),
        _ => Ok(None),
    }
}

fn gather(op: &Op<'_>) -> Result<String, Unsupported> {
    let numbers = op.own().gather.as_deref().ok_or_else(|| op.lacks("the dimension numbers"))?;
    let mut dimensions = format!(
        "lax.GatherDimensionNumbers({}, {}, {}",
        tuple(&numbers.offset),
        tuple(&numbers.collapsed),
        tuple(&numbers.start_index_map)
    );
    if !numbers.operand_batching.is_empty() {
        dimensions += &format!(", {}, {}", tuple(&numbers.operand_batching), tuple(&numbers.index_batching));
    }
    Ok(format!(
        "lax.gather({}, {}, {dimensions}), {}{}",
        op.arg(0)?,
        indices(op)?,
        tuple(&op.own().gather_slice_sizes),
        promises(op)
    ))
}

fn scatter(op: &Op<'_>) -> Result<String, Unsupported> {
    let numbers = op.own().gather.as_deref().ok_or_else(|| op.lacks("the dimension numbers"))?;
    if op.arguments.len() != 3 {
        return Err(Unsupported::no_call("a scatter with several operands"));
    }
    let root = op.module.called(op.it, 0).and_then(|it| op.module.root(it));
    let replaces = root.is_some_and(|it| it.attributes().parameter_number == Some(1));
    let is_boolean = op.operand(0)?.data_type.name() == "pred";
    let call = match simple(op.module, op.it, 0) {
        _ if replaces => "scatter",
        Some("add") if !is_boolean => "scatter_add",
        Some("multiply") if !is_boolean => "scatter_mul",
        Some("subtract") if !is_boolean => "scatter_sub",
        Some("maximum" | "or") if is_boolean => "scatter_max",
        Some("minimum" | "and") if is_boolean => "scatter_min",
        Some("maximum") => "scatter_max",
        Some("minimum") => "scatter_min",
        _ => return Err(Unsupported::no_call("a scatter whose update is not a sum, product, maximum or minimum")),
    };
    let mut dimensions = format!(
        "lax.ScatterDimensionNumbers({}, {}, {}",
        tuple(&numbers.offset),
        tuple(&numbers.collapsed),
        tuple(&numbers.start_index_map)
    );
    if !numbers.operand_batching.is_empty() {
        dimensions += &format!(", {}, {}", tuple(&numbers.operand_batching), tuple(&numbers.index_batching));
    }
    let updates = op.typed(2, op.operand(0)?.data_type)?;
    Ok(format!("lax.{call}({}, {}, {}, {dimensions}){}", op.arg(0)?, indices(op)?, updates, promises(op)))
}

/// Returns the last arguments, which promise that the indices are in bounds. This is true for the indices that the
/// script creates, but HLO clamps or skips other indices.
fn promises(op: &Op<'_>) -> String {
    let flag = |name: &str, set: bool| if set { format!(", {name}=True") } else { String::new() };
    format!(
        "{}{}, mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS)",
        flag("indices_are_sorted", op.own().indices_are_sorted),
        flag("unique_indices", op.own().unique_indices)
    )
}

/// Returns the indices with the index vectors in the last dimension, which JAX expects.
fn indices(op: &Op<'_>) -> Result<String, Unsupported> {
    let (value, shape) = (op.arg(1)?, op.operand(1)?);
    let rank = shape.dimensions.len();
    let vector = op.own().gather.as_deref().map_or(0, |it| it.index_vector);
    let vector =
        usize::try_from(vector).ok().filter(|&it| it <= rank).ok_or_else(|| op.lacks("the dimension numbers"))?;
    if vector == rank {
        let sizes = shape.dimensions.iter().copied().chain([1]);
        return Ok(format!("lax.reshape({value}, {})", tuple(sizes)));
    }
    if vector + 1 == rank {
        return Ok(value.to_owned());
    }
    let order = (0..rank).filter(|&it| it != vector).chain([vector]);
    Ok(format!("lax.transpose({value}, {})", tuple(order)))
}
