//! Custom calls for which JAX has a function.

use std::fmt::Write as _;

use hlo::{Instruction, Shape};

use super::{Op, attention, convolution, matmul};
use crate::functions::Functions;
use crate::python::{dtype, tuple};
use crate::{Unsupported, names};

pub(super) fn expression(
    functions: &mut Functions<'_>,
    op: &Op<'_>,
    opcode: &str,
) -> Result<Option<String>, Unsupported> {
    if opcode != "custom-call" {
        return Ok(None);
    }
    let target = op.own().custom_call_target.as_str();
    if let Some(found) = linear_algebra(op, target)? {
        functions.note("The call's status result is left out, because JAX does not return it.");
        return Ok(Some(found));
    }
    let found = match target {
        "__cublas$gemm" | "__cublas$lt$matmul" | "__cublas$lt$matmul$f8" => matmul::expression(functions, op)?,
        "__op$block_scaled_dot" => {
            let scales = |n: usize| op.operand(n).map(|it| it.dimensions.split_last().map(|it| it.1.to_vec()));
            if op.arguments.len() != 4 || scales(0)? != scales(2)? || scales(1)? != scales(3)? {
                return Err(op.lacks("the scales"));
            }
            let dtype = dtype(op.first_result()?.data_type)?;
            format!("jax.nn.scaled_matmul({}, preferred_element_type={dtype})", op.all())
        }
        "TopK" | "__gpu$TopK" | "mhlo.topk" => {
            let values = op.it.shape.tuple().first().and_then(Shape::array);
            let k = values.and_then(|it| it.dimensions.last()).ok_or_else(|| op.lacks("the shape"))?;
            format!("tuple(lax.top_k({}, {k}))", op.arg(0)?)
        }
        "cu_threefry2x32_ffi" | "hip_threefry2x32_ffi" | "cu_threefry2x32" | "hip_threefry2x32" => {
            if op.arguments.len() != 4 {
                return Err(op.lacks("an operand"));
            }
            format!("tuple(jax.extend.random.threefry2x32_p.bind({}))", op.all())
        }
        // These are marks for the TPU compiler.
        "AllocateBuffer" => zeros(op)?,
        "PrepareAsyncCallStart" => "jnp.int32(0)".to_owned(),
        "PrepareAsyncCallDone" => "None".to_owned(),
        "Noop" | "AssumeGatherIndicesInBound" => op.arg(0)?.to_owned(),
        "Sharding"
        | "SPMDFullToShardShape"
        | "SPMDShardToFullShape"
        | "annotate_device_placement"
        | "MoveToDevice"
        | "MoveToHost" => format!("jnp.copy({})", op.arg(0)?),
        _ if target.starts_with("__cudnn$conv") => convolve(op, target)?,
        _ if target.starts_with("__cudnn$fmha") => attention::expression(functions, op, target)?,
        _ => return Err(unknown(op, target)),
    };
    Ok(Some(found))
}

fn zeros(op: &Op<'_>) -> Result<String, Unsupported> {
    let array = op.result()?;
    Ok(format!("jnp.zeros({}, {})", tuple(&array.dimensions), dtype(array.data_type)?))
}

/// Returns true if a custom call only marks something for the compiler.
pub(crate) fn is_mark(it: &Instruction) -> bool {
    let target = it.custom_call_target().unwrap_or_default();
    matches!(target, "AllocateBuffer" | "PrepareAsyncCallStart" | "PrepareAsyncCallDone" | "Noop")
}

/// Returns the error for a custom call that JAX cannot reproduce. The error includes what the program records about the
/// call's origin.
fn unknown(op: &Op<'_>, target: &str) -> Unsupported {
    let path = op.it.metadata.op_name.as_str();
    let name = match path {
        "" => String::new(),
        path => format!(" (JAX name: {})", names::comment(path)),
    };
    let kernel = if target.contains("callback") {
        "Python code that the program runs on the host"
    } else if target.contains("triton") {
        "a Triton kernel"
    } else if target.starts_with("te_") {
        "a kernel of Transformer Engine (transformer_engine.jax)"
    } else if target == "tpu_custom_call" || target.contains("mosaic") {
        "a Pallas kernel"
    } else if matches!(target, "ApproxTopK" | "PartialReduce") {
        "a part of jax.lax.approx_max_k"
    } else {
        "a kernel that is not part of JAX"
    };
    Unsupported::CustomCall { target: names::comment(target), hint: format!(": it is {kernel}{name}") }
}

/// Returns how many results, from the first on, the script returns. The other results are scratch memory and the status
/// of the library.
pub(crate) fn results(it: &Instruction) -> usize {
    let target = it.attributes().custom_call_target.as_str();
    let all = it.shape.tuple().len();
    match routine(target) {
        Some("potrf") => 1,
        Some("getrf" | "geqrf" | "syevd" | "heevd" | "gehrd") => 2,
        Some("sytrd" | "hetrd" | "gesdd") => 4,
        _ if target == "__cusolver$cholesky" => 1,
        _ if target == "__cublas$triangularSolve" => 1,
        _ if target.starts_with("__cudnn$fmha") && target.ends_with("Backward") => 3,
        _ if target.starts_with("__cudnn$") || target.starts_with("__cublas$") => 1,
        _ => all,
    }
}

/// Returns the LAPACK routine without the names of the library and the type: `potrf` for `lapack_spotrf_ffi` and
/// `cusolver_potrf_ffi`.
fn routine(target: &str) -> Option<&str> {
    let name = target.strip_suffix("_ffi")?;
    if let Some(name) = name.strip_prefix("cusolver_").or_else(|| name.strip_prefix("hipsolver_")) {
        return Some(name);
    }
    let name = name.strip_prefix("lapack_").or_else(|| name.strip_prefix("blas_"))?;
    name.strip_prefix(['s', 'd', 'c', 'z'])
}

fn linear_algebra(op: &Op<'_>, target: &str) -> Result<Option<String>, Unsupported> {
    let routine = match target {
        "__cusolver$cholesky" => "potrf",
        "__cublas$triangularSolve" => "trsm",
        _ => match routine(target) {
            Some(routine) => routine,
            None => return Ok(None),
        },
    };
    let a = op.arg(0)?;
    let found = match routine {
        "potrf" => format!("(lax.linalg.cholesky({a}, symmetrize_input=False),)"),
        "getrf" => format!("lax.linalg.lu({a})[:2]"),
        "geqrf" => {
            format!("(lambda _h, _t: (jnp.matrix_transpose(_h), _t))(*jnp.linalg.qr({a}, mode=\"raw\"))")
        }
        "orgqr" | "ungqr" => format!("lax.linalg.householder_product({a}, {})", op.arg(1)?),
        "syevd" | "heevd" => format!("tuple(lax.linalg.eigh({a}, symmetrize_input=False))"),
        "gehrd" => format!("tuple(lax.linalg.hessenberg({a}))"),
        "sytrd" | "hetrd" => format!("tuple(lax.linalg.tridiagonal({a}))"),
        "gesdd" => {
            let square = |n: usize| {
                let array = op.it.shape.tuple().get(n).and_then(Shape::array);
                array.is_some_and(|it| {
                    it.dimensions.iter().rev().take(2).collect::<Vec<_>>().windows(2).all(|w| w.first() == w.last())
                })
            };
            let full = if square(2) && square(3) { "True" } else { "False" };
            format!("(lambda _u, _s, _v: ({a}, _s, _u, _v))(*lax.linalg.svd({a}, full_matrices={full}))")
        }
        "trsm" => op.as_result(triangular_solve(op, a)?),
        _ => return Ok(None),
    };
    Ok(Some(found))
}

/// Returns a triangular solve with the options of the call. The options are character codes (`{diag = 78 : ui8, side =
/// 76 : ui8, ...}`) or JSON.
fn triangular_solve(op: &Op<'_>, a: &str) -> Result<String, Unsupported> {
    let config = op.own().backend_config.as_str();
    let letter = |name: &str| {
        let rest = config.split_once(name)?.1.trim_start_matches([' ', '=', '"', ':']);
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        char::from_u32(digits.parse().ok()?)
    };
    let flags = match (letter("side"), letter("uplo"), letter("trans_x"), letter("diag")) {
        (Some(side), Some(uplo), Some(trans), Some(diag)) => {
            [side == 'L', uplo == 'L', trans != 'N', trans == 'C', diag == 'U']
        }
        _ => {
            let config = super::matmul::config(op)?;
            let flag = |name: &str| config.get(name).and_then(serde_json::Value::as_bool).unwrap_or(false);
            let transpose = config.get("transpose_a").and_then(serde_json::Value::as_str).unwrap_or("NO_TRANSPOSE");
            let (turned, adjoint) = (transpose != "NO_TRANSPOSE", transpose == "ADJOINT");
            [flag("left_side"), flag("lower"), turned, adjoint, flag("unit_diagonal")]
        }
    };
    let mut out = format!("lax.linalg.triangular_solve({a}, {}", op.arg(1)?);
    for (name, set) in ["left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal"].iter().zip(flags) {
        let _ = write!(out, ", {name}={}", if set { "True" } else { "False" });
    }
    out.push(')');
    Ok(out)
}

/// Returns a convolution of cuDNN, or its gradient.
fn convolve(op: &Op<'_>, target: &str) -> Result<String, Unsupported> {
    let result = op.first_result()?;
    let (a, b) = (op.arg(0)?, op.arg(1)?);
    let (first_type, second_type) = (op.operand(0)?.data_type, op.operand(1)?.data_type);
    let sized = |array: &hlo::ArrayShape| -> Result<String, Unsupported> {
        Ok(format!("jax.ShapeDtypeStruct({}, {})", tuple(&array.dimensions), dtype(array.data_type)?))
    };
    let value = match target {
        "__cudnn$convForward" => convolution::general(op, a, b, [first_type, second_type, result.data_type])?,
        "__cudnn$convBackwardInput" => {
            let forward = convolution::general(op, "_x", b, [result.data_type, second_type, first_type])?;
            format!("jax.linear_transpose(lambda _x: {forward}, {})({a})[0]", sized(result)?)
        }
        "__cudnn$convBackwardFilter" => {
            let forward = convolution::general(op, a, "_k", [first_type, result.data_type, second_type])?;
            format!("jax.linear_transpose(lambda _k: {forward}, {})({b})[0]", sized(result)?)
        }
        "__cudnn$convBiasActivationForward" if op.arguments.len() == 3 => {
            let forward = convolution::general(op, a, b, [first_type, second_type, result.data_type])?;
            let feature = op.own().convolution.as_deref().map_or(0, |it| it.output_feature);
            let bias = format!("lax.broadcast_in_dim({}, {}, ({feature},))", op.arg(2)?, tuple(&result.dimensions));
            let biased = format!("lax.add({forward}, lax.convert_element_type({bias}, {}))", dtype(result.data_type)?);
            if op.own().backend_config.contains("kRelu") { format!("jax.nn.relu({biased})") } else { biased }
        }
        _ => return Err(unknown(op, target)),
    };
    Ok(op.as_result(value))
}
