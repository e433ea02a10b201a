//! What if: the peak of a program with some of its memory gone, from the lifetimes of its buffers alone. An estimate: the compiler would
//! choose other fusions, another order and other places.
//!
//! ```text
//! without         these buffers take nothing
//! rematerialised  activations of a scope are freed when the forward pass has left it, and are there again when its backward pass begins;
//!                 what other scopes of the forward pass read is kept, as jax.checkpoint keeps the inputs of the blocks behind it
//! donated         the result with the new value takes the memory of the argument
//! at batch size   what has a dimension that the old batch size divides, and is no parameter, state or constant, grows with it
//! ```

use std::sync::Arc;

use hlo::DataType;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::assignment::BufferIndex;
use crate::class::{Class, Classifier, Pass, pass_of};
use crate::heap::Heap;
use crate::peak::scope_of;
use crate::program::{LiveBuffer, ProgramMemory, SpaceMemory};
use crate::space::MAIN;
use crate::tiling::tiled_bytes;

/// What would be different.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// Names of buffers that would not be there, as [`ProgramMemory::name`] has them.
    pub without: Vec<String>,
    /// Scopes whose activations would be computed again, each with all scopes below it.
    pub rematerialized: Vec<String>,
    /// Numbers of arguments that would be donated.
    pub donated: Vec<i64>,
    /// The batch size that the program has, and the one that it would have.
    pub batch: Option<(u64, u64)>,
}

impl Change {
    /// A change as people write it: `rematerialize=first,second; donate=0,1; batch=64; without=fusion.3`. `batch_size` is what the program has.
    ///
    /// # Errors
    /// A sentence on what cannot be understood.
    pub fn parse(text: &str, batch_size: Option<u64>) -> Result<Change, String> {
        let mut change = Change::default();
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            let (key, values) = part.split_once('=').ok_or_else(|| format!("{part} is no change: {HOW}"))?;
            let values = || values.split(',').map(str::trim).filter(|value| !value.is_empty());
            let number = |value: &str| value.parse().map_err(|_| format!("{value} is no whole number: {HOW}"));
            match key.trim() {
                "without" => change.without.extend(values().map(str::to_owned)),
                "rematerialize" => change.rematerialized.extend(values().map(str::to_owned)),
                "donate" => {
                    for value in values() {
                        let wanted: u64 = number(value)?;
                        change.donated.push(i64::try_from(wanted).unwrap_or(i64::MAX));
                    }
                }
                "batch" => {
                    let old = batch_size
                        .ok_or("the batch size of the program is not known: none of its arguments is an input")?;
                    let new = values().next().map(number).transpose()?.filter(|&new| new > 0);
                    change.batch = Some((old, new.ok_or_else(|| format!("batch needs a number: {HOW}"))?));
                }
                other => return Err(format!("{other} cannot be changed: {HOW}")),
            }
        }
        Ok(change)
    }
}

/// How a change is written.
const HOW: &str =
    "write rematerialize=SCOPE,..., donate=NUMBER,..., batch=SIZE or without=BUFFER,... with ; between them.";

/// Memory that is taken for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The buffer.
    pub buffer: BufferIndex,
    /// Bytes.
    pub bytes: u64,
    /// Index of the first event at which it is there.
    pub start: usize,
    /// Index of the first event at which it is gone; the number of events where nothing frees it.
    pub end: usize,
}

/// A program whose main memory questions are asked of. It is made once for all of them, since most of the work is to find what each buffer is.
#[derive(Debug)]
pub struct WhatIf {
    program: Arc<ProgramMemory>,
    /// What is there, as it is.
    taken: Vec<Taken>,
    classes: Vec<Class>,
    /// The scope of each of them.
    scopes: Vec<String>,
    /// Types and shapes of parameters: what has one does not grow with the batch.
    parameters: FxHashSet<(DataType, Vec<u64>)>,
    events: usize,
    /// The pass and the index of the scope that the program has reached at each event.
    reached: Vec<(Option<Pass>, usize)>,
    reached_scopes: Vec<String>,
    /// Scopes of the forward pass that read a buffer, where they are not its own.
    readers: FxHashMap<BufferIndex, Vec<String>>,
}

impl WhatIf {
    /// Of a program; `None` where it keeps nothing in the main memory.
    pub fn new(program: &Arc<ProgramMemory>) -> Option<WhatIf> {
        let space = program.space(MAIN)?;
        let classifier = Classifier::new(program);
        // What is there all the time is there also where no heap has events.
        let events = space.heap.as_ref().map_or(0, |heap| heap.instructions.len()).max(1);
        let residents = program.residents(space);
        let temporaries = space.heap.iter().flat_map(|heap| &heap.lifetimes).map(|&lifetime| program.live(lifetime));
        let (mut taken, mut classes, mut scopes) = (Vec::new(), Vec::new(), Vec::new());
        for live in residents.chain(temporaries) {
            scopes.push(program.scope(live.buffer));
            classes.push(classifier.classify(space, &live).class);
            let (start, end) = live.lifetime.map_or((0, events), |it| (it.start, it.end.unwrap_or(events)));
            taken.push(Taken { buffer: live.buffer, bytes: live.bytes, start, end });
        }
        let of_parameters = taken.iter().zip(&classes).filter(|(_, class)| **class == Class::Parameter);
        let parameters = of_parameters.filter_map(|(taken, _)| shape(program, taken.buffer)).collect();
        let (reached, reached_scopes) = reached(program, space);
        let readers = readers(program);
        let program = Arc::clone(program);
        Some(WhatIf { program, taken, classes, scopes, parameters, events, reached, reached_scopes, readers })
    }

    fn heap(&self) -> Option<&Heap> {
        self.program.space(MAIN)?.heap.as_ref()
    }

    /// The peak as it is.
    pub fn peak_bytes(&self) -> u64 {
        self.program.space(MAIN).map_or(0, SpaceMemory::peak_bytes)
    }

    /// The peak with a change.
    pub fn peak_with(&self, change: &Change) -> u64 {
        most(&self.taken_with(change), self.events)
    }

    /// What is there with a change: activations that are computed again are there twice, one after the other.
    pub fn taken_with(&self, change: &Change) -> Vec<Taken> {
        let module = &self.program.module;
        // By the instruction first: a name is made for each buffer that is looked at.
        let made_by = |name: &str| module.index_of(module.instruction(name.split('{').next().unwrap_or(name))?);
        let without: Vec<_> = change.without.iter().map(|name| (made_by(name), name)).collect();
        let shared = self.results_of(&change.donated);
        let mut found = Vec::with_capacity(self.taken.len());
        let scopes: Vec<ScopeEvents<'_>> = change.rematerialized.iter().map(|scope| self.events_of(scope)).collect();
        for (index, (taken, &class)) in self.taken.iter().zip(&self.classes).enumerate() {
            let made_by = self.program.assignment.buffers.get(taken.buffer).and_then(|buffer| buffer.instruction);
            let is_without =
                without.iter().any(|(by, name)| *by == made_by && self.program.name(taken.buffer) == **name);
            if is_without || shared.contains(&taken.buffer) {
                continue;
            }
            let taken = Taken { bytes: self.bytes_at(taken, class, change.batch), ..*taken };
            match self.left(index, &scopes) {
                Some((left, again)) => {
                    found.push(Taken { end: left, ..taken });
                    found.push(Taken { start: again, ..taken });
                }
                None => found.push(taken),
            }
        }
        found
    }

    /// The batch size of one device: the first dimension that most bytes of the inputs have; `None` where no argument is known as one.
    pub fn batch_size(&self) -> Option<u64> {
        let mut sizes: FxHashMap<u64, u64> = FxHashMap::default();
        for (taken, _) in self.taken.iter().zip(&self.classes).filter(|(_, class)| **class == Class::Input) {
            if let Some(&first) = self.program.array(taken.buffer).and_then(|array| array.dimensions.first()) {
                let sum = sizes.entry(first).or_default();
                *sum = sum.saturating_add(taken.bytes);
            }
        }
        sizes.into_iter().max_by_key(|&(size, bytes)| (bytes, size)).map(|(size, _)| size).filter(|&size| size > 1)
    }

    /// The scopes whose activations are alive at the peak, the one with most bytes first.
    pub fn scopes(&self) -> Vec<String> {
        let at = self.heap().map_or(0, |heap| heap.peak_event);
        let mut sums: std::collections::BTreeMap<&str, u64> = std::collections::BTreeMap::new();
        for ((taken, class), scope) in self.taken.iter().zip(&self.classes).zip(&self.scopes) {
            if *class == Class::Activation && taken.start <= at && at < taken.end {
                let sum = sums.entry(scope.as_str()).or_default();
                *sum = sum.saturating_add(taken.bytes);
            }
        }
        let mut sums: Vec<(&str, u64)> = sums.into_iter().filter(|(scope, _)| !scope.is_empty()).collect();
        base::sort::sort_by(&mut sums, |a, b| b.1.cmp(&a.1));
        sums.into_iter().map(|(scope, _)| scope.to_owned()).collect()
    }

    /// What is alive at the peak and comes and goes, the largest first.
    pub fn largest(&self) -> Vec<LiveBuffer> {
        let main = self.program.space(MAIN).into_iter();
        let live = main.flat_map(|space| self.program.live_at_peak(space)).filter(|live| live.lifetime.is_some());
        let mut live: Vec<LiveBuffer> = live.collect();
        base::sort::sort_by(&mut live, |a, b| b.bytes.cmp(&a.bytes));
        live
    }

    /// The name of a buffer.
    pub fn name(&self, buffer: BufferIndex) -> String {
        self.program.name(buffer)
    }

    /// The results that would take the memory of donated arguments: of each the first result of its type and shape that shares with none.
    fn results_of(&self, donated: &[i64]) -> FxHashSet<BufferIndex> {
        let allocations = &self.program.assignment.allocations;
        let mut found: FxHashSet<BufferIndex> = FxHashSet::default();
        for number in donated {
            let is_argument = |of: &&crate::Allocation| of.parameter == Some(*number) && !of.is_output;
            let Some(argument) = allocations.iter().find(is_argument) else { continue };
            let residents = self.program.space(MAIN).map(|space| space.residents.as_slice()).unwrap_or_default();
            let results = residents.iter().filter(|(index, buffer)| {
                let is_result = allocations
                    .get(*index)
                    .is_some_and(|it| it.is_output && it.parameter.is_none() && it.size == argument.size);
                is_result && !found.contains(buffer)
            });
            if let Some(buffer) = results.map(|(_, buffer)| *buffer).next() {
                found.insert(buffer);
            }
        }
        found
    }

    /// Bytes at another batch size.
    fn bytes_at(&self, taken: &Taken, class: Class, batch: Option<(u64, u64)>) -> u64 {
        let Some((old, new)) = batch.filter(|(old, _)| *old > 0) else { return taken.bytes };
        let keeps = matches!(class, Class::Parameter | Class::OptimizerState | Class::Gradient | Class::Constant);
        let Some(array) = self.program.array(taken.buffer).filter(|_| !keeps) else { return taken.bytes };
        let is_like_a_parameter = self.parameters.contains(&(array.data_type, array.dimensions.clone()));
        // Merged with others a batch is the slowest dimension.
        let divides = |(place, size): (usize, &u64)| *size == old || (place == 0 && *size > 0 && size % old == 0);
        let Some(place) = array.dimensions.iter().enumerate().position(divides).filter(|_| !is_like_a_parameter) else {
            return taken.bytes;
        };
        let mut scaled = array.clone();
        if let Some(size) = scaled.dimensions.get_mut(place) {
            *size = (u128::from(*size) * u128::from(new) / u128::from(old)).try_into().unwrap_or(u64::MAX);
        }
        let linear = u128::from(taken.bytes) * u128::from(new) / u128::from(old);
        // Where the tiles of the layout explain the size as it is, they give the new one.
        let tiled = tiled_bytes(array).filter(|&bytes| bytes == taken.bytes).and_then(|_| tiled_bytes(&scaled));
        tiled.unwrap_or_else(|| linear.try_into().unwrap_or(u64::MAX))
    }

    /// Where an activation would be freed, and where it would be computed again; `None` where it is kept.
    fn left(&self, index: usize, scopes: &[ScopeEvents<'_>]) -> Option<(usize, usize)> {
        let (taken, own) = (self.taken.get(index)?, self.scopes.get(index)?);
        let scope = scopes.iter().find(|scope| is_below(own, scope.name))?;
        let is_read_behind = self
            .readers
            .get(&taken.buffer)
            .is_some_and(|readers| readers.iter().any(|reader| !is_below(reader, scope.name)));
        if is_read_behind || self.classes.get(index) != Some(&Class::Activation) {
            return None;
        }
        let before_end = scope.forward.partition_point(|&at| at < taken.end);
        let left = *scope.forward.get(before_end.checked_sub(1)?)?;
        let again = *scope.backward.get(scope.backward.partition_point(|&at| at <= taken.start))?;
        (taken.start <= left && left + 1 < again && again < taken.end).then_some((left + 1, again))
    }

    /// When the program is in a scope, in the forward pass and behind it.
    fn events_of<'s>(&self, name: &'s str) -> ScopeEvents<'s> {
        let mut found = ScopeEvents { name, forward: Vec::new(), backward: Vec::new() };
        let is_below: Vec<bool> = self.reached_scopes.iter().map(|scope| is_below(scope, name)).collect();
        for (event, (pass, scope)) in self.reached.iter().enumerate() {
            match pass {
                Some(pass) if is_below.get(*scope) == Some(&true) => {
                    let list = if *pass == Pass::Forward { &mut found.forward } else { &mut found.backward };
                    list.push(event);
                }
                _ => {}
            }
        }
        found
    }
}

/// The events at which the program is in a scope, by index.
struct ScopeEvents<'s> {
    name: &'s str,
    forward: Vec<usize>,
    /// Of the backward pass, and of what is computed again for it.
    backward: Vec<usize>,
}

/// The pass and the scope that the program has reached at each event, scopes by their index in the second list.
fn reached(program: &ProgramMemory, space: &SpaceMemory) -> (Vec<(Option<Pass>, usize)>, Vec<String>) {
    let mut known: FxHashMap<u32, (Option<Pass>, usize)> = FxHashMap::default();
    let mut indices: FxHashMap<String, usize> = FxHashMap::default();
    let mut scopes = Vec::new();
    let mut place = |instruction: u32| {
        let Some(at) = program.module.at(instruction) else { return (None, usize::MAX) };
        let scope = scope_of(&at.metadata.op_name, false);
        let index = *indices.entry(scope).or_insert_with_key(|scope| {
            scopes.push(scope.clone());
            scopes.len() - 1
        });
        (pass_of(&program.module, at), index)
    };
    let events = space.heap.iter().flat_map(|heap| &heap.reached);
    let found = events.map(|instruction| match *instruction {
        Some(instruction) => *known.entry(instruction).or_insert_with(|| place(instruction)),
        None => (None, usize::MAX),
    });
    let found = found.collect();
    (found, scopes)
}

/// Type and shape of a buffer's value.
fn shape(program: &ProgramMemory, buffer: BufferIndex) -> Option<(DataType, Vec<u64>)> {
    program.array(buffer).map(|array| (array.data_type, array.dimensions.clone()))
}

/// The most bytes that are taken at once.
fn most(taken: &[Taken], events: usize) -> u64 {
    let mut changes = vec![0_i128; events + 1];
    for it in taken {
        for (at, bytes) in [(it.start, i128::from(it.bytes)), (it.end, -i128::from(it.bytes))] {
            if let Some(change) = changes.get_mut(at) {
                *change += bytes;
            }
        }
    }
    // Behind the last event what nothing frees is still there.
    let in_program = changes.get(..events).unwrap_or_default();
    let sums = in_program.iter().scan(0_i128, |sum, change| {
        *sum += change;
        Some(*sum)
    });
    u64::try_from(sums.max().unwrap_or(0)).unwrap_or(u64::MAX)
}

/// Is a scope another one, or inside it?
fn is_below(scope: &str, of: &str) -> bool {
    scope == of || scope.strip_prefix(of).is_some_and(|rest| rest.starts_with('/'))
}

/// The scopes of the forward pass that read each buffer, through what only hands values on.
fn readers(program: &ProgramMemory) -> FxHashMap<BufferIndex, Vec<String>> {
    let module = &program.module;
    let mut of_instruction: FxHashMap<u32, BufferIndex> = FxHashMap::default();
    for (index, buffer) in program.assignment.buffers.iter().enumerate() {
        if let Some(instruction) = buffer.instruction.filter(|_| buffer.shape_index.is_empty()) {
            of_instruction.insert(instruction, index);
        }
    }
    let mut found: FxHashMap<BufferIndex, Vec<String>> = FxHashMap::default();
    for instruction in module.instructions() {
        if pass_of(module, instruction) != Some(Pass::Forward) {
            continue;
        }
        for operand in &instruction.operands {
            if let Some(buffer) = of_instruction.get(operand) {
                let scope = scope_of(&instruction.metadata.op_name, false);
                let scopes = found.entry(*buffer).or_default();
                if !scopes.contains(&scope) {
                    scopes.push(scope);
                }
            }
        }
    }
    found
}
