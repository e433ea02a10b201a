//! Identity of an instruction across builds: its expression without the parts that change from one compilation to the
//! next.

use super::{Module, expression};

/// Attributes whose value differs between builds of the same program: a name, a channel number or a note.
const IGNORED: [&str; 8] = [
    "calls=",
    "to_apply=",
    "body=",
    "condition=",
    "channel_id=",
    "metadata=",
    "backend_config=",
    "frontend_attributes=",
];

/// Returns the FNV-1a hash of the normalised expression, as 16 hexadecimal digits.
pub fn fingerprint(expression: &str) -> String {
    format!("{:016x}", hash(EMPTY, &normalized(expression)))
}

/// Identity of an HLO instruction across builds of its program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionIdentity {
    /// Opcode of the instruction.
    pub opcode: String,
    /// Hash (16 hexadecimal digits) of the shapes and data types of the instruction's result and operands. Attributes, such as
    /// the kind of a fusion, do not count.
    pub shapes: String,
    /// [`fingerprint`] of the whole expression.
    pub fingerprint: String,
}

/// Returns the identity of an instruction. `None` if the text is not the expression of an instruction.
pub fn instruction_identity(expression: &str) -> Option<InstructionIdentity> {
    let text = normalized(expression);
    // The operands begin at the first bracket after a name. A bracket that begins a tuple follows no name.
    let mut depth = 0usize;
    let mut operands = None;
    for (at, c) in text.char_indices() {
        match c {
            '(' if depth == 0 && text.get(..at)?.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '-') => {
                operands = Some(at);
                break;
            }
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    let (head, rest) = text.split_at(operands?);
    let (result, opcode) = head.rsplit_once(' ')?;
    let operands = rest.split_at(rest.len() - after_value(rest).len()).0;
    Some(InstructionIdentity {
        opcode: opcode.to_owned(),
        shapes: format!("{:016x}", hash(hash(EMPTY, result), operands)),
        fingerprint: format!("{:016x}", hash(EMPTY, &text)),
    })
}

/// Returns the FNV-1a hash of a whole program, as 16 hexadecimal digits. The hash covers all normalised instructions in
/// order.
pub fn module_fingerprint(module: &Module) -> String {
    let of_one = |so_far, instruction| hash(so_far, &normalized(&expression(module, instruction)));
    format!("{:016x}", module.instructions().iter().fold(EMPTY, of_one))
}

/// FNV-1a hash of an empty text.
const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// Continues an FNV-1a hash with a text.
fn hash(so_far: u64, text: &str) -> u64 {
    text.bytes().fold(so_far, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Returns the expression without the instruction's name, names of operands, layouts, and [`IGNORED`] attributes.
/// Shapes, opcode, fusion kind, contracted dimensions and groups remain:
///
/// ```text
/// %fusion.12 = f32[8,128]{1,0} fusion(f32[8]{0} %param.3), kind=kLoop, calls=%fused.12
///              f32[8,128]      fusion(f32[8]          ), kind=kLoop,
/// ```
fn normalized(expression: &str) -> String {
    let (_, body) = expression.split_once(" = ").unwrap_or(("", expression));
    let mut text = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(c) = rest.chars().next() {
        let starts_word = text.ends_with([' ', ',', '(']) || text.is_empty();
        if let Some(value) = starts_word.then(|| IGNORED.iter().find_map(|key| rest.strip_prefix(key))).flatten() {
            rest = after_value(value);
        } else if c == '%' {
            let ends = |c: char| !(c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '%'));
            rest = rest.get(rest.find(ends).unwrap_or(rest.len())..).unwrap_or_default();
        } else if c == '{' && text.ends_with(']') {
            rest = after_value(rest);
        } else {
            // Nothing can be left out before the next sign, or before the word after a sign.
            let others = rest.get(c.len_utf8()..).unwrap_or_default();
            let signs = |byte: u8| matches!(byte, b'%' | b'{' | b' ' | b',' | b'(');
            let run =
                if matches!(c, ' ' | ',' | '(') { 0 } else { others.bytes().position(signs).unwrap_or(others.len()) };
            let (copied, left) = rest.split_at(c.len_utf8() + run);
            text.push_str(copied);
            rest = left;
        }
    }
    text
}

/// Returns the part of `value` after the attribute value at its start. A bracketed or quoted value ends at its closing
/// mark, and any other value ends before the next comma, space or closing bracket.
fn after_value(value: &str) -> &str {
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    for (at, c) in value.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => {
                if depth == 0 {
                    return value.get(at..).unwrap_or_default();
                }
                depth -= 1;
                if depth == 0 {
                    return value.get(at + 1..).unwrap_or_default();
                }
            }
            ',' | ' ' if depth == 0 => return value.get(at..).unwrap_or_default(),
            _ => {}
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    const FUSION: &str = "%fusion.12 = f32[8,128]{1,0:T(8,128)} fusion(f32[8]{0} %param.3, f32[128]{0} %copy-done.7), \
                          kind=kLoop, calls=%fused_computation.12, metadata={op_name=\"jit(f)/add, {\" source_line=3}";

    #[test]
    fn names_numbers_and_layouts_do_not_count() {
        let other = "%fusion.977 = f32[8,128]{0,1} fusion(f32[8]{0:S(1)} %p, f32[128]{0} %q), kind=kLoop, calls=%g.1, \
                     metadata={op_name=\"jit(g)\"}";
        assert_eq!(normalized(FUSION), "f32[8,128] fusion(f32[8] , f32[128] ), kind=kLoop, , ");
        assert_eq!(fingerprint(FUSION), fingerprint(other));
    }

    #[test]
    fn shapes_kinds_and_groups_count() {
        for (from, to) in [("f32[8,128]", "f32[16,128]"), ("kLoop", "kInput"), (" fusion(", " reduce(")] {
            assert_ne!(fingerprint(FUSION), fingerprint(&FUSION.replace(from, to)), "{to}");
        }
        let reduce =
            "%all-reduce.1 = f32[4]{0} all-reduce(f32[4]{0} %x), channel_id=1, replica_groups={{0,1}}, to_apply=%add";
        assert_eq!(fingerprint(reduce), fingerprint(&reduce.replace("channel_id=1", "channel_id=22")));
        assert_ne!(fingerprint(reduce), fingerprint(&reduce.replace("{{0,1}}", "{{0,1},{2,3}}")));
    }

    #[test]
    fn opcodes_and_shapes_are_read_from_an_expression() {
        let InstructionIdentity { opcode, shapes, fingerprint: whole } = instruction_identity(FUSION).unwrap();
        assert_eq!((opcode.as_str(), whole), ("fusion", fingerprint(FUSION)));
        let same = FUSION.replace("kLoop", "kInput").replace(".12", ".9").replace("%param.3", "%x");
        let same = instruction_identity(&same).unwrap();
        assert_eq!((same.opcode.as_str(), &same.shapes), ("fusion", &shapes));
        for (from, to) in [("f32[8,128]", "bf16[8,128]"), ("f32[8]{0} %param", "f32[9]{0} %param")] {
            assert_ne!(instruction_identity(&FUSION.replace(from, to)).unwrap().shapes, shapes, "{to}");
        }
        let start = "%s.1 = (f32[4]{0}, (f32[8]{0}, u32[])) all-gather-start((f32[4]{0}, f32[2]{0}) %x), channel_id=3";
        assert_eq!(instruction_identity(start).unwrap().opcode, "all-gather-start");
        for text in ["", "%", "fusion", "a = ]{((", "%x = f32[8]{0}"] {
            assert_eq!(instruction_identity(text), None, "{text}");
        }
    }

    #[test]
    fn anything_has_a_fingerprint() {
        for text in ["", "%", " = ", "{", "]{", "a = ]{((", "metadata=\"", "calls=%é.1]{é"] {
            assert_eq!(fingerprint(text).len(), 16, "{text}");
        }
    }
}
