//! Differences between the two instructions of a pair.

use super::identity::{Identity, is_commutative, is_of_sharding};
use super::matching::Matching;
use super::side::{Side, computations};
use super::{Changed, Difference};
use crate::expression::own_attributes;
use crate::instruction::{Instruction, InstructionIndex};
use crate::module::Module;

/// Maximum length of the text of one aspect, in bytes. Longer texts are cut at their end.
const MAX_BYTES: usize = 300;

/// Part of an instruction that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Aspect {
    /// Dimensions of the result.
    Shape,
    /// Data type of the result.
    DataType,
    /// Layout of the result.
    Layout,
    /// Sharding.
    Sharding,
    /// Computations that the instruction calls: the contents of a fusion, the body of a loop.
    Contents,
    /// Instructions whose results the instruction reads.
    Operands,
    /// Other attributes: dimensions, window, device groups, constant, precision, backend configuration.
    Attributes,
}

impl Aspect {
    /// All aspects.
    pub const ALL: [Aspect; 7] = [
        Aspect::Shape,
        Aspect::DataType,
        Aspect::Layout,
        Aspect::Sharding,
        Aspect::Contents,
        Aspect::Operands,
        Aspect::Attributes,
    ];

    /// Returns the word for the aspect in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Aspect::Shape => "shape",
            Aspect::DataType => "data_type",
            Aspect::Layout => "layout",
            Aspect::Sharding => "sharding",
            Aspect::Contents => "contents",
            Aspect::Operands => "operands",
            Aspect::Attributes => "attributes",
        }
    }

    /// Returns the display name.
    pub fn title(self) -> &'static str {
        match self {
            Aspect::DataType => "data type",
            other => other.key(),
        }
    }
}

/// Returns the difference between two matched programs.
pub(super) fn difference(a: &Side<'_>, b: &Side<'_>, matching: &Matching) -> Difference {
    let mut found = Difference {
        partners: (0..).zip(a.module.instructions()).map(|(at, _)| matching.of_a(at)).collect(),
        ..Difference::default()
    };
    let free_a = (0..).zip(a.module.instructions()).filter(|(at, _)| matching.of_a(*at).is_none());
    found.gone = free_a.map(|(at, _)| at).collect();
    // Computations of `b` that differ from their partners. Callees come before their callers.
    let mut differs = vec![false; b.module.computations().len()];
    let mut differs_a = vec![false; a.module.computations().len()];
    for &gone in &found.gone {
        let of = a.module.at(gone).and_then(|it| differs_a.get_mut(it.computation as usize));
        of.into_iter().for_each(|it| *it = true);
    }
    for (index, computation) in computations(b.module) {
        for at_b in computation.instructions.clone() {
            let Some(at_a) = matching.of_b(at_b) else {
                found.new.push(at_b);
                differs.get_mut(index as usize).into_iter().for_each(|it| *it = true);
                continue;
            };
            let (Some(in_a), Some(in_b)) = (a.module.at(at_a), b.module.at(at_b)) else { continue };
            let aspects = aspects(Pair { a, b, matching, at_a, at_b, in_a, in_b }, &differs_a, &differs);
            if aspects.is_empty() {
                found.same += 1;
            } else {
                found.changed.push(Changed { a: at_a, b: at_b, aspects });
                differs.get_mut(index as usize).into_iter().for_each(|it| *it = true);
            }
        }
    }
    found
}

#[derive(Clone, Copy)]
struct Pair<'p, 'm> {
    a: &'p Side<'m>,
    b: &'p Side<'m>,
    matching: &'p Matching,
    at_a: InstructionIndex,
    at_b: InstructionIndex,
    in_a: &'m Instruction,
    in_b: &'m Instruction,
}

fn aspects(pair: Pair<'_, '_>, differs_a: &[bool], differs_b: &[bool]) -> Vec<Aspect> {
    let (of_a, of_b) = (pair.a.identity(pair.at_a), pair.b.identity(pair.at_b));
    let mut aspects = Vec::new();
    let mut add = |aspect, differs: bool| {
        if differs {
            aspects.push(aspect);
        }
    };
    add(Aspect::Shape, of_a.dimensions != of_b.dimensions);
    add(
        Aspect::DataType,
        of_a.dimensions == of_b.dimensions && of_a.data_types != of_b.data_types
            || of_a.dimensions != of_b.dimensions && types(pair.in_a) != types(pair.in_b),
    );
    add(Aspect::Layout, of_a.dimensions == of_b.dimensions && of_a.layout != of_b.layout);
    add(Aspect::Sharding, of_a.sharding != of_b.sharding);
    add(Aspect::Contents, contents_differ(pair, differs_a, differs_b));
    add(Aspect::Operands, operands_differ(pair));
    add(Aspect::Attributes, of_a.attributes != of_b.attributes || element_differs(pair, of_a, of_b));
    aspects
}

/// Returns the set of data types of a result.
fn types(instruction: &Instruction) -> Vec<crate::DataType> {
    let mut types: Vec<_> = instruction.shape.arrays().iter().map(|array| array.data_type).collect();
    types.sort_unstable();
    types.dedup();
    types
}

fn contents_differ(pair: Pair<'_, '_>, differs_a: &[bool], differs_b: &[bool]) -> bool {
    if pair.in_a.called.len() != pair.in_b.called.len() {
        return true;
    }
    pair.in_a.called.iter().zip(&pair.in_b.called).any(|(&of_a, &of_b)| {
        if pair.matching.are_paired(of_a, of_b) {
            return differs_a.get(of_a as usize) == Some(&true) || differs_b.get(of_b as usize) == Some(&true);
        }
        pair.a.contents.get(of_a as usize) != pair.b.contents.get(of_b as usize)
    })
}

/// Returns true if the operands of the two instructions were not matched with each other. The order does not matter for
/// commutative instructions and fusions.
fn operands_differ(pair: Pair<'_, '_>) -> bool {
    let (in_a, in_b) = (pair.in_a, pair.in_b);
    let partners = in_a.operands.iter().map(|&operand| pair.matching.of_a(operand));
    if in_a.is("fusion") || is_commutative(&in_a.opcode) {
        let mut of_a: Vec<_> = partners.collect();
        let mut of_b: Vec<_> = in_b.operands.iter().map(|&operand| Some(operand)).collect();
        of_a.sort_unstable();
        of_b.sort_unstable();
        return of_a != of_b;
    }
    in_a.operands.len() != in_b.operands.len() || partners.zip(&in_b.operands).any(|(of_a, &of_b)| of_a != Some(of_b))
}

/// Returns true if the two instructions take different elements of their tuples. Returns false if the tuples have
/// different sizes, because their elements are then numbered differently.
fn element_differs(pair: Pair<'_, '_>, of_a: Identity, of_b: Identity) -> bool {
    let size =
        |side: &Side<'_>, it: &Instruction| side.module.operand(it, 0).map_or(0, |operand| operand.shape.tuple().len());
    of_a.element != of_b.element && size(pair.a, pair.in_a) == size(pair.b, pair.in_b)
}

/// Describes one aspect of a changed pair, in `a` and in `b`.
pub(super) fn texts(of: &Difference, (a, b): (&Module, &Module), changed: &Changed, aspect: Aspect) -> [String; 2] {
    let (Some(in_a), Some(in_b)) = (a.at(changed.a), b.at(changed.b)) else { return Default::default() };
    let texts = match aspect {
        Aspect::Shape | Aspect::DataType => [in_a.shape.text(false), in_b.shape.text(false)],
        Aspect::Layout => [in_a.shape.text(true), in_b.shape.text(true)],
        Aspect::Sharding => [in_a, in_b].map(sharding),
        Aspect::Contents => [(a, in_a), (b, in_b)].map(|(module, it)| contents(module, it)),
        Aspect::Operands => operands(of, (a, in_a), (b, in_b)),
        Aspect::Attributes => attributes(in_a, in_b),
    };
    texts.map(cut)
}

fn cut(mut text: String) -> String {
    if text.len() > MAX_BYTES {
        let end = (0..=MAX_BYTES).rev().find(|&at| text.is_char_boundary(at)).unwrap_or_default();
        text.truncate(end);
        text.push('…');
    }
    text
}

fn sharding(instruction: &Instruction) -> String {
    let own = instruction.attributes();
    if !own.sharding.is_empty() {
        return own.sharding.clone();
    }
    let shardy = own.frontend_attributes.iter().filter(|(name, _)| is_of_sharding(name));
    shardy.map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(", ")
}

/// Names the called computations, each with its number of instructions.
fn contents(module: &Module, instruction: &Instruction) -> String {
    let called = instruction.called.iter().filter_map(|&index| module.computation(index));
    let texts = called.map(|it| format!("%{} ({} instructions)", it.name, module.instructions_of(it).len()));
    texts.collect::<Vec<_>>().join(", ")
}

/// Names the operands that were not matched with each other.
fn operands(of: &Difference, (a, in_a): (&Module, &Instruction), (b, in_b): (&Module, &Instruction)) -> [String; 2] {
    let names = |module: &Module, chosen: &[InstructionIndex]| {
        let names = chosen.iter().filter_map(|&at| Some(format!("%{}", module.at(at)?.name)));
        names.collect::<Vec<_>>().join(", ")
    };
    // Paths distinguish two instructions with the same name.
    let with_paths = |module: &Module, chosen: &[InstructionIndex]| {
        let texts = chosen.iter().filter_map(|&at| {
            let it = module.at(at)?;
            Some(format!("%{} ({})", it.name, it.metadata.op_name))
        });
        texts.collect::<Vec<_>>().join(", ")
    };
    let mut taken: Vec<InstructionIndex> = in_a.operands.iter().filter_map(|&at| of.partner(at)).collect();
    taken.sort_unstable();
    let mut read: Vec<InstructionIndex> = in_b.operands.clone();
    read.sort_unstable();
    let is_read = |at: InstructionIndex| of.partner(at).is_some_and(|it| read.binary_search(&it).is_ok());
    let only_a: Vec<_> = in_a.operands.iter().copied().filter(|&at| !is_read(at)).collect();
    let only_b: Vec<_> = in_b.operands.iter().copied().filter(|at| taken.binary_search(at).is_err()).collect();
    if only_a.is_empty() && only_b.is_empty() {
        // Only the order of the operands differs.
        return [names(a, &in_a.operands), names(b, &in_b.operands)];
    }
    let texts = [names(a, &only_a), names(b, &only_b)];
    if texts[0] == texts[1] { [with_paths(a, &only_a), with_paths(b, &only_b)] } else { texts }
}

/// Lists the attributes that differ.
fn attributes(a: &Instruction, b: &Instruction) -> [String; 2] {
    let (of_a, of_b) = (listed(a), listed(b));
    let only = |own: &[String], other: &[String]| {
        own.iter().filter(|it| !other.contains(it)).cloned().collect::<Vec<_>>().join(", ")
    };
    [only(&of_a, &of_b), only(&of_b, &of_a)]
}

fn listed(instruction: &Instruction) -> Vec<String> {
    let own = instruction.attributes();
    let mut text = String::new();
    let _ = own_attributes(&instruction.opcode, own, &mut text);
    let mut list = split(&text);
    list.retain(|it| !it.starts_with("channel_id="));
    let mut add = |name: &str, value: &str| {
        if !value.is_empty() {
            list.push(format!("{name}={value}"));
        }
    };
    add("literal", &own.literal);
    add("async_execution_thread", &own.async_thread);
    add("backend_config", &own.backend_config);
    if own.dot_algorithm != 0 {
        add("algorithm", &own.dot_algorithm.to_string());
    }
    for (name, value) in own.frontend_attributes.iter().filter(|(name, _)| !is_of_sharding(name)) {
        add(name, value);
    }
    list
}

/// Splits `, a={1,2}, b=3` at commas outside of brackets and quotes.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut depth, mut quoted) = (0i32, false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            '{' | '(' | '[' if !quoted => depth += 1,
            '}' | ')' | ']' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts.into_iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}
