//! Reads the shapes of an instruction from its HLO text.

/// Shapes of an instruction, without layouts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shapes {
    /// Shape of the result. Tuples are in parentheses.
    pub result: String,
    /// Shapes of the operands. Operands that the text names without a shape are omitted.
    pub operands: Vec<String>,
}

/// Returns the shapes in the text of an instruction: `%dot.1 = f32[8,4]{1,0} dot(f32[8,2]{1,0} %a, f32[2,4]{1,0} %b)`. Returns
/// `None` for any other text.
pub fn of_expression(text: &str) -> Option<Shapes> {
    let (_, right) = text.split_once(" = ")?;
    let plain = without_layouts(right);
    let result = shape(&plain)?;
    let call = plain.get(result.len()..)?.trim_start();
    let (_, arguments) = call.split_once('(')?;
    let operands = arguments_of(arguments).filter_map(|argument| shape(argument.trim()));
    Some(Shapes { operands: operands.map(str::to_owned).collect(), result: result.to_owned() })
}

/// Returns the number of elements of an array's shape: 12 for `f32[3,4]`, 1 for `f32[]`. 0 for tuples.
pub fn elements(shape: &str) -> f64 {
    let Some((_, dimensions)) = shape.split_once('[').filter(|_| !shape.starts_with('(')) else { return 0.0 };
    let dimensions = dimensions.trim_end_matches(']').split(',').filter(|dimension| !dimension.is_empty());
    dimensions.map(|dimension| dimension.trim_start_matches("<=").parse::<f64>().unwrap_or(0.0)).product()
}

/// Removes everything in braces: layouts (`{1,0:T(8,128)}`), and attributes after the operands. Also removes comments
/// (`/*index=5*/`).
fn without_layouts(text: &str) -> String {
    let mut depth = 0_usize;
    let mut keep = |&c: &char| {
        depth = if c == '}' { depth.saturating_sub(1) } else { depth + usize::from(c == '{') };
        depth == 0 && c != '}'
    };
    let mut plain: String = text.chars().filter(&mut keep).collect();
    while let Some((before, (_, after))) = plain.split_once("/*").and_then(|(a, b)| Some((a, b.split_once("*/")?))) {
        plain = format!("{before}{after}");
    }
    plain
}

/// Returns the shape at the start of a text: a tuple up to its closing parenthesis, or a word such as `f32[8,4]`.
fn shape(text: &str) -> Option<&str> {
    if text.starts_with('(') {
        return text.get(..=closing(text.get(1..)?)? + 1);
    }
    let word = text.split(' ').next()?;
    (word.contains('[') && word.ends_with(']')).then_some(word)
}

/// Returns the index of the closing parenthesis. The opening parenthesis is directly before `text`.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1_usize;
    text.bytes().position(|byte| {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

/// Splits the arguments at commas that are not inside brackets. `text` begins after the opening parenthesis, and the
/// arguments end at the closing parenthesis.
fn arguments_of(text: &str) -> impl Iterator<Item = &str> {
    let text = closing(text).and_then(|end| text.get(..end)).unwrap_or_default();
    let mut depth = 0_i32;
    text.split(move |c: char| {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
        depth == 0 && c == ','
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(text: &str) -> Option<(String, Vec<String>)> {
        of_expression(text).map(|found| (found.result, found.operands))
    }

    #[test]
    fn layouts_are_left_out() {
        let text = "%fusion.3 = bf16[4,2048]{1,0:T(8,128)(2,1)S(1)} fusion(bf16[4,32]{1,0:T(8,128)} %p.1, f32[]{:T(128)} %p.2), \
                    kind=kLoop, calls=%fused, metadata={op_name=\"f(x)\"}";
        let operands = vec!["bf16[4,32]".to_owned(), "f32[]".to_owned()];
        assert_eq!(shapes(text), Some(("bf16[4,2048]".to_owned(), operands)));
    }

    #[test]
    fn elements_are_counted() {
        assert_eq!(
            ["f32[3,4]", "f32[]", "(f32[2], s32[])", "f32[<=5,2]", "token"].map(elements),
            [12.0, 1.0, 0.0, 10.0, 0.0]
        );
    }

    #[test]
    fn comments_are_left_out() {
        let text = "%f = f32[2] fusion(f32[2] %a, s32[] %b, /*index=2*/f32[4] %c, /*index=3*/pred[] %d)";
        let operands = ["f32[2]", "s32[]", "f32[4]", "pred[]"].map(str::to_owned).to_vec();
        assert_eq!(shapes(text), Some(("f32[2]".to_owned(), operands)));
    }

    #[test]
    fn tuples_are_whole() {
        let text = "%t = (f32[2,3]{1,0}, (s32[], u8[4]{0})) custom-call((f32[2]{0}, s32[]) %a, %b, pred[] %c)";
        let operands = vec!["(f32[2], s32[])".to_owned(), "pred[]".to_owned()];
        assert_eq!(shapes(text), Some(("(f32[2,3], (s32[], u8[4]))".to_owned(), operands)));
    }

    #[test]
    fn other_texts_have_no_shapes() {
        for text in ["", "gemm_kernel", "a = b", "%x = f32[2", "%x = (f32[2]", "%x = f32[2] add", "x = }f32[] {("] {
            assert_eq!(shapes(text).map(|(_, operands)| operands).unwrap_or_default(), Vec::<String>::new(), "{text}");
        }
    }
}
