//! Reproduces collectives as calls inside `jax.shard_map` over the mesh of the script.

use hlo::collective;

use super::Op;
use crate::Unsupported;
use crate::functions::{Functions, simple};
use crate::mesh::Mesh;
use crate::python::tuple;

pub(super) fn expression(
    functions: &mut Functions<'_>,
    op: &Op<'_>,
    opcode: &str,
) -> Result<Option<String>, Unsupported> {
    let own = op.own();
    let dimension = || own.dimensions.first().copied().ok_or_else(|| op.lacks("the dimension"));
    let mesh = || functions.mesh.as_ref().ok_or_else(|| op.lacks("the groups of devices"));
    let found = match opcode {
        "all-reduce" => {
            let axis = mesh()?.axis();
            format!("lax.{}({}, {axis})", reduction(op)?, typed(op)?)
        }
        "all-gather" => {
            let (axis, dimension) = (mesh()?.axis(), dimension()?);
            format!("lax.all_gather({}, {axis}, axis={dimension}, tiled=True)", together(op))
        }
        "reduce-scatter" => {
            if reduction(op)? != "psum" {
                return Err(Unsupported::no_call("a reduce-scatter that is not a sum"));
            }
            let (axis, dimension) = (mesh()?.axis(), dimension()?);
            format!("lax.psum_scatter({}, {axis}, scatter_dimension={dimension}, tiled=True)", typed(op)?)
        }
        "all-to-all" => all_to_all(op, mesh()?),
        "collective-permute" => {
            let mesh = mesh()?;
            let found = collective(op.module, op.it).ok_or_else(|| op.lacks("the pairs of devices"))?;
            let pairs = mesh.pairs(&found.pairs).ok_or_else(|| op.lacks("the pairs of devices"))?;
            format!("lax.ppermute({}, {}, {pairs})", op.arg(0)?, mesh.axes())
        }
        "collective-broadcast" => format!("lax.pbroadcast({}, {}, 0)", op.arg(0)?, mesh()?.axis()),
        "ragged-all-to-all" => {
            let axis = mesh()?.axis();
            format!("lax.ragged_all_to_all({}, axis_name={axis})", op.all())
        }
        // Most programs have partitions but only one replica, so the replica's number is always 0.
        "replica-id" if op.module.devices().is_some_and(|(replicas, _)| replicas == 1) => "jnp.uint32(0)".to_owned(),
        "partition-id" | "replica-id" => {
            let axes = mesh()?.axes();
            format!("lax.convert_element_type(lax.axis_index({axes}), jnp.uint32)")
        }
        _ => return Ok(None),
    };
    Ok(Some(found))
}

/// Returns the operands of a collective that treats all operands alike.
fn together(op: &Op<'_>) -> String {
    match op.arguments {
        [one] => one.clone(),
        several => tuple(several),
    }
}

/// Returns the operands, converted to the types of the results.
fn typed(op: &Op<'_>) -> Result<String, Unsupported> {
    let results = op.it.shape.arrays();
    match op.arguments {
        [_] => op.typed(0, results.first().ok_or_else(|| op.lacks("the shape"))?.data_type),
        _ => {
            let parts: Result<Vec<String>, Unsupported> =
                results.iter().enumerate().map(|(n, result)| op.typed(n, result.data_type)).collect();
            Ok(tuple(parts?))
        }
    }
}

/// Returns the JAX function for a reduction over devices.
fn reduction(op: &Op<'_>) -> Result<&'static str, Unsupported> {
    match simple(op.module, op.it, 0) {
        Some("add") => Ok("psum"),
        Some("maximum" | "or") => Ok("pmax"),
        Some("minimum" | "and") => Ok("pmin"),
        _ => Err(Unsupported::no_call(format!(
            "an {} that is not a sum, maximum or minimum",
            op.it.opcode.trim_end_matches("-start")
        ))),
    }
}

/// Returns an all-to-all along a dimension, or an all-to-all with one operand per device.
fn all_to_all(op: &Op<'_>, mesh: &Mesh) -> String {
    let axis = mesh.axis();
    match (op.own().dimensions.first(), op.arguments) {
        (Some(dimension), [one]) => format!("lax.all_to_all({one}, {axis}, {dimension}, {dimension}, tiled=True)"),
        (_, several) => {
            let parts = tuple(several);
            let call = format!("lax.all_to_all(jnp.stack({parts}), {axis}, 0, 0)");
            if op.it.shape.array().is_some() { format!("{call}[0]") } else { format!("tuple({call})") }
        }
    }
}
