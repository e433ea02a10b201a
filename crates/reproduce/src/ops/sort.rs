//! Sorts, and selects the largest values.

use hlo::{InstructionIndex, Module};

use super::Op;
use crate::Unsupported;
use crate::functions::Functions;
use crate::python::tuple;

pub(super) fn expression(
    functions: &mut Functions<'_>,
    op: &Op<'_>,
    opcode: &str,
) -> Result<Option<String>, Unsupported> {
    match opcode {
        "sort" => sort(functions, op).map(Some),
        "topk" => Ok(Some(format!("lax.top_k({}, {})", op.arg(0)?, op.own().k))),
        _ => Ok(None),
    }
}

fn sort(functions: &mut Functions<'_>, op: &Op<'_>) -> Result<String, Unsupported> {
    let dimension = op.own().dimensions.first().copied().unwrap_or(0);
    let keys = keys(op).ok_or_else(|| op.lacks("the comparison"))?;
    if !keys.leading {
        return Err(Unsupported::no_call("a sort whose keys are not its first operands"));
    }
    if keys.descending {
        functions
            .note("The program sorts in descending order. JAX only sorts in ascending order, which costs the same.");
    }
    let stable = if op.own().is_stable { "True" } else { "False" };
    let options = format!("dimension={dimension}, is_stable={stable}");
    match op.arguments {
        [one] => Ok(format!("lax.sort({one}, {options})")),
        several => Ok(format!("lax.sort({}, {options}, num_keys={})", tuple(several), keys.count)),
    }
}

struct Keys {
    count: usize,
    /// True if the keys are the leading operands.
    leading: bool,
    descending: bool,
}

/// Returns the operands that the comparison reads as keys. The comparison has two parameters per operand.
fn keys(op: &Op<'_>) -> Option<Keys> {
    let computation = op.module.called(op.it, 0)?;
    let body = op.module.instructions_of(computation);
    let mut used = vec![false; op.arguments.len()];
    for operand in body.iter().flat_map(|it| &it.operands) {
        let Some(number) = op.module.at(*operand).and_then(|it| it.attributes().parameter_number) else { continue };
        if let Some(flag) = usize::try_from(number / 2).ok().and_then(|at| used.get_mut(at)) {
            *flag = true;
        }
    }
    let count = used.iter().filter(|&&flag| flag).count();
    let leading = used.iter().take(count).all(|&flag| flag);
    let last = body.iter().rfind(|it| it.is("compare"))?;
    let descending = match last.attributes().comparison_direction.as_str() {
        "GT" | "GE" => !reads_second_first(op.module, last.operands.first().copied()?),
        _ => reads_second_first(op.module, last.operands.first().copied()?),
    };
    Some(Keys { count: count.max(1), leading, descending })
}

/// Returns true if a value is derived from the second of an operand's two parameters.
fn reads_second_first(module: &Module, mut index: InstructionIndex) -> bool {
    for _ in 0..crate::limits::DEPTH {
        let Some(it) = module.at(index) else { return false };
        if let Some(number) = it.attributes().parameter_number {
            return number % 2 == 1;
        }
        let Some(&next) = it.operands.last() else { return false };
        index = next;
    }
    false
}
