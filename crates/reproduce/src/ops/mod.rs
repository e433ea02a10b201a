//! One `jax.lax` call per instruction.

mod attention;
mod collectives;
mod control;
mod convolution;
mod custom_call;
mod dot;
mod elementwise;
mod gather;
mod linear_algebra;
mod matmul;
mod moves;
mod random;
mod reduce;
mod sort;

pub(crate) use custom_call::{is_mark, results};

use hlo::{ArrayShape, Attributes, DataType, Instruction, Module};

use crate::functions::Functions;
use crate::{Unsupported, python};

/// An instruction with the Python expressions of its operands.
#[derive(Clone, Copy)]
pub(crate) struct Op<'a> {
    pub module: &'a Module,
    pub it: &'a Instruction,
    pub arguments: &'a [String],
}

impl<'a> Op<'a> {
    /// Returns the expression of the `n`-th operand.
    pub(crate) fn arg(&self, n: usize) -> Result<&'a str, Unsupported> {
        let found = self.arguments.get(n).map(String::as_str);
        found.ok_or_else(|| Unsupported::missing("an operand", &self.it.name))
    }

    /// Returns the shape of the `n`-th operand.
    pub(crate) fn operand(&self, n: usize) -> Result<&'a ArrayShape, Unsupported> {
        let found = self.module.operand(self.it, n).and_then(|it| it.shape.array());
        found.ok_or_else(|| Unsupported::missing("the shape of an operand", &self.it.name))
    }

    /// Returns the expression of the `n`-th operand, converted to a type. TPU programs mix types of different precision
    /// in one instruction, which JAX does not allow.
    pub(crate) fn typed(&self, n: usize, wanted: DataType) -> Result<String, Unsupported> {
        let value = self.arg(n)?;
        let own = self.module.operand(self.it, n).and_then(|it| it.shape.array()).map(|it| it.data_type);
        Ok(match own {
            Some(own) if own != wanted => format!("lax.convert_element_type({value}, {})", python::dtype(wanted)?),
            _ => value.to_owned(),
        })
    }

    /// Returns the expressions of all operands, converted to a type.
    pub(crate) fn all_typed(&self, wanted: DataType) -> Result<Vec<String>, Unsupported> {
        (0..self.arguments.len()).map(|n| self.typed(n, wanted)).collect()
    }

    /// Returns the type with the most bits among the first operands.
    pub(crate) fn widest(&self, count: usize) -> Result<DataType, Unsupported> {
        let mut found = self.operand(0)?.data_type;
        for n in 1..count {
            let next = self.operand(n)?.data_type;
            found = if next.bits() > found.bits() { next } else { found };
        }
        Ok(found)
    }

    /// Returns the shape of the result.
    pub(crate) fn result(&self) -> Result<&'a ArrayShape, Unsupported> {
        python::array(&self.it.shape, &self.it.name)
    }

    /// Returns the first array of the result. Library calls also return scratch memory and a status.
    pub(crate) fn first_result(&self) -> Result<&'a ArrayShape, Unsupported> {
        self.it.shape.first_array().ok_or_else(|| self.lacks("the shape"))
    }

    /// If the instruction returns a tuple, returns a tuple that contains only the value. Otherwise, returns the value.
    pub(crate) fn as_result(&self, value: String) -> String {
        if self.it.shape.array().is_some() { value } else { format!("({value},)") }
    }

    pub(crate) fn own(&self) -> &'a Attributes {
        self.it.attributes()
    }

    /// Returns all operands, separated by commas.
    pub(crate) fn all(&self) -> String {
        self.arguments.join(", ")
    }

    /// Returns the error for a missing attribute.
    pub(crate) fn lacks(&self, what: &'static str) -> Unsupported {
        Unsupported::missing(what, &self.it.name)
    }
}

/// Returns the Python expression of an instruction, given the expressions of its operands.
pub(crate) fn expression(
    functions: &mut Functions<'_>,
    it: &Instruction,
    arguments: &[String],
) -> Result<String, Unsupported> {
    let op = Op { module: functions.module, it, arguments };
    // The start of an asynchronous operation computes the result, and the other parts pass it on.
    let opcode = it.opcode.as_str();
    if opcode.ends_with("-done") || opcode == "async-update" {
        return op.arg(0).map(str::to_owned);
    }
    let opcode = opcode.strip_suffix("-start").unwrap_or(opcode);
    let groups = [
        elementwise::expression,
        moves::expression,
        dot::expression,
        convolution::expression,
        reduce::expression,
        gather::expression,
        sort::expression,
        control::expression,
        collectives::expression,
        linear_algebra::expression,
        random::expression,
        custom_call::expression,
    ];
    for group in groups {
        if let Some(found) = group(functions, &op, opcode)? {
            return Ok(found);
        }
    }
    Err(Unsupported::no_call(crate::names::comment(opcode)))
}
