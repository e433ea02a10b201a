//! Opcodes for linear algebra and Fourier transforms.

use super::Op;
use crate::Unsupported;
use crate::functions::Functions;
use crate::python::tuple;

pub(super) fn expression(_: &mut Functions<'_>, op: &Op<'_>, opcode: &str) -> Result<Option<String>, Unsupported> {
    let found = match opcode {
        "fft" => {
            let place = usize::try_from(op.own().fft_type).ok();
            let name = place.and_then(|at| ["FFT", "IFFT", "RFFT", "IRFFT"].get(at).copied());
            let name = name.ok_or_else(|| op.lacks("the type"))?;
            format!("lax.fft({}, lax.FftType.{name}, {})", op.arg(0)?, tuple(&op.own().fft_length))
        }
        "cholesky" if op.own().lower => format!("lax.linalg.cholesky({}, symmetrize_input=False)", op.arg(0)?),
        "cholesky" => return Err(Unsupported::no_call("a Cholesky factorisation with an upper factor")),
        "triangular-solve" => {
            let options = op.own().triangular_solve.ok_or_else(|| op.lacks("the options"))?;
            let flag = |set: bool| if set { "True" } else { "False" };
            format!(
                "lax.linalg.triangular_solve({}, {}, left_side={}, lower={}, transpose_a={}, conjugate_a={}, \
                 unit_diagonal={})",
                op.arg(0)?,
                op.arg(1)?,
                flag(options.left_side),
                flag(options.lower),
                flag(options.transpose >= 2),
                flag(options.transpose == 3),
                flag(options.unit_diagonal)
            )
        }
        _ => return Ok(None),
    };
    Ok(Some(found))
}
