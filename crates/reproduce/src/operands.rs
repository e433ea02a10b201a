//! Creates the operands of a script, with their shapes, types and layouts and with sensible values.

use hlo::{ArrayShape, Instruction, InstructionIndex, Module, Shape, fused};
use rustc_hash::FxHashMap;

use crate::functions::Functions;
use crate::{Unsupported, limits, python};

/// An array that the script builds.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    /// Identifier in the script.
    pub name: String,
    pub array: ArrayShape,
    pub numbers: Numbers,
}

/// Numbers of an operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// Random numbers of the element type.
    Random,
    /// Random whole numbers below this limit, so that indices are in bounds.
    Below(u64),
    /// Random numbers with a large diagonal, so that matrices have an inverse.
    Dominant,
    /// The same number in all elements, as in the program.
    All(String),
}

/// Finds the operands of an instruction.
pub(crate) struct Operands<'m> {
    pub list: Vec<Operand>,
    module: &'m Module,
    known: FxHashMap<InstructionIndex, String>,
    bounds: FxHashMap<InstructionIndex, u64>,
    is_linear_algebra: bool,
}

impl<'m> Operands<'m> {
    pub(crate) fn new(module: &'m Module, instruction: &Instruction) -> Operands<'m> {
        let target = instruction.attributes().custom_call_target.as_str();
        let is_solver = ["lapack_", "blas_", "cusolver_", "hipsolver_", "__cusolver$", "__cublas$triangular"]
            .iter()
            .any(|prefix| target.starts_with(prefix));
        Operands {
            list: Vec::new(),
            module,
            known: FxHashMap::default(),
            bounds: bounds(module, instruction),
            is_linear_algebra: is_solver || instruction.is("cholesky") || instruction.is("triangular-solve"),
        }
    }

    /// Returns the expression of an operand: a constant of the program, a new array, or a tuple of constants and
    /// arrays.
    pub(crate) fn expression(
        &mut self,
        functions: &mut Functions<'_>,
        index: InstructionIndex,
        depth: usize,
    ) -> Result<String, Unsupported> {
        if let Some(known) = self.known.get(&index) {
            return Ok(known.clone());
        }
        let module = self.module;
        let it = module.at(index).filter(|_| depth < limits::DEPTH);
        let it = it.ok_or_else(|| Unsupported::missing("an operand", "the op"))?;
        if let Some((array, literal)) = self.constant(it) {
            return python::scalar(array, literal);
        }
        let value = match it.opcode.as_str() {
            "tuple" => {
                let mut parts = Vec::new();
                for &part in &it.operands {
                    parts.push(self.expression(functions, part, depth + 1)?);
                }
                python::tuple(parts)
            }
            "get-tuple-element" if module.operand(it, 0).is_some_and(|from| from.is("tuple")) => {
                let place = usize::try_from(it.attributes().tuple_index).ok();
                let part = place.and_then(|at| module.operand(it, 0)?.operands.get(at).copied());
                let part = part.ok_or_else(|| Unsupported::missing("an operand", &it.name))?;
                self.expression(functions, part, depth + 1)?
            }
            _ => self.built(functions, it, index, &it.shape, &it.name, depth)?,
        };
        self.known.insert(index, value.clone());
        Ok(value)
    }

    /// Returns the value of a constant with one element. Looks through copies of the constant.
    fn constant<'a>(&self, it: &'a Instruction) -> Option<(&'a ArrayShape, &'a str)>
    where
        'm: 'a,
    {
        let array = it.shape.array()?;
        let mut from = it;
        for _ in 0..limits::DEPTH {
            if from.is("constant") {
                let literal = from.attributes().literal.as_str();
                let same = from.shape.array().is_some_and(|it| it.data_type == array.data_type && it.elements() == 1.0);
                return (same && !literal.is_empty()).then_some((array, literal));
            }
            if !matches!(from.opcode.as_str(), "copy" | "bitcast" | "reshape") {
                return None;
            }
            from = self.module.operand(from, 0)?;
        }
        None
    }

    fn built(
        &mut self,
        functions: &mut Functions<'_>,
        it: &Instruction,
        index: InstructionIndex,
        shape: &Shape,
        name: &str,
        depth: usize,
    ) -> Result<String, Unsupported> {
        if depth > limits::DEPTH || self.list.len() > limits::INSTRUCTIONS {
            return Err(Unsupported::missing("the shape", &it.name));
        }
        match shape {
            Shape::Array(array) => {
                python::dtype(array.data_type)?;
                functions.is_wide |= python::is_wide(array.data_type);
                let numbers = self.numbers(it, index, array);
                let name = functions.names.add(name);
                self.list.push(Operand { name: name.clone(), array: array.clone(), numbers });
                Ok(name)
            }
            Shape::Tuple(parts) => {
                let mut names = Vec::new();
                for (n, part) in parts.iter().enumerate() {
                    names.push(self.built(functions, it, index, part, &format!("{name}_{n}"), depth + 1)?);
                }
                Ok(python::tuple(names))
            }
            Shape::Token => Ok("None".to_owned()),
            Shape::Opaque | Shape::Unknown => Err(Unsupported::missing("the shape", &it.name)),
        }
    }

    fn numbers(&self, it: &Instruction, index: InstructionIndex, array: &ArrayShape) -> Numbers {
        if it.is("broadcast")
            && let Some((_, literal)) = self.module.operand(it, 0).and_then(|from| self.constant(from))
            && let Some(number) = python::number(literal)
        {
            return Numbers::All(number);
        }
        if self.is_linear_algebra && array.data_type.is_floating() && array.dimensions.len() > 1 {
            return Numbers::Dominant;
        }
        match self.bounds.get(&index) {
            Some(&limit) if !array.data_type.is_floating() => Numbers::Below(limit),
            _ => Numbers::Random,
        }
    }
}

/// Returns an exclusive limit for operands that are used as indices.
fn bounds(module: &Module, instruction: &Instruction) -> FxHashMap<InstructionIndex, u64> {
    let mut found = FxHashMap::default();
    let inside = fused(module, instruction);
    for consumer in inside.iter().chain([instruction]) {
        for (n, limit) in limits_of(module, consumer) {
            let Some(&start) = consumer.operands.get(n) else { continue };
            for source in sources(module, start) {
                let parameter = module.at(source).and_then(|it| it.attributes().parameter_number);
                let source = match parameter.filter(|_| !std::ptr::eq(consumer, instruction)) {
                    Some(number) => usize::try_from(number).ok().and_then(|at| instruction.operands.get(at).copied()),
                    None => Some(source),
                };
                if let Some(source) = source {
                    let known = found.entry(source).or_insert(limit);
                    *known = limit.min(*known);
                }
            }
        }
    }
    found
}

/// Returns the position of each operand that the instruction uses as an index, with the index limit.
fn limits_of(module: &Module, it: &Instruction) -> Vec<(usize, u64)> {
    let own = it.attributes();
    let array = |n| module.operand(it, n).and_then(|operand: &Instruction| operand.shape.array());
    let Some(operand) = array(0) else { return Vec::new() };
    let fits = |dimension: i64, taken: u64| {
        operand.dimension(dimension).map_or(1, |size| size.saturating_sub(taken).saturating_add(1)).max(1)
    };
    let numbers = own.gather.as_deref();
    match it.opcode.as_str() {
        "gather" => {
            let taken = |dimension: i64| {
                let at = usize::try_from(dimension).ok();
                at.and_then(|at| own.gather_slice_sizes.get(at)).and_then(|&it| u64::try_from(it).ok()).unwrap_or(1)
            };
            let map = numbers.map(|it| it.start_index_map.as_slice()).unwrap_or_default();
            let limit = map.iter().map(|&dimension| fits(dimension, taken(dimension))).min();
            limit.map(|limit| (1, limit)).into_iter().collect()
        }
        "scatter" => {
            let Some(numbers) = numbers else { return Vec::new() };
            let limit = |&dimension: &i64| if numbers.collapsed.contains(&dimension) { fits(dimension, 1) } else { 1 };
            numbers.start_index_map.iter().map(limit).min().map(|limit| (1, limit)).into_iter().collect()
        }
        "dynamic-slice" => (1..)
            .zip(0..)
            .zip(&own.dynamic_slice_sizes)
            .map(|((n, dimension), &size)| (n, fits(dimension, size.cast_unsigned())))
            .collect(),
        "dynamic-update-slice" => {
            let sizes = array(1).map(|it| it.dimensions.as_slice()).unwrap_or_default();
            (2..).zip(0..).zip(sizes).map(|((n, dimension), &size)| (n, fits(dimension, size))).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the values from which an index is derived without arithmetic.
fn sources(module: &Module, start: InstructionIndex) -> Vec<InstructionIndex> {
    let mut open = vec![start];
    let mut found = Vec::new();
    for _ in 0..limits::DEPTH {
        let Some(index) = open.pop() else { break };
        let Some(it) = module.at(index) else { continue };
        found.push(index);
        match it.opcode.as_str() {
            "bitcast" | "reshape" | "convert" | "copy" | "broadcast" | "transpose" | "clamp" | "concatenate"
            | "slice" => open.extend(&it.operands),
            "custom-call" if it.custom_call_target() == Some("AssumeGatherIndicesInBound") => open.extend(&it.operands),
            _ => {}
        }
    }
    found
}
