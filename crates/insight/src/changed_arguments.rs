//! Compares the arguments of programs that were compiled from the same function. The differences explain why the
//! programs were compiled.
//!
//! ```text
//! jit_apply(3)   x: f32[101,64]   w: f32[64,64]
//! jit_apply(4)   x: f32[77,64]    w: f32[64,64]       they differ in the shape of x
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::numbers::{Numbers, shown};
use base::{format, sort};
use hlo::Module;
use metrics::Argument;

/// Maximum number of arguments that a sentence names, and of shapes that it lists for each argument.
const MOST_NAMED: usize = 3;

/// Returns the arguments of a module's programs on the first host that has such programs, because each host compiles
/// its own copy of a program.
fn programs<'a>(numbers: &Numbers<'a>, module: &str) -> Vec<Vec<&'a Argument>> {
    by_id(numbers, module).into_values().collect()
}

/// Returns the arguments by program id. A file may contain programs from before the capture. If at least two programs
/// of the module ran in the window, returns only the programs that ran.
fn by_id<'a>(numbers: &Numbers<'a>, module: &str) -> BTreeMap<i64, Vec<&'a Argument>> {
    let is_of_module = |it: &&Argument| it.program.split('(').next() == Some(module);
    let mut programs: BTreeMap<(u16, i64), Vec<&Argument>> = BTreeMap::new();
    for argument in numbers.context.arguments().iter().filter(is_of_module) {
        programs.entry((argument.host, argument.program_id)).or_default().push(argument);
    }
    let first_host = programs.keys().next().map(|&(host, _)| host);
    let of_host = programs.into_iter().filter(|((host, _), _)| Some(*host) == first_host);
    let mut found: BTreeMap<i64, Vec<&Argument>> = of_host.map(|((_, id), it)| (id, it)).collect();
    let ran: BTreeSet<i64> = numbers.context.analysis.ops.rows.iter().filter_map(|op| op.program_id).collect();
    if found.keys().filter(|id| ran.contains(id)).count() > 1 {
        found.retain(|id, _| ran.contains(id));
    }
    found
}

/// Returns true if the capture contains several programs of a module, and their arguments and results have the same shapes and
/// data types.
pub(super) fn are_equal(numbers: &Numbers<'_>, module: &str) -> bool {
    let programs = programs(numbers, module);
    let has_same_number = programs.iter().all(|it| it.len() == programs.first().map_or(0, Vec::len));
    programs.len() > 1 && has_same_number && changed(&programs).is_empty() && results(numbers, module).len() < 2
}

/// Returns the distinct shapes of the results of a module's programs, in the order of the programs.
fn results(numbers: &Numbers<'_>, module: &str) -> Vec<String> {
    let modules = by_id(numbers, module).into_keys().filter_map(|id| numbers.module(id));
    let mut shapes: Vec<String> = Vec::new();
    for shape in modules.filter_map(|of| Some(of.root(of.entry()?)?.shape.text(false))) {
        if !shapes.contains(&shape) {
            shapes.push(shape);
        }
    }
    shapes
}

/// Returns what differs between the programs of a module, as a sentence that starts with a space. Empty if the capture
/// does not contain two programs of the module.
pub(super) fn sentence(numbers: &Numbers<'_>, module: &str) -> String {
    let programs = programs(numbers, module);
    if programs.len() < 2 {
        return String::new();
    }
    let subject = format!(" The {} programs of {}", format::count(programs.len() as u64), shown(module));
    if programs.iter().any(|it| it.len() != programs.first().map_or(0, Vec::len)) {
        return format!("{subject} take different numbers of arguments.");
    }
    let changed = changed(&programs);
    if changed.is_empty() {
        let results = results(numbers, module);
        if results.len() > 1 {
            let shapes: Vec<&str> = results.iter().map(String::as_str).collect();
            let arguments: Vec<String> =
                programs.first().into_iter().flatten().take(MOST_NAMED).map(|it| shown(&it.shape)).collect();
            let from = if arguments.is_empty() { String::new() } else { format!(" of {}", arguments.join(", ")) };
            return format!("{subject} differ in the shape of {}.", named(&format!("the result{from}"), &shapes));
        }
        if let Some(values) = constants(numbers, module) {
            return format!(
                "{subject} take arguments of the same shapes and data types, and do the same work. They differ only in the \
                 value of a constant: {values}. So a number that changes is compiled into the program: a static argument, a \
                 value in a closure, or a setting of a new object such as an optimizer."
            );
        }
        if let Some((outer, function)) = local_function(numbers, module) {
            return format!(
                "{subject} take arguments of the same shapes and data types. The function {} is defined inside {}: if each call \
                 of {} defines it again and calls jit on it, JAX compiles it again.{}",
                shown(&function),
                shown(&outer),
                shown(&outer),
                constant_arrays(numbers, module)
            );
        }
        return format!(
            "{subject} take arguments of the same shapes and data types. So the difference is in a static argument, a \
             value that the program contains as a constant, or a new function object in each call (a lambda, or a \
             call of jit inside the loop)."
        );
    }
    let first: Vec<String> = changed.iter().take(MOST_NAMED).map(|(name, shapes)| named(name, shapes)).collect();
    let more = match changed.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" {} more arguments differ.", format::count(more as u64)),
    };
    format!("{subject} differ in {}.{more}", first.join("; in "))
}

/// Lists the largest constant arrays of a module's programs, as a sentence that starts with a space. Empty if the programs
/// contain none.
fn constant_arrays(numbers: &Numbers<'_>, module: &str) -> String {
    let programs = by_id(numbers, module).into_keys().filter_map(|id| numbers.module(id));
    let constants = programs.flat_map(Module::instructions).filter(|it| it.is("constant"));
    let mut arrays: Vec<(f64, String)> = constants
        .filter_map(|it| it.shape.array().map(|array| (array.elements(), shown(&it.shape.text(false)))))
        .filter(|(elements, _)| *elements > 1.0)
        .collect();
    sort::sort_by(&mut arrays, |a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    arrays.dedup();
    let named: Vec<String> = arrays.into_iter().take(MOST_NAMED).map(|(_, shape)| shape).collect();
    match named.as_slice() {
        [] => String::new(),
        named => format!(
            " The programs contain constant arrays ({}). If the function closes over arrays, pass them as arguments.",
            named.join(", ")
        ),
    }
}

/// Returns the function that the programs of a module were compiled from, and the function that defines it. `None` if the
/// function is not defined inside another one.
fn local_function(numbers: &Numbers<'_>, module: &str) -> Option<(String, String)> {
    let mut modules = by_id(numbers, module).into_keys().filter_map(|id| numbers.module(id));
    let function = modules.find_map(Module::local_function)?;
    let (outer, own) = function.rsplit_once(".<locals>.")?;
    Some((outer.replace(".<locals>", ""), own.to_owned()))
}

/// Lists the values of a constant if the programs of a module differ only in that constant: `-0.001, -0.0009 and 6 more`.
/// `None` if the programs differ in anything else, or if the file shows no difference.
fn constants(numbers: &Numbers<'_>, module: &str) -> Option<String> {
    let modules: Vec<&Module> = by_id(numbers, module).into_keys().filter_map(|id| numbers.module(id)).collect();
    let (first, others) = modules.split_first()?;
    let opcodes = |of: &Module| of.instructions().iter().map(|it| it.opcode.clone()).collect::<Vec<String>>();
    let expected = opcodes(first);
    let same: Vec<&&Module> = others.iter().filter(|of| opcodes(of) == expected).collect();
    let literal = |of: &Module, index: usize| of.instructions().get(index).map(|it| it.attributes().literal.clone());
    let differs = |index: &usize| same.iter().any(|of| literal(of, *index) != literal(first, *index));
    let index = (0..expected.len()).find(differs)?;
    let mut values: Vec<String> = Vec::new();
    for value in [first].into_iter().chain(same.iter().copied()).filter_map(|of| literal(of, index)) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    let named: Vec<String> = values.iter().take(MOST_NAMED).map(|value| shown(value)).collect();
    let more = match values.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {} more", format::count(more as u64)),
    };
    Some(format!("{}{more}", named.join(", ")))
}

/// Returns the arguments whose shapes differ, each with its distinct shapes in the order of the programs.
fn changed<'a>(programs: &[Vec<&'a Argument>]) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut by_number: BTreeMap<i64, (&str, Vec<&str>)> = BTreeMap::new();
    for argument in programs.iter().flatten() {
        let (_, shapes) = by_number.entry(argument.number).or_insert_with(|| (&argument.name, Vec::new()));
        if !shapes.contains(&argument.shape.as_str()) {
            shapes.push(&argument.shape);
        }
    }
    by_number.into_values().filter(|(_, shapes)| shapes.len() > 1).collect()
}

/// Lists the shapes of an argument: `x (f32[101,64], f32[77,64], f32[93,64] and 7 more)`.
fn named(name: &str, shapes: &[&str]) -> String {
    let first: Vec<String> = shapes.iter().take(MOST_NAMED).map(|shape| shown(shape)).collect();
    let more = match shapes.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {} more", format::count(more as u64)),
    };
    format!("{} ({}{more})", shown(name), first.join(", "))
}
