//! Calls, fusions, loops and branches.

use super::Op;
use crate::Unsupported;
use crate::functions::Functions;
use crate::python::tuple;

pub(super) fn expression(
    functions: &mut Functions<'_>,
    op: &Op<'_>,
    opcode: &str,
) -> Result<Option<String>, Unsupported> {
    let found = match opcode {
        "fusion" | "call" | "async" => format!("{}({})", functions.called(op.it, 0)?, op.all()),
        "while" => {
            let (body, condition) = (functions.called(op.it, 0)?, functions.called(op.it, 1)?);
            format!("lax.while_loop({condition}, {body}, {})", op.arg(0)?)
        }
        "conditional" => conditional(functions, op)?,
        _ => return Ok(None),
    };
    Ok(Some(found))
}

/// Returns a conditional. Each branch computation receives its own operand.
fn conditional(functions: &mut Functions<'_>, op: &Op<'_>) -> Result<String, Unsupported> {
    let count = op.it.called.len();
    if op.arguments.len() != count + 1 {
        return Err(op.lacks("an operand"));
    }
    let parameters: Vec<String> = (0..count).map(|n| format!("_a{n}")).collect();
    let list = parameters.join(", ");
    let mut branches = Vec::new();
    for (n, parameter) in parameters.iter().enumerate() {
        branches.push(format!("lambda {list}: {}({parameter})", functions.called(op.it, n)?));
    }
    let index = op.arg(0)?;
    let operands = op.arguments.get(1..).unwrap_or_default().join(", ");
    let is_boolean = op.operand(0)?.data_type.name() == "pred";
    Ok(if is_boolean {
        format!("lax.cond({index}, {}, {operands})", branches.join(", "))
    } else {
        format!("lax.switch({index}, {}, {operands})", tuple(branches))
    })
}
