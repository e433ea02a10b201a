//! Orders the functions of a WebAssembly module so that gzip compresses them best.
//!
//! gzip finds repetitions within 32 kB. Generic code has many nearly identical instances. An instance that is close to
//! a similar instance takes only a few bytes. An instance that is far from all similar instances takes its full size.
//! The functions are therefore arranged in a chain:
//!
//! ```text
//! placed       … f17 f3 f90 | next: of the remaining functions, the one with the largest
//!                └ reach ─┘         fraction of its pieces in the functions within reach
//! ```
//!
//! A piece is a sequence of [`PIECE_BYTES`] bytes of a function's code. Only the order of the functions changes. The
//! module keeps all its functions, and each call still calls the same function.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use wasm_encoder::reencode::{self, Error, Reencode};
use wasm_encoder::{CodeSection, FunctionSection, Module};
use wasmparser::{CodeSectionReader, FunctionSectionReader, Parser, Payload, TypeRef};

/// Length of a piece in bytes. The shortest repetition that gzip encodes as a reference is about as long as a piece.
const PIECE_BYTES: usize = 6;
/// Distance up to which a function is within reach. The distance is smaller than gzip's window, because the function
/// that is placed next also takes up part of the window.
const REACH_BYTES: usize = 20_000;
/// Maximum number of functions that contain a piece. A piece in more functions is ignored, because it does not show
/// that functions are similar.
const MAX_HOLDERS: usize = 100;
/// Number that is added to the number of pieces of each function. As a result, long functions come before short
/// functions that match by chance.
const EXTRA_PIECES: usize = 100;

/// Returns the module with its functions reordered.
pub(super) fn order(module: &[u8]) -> crate::Result<Vec<u8>> {
    let mut imported = 0;
    let mut bodies = Vec::new();
    for part in Parser::new(0).parse_all(module) {
        match part.map_err(|error| error.to_string())? {
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    let import = import.map_err(|error| error.to_string())?;
                    imported += u32::from(matches!(import.ty, TypeRef::Func(_)));
                }
            }
            Payload::CodeSectionEntry(body) => bodies.push(body.as_bytes()),
            _ => {}
        }
    }
    let order = Chain::of(&bodies);
    let mut place = vec![0; bodies.len()];
    for (at, &function) in (0..).zip(&order) {
        place[function] = at;
    }
    let mut ordered = Module::new();
    let mut renumber = Renumber { imported, order, place };
    renumber.parse_core_module(&mut ordered, Parser::new(0), module).map_err(|error| error.to_string())?;
    let ordered = ordered.finish();
    wasmparser::validate(&ordered).map_err(|error| error.to_string())?;
    Ok(ordered)
}

/// Rewrites a module, and replaces the indices of its functions.
struct Renumber {
    /// Number of imported functions. Imported functions come first and keep their indices.
    imported: u32,
    /// Old indices of the module's own functions, in the new order.
    order: Vec<usize>,
    /// Position of each of the module's own functions in `order`.
    place: Vec<u32>,
}

impl Reencode for Renumber {
    type Error = Infallible;

    fn function_index(&mut self, function: u32) -> Result<u32, Error> {
        let own = function.checked_sub(self.imported).and_then(|own| self.place.get(own as usize));
        Ok(own.map_or(function, |place| self.imported + place))
    }

    fn parse_function_section(
        &mut self,
        functions: &mut FunctionSection,
        section: FunctionSectionReader<'_>,
    ) -> Result<(), Error> {
        let types = section.into_iter().collect::<Result<Vec<u32>, _>>()?;
        for &function in &self.order {
            functions.function(types[function]);
        }
        Ok(())
    }

    fn parse_code_section(&mut self, code: &mut CodeSection, section: CodeSectionReader<'_>) -> Result<(), Error> {
        let bodies = section.into_iter().collect::<Result<Vec<_>, _>>()?;
        for function in self.order.clone() {
            reencode::utils::parse_function_body(self, code, bodies[function].clone())?;
        }
        Ok(())
    }
}

/// Chooses the order of functions. The state describes how much the remaining functions overlap with the functions that
/// were placed last.
struct Chain {
    /// Distinct pieces of each function.
    pieces: Vec<Vec<usize>>,
    holders: Vec<Vec<usize>>,
    /// Number of functions within reach that contain each piece.
    near: Vec<u32>,
    /// For each function, the number of its pieces that are within reach.
    score: Vec<u32>,
}

impl Chain {
    /// Returns the old indices of the functions in the new order.
    fn of(bodies: &[&[u8]]) -> Vec<usize> {
        let mut chain = Chain::new(bodies);
        let mut left: Vec<usize> = (0..bodies.len()).collect();
        let mut order = Vec::with_capacity(bodies.len());
        let (mut reach, mut reach_bytes) = (VecDeque::new(), 0);
        while let Some(next) = chain.next(&left) {
            let function = left.swap_remove(next);
            order.push(function);
            reach.push_back(function);
            reach_bytes += bodies[function].len();
            chain.enter(function);
            while reach_bytes > REACH_BYTES && reach.len() > 1 {
                let Some(gone) = reach.pop_front() else { break };
                reach_bytes -= bodies[gone].len();
                chain.leave(gone);
            }
        }
        order
    }

    fn new(bodies: &[&[u8]]) -> Chain {
        let mut ids = HashMap::new();
        let mut holders: Vec<Vec<usize>> = Vec::new();
        for (function, body) in bodies.iter().enumerate() {
            for piece in body.windows(PIECE_BYTES) {
                let id = *ids.entry(piece).or_insert(holders.len());
                if id == holders.len() {
                    holders.push(Vec::new());
                }
                // The pieces of one function are processed in sequence. For a repeated piece, the function is therefore
                // already the last holder.
                if holders[id].last() != Some(&function) {
                    holders[id].push(function);
                }
            }
        }
        let mut pieces = vec![Vec::new(); bodies.len()];
        for (id, holders) in holders.iter_mut().enumerate() {
            holders.iter().for_each(|&function| pieces[function].push(id));
            if holders.len() > MAX_HOLDERS {
                holders.clear();
            }
        }
        let (near, score) = (vec![0; holders.len()], vec![0; bodies.len()]);
        Chain { pieces, holders, near, score }
    }

    /// Returns the position in `left` of the function to place next. If several functions match equally well, returns
    /// the first of them.
    fn next(&self, left: &[usize]) -> Option<usize> {
        let share = |at: usize| {
            let function = left[at];
            f64::from(self.score[function]) / (self.pieces[function].len() + EXTRA_PIECES) as f64
        };
        (0..left.len()).max_by(|&a, &b| share(a).total_cmp(&share(b)).then(left[b].cmp(&left[a])))
    }

    /// Adds a function that comes within reach.
    fn enter(&mut self, function: usize) {
        for &piece in &self.pieces[function] {
            self.near[piece] += 1;
            if self.near[piece] == 1 {
                self.holders[piece].iter().for_each(|&holder| self.score[holder] += 1);
            }
        }
    }

    /// Removes a function that is out of reach.
    fn leave(&mut self, function: usize) {
        for &piece in &self.pieces[function] {
            self.near[piece] -= 1;
            if self.near[piece] == 0 {
                self.holders[piece].iter().for_each(|&holder| self.score[holder] -= 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasm_encoder::{
        CodeSection, ConstExpr, ElementSection, Elements, EntityType, ExportKind, ExportSection, Function,
        ImportSection, RefType, TableSection, TableType, TypeSection, ValType,
    };

    /// Returns a function that calls the imported function and `callee`, and then returns `number`.
    fn body(callee: u32, number: i32, long: bool) -> Function {
        let mut function = Function::new([]);
        let mut code = function.instructions();
        code.call(0).drop().call(callee).drop();
        for at in 0..if long { 50 } else { 3 } {
            code.i32_const(at * 1_000_003).drop();
        }
        code.i32_const(number).end();
        function
    }

    /// Returns a module of alternating long and short functions. Each function calls the next, and the last calls the
    /// imported function.
    fn module() -> Vec<u8> {
        let mut module = Module::new();
        let mut types = TypeSection::new();
        types.ty().function([], [ValType::I32]);
        module.section(&types);
        let mut imports = ImportSection::new();
        imports.import("host", "number", EntityType::Function(0));
        module.section(&imports);
        let mut functions = FunctionSection::new();
        (0..6).for_each(|_| {
            functions.function(0);
        });
        module.section(&functions);
        let mut tables = TableSection::new();
        let (element_type, table64, shared) = (RefType::FUNCREF, false, false);
        tables.table(TableType { element_type, table64, minimum: 6, maximum: None, shared });
        module.section(&tables);
        let mut exports = ExportSection::new();
        exports.export("first", ExportKind::Func, 1).export("last", ExportKind::Func, 6);
        module.section(&exports);
        let mut elements = ElementSection::new();
        elements.active(None, &ConstExpr::i32_const(0), Elements::Functions((&[1, 2, 3, 4, 5, 6]).into()));
        module.section(&elements);
        let mut code = CodeSection::new();
        for at in 1..=6 {
            code.function(&body(if at == 6 { 0 } else { at + 1 }, at.cast_signed(), at % 2 == 0));
        }
        module.section(&code);
        module.finish()
    }

    /// Returns three lists. The first two lists contain the numbers that the functions return, in the order of the
    /// table and in the order of the exports. The third list contains the number of each function together with its
    /// callee's number.
    fn numbers(module: &[u8]) -> (Vec<i32>, Vec<i32>, Vec<(i32, i32)>) {
        let (mut table, mut exported, mut bodies) = (Vec::new(), Vec::new(), Vec::new());
        for part in Parser::new(0).parse_all(module) {
            match part.unwrap() {
                Payload::ExportSection(exports) => exported.extend(exports.into_iter().map(|it| it.unwrap().index)),
                Payload::ElementSection(elements) => {
                    for element in elements {
                        let wasmparser::ElementItems::Functions(items) = element.unwrap().items else { panic!() };
                        table.extend(items.into_iter().map(Result::unwrap));
                    }
                }
                Payload::CodeSectionEntry(body) => {
                    let (mut callee, mut number) = (0, 0);
                    for operator in body.get_operators_reader().unwrap() {
                        match operator.unwrap() {
                            wasmparser::Operator::Call { function_index } => callee = function_index,
                            wasmparser::Operator::I32Const { value } => number = value,
                            _ => {}
                        }
                    }
                    bodies.push((callee, number));
                }
                _ => {}
            }
        }
        let number = |function: u32| if function == 0 { 0 } else { bodies[function as usize - 1].1 };
        let numbers = |functions: Vec<u32>| functions.into_iter().map(number).collect();
        let mut calls: Vec<(i32, i32)> = bodies.iter().map(|&(callee, own)| (own, number(callee))).collect();
        calls.sort_unstable();
        (numbers(table), numbers(exported), calls)
    }

    #[test]
    fn functions_that_are_alike_come_together_and_every_reference_follows() {
        let before = module();
        let after = order(&before).unwrap();
        assert_eq!(numbers(&after), numbers(&before));
        assert_eq!(
            numbers(&after),
            (vec![1, 2, 3, 4, 5, 6], vec![1, 6], (1..=6).map(|at| (at, (at + 1) % 7)).collect())
        );
        let sizes = |module: &[u8]| -> Vec<usize> {
            let parts = Parser::new(0).parse_all(module);
            parts
                .filter_map(|part| {
                    if let Payload::CodeSectionEntry(body) = part.unwrap() { Some(body.as_bytes().len()) } else { None }
                })
                .collect()
        };
        let switches = |sizes: Vec<usize>| sizes.windows(2).filter(|pair| (pair[0] > 100) != (pair[1] > 100)).count();
        assert_eq!((switches(sizes(&before)), switches(sizes(&after))), (5, 1));
    }

    #[test]
    fn invalid_modules_are_refused() {
        assert!(order(b"<html>").is_err());
        let module = module();
        assert!(order(&module[..module.len() - 7]).is_err());
    }
}
