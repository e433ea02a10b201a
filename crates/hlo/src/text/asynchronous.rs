//! Expands the short form of asynchronous instructions. HLO text writes `reduce-scatter-start` for an `async-start` that
//! calls a computation with nothing but a reduce-scatter, and leaves out that computation.

use super::index;
use super::instruction::Draft;
use crate::attributes::Attributes;
use crate::instruction::Instruction;
use crate::module::{Computation, Module};

/// Instructions that have their own asynchronous opcodes.
const OWN: [&str; 7] = ["all-reduce", "all-gather", "collective-permute", "copy", "send", "recv", "async"];

/// Replaces the short forms among the instructions of a computation. Adds the computations that the short forms leave out
/// to the module, and returns the calls of the instructions in these computations.
pub(super) fn expand<'a>(drafts: &mut [Draft<'a>], module: &mut Module, calls: &mut Vec<(u32, Vec<&'a [u8]>)>) {
    for draft in drafts {
        let opcode = std::mem::take(&mut draft.instruction.opcode);
        let split = opcode.rsplit_once('-').filter(|(wrapped, _)| !OWN.contains(wrapped));
        let (wrapped, phase) = match split {
            Some((wrapped, "start")) => (wrapped, "async-start"),
            Some((_, "update")) if opcode != "dynamic-update" => ("", "async-update"),
            Some((_, "done")) => ("", "async-done"),
            _ => {
                draft.instruction.opcode = opcode;
                continue;
            }
        };
        draft.instruction.opcode = phase.to_owned();
        if wrapped.is_empty() {
            continue;
        }
        let called = index(module.computations.len());
        let first = index(module.instructions.len());
        let name = &draft.instruction.name;
        let [operands, result] = [0, 1].map(|at| draft.instruction.shape.tuple().get(at).cloned().unwrap_or_default());
        for (number, shape) in (0..).zip(operands.tuple()) {
            let own = Attributes { parameter_number: Some(number), ..Attributes::NONE };
            module.instructions.push(Instruction {
                id: i64::from(index(module.instructions.len())) + 1,
                name: format!("{name}.param_{number}"),
                opcode: "parameter".to_owned(),
                shape: shape.clone(),
                computation: called,
                attributes: Some(Box::new(own)),
                ..Instruction::default()
            });
        }
        let root = index(module.instructions.len());
        if !draft.called.is_empty() {
            calls.push((root, std::mem::take(&mut draft.called)));
        }
        // All attributes belong to the wrapped instruction, except attributes that every instruction can have.
        let mut inner = draft.instruction.attributes.take();
        if let Some(inner) = &mut inner {
            let outer = Attributes {
                async_thread: std::mem::take(&mut inner.async_thread),
                sharding: std::mem::take(&mut inner.sharding),
                frontend_attributes: std::mem::take(&mut inner.frontend_attributes),
                backend_config: std::mem::take(&mut inner.backend_config),
                ..Attributes::NONE
            };
            draft.instruction.attributes = (outer != Attributes::NONE).then(|| Box::new(outer));
        }
        module.instructions.push(Instruction {
            id: i64::from(root) + 1,
            name: format!("{name}.wrapped"),
            opcode: wrapped.to_owned(),
            shape: result,
            operands: (first..root).collect(),
            computation: called,
            metadata: draft.instruction.metadata.clone(),
            attributes: inner.filter(|own| **own != Attributes::NONE),
            ..Instruction::default()
        });
        module.computations.push(Computation {
            id: i64::from(called) + 1,
            name: format!("{name}.computation"),
            instructions: first..root + 1,
            root: Some(root),
            elementwise: false,
            is_fused: false,
        });
        draft.instruction.called = vec![called];
    }
}
