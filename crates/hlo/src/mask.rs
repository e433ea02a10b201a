//! Evaluates masks that depend only on positions, such as the causal mask or the window of an attention.
//!
//! ```text
//! rows = iota dimension 0      columns = iota dimension 1
//! mask = and(columns <= rows, rows - columns < 128)           value of the mask at any position
//! scores = select(mask, products, broadcast(-1e9))            softmax turns masked scores into 0
//! ```

use super::instruction::Instruction;
use super::module::Module;
use super::shape::ArrayShape;

/// Number of rows that are evaluated. We chose this number because a large mask has similar rows.
const ROWS: u64 = 64;
/// Number of columns of each row that are evaluated, which is all columns of most masks.
const COLUMNS: u64 = 4096;
/// Maximum depth of the expression of a mask. Masks of real programs have a depth of about 10.
const DEEPEST: usize = 64;
/// Largest value that masks a score: the softmax turns it into 0. Frameworks use -1e4 and less.
const MASKED: f64 = -1e3;

/// Returns the share of the scores that a mask keeps, from 0 to 1. `select` chooses for each position between a score,
/// or a bias of 0, and a constant that the softmax turns into 0. The share comes from 64 rows of the last two
/// dimensions. Returns `None` for other instructions, and if the mask depends on data.
pub fn kept_share(module: &Module, select: &Instruction) -> Option<f64> {
    let shape = select.shape.array().filter(|_| select.is("select"))?;
    let [mask, chosen, other] = [0, 1, 2].map(|n| module.operand(select, n));
    let masks = |branch: Option<&Instruction>| constant(module, branch?, 0).map(|value| value <= MASKED);
    let keeps = match (masks(chosen), masks(other)) {
        (Some(true), _) => 0,
        (_, Some(true)) => 1,
        _ => return None,
    };
    let &[.., rows, columns] = shape.dimensions.as_slice() else { return None };
    let (mut kept, mut all) = (0u32, 0u32);
    for row in 0..rows.min(ROWS) {
        for column in 0..columns.min(COLUMNS) {
            let (row, column) = (scattered(row, rows, ROWS), scattered(column, columns, COLUMNS));
            let mut position = vec![0; shape.dimensions.len()];
            if let [.., a, b] = position.as_mut_slice() {
                (*a, *b) = (row, column);
            }
            kept += u32::from(value(module, mask?, &position, 0)? == keeps);
            all += 1;
        }
    }
    (all > 0).then(|| f64::from(kept) / f64::from(all))
}

/// Returns the position of a sample along a dimension: somewhere in its part of the dimension. Samples at equal distances
/// would hit all or none of the positions of a mask that keeps every k-th one.
fn scattered(sample: u64, size: u64, samples: u64) -> u64 {
    let samples = size.min(samples);
    let (start, end) = (sample * size / samples, (sample + 1) * size / samples);
    // Any hash will do.
    let hash = (sample + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    start + hash % (end - start).max(1)
}

/// Returns the value of an array whose elements are all the same constant.
fn constant(module: &Module, instruction: &Instruction, depth: usize) -> Option<f64> {
    match instruction.opcode.as_str() {
        "constant" => instruction.attributes().literal.parse().ok(),
        "broadcast" | "convert" | "copy" | "bitcast" | "reshape" if depth < DEEPEST => {
            constant(module, module.operand(instruction, 0)?, depth + 1)
        }
        "parameter" if depth < DEEPEST => constant(module, module.argument_of(instruction)?, depth + 1),
        _ => None,
    }
}

/// Returns the value of an integer or boolean instruction at a position. `None` if it depends on data.
fn value(module: &Module, instruction: &Instruction, position: &[u64], depth: usize) -> Option<i64> {
    let depth = depth + 1;
    if depth > DEEPEST {
        return None;
    }
    let own = instruction.attributes();
    let operand = |n: usize| module.operand(instruction, n);
    let at = |n: usize| value(module, operand(n)?, position, depth);
    let pair = || at(0).zip(at(1));
    let number = |index: &i64| usize::try_from(*index).ok();
    let is_floating = || instruction.shape.array().is_none_or(|array| array.data_type.is_floating());
    match instruction.opcode.as_str() {
        "iota" => i64::try_from(*position.get(own.dimensions.first().and_then(number)?)?).ok(),
        "constant" => match own.literal.as_str() {
            "true" => Some(1),
            "false" => Some(0),
            text => text.parse().ok(),
        },
        "broadcast" => {
            let of_operand: Option<Vec<u64>> =
                own.dimensions.iter().map(|index| position.get(number(index)?).copied()).collect();
            value(module, operand(0)?, &of_operand?, depth)
        }
        "transpose" => {
            let mut of_operand = vec![0; position.len()];
            for (index, &place) in own.dimensions.iter().zip(position) {
                *of_operand.get_mut(number(index)?)? = place;
            }
            value(module, operand(0)?, &of_operand, depth)
        }
        "bitcast" | "reshape" => {
            let of_operand = reshaped(instruction.shape.array()?, operand(0)?.shape.array()?, position)?;
            value(module, operand(0)?, &of_operand, depth)
        }
        "slice" => {
            let ranges = own.slices.iter().zip(position);
            let of_operand: Option<Vec<u64>> = ranges
                .map(|(range, &place)| {
                    let place = i64::try_from(place).ok()?.checked_mul(range.stride.max(1))?;
                    u64::try_from(place.checked_add(range.start)?).ok()
                })
                .collect();
            value(module, operand(0)?, &of_operand?, depth)
        }
        "parameter" => value(module, module.argument_of(instruction)?, position, depth),
        "fusion" => {
            let root = module.root(module.called(instruction, 0)?)?;
            value(module, root, position, depth)
        }
        "get-tuple-element" => {
            let fusion = operand(0).filter(|it| it.is("fusion"))?;
            let root = module.root(module.called(fusion, 0)?).filter(|it| it.is("tuple"))?;
            value(module, module.operand(root, number(&own.tuple_index)?)?, position, depth)
        }
        "convert" | "copy" => at(0),
        "negate" => at(0)?.checked_neg(),
        "abs" => at(0)?.checked_abs(),
        "not" => (operand(0)?.shape.array()?.data_type.name() == "pred").then_some(1 - at(0)?),
        "and" => pair().map(|(a, b)| a & b),
        "or" => pair().map(|(a, b)| a | b),
        "xor" => pair().map(|(a, b)| a ^ b),
        "add" => pair().and_then(|(a, b)| a.checked_add(b)),
        "subtract" => pair().and_then(|(a, b)| a.checked_sub(b)),
        "multiply" => pair().and_then(|(a, b)| a.checked_mul(b)),
        // Positions as floating-point numbers have fractions after a division.
        "divide" if is_floating() => None,
        "divide" => pair().and_then(|(a, b)| a.checked_div(b)),
        "remainder" => pair().and_then(|(a, b)| a.checked_rem(b)),
        "maximum" => pair().map(|(a, b)| a.max(b)),
        "minimum" => pair().map(|(a, b)| a.min(b)),
        "select" => {
            if at(0)? == 1 {
                at(1)
            } else {
                at(2)
            }
        }
        "compare" => {
            let (a, b) = pair()?;
            Some(i64::from(match own.comparison_direction.as_str() {
                "EQ" => a == b,
                "NE" => a != b,
                "LT" => a < b,
                "LE" => a <= b,
                "GT" => a > b,
                "GE" => a >= b,
                _ => return None,
            }))
        }
        _ => None,
    }
}

/// Returns the position in the operand of a reshape. Follows reshapes that only add or remove dimensions of size 1.
fn reshaped(result: &ArrayShape, operand: &ArrayShape, position: &[u64]) -> Option<Vec<u64>> {
    let long = |shape: &ArrayShape| shape.dimensions.iter().copied().filter(|&size| size != 1).collect::<Vec<u64>>();
    if long(result) != long(operand) {
        return None;
    }
    let mut places = result.dimensions.iter().zip(position).filter(|(size, _)| **size != 1).map(|(_, &place)| place);
    operand.dimensions.iter().map(|&size| if size == 1 { Some(0) } else { places.next() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_module;

    /// Returns the share that a mask keeps of `f32[2,256,256]` scores. `lines` compute `mask` (`pred[256,256]`) from `rows`
    /// and `columns`.
    fn kept(lines: &str, fused: bool) -> Option<f64> {
        let body = format!(
            "  rows = s32[256,256] iota(), iota_dimension=0\n  columns = s32[256,256] iota(), iota_dimension=1\n{lines}  \
             wide = pred[1,256,256] reshape(mask)\n  both = pred[2,256,256] broadcast(mask), dimensions={{1,2}}\n  \
             low = f32[] constant(-1e+09)\n  lows = f32[2,256,256] broadcast(low), dimensions={{}}\n  \
             ROOT masked = f32[2,256,256] select(both, scores, lows)\n"
        );
        let text = if fused {
            format!(
                "HloModule m\n\ninside {{\n  scores = f32[2,256,256] parameter(0)\n  length = s32[] parameter(1)\n{body}}}\n\nENTRY main {{\n  \
                 x = f32[2,256,256] parameter(0)\n  n = s32[] constant(64)\n  \
                 ROOT f = f32[2,256,256] fusion(x, n), kind=kLoop, calls=inside\n}}\n"
            )
        } else {
            format!(
                "HloModule m\n\nENTRY main {{\n  scores = f32[2,256,256] parameter(0)\n  length = s32[] parameter(1)\n{body}}}\n"
            )
        };
        let module = read_module(text.as_bytes());
        kept_share(&module, module.instruction("masked").unwrap())
    }

    const CAUSAL: &str = "  mask = pred[256,256] compare(columns, rows), direction=LE\n";
    const WINDOW: &str = "  causal = pred[256,256] compare(columns, rows), direction=LE\n  \
                          back = s32[256,256] subtract(rows, columns)\n  \
                          lengths = s32[256,256] broadcast(length), dimensions={}\n  \
                          near = pred[256,256] compare(back, lengths), direction=LT\n  \
                          mask = pred[256,256] and(causal, near)\n";

    /// Counts the kept positions of the window of 64 in a matrix of 256 x 256, one by one.
    fn counted() -> f64 {
        let positions = (0..256i32).flat_map(|row| (0..256).map(move |column| (row, column)));
        positions.filter(|(row, column)| column <= row && row - column < 64).count() as f64 / 65_536.0
    }

    #[test]
    fn masks_of_positions_are_evaluated() {
        assert!((kept(CAUSAL, false).unwrap() - 0.5).abs() < 0.01);
        assert!((kept(CAUSAL, true).unwrap() - 0.5).abs() < 0.01);
        // The length of the window is an operand of the fusion.
        assert!((kept(WINDOW, true).unwrap() - counted()).abs() < 0.01, "{:?} {}", kept(WINDOW, true), counted());
    }

    #[test]
    fn a_mask_that_keeps_every_eighth_position_is_sampled_fairly() {
        let strided = "  eight = s32[] constant(8)\n  eights = s32[256,256] broadcast(eight), dimensions={}\n  \
                       rest = s32[256,256] remainder(columns, eights)\n  zero = s32[] constant(0)\n  \
                       zeros = s32[256,256] broadcast(zero), dimensions={}\n  \
                       mask = pred[256,256] compare(rest, zeros), direction=EQ\n";
        assert!((kept(strided, false).unwrap() - 0.125).abs() < 0.01, "{:?}", kept(strided, false));
        let rows = strided.replace("columns", "rows");
        assert!((kept(&rows, false).unwrap() - 0.125).abs() < 0.05, "{:?}", kept(&rows, false));
    }

    #[test]
    fn a_mask_that_depends_on_data_is_unknown() {
        assert_eq!(kept(WINDOW, false), None);
        let padding = "  mask = pred[256,256] custom-call(scores), custom_call_target=\"padding\"\n";
        assert_eq!(kept(padding, false), None);
    }

    #[test]
    fn a_choice_between_other_values_is_no_mask() {
        let text = "HloModule m\n\nENTRY main {\n  p = pred[8,8] parameter(0)\n  x = f32[8,8] parameter(1)\n  \
                    zero = f32[] constant(0)\n  zeros = f32[8,8] broadcast(zero), dimensions={}\n  \
                    ROOT masked = f32[8,8] select(p, x, zeros)\n}\n";
        let module = read_module(text.as_bytes());
        assert_eq!(kept_share(&module, module.instruction("masked").unwrap()), None);
    }
}
