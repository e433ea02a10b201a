//! Derives the work of custom calls to libraries from their shapes and configuration.
//!
//! XLA itself analyses only the matrix multiplications of cuBLASLt and the convolutions of cuDNN, and counts other
//! calls as zero. This module marks the counts of those other calls as derived from shapes.

use super::analysis::Analysis;
use super::matrix::{Factorization, cholesky, dot_flops, factor, triangular_solve};
use super::moves::{self, result, without_scratch};
use super::work::Work;
use super::{attention, convolution, lapack};
use crate::backend_config::{dot, int, member, parse};
use crate::{Instruction, Module, Shape};

/// Returns the work of a custom call. If crossprof does not know the target, the author's estimate is used.
pub(super) fn work(analysis: &Analysis, instruction: &Instruction) -> Work {
    let module = analysis.module;
    let target = instruction.custom_call_target().unwrap_or_default();
    match target {
        "__cublas$lt$matmul" | "__cublas$lt$matmul$f8" | "__cublas$lt$matmul$mx" => matmul(module, instruction, false),
        "__cublas$gemm" => matmul(module, instruction, true),
        "__op$block_scaled_dot" => scaled_dot(module, instruction),
        "__gpu$TopK" => Work { from_shapes: true, ..moves::default(module, instruction) },
        "__cusolver$cholesky" => Work { from_shapes: true, ..cholesky(module, instruction) },
        "__cublas$triangularSolve" => Work { from_shapes: true, ..triangular_solve(module, instruction) },
        "cusolver_potrf_ffi" | "hipsolver_potrf_ffi" => factor(module, instruction, Factorization::Cholesky),
        "cusolver_getrf_ffi" | "hipsolver_getrf_ffi" => factor(module, instruction, Factorization::Lu),
        "cusolver_geqrf_ffi" | "hipsolver_geqrf_ffi" => factor(module, instruction, Factorization::Qr),
        _ if target.starts_with("__cudnn$conv") => convolve(module, instruction, target),
        _ if target.starts_with("__cudnn$fmha") => attention::cudnn(module, instruction, target),
        _ if target.starts_with("te_fused_attn_") => attention::transformer_engine(module, instruction, target),
        _ if target.starts_with("lapack_") || target.starts_with("blas_") => lapack::work(module, instruction, target),
        _ => estimate(&instruction.attributes().backend_config),
    }
}

/// Returns true if the author of a custom call's kernel declared its cost. Returns `None` for other instructions, or if
/// the configuration is missing or unreadable.
pub fn has_author_estimate(instruction: &Instruction) -> Option<bool> {
    let config = parse(&instruction.attributes().backend_config).filter(|_| instruction.is("custom-call"))?;
    Some(member(&config, COST_ESTIMATE).is_some())
}

/// Member of a custom call's configuration in which Pallas records the author's estimate.
const COST_ESTIMATE: &str = "cost_estimate";

/// Returns the cost that a kernel's author declared: `"cost_estimate": {"flops": 1234, "bytes_accessed": 5678, ...}` in
/// the configuration, which Pallas writes. The work is unknown if the configuration contains no estimate.
fn estimate(config: &str) -> Work {
    let config = parse(config);
    let found = config.as_ref().and_then(|config| member(config, COST_ESTIMATE));
    let number = |name| Some(int(found?.get(name)?)?.max(0) as f64);
    let (Some(flops), Some(bytes)) = (number("flops"), number("bytes_accessed")) else { return Work::UNKNOWN };
    let transcendentals = number("transcendentals").unwrap_or(0.0);
    // The estimate does not separate reads from writes.
    Work { flops, transcendentals, ..Work::moves(bytes, 0.0) }
}

/// Counts `2 m n k` FLOPs for a matrix multiplication. Scaling, bias and activation are left out, because they take
/// only a few operations.
fn matmul(module: &Module, instruction: &Instruction, from_shapes: bool) -> Work {
    let config = parse(&instruction.attributes().backend_config);
    let numbers = config.and_then(|config| dot(&config, "dot_dimension_numbers"));
    let lhs = module.operand(instruction, 0).map(|operand| &operand.shape);
    let (Some(numbers), Some(result), Some(Shape::Array(array))) = (numbers, result(instruction), lhs) else {
        return Work::UNKNOWN;
    };
    if numbers.lhs_contracting.iter().any(|&dimension| array.dimension(dimension).is_none()) {
        return Work::UNKNOWN;
    }
    let flops = dot_flops(array, result.elements(), &numbers);
    let shape = Shape::Array(array.clone());
    Work { from_shapes, ..without_scratch(module, instruction, result) }.product(flops, &shape)
}

/// Counts the multiplication of `[b, m, k]` by `[b, n, k]`. The elements of both arrays form blocks that share a scale,
/// and the scales are the other operands.
fn scaled_dot(module: &Module, instruction: &Instruction) -> Work {
    let operand = |n| module.operand(instruction, n).map(|operand| &operand.shape);
    let (Some(lhs), Some(rhs), Some(result)) = (operand(0), operand(1), result(instruction)) else {
        return Work::UNKNOWN;
    };
    let width = |shape: &Shape| shape.array().and_then(|array| array.dimensions.last().copied());
    match (width(lhs), width(rhs)) {
        (Some(k), Some(other)) if k == other => {
            let flops = 2.0 * result.elements() * k as f64;
            Work { from_shapes: true, ..without_scratch(module, instruction, result) }.product(flops, lhs)
        }
        _ => Work::UNKNOWN,
    }
}

/// Returns the work of a convolution or of its gradient. A gradient takes as many operations as the forward convolution
/// between the same arrays.
///
/// ```text
///                   operand 0   operand 1   result
/// forward           input       kernel      output
/// backward input    output'     kernel      input'
/// backward filter   input       output'     kernel'
/// ```
fn convolve(module: &Module, instruction: &Instruction, target: &str) -> Work {
    let operand = |n| module.operand(instruction, n).and_then(|operand| operand.shape.array());
    let (Some(first), Some(second), Some(result)) = (operand(0), operand(1), result(instruction)) else {
        return Work::UNKNOWN;
    };
    let flops = match target {
        "__cudnn$convBackwardInput" => convolution::flops(instruction, result, second, first),
        "__cudnn$convBackwardFilter" => convolution::flops(instruction, first, result, second),
        _ => convolution::flops(instruction, first, second, result),
    };
    let Some(flops) = flops else { return Work::UNKNOWN };
    without_scratch(module, instruction, result).product(flops, &Shape::Array(first.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses the configuration that JAX 0.10 writes for `pallas_call(..., cost_estimate=pl.CostEstimate(flops=1234,
    /// bytes_accessed=5678, transcendentals=9))`, without the kernel itself.
    #[test]
    fn the_estimate_of_a_pallas_kernel_is_its_cost() {
        let config = r#"{"custom_call_config": {"body": "TUzvUg==", "cost_estimate": {
            "bytes_accessed":5678, "flops":1234, "remote_bytes_transferred":0, "transcendentals":9},
            "serialization_format": 1, "needs_layout_passes": true}}"#;
        let work = estimate(config);
        assert!(work.known && !work.from_shapes);
        assert_eq!((work.flops, work.transcendentals, work.read + work.written), (1234.0, 9.0, 5678.0));
        for unknown in
            ["", "TUzvUg==", r#"{"custom_call_config": {"body": "TUzvUg=="}}"#, r#"{"cost_estimate": {"flops": 1}}"#]
        {
            assert!(!estimate(unknown).known, "{unknown}");
        }
    }
}
