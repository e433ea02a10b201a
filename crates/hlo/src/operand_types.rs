//! Reads the data types of an instruction's operands from its expression, which traces without HLO also contain.

use super::DataType;
use base::number::decimal;

/// Opcodes of instructions that only pass their operands on, or that do not read the data of their operands.
const HANDED_ON: [&str; 8] =
    ["while", "call", "conditional", "tuple", "get-tuple-element", "parameter", "constant", "copy-done"];

/// Returns the data type and the number of elements of every array among the operands:
///
/// ```text
/// %dot.3 = f32[8,16]{1,0} dot(bf16[8,4]{1,0:T(8,128)} %a, s8[4,16]{1,0} %b), lhs_contracting_dims={1}, ...
///                             bf16, 32                    s8, 64
/// ```
///
/// Returns nothing for loops, calls and tuples, or if the text is not an expression.
pub fn operand_types(expression: &str) -> impl Iterator<Item = (DataType, f64)> {
    let operands = operands(expression).unwrap_or_default();
    operands.split(' ').filter_map(|word| {
        let shape = word.trim_start_matches('(');
        let (name, rest) = shape.split_once('[')?;
        let dimensions = rest.split_once(']')?.0;
        let size = |size: &str| decimal(size.trim_start_matches("<="));
        // An array without dimensions has one element.
        let sizes = dimensions.split(',').filter(|size| !size.is_empty());
        let elements = sizes.map(size).try_fold(1.0, |all, size| Some(all * size?))?;
        Some((DataType::from_name(name)?, elements))
    })
}

/// Returns the text in the parentheses after the opcode.
fn operands(expression: &str) -> Option<&str> {
    let (_, body) = expression.split_once(" = ")?;
    // The result is one word, or a tuple in parentheses.
    let result = if body.starts_with('(') { bracketed(body)?.len() + 2 } else { body.find(' ')? };
    let call = body.get(result..)?.trim_start();
    let (opcode, _) = call.split_once('(')?;
    if HANDED_ON.contains(&opcode) || opcode.starts_with("async-") {
        return None;
    }
    let arguments = call.get(opcode.len()..)?;
    // A long expression may be cut off.
    Some(bracketed(arguments).unwrap_or(arguments))
}

/// Returns the inside of the parentheses at the start of a text.
fn bracketed(text: &str) -> Option<&str> {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return text.get(1..at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(expression: &str) -> Vec<(&'static str, f64)> {
        operand_types(expression).map(|(data_type, elements)| (data_type.name(), elements)).collect()
    }

    #[test]
    fn operand_types_are_read_from_the_expression() {
        let dot =
            "%dot.3 = f32[8,16]{1,0} dot(bf16[8,4]{1,0:T(8,128)(2,1)} %a, s8[4,16]{1,0} %b), lhs_contracting_dims={1}";
        assert_eq!(types(dot), [("bf16", 32.0), ("s8", 64.0)]);
        let call = "%c.1 = (bf16[4]{0:T(2,128)}, f32[]) custom-call(s32[]{:T(128)} %x, f4e2m1fn[2,3] %w, f32[<=7] %y";
        assert_eq!(types(call), [("s32", 1.0), ("f4e2m1fn", 6.0), ("f32", 7.0)]);
        assert_eq!(types("%s = f32[2] start(((f32[2], pred[]) %t))"), [("f32", 2.0), ("pred", 1.0)]);
    }

    #[test]
    fn what_only_hands_on_and_what_is_no_expression_has_none() {
        for text in
            ["%w = (f32[2]) while((f32[2]) %t), body=%b", "fusion.3", "", "a = ", "a = (", "a = b c", "%é = é é(é[é] é"]
        {
            assert_eq!(types(text), [], "{text}");
        }
    }
}
