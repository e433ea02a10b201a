//! Compiled programs for the tests of rules. The field numbers come from `xla.HloModuleProto`.

use trace::{HloProto, TraceBuilder};
use wire_writer::{Message, message};

/// An instruction of a synthetic program.
pub(super) struct Instruction {
    name: &'static str,
    opcode: &'static str,
    shape: &'static str,
    operands: Vec<&'static str>,
    called: Vec<&'static str>,
    rest: Message,
}

/// Returns an instruction with its result shape (`f32[4,8]`, or empty for a tuple).
pub(super) fn instruction(name: &'static str, opcode: &'static str, shape: &'static str) -> Instruction {
    Instruction { name, opcode, shape, operands: Vec::new(), called: Vec::new(), rest: message() }
}

impl Instruction {
    /// Sets the operands: instructions of the same computation, by name.
    pub(crate) fn of(self, operands: &[&'static str]) -> Instruction {
        Instruction { operands: operands.to_vec(), ..self }
    }

    /// Sets the called computations, by name.
    pub(crate) fn calls(self, called: &[&'static str]) -> Instruction {
        Instruction { called: called.to_vec(), ..self }
    }

    /// Sets the framework's path.
    pub(crate) fn path(self, path: &str) -> Instruction {
        Instruction { rest: self.rest.message(7, message().bytes(2, path)), ..self }
    }

    /// Sets the value of a constant of the type s32.
    pub(crate) fn value(self, value: i64) -> Instruction {
        Instruction { rest: self.rest.message(8, message().message(1, shape("s32[]")).int(4, value)), ..self }
    }

    pub(crate) fn text(self, field: u32, value: &str) -> Instruction {
        Instruction { rest: self.rest.bytes(field, value), ..self }
    }

    pub(crate) fn message(self, field: u32, value: Message) -> Instruction {
        Instruction { rest: self.rest.message(field, value), ..self }
    }

    pub(crate) fn int(self, field: u32, value: i64) -> Instruction {
        Instruction { rest: self.rest.int(field, value), ..self }
    }
}

/// A computation: its name and its instructions, operands before their users. The last instruction is the result of the
/// computation.
pub(super) type Computation = (&'static str, Vec<Instruction>);

/// Adds the program `jit_f` with this id to a trace. The last computation is its entry.
pub(super) fn add_program(b: &mut TraceBuilder, id: i64, computations: Vec<Computation>) {
    add_named_program(b, "jit_f", id, computations);
}

/// Adds a program with this name and id to a trace. The last computation is its entry.
pub(super) fn add_named_program(b: &mut TraceBuilder, name: &str, id: i64, computations: Vec<Computation>) {
    let full_name = format!("{name}({id})");
    let mut names: Vec<&str> = Vec::new();
    let number = |names: &[&str], wanted: &str| names.iter().position(|name| *name == wanted).unwrap() as i64 + 1;
    let places: Vec<&str> = computations.iter().map(|(name, _)| *name).collect();
    let mut module = message().bytes(1, name).int(5, id).int(6, places.len() as i64);
    for (at, (name, instructions)) in computations.into_iter().enumerate() {
        let mut computation = message().bytes(1, name).int(5, at as i64 + 1);
        for instruction in instructions {
            names.push(instruction.name);
            let mut written = message().bytes(1, instruction.name).bytes(2, instruction.opcode);
            written = written.message(3, shape(instruction.shape)).int(35, names.len() as i64);
            for operand in instruction.operands {
                written = written.int(36, number(&names, operand));
            }
            for called in instruction.called {
                written = written.int(38, number(&places, called));
            }
            let bytes = [written.0, instruction.rest.0].concat();
            computation = computation.bytes(2, bytes);
        }
        module = module.message(3, computation.int(6, names.len() as i64));
    }
    let name = b.trace_mut().strings.intern(&full_name);
    let bytes = message().message(1, module).0;
    b.trace_mut().hlo.push(HloProto { program_id: id, name, host: 0, bytes: bytes.into() });
}

/// Adds the program `jit_f` with this id, written as HLO text, to a trace.
pub(super) fn add_text_program(b: &mut TraceBuilder, id: i64, text: &str) {
    let name = b.trace_mut().strings.intern(&format!("jit_f({id})"));
    b.trace_mut().hlo.push(HloProto { program_id: id, name, host: 0, bytes: text.as_bytes().to_vec().into() });
}

/// Writes the shape `f32[4,8]`.
fn shape(text: &str) -> Message {
    let Some((kind, dimensions)) = text.split_once('[') else { return message().int(2, 13) };
    let kind = match kind {
        "pred" => 1,
        "s32" => 4,
        "c64" => 15,
        "bf16" => 16,
        _ => 11,
    };
    let dimensions = dimensions.trim_end_matches(']').split(',').filter(|size| !size.is_empty());
    dimensions.fold(message().int(2, kind), |shape, size| shape.int(3, size.parse().unwrap()))
}

/// Adds an op of a program to a step of a TPU.
pub(super) fn op_of(b: &mut TraceBuilder, id: i64, (name, category): (&str, &str), start: i64, duration: i64) {
    let line = b.line("/device:TPU:0", "XLA Ops");
    let op = b.event(line, name, start, duration).hlo_category(category).hlo_module("jit_f");
    op.args(|args| args.program_id = Some(id));
}
