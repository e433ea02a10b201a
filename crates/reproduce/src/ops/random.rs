//! Random numbers.

use hlo::Shape;

use super::Op;
use crate::Unsupported;
use crate::functions::Functions;
use crate::python::{array, dtype, sizes};

pub(super) fn expression(_: &mut Functions<'_>, op: &Op<'_>, opcode: &str) -> Result<Option<String>, Unsupported> {
    match opcode {
        "rng" if op.own().distribution == 1 => {
            Ok(Some(format!("lax.rng_uniform({}, {}, {})", op.arg(0)?, op.arg(1)?, sizes(op.result()?))))
        }
        "rng" => Err(Unsupported::no_call("an rng that is not uniform")),
        "rng-bit-generator" => {
            let bits = op.it.shape.tuple().last().unwrap_or(&Shape::Unknown);
            let bits = array(bits, &op.it.name)?;
            let name = match op.own().random_algorithm {
                1 => "RNG_THREE_FRY",
                2 => "RNG_PHILOX",
                _ => "RNG_DEFAULT",
            };
            Ok(Some(format!(
                "tuple(lax.rng_bit_generator({}, {}, {}, lax.RandomAlgorithm.{name}))",
                op.arg(0)?,
                sizes(bits),
                dtype(bits.data_type)?
            )))
        }
        _ => Ok(None),
    }
}
