//! Finds the array that the row indices of a gather or scatter come from.
//!
//! ```text
//! table s32[76,32] --> dynamic-slice --> minimum(_, 3071) --> select(_ < 0, _ + 3072, _) --> gather of f32[3072,3]
//!                                        clamp: 3071
//! ```

use super::instruction::Instruction;
use super::module::Module;

/// Maximum number of instructions between the array and the gather or scatter.
const MOST_BETWEEN: usize = 32;

/// Row indices of a gather or scatter.
#[derive(Clone, Copy, Debug)]
pub struct RowIndices<'m> {
    /// Array of all indices. A loop may use one block of this array per iteration.
    pub array: &'m Instruction,
    /// Largest index that the program passes on: larger indices become this one. `None` if the program limits no index.
    pub clamp: Option<i64>,
    /// True if each iteration uses one block of the array.
    pub is_block: bool,
}

/// Follows the indices of a gather or scatter to their array. `None` for other instructions.
pub fn row_indices<'m>(module: &'m Module, instruction: &'m Instruction) -> Option<RowIndices<'m>> {
    if !instruction.is("gather") && !instruction.is("scatter") {
        return None;
    }
    let mut at = module.operand(instruction, 1)?;
    let mut found = RowIndices { array: at, clamp: None, is_block: false };
    for _ in 0..MOST_BETWEEN {
        let operand = |n: usize| module.operand(at, n);
        let limit = |n: usize| integer(module, operand(n)?);
        let next = match at.opcode.as_str() {
            "bitcast" | "convert" | "copy" | "reshape" | "transpose" => operand(0),
            "dynamic-slice" => {
                found.is_block = true;
                operand(0)
            }
            // JAX counts negative indices from the end.
            "select" => operand(2),
            "clamp" => {
                found.clamp = limit(2).or(found.clamp);
                operand(1)
            }
            "maximum" => [(0, 1), (1, 0)].into_iter().find_map(|(n, other)| limit(n).and(operand(other))),
            "minimum" => [(0, 1), (1, 0)].into_iter().find_map(|(n, other)| {
                found.clamp = Some(limit(n)?);
                operand(other)
            }),
            "parameter" => module.argument_of(at),
            "fusion" => module.called(at, 0).and_then(|computation| module.root(computation)),
            _ => None,
        };
        match next {
            Some(next) => at = next,
            None => break,
        }
    }
    found.array = at;
    Some(found)
}

/// Returns the value of an array whose elements are all the same integer constant.
fn integer(module: &Module, instruction: &Instruction) -> Option<i64> {
    match instruction.opcode.as_str() {
        "constant" => instruction.attributes().literal.parse().ok(),
        "broadcast" | "bitcast" | "reshape" => integer(module, module.operand(instruction, 0)?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_module;

    #[test]
    fn indices_are_followed_to_their_array() {
        let text = "HloModule m\n\ninside {\n  rows = f32[9,3] parameter(0)\n  table = s32[4,5] parameter(1)\n  \
                    block = s32[] parameter(2)\n  zero = s32[] constant(0)\n  \
                    s = s32[1,5] dynamic-slice(table, block, zero), dynamic_slice_sizes={1,5}\n  b = s32[5] bitcast(s)\n  \
                    last = s32[] constant(8)\n  lasts = s32[5] broadcast(last), dimensions={}\n  low = s32[5] minimum(b, lasts)\n  \
                    i = s32[5,1] bitcast(low)\n  ROOT g = f32[5,3] gather(rows, i), offset_dims={1}, collapsed_slice_dims={0}, \
                    start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}\n}\n\nENTRY main {\n  x = f32[9,3] parameter(0)\n  \
                    t = s32[4,5] parameter(1)\n  n = s32[] parameter(2)\n  ROOT f = f32[5,3] fusion(x, t, n), kind=kLoop, calls=inside\n}\n";
        let module = read_module(text.as_bytes());
        let found = row_indices(&module, module.instruction("g").unwrap()).unwrap();
        assert_eq!((found.array.name.as_str(), found.clamp, found.is_block), ("t", Some(8), true));
        assert!(row_indices(&module, module.instruction("low").unwrap()).is_none());
    }
}
