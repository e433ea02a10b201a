//! Name scopes of instructions, as labels of groups.

use base::framework_path;
use hlo::Instruction;

/// Maximum depth of groups. Deeper scopes belong to the deepest group. The limit guards against absurdly long paths.
const MAX_DEPTH: usize = 24;

/// Appends the labels of the groups that contain an instruction, outermost first:
///
/// ```text
/// jit(step)/jvp(layer_3)/attn/dot_general              forward, layer_3, attn
/// jit(step)/transpose(jvp(layer_3))/attn/dot_general   backward, layer_3, attn
/// jit(step)/adam/mul                                   adam
/// ```
///
/// The first label is the pass of a training step (`forward`, `backward`). Compiled functions, other transformations
/// and the primitive at the end are left out.
pub(crate) fn labels<'m>(instruction: &'m Instruction, out: &mut Vec<&'m str>) {
    let path = instruction.metadata.op_name.as_str();
    out.extend(framework_path::training_pass(path));
    out.extend(framework_path::scopes(path));
    out.truncate(MAX_DEPTH);
}

/// Splits the label of a numbered layer: `layer_3` into `layer_*` and 3. Returns `None` for labels without a number at the
/// end (`attn`, `conv2d`).
pub(crate) fn numbered(label: &str) -> Option<(String, &str)> {
    let end = label.trim_end_matches(|c: char| c.is_ascii_digit());
    let (stem, digits) = label.split_at(end.len());
    (!digits.is_empty()).then(|| (format!("{stem}*"), digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(op_name: &str) -> Vec<String> {
        let mut instruction = Instruction::default();
        instruction.metadata.op_name = op_name.to_owned();
        let mut out = Vec::new();
        labels(&instruction, &mut out);
        out.into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn wrappers_become_phases() {
        assert_eq!(of("jit(step)/jvp(layer_3)/attn/dot_general"), ["forward", "layer_3", "attn"]);
        assert_eq!(of("jit(step)/transpose(jvp(layer_3))/attn/dot_general"), ["backward", "layer_3", "attn"]);
        assert_eq!(of("jit(step)/adam/mul"), ["adam"]);
        assert_eq!(of("jit(f)/jit(main)/while/body/layer_0/add"), ["layer_0"]);
        assert_eq!(of(""), [""; 0]);
    }

    #[test]
    fn layers_are_numbered_at_their_end() {
        assert_eq!(numbered("layer_3"), Some(("layer_*".to_owned(), "3")));
        assert_eq!(numbered("blocks12"), Some(("blocks*".to_owned(), "12")));
        assert_eq!((numbered("attn"), numbered("conv2d"), numbered("")), (None, None, None));
    }
}
