//! Counts the work of calls that XLA's CPU backend makes to LAPACK and BLAS: `lapack_spotrf_ffi`, `lapack_strsm_ffi`.
//! Uses the leading terms of LAPACK's own operation counts (LAPACK Working Note 41), with multiplications and additions
//! counted separately. The work of iterative routines (eigenvalues, singular values) is unknown.

use super::matrix::{Factorization, factor};
use super::moves::{result, without_scratch};
use super::work::{Arithmetic, Work};
use crate::{ArrayShape, Instruction, Module};

/// Returns the work of a call to a LAPACK or BLAS routine. The work of all routines that the function does not list is
/// unknown.
pub(super) fn work(module: &Module, instruction: &Instruction, target: &str) -> Work {
    match routine(target) {
        Some("potrf") => factor(module, instruction, Factorization::Cholesky),
        Some("getrf") => factor(module, instruction, Factorization::Lu),
        Some("geqrf" | "geqp3") => factor(module, instruction, Factorization::Qr),
        Some("trsm") => triangular_solve(module, instruction),
        Some("orgqr" | "ungqr") => of_first(module, instruction, form_q(reflectors(module, instruction))),
        Some("gehrd") => of_first(module, instruction, |n, _| 10.0 / 3.0 * n * n * n),
        Some("sytrd" | "hetrd") => of_first(module, instruction, |n, _| 4.0 / 3.0 * n * n * n),
        _ => Work::UNKNOWN,
    }
}

/// Returns the routine's name without the letter of its data type: `potrf` for `lapack_spotrf_ffi`. Returns `None` for
/// calls that do not use XLA's typed interface, because older calls (`lapack_spotrf`) pass sizes and scratch memory as
/// operands.
fn routine(target: &str) -> Option<&str> {
    let name = target.strip_suffix("_ffi")?;
    let name = name.strip_prefix("lapack_").or_else(|| name.strip_prefix("blas_"))?;
    name.strip_prefix(['s', 'd', 'c', 'z'])
}

/// Returns the `n`-th operand as an array.
fn operand<'m>(module: &'m Module, instruction: &Instruction, n: usize) -> Option<&'m ArrayShape> {
    module.operand(instruction, n)?.shape.array()
}

/// Returns the number of reflectors that Q is formed from: the last dimension of the second operand.
fn reflectors(module: &Module, instruction: &Instruction) -> f64 {
    let scales = operand(module, instruction, 1).and_then(|array| array.dimensions.last());
    scales.map_or(0.0, |&size| size as f64)
}

/// Returns a function that counts the operations for forming the first columns of Q from `k` reflectors: `4 m n k - 2
/// (m + n) k^2 + 4 k^3 / 3`.
fn form_q(k: f64) -> impl Fn(f64, f64) -> f64 {
    move |m, n| 4.0 * m * n * k - 2.0 * (m + n) * k * k + 4.0 / 3.0 * k * k * k
}

/// Applies `count` to the rows and columns of each matrix in the first operand.
fn of_first(module: &Module, instruction: &Instruction, count: impl Fn(f64, f64) -> f64) -> Work {
    let (Some(array), Some(result)) = (operand(module, instruction, 0), result(instruction)) else {
        return Work::UNKNOWN;
    };
    let &[.., rows, columns] = array.dimensions.as_slice() else { return Work::UNKNOWN };
    let (m, n) = (rows as f64, columns as f64);
    let matrices = if m * n > 0.0 { array.elements() / (m * n) } else { 0.0 };
    let flops = matrices * count(m, n);
    Work {
        from_shapes: true,
        flops,
        arithmetic: Arithmetic::other(array, flops),
        ..without_scratch(module, instruction, result)
    }
}

/// Counts `n^2` for each right-hand side of an `n x n` matrix. Half of the matrix is read. The matrix may be on the
/// left or on the right of the unknowns, so its own last dimension gives `n`.
fn triangular_solve(module: &Module, instruction: &Instruction) -> Work {
    let (a, b) = (operand(module, instruction, 0), operand(module, instruction, 1));
    let (Some(a), Some(b), Some(result)) = (a, b, result(instruction)) else { return Work::UNKNOWN };
    let Some(&n) = a.dimensions.last() else { return Work::UNKNOWN };
    let flops = n as f64 * b.elements();
    let bytes = Work::moves(a.bytes() / 2.0 + b.bytes(), result.bytes());
    Work { from_shapes: true, flops, arithmetic: Arithmetic::other(a, flops), ..bytes }
}
