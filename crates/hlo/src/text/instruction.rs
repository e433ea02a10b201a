//! Reads one instruction: `ROOT %add.1 = f32[8]{0} add(%a, %b), metadata={op_name="jit(f)/add"}`.

use super::attributes::Read;
use super::scan::{Scan, int};
use super::shape::shape;
use crate::attributes::Attributes;
use crate::half::{nearest_bfloat16, nearest_float16};
use crate::instruction::Instruction;
use crate::shape::Shape;

/// An instruction whose operands and called computations are still names.
pub(super) struct Draft<'a> {
    pub name: &'a [u8],
    pub instruction: Instruction,
    pub operands: Vec<&'a [u8]>,
    pub called: Vec<&'a [u8]>,
    pub is_root: bool,
    /// True if the text ends inside the instruction, or contains something that does not belong to an instruction.
    pub damaged: bool,
}

/// Returns true if a line starts an instruction: an assignment to a name.
pub(super) fn starts(line: &[u8]) -> bool {
    let mut scan = Scan(line);
    name(&mut scan).is_some()
}

/// Reads the name and ` = `. The flag in the result is true for the root.
fn name<'a>(scan: &mut Scan<'a>) -> Option<(&'a [u8], bool)> {
    scan.blanks();
    let is_root = scan.eat(b"ROOT ");
    scan.eat(b"%");
    let name = scan.until(|byte| matches!(byte, b' ' | b'=' | b'"'));
    (!name.is_empty() && scan.eat(b" = ")).then_some((name, is_root))
}

/// Reads an instruction. Returns `None` if the text is not an instruction.
pub(super) fn read(line: &[u8]) -> Option<Draft<'_>> {
    let mut scan = Scan(line);
    let (name, is_root) = name(&mut scan)?;
    let shape = shape(&mut scan);
    scan.blanks();
    let opcode = scan.until(|byte| matches!(byte, b'(' | b' ' | b','));
    let arguments = scan.group();
    let mut read = Read::default();
    read.all(&mut scan);
    scan.blanks();
    let mut operands = Vec::new();
    let arguments_text = arguments.unwrap_or_default();
    match opcode {
        b"parameter" => read.own().parameter_number = Some(int(arguments_text)),
        b"constant" => {
            if let Some(literal) = literal(&shape, arguments_text) {
                read.own().literal = literal;
            }
        }
        _ => {
            let mut list = Scan(arguments_text);
            while !list.0.is_empty() {
                let item = list.item(|byte| byte == b',').trim_ascii_end();
                // The shape of the operand, or a comment, may precede its name.
                let from = item.iter().rposition(|byte| matches!(byte, b' ' | b'/')).map_or(0, |at| at + 1);
                let name = item.get(from..).unwrap_or_default();
                if !name.is_empty() {
                    operands.push(name.strip_prefix(b"%").unwrap_or(name));
                }
                if !list.eat(b",") {
                    break;
                }
            }
        }
    }
    let damaged = arguments.is_none() || opcode.is_empty() || shape == Shape::Unknown || !scan.0.is_empty();
    fill(&mut read, opcode);
    let instruction = Instruction {
        name: owned(name),
        opcode: owned(opcode),
        shape,
        metadata: read.metadata,
        attributes: read.own.filter(|own| **own != Attributes::NONE),
        ..Instruction::default()
    };
    Some(Draft { name, instruction, operands, called: read.called, is_root, damaged })
}

pub(super) fn owned(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// Sets the values that XLA does not write, because they are the default of the opcode.
fn fill(read: &mut Read<'_>, opcode: &[u8]) {
    if opcode == b"triangular-solve" {
        // A cholesky also has the attribute `lower`.
        let own = read.own();
        let lower = std::mem::take(&mut own.lower);
        own.triangular_solve.get_or_insert_default().lower = lower;
    }
    let is_convolution = opcode == b"convolution";
    if is_convolution || matches!(opcode, b"dot" | b"ragged-dot") {
        let own = read.own();
        if own.operand_precision.is_empty() {
            own.operand_precision = vec![0; 2];
        }
        if is_convolution {
            own.feature_group_count = own.feature_group_count.max(1);
            own.batch_group_count = own.batch_group_count.max(1);
        } else {
            own.dot.get_or_insert_default();
        }
    }
}

/// Returns the value of a constant with one element, in the format of the proto's reader. Returns `None` for all other
/// constants.
fn literal(shape: &Shape, text: &[u8]) -> Option<String> {
    let array = shape.array().filter(|array| array.elements() == 1.0)?;
    let text = std::str::from_utf8(text).ok()?.trim_matches(['{', '}', ' ']);
    if text.is_empty() || text == "..." {
        return None;
    }
    Some(match array.data_type.name() {
        "pred" => if matches!(text, "true" | "1") { "true" } else { "false" }.to_owned(),
        // XLA writes `nan`, and Rust `NaN`.
        "f32" | "f64" | "f16" | "bf16" if text == "nan" => text.to_owned(),
        "f32" => number(text, |number| number),
        "bf16" => number(text, nearest_bfloat16),
        "f16" => number(text, nearest_float16),
        "f64" => text.parse().map_or_else(|_| text.to_owned(), |number: f64| number.to_string()),
        _ => text.to_owned(),
    })
}

/// Returns a number in the format of the proto's reader. Text that is not a number stays unchanged.
fn number(text: &str, nearest: impl Fn(f32) -> f32) -> String {
    text.parse().map_or_else(|_| text.to_owned(), |number| nearest(number).to_string())
}
