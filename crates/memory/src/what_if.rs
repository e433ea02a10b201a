//! What-if estimates: the peak memory of a program after a hypothetical change, from the lifetimes of its buffers.
//! The real peak would differ, because the compiler would choose other fusions, another order and other addresses.
//!
//! ```text
//! without         these buffers take no memory
//! rematerialised  activations of a scope are freed when the forward pass leaves it, and recomputed when its backward
//!                 pass begins; values that other scopes of the forward pass read are kept, like the inputs of the
//!                 blocks after a jax.checkpoint
//! donated         the result with the new value takes the memory of the argument
//! at batch size   arrays with a dimension that is a multiple of the old batch size scale with it, except parameters,
//!                 state and constants
//! ```

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::assignment::BufferIndex;
use crate::class::{Class, Classifier};
use crate::heap::Heap;
use crate::paths::{Pass, ScopeIndex};
use crate::program::{LiveBuffer, ProgramMemory, SpaceMemory};
use crate::space::MAIN;
use crate::tiling::tiled_bytes;

/// A hypothetical change of the program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// Names of buffers to remove, as returned by [`ProgramMemory::name`].
    pub without: Vec<String>,
    /// Scopes whose activations are recomputed, including all scopes below them.
    pub rematerialized: Vec<String>,
    /// Numbers of arguments to donate.
    pub donated: Vec<i64>,
    /// Current and new batch size.
    pub batch: Option<(u64, u64)>,
}

impl Change {
    /// Parses a change: `rematerialize=first,second; donate=0,1; batch=64; without=fusion.3`. `batch_size` is the
    /// program's current batch size.
    ///
    /// # Errors
    ///
    /// Fails at the first part that is invalid.
    pub fn parse(text: &str, batch_size: Option<u64>) -> Result<Change, ChangeError> {
        let mut change = Change::default();
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            let (key, values) = part.split_once('=').ok_or_else(|| ChangeError::NoChange(part.to_owned()))?;
            let values = || values.split(',').map(str::trim).filter(|value| !value.is_empty());
            let number = |value: &str| value.parse().map_err(|_| ChangeError::NoNumber(value.to_owned()));
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
                    let old = batch_size.ok_or(ChangeError::UnknownBatch)?;
                    let new = values().next().map(number).transpose()?.filter(|&new| new > 0);
                    change.batch = Some((old, new.ok_or(ChangeError::NoBatch)?));
                }
                other => return Err(ChangeError::UnknownKey(other.to_owned())),
            }
        }
        Ok(change)
    }
}

/// Reason why a text is not a change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// A part has no `=`.
    #[error("{0} is not a change: {HOW}")]
    NoChange(String),
    /// A value must be a whole number.
    #[error("{0} is not a whole number: {HOW}")]
    NoNumber(String),
    /// The new batch size is absent or 0.
    #[error("batch needs a number: {HOW}")]
    NoBatch,
    /// The program's batch size is unknown, so it cannot be changed. The text may be valid for another program.
    #[error("the batch size of the program is unknown: none of its arguments is an input")]
    UnknownBatch,
    /// There is no change with this name.
    #[error("{0} cannot be changed: {HOW}")]
    UnknownKey(String),
}

/// Syntax of a change, for error messages.
const HOW: &str =
    "write rematerialize=SCOPE,..., donate=NUMBER,..., batch=SIZE or without=BUFFER,..., separated by semicolons.";

/// Memory in use for part of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Buffer in the memory.
    pub buffer: BufferIndex,
    /// Size in bytes.
    pub bytes: u64,
    /// Index of the first event at which the memory is in use.
    pub start: usize,
    /// Index of the first event at which the memory is free again. The number of events if nothing frees the memory.
    pub end: usize,
}

/// Data for what-if estimates of a program's main memory. Built once per program, because most of the work is the
/// classification of the buffers.
#[derive(Debug)]
pub struct WhatIf {
    classifier: Arc<Classifier>,
    /// Memory in use without changes.
    taken: Vec<Taken>,
    classes: Vec<Class>,
    /// Scope of each entry of `taken`.
    scopes: Vec<ScopeIndex>,
    events: usize,
    /// Events at which the program is in each scope, by scope index.
    stays: Vec<Stay>,
    readers: Readers,
}

/// Indices of the events at which a program is in a scope.
#[derive(Clone, Debug, Default)]
struct Stay {
    forward: Vec<usize>,
    /// Events of the backward pass and of its recomputations.
    backward: Vec<usize>,
}

/// A scope to recompute, including all scopes below it.
struct Again {
    /// True for each included scope, by scope index.
    has: Vec<bool>,
    stay: Stay,
}

impl WhatIf {
    /// Prepares the estimates of a program. Returns `None` if the program uses no main memory.
    pub fn new(classifier: &Arc<Classifier>) -> Option<WhatIf> {
        let program = classifier.program();
        let space = program.space(MAIN)?;
        // Memory that is always in use is included even if no heap has events.
        let events = space.heap.as_ref().map_or(0, |heap| heap.instructions.len()).max(1);
        let residents = program.residents(space);
        let temporaries = space.heap.iter().flat_map(|heap| &heap.lifetimes).map(|&lifetime| program.live(lifetime));
        let (mut taken, mut classes, mut scopes) = (Vec::new(), Vec::new(), Vec::new());
        for live in residents.chain(temporaries) {
            scopes.push(program.scope_index(live.buffer));
            classes.push(classifier.classify(space, &live).class);
            let (start, end) = live.lifetime.map_or((0, events), |it| (it.start, it.end.unwrap_or(events)));
            taken.push(Taken { buffer: live.buffer, bytes: live.bytes, start, end });
        }
        let (stays, readers) = (stays(program, space), Readers::of(program));
        let classifier = Arc::clone(classifier);
        Some(WhatIf { classifier, taken, classes, scopes, events, stays, readers })
    }

    fn program(&self) -> &ProgramMemory {
        self.classifier.program()
    }

    fn heap(&self) -> Option<&Heap> {
        self.program().space(MAIN)?.heap.as_ref()
    }

    /// Returns the peak in bytes without changes.
    pub fn peak_bytes(&self) -> u64 {
        self.program().space(MAIN).map_or(0, SpaceMemory::peak_bytes)
    }

    /// Returns the peak in bytes after a change.
    pub fn peak_with(&self, change: &Change) -> u64 {
        let mut changes = vec![0_i128; self.events + 1];
        self.each_with(change, |taken| {
            for (at, bytes) in [(taken.start, i128::from(taken.bytes)), (taken.end, -i128::from(taken.bytes))] {
                if let Some(change) = changes.get_mut(at) {
                    *change += bytes;
                }
            }
        });
        most(&changes)
    }

    /// Returns the memory in use after a change. Recomputed activations appear twice, once before they are freed and
    /// once after they are recomputed.
    pub fn taken_with(&self, change: &Change) -> Vec<Taken> {
        let mut found = Vec::with_capacity(self.taken.len());
        self.each_with(change, |taken| found.push(taken));
        found
    }

    fn each_with(&self, change: &Change, mut look: impl FnMut(Taken)) {
        let module = &self.program().module;
        // Compares the instruction first, because a comparison by name must build the buffer's name.
        let made_by = |name: &str| module.index_of(module.instruction(name.split('{').next().unwrap_or(name))?);
        let without: Vec<_> = change.without.iter().map(|name| (made_by(name), name)).collect();
        let shared = self.results_of(&change.donated);
        let again: Vec<Again> = change.rematerialized.iter().map(|scope| self.again(scope)).collect();
        // Returns the first entry that includes a scope.
        let again = |scope: ScopeIndex| again.iter().find(|again| again.has.get(scope) == Some(&true));
        let again: Vec<Option<&Again>> = (0..self.stays.len()).map(again).collect();
        for ((taken, &class), &scope) in self.taken.iter().zip(&self.classes).zip(&self.scopes) {
            let made_by = || self.program().assignment.buffers.get(taken.buffer)?.instruction;
            let is_without =
                without.iter().any(|(by, name)| *by == made_by() && self.program().name(taken.buffer) == **name);
            if is_without || shared.contains(&taken.buffer) {
                continue;
            }
            let taken = Taken { bytes: self.bytes_at(taken, class, change.batch), ..*taken };
            let again = again.get(scope).copied().flatten().filter(|_| class == Class::Activation);
            match again.and_then(|again| self.left(&taken, again)) {
                Some((left, again)) => {
                    look(Taken { end: left, ..taken });
                    look(Taken { start: again, ..taken });
                }
                None => look(taken),
            }
        }
    }

    /// Returns the batch size per device: the most frequent first dimension of the inputs, weighted by bytes. Returns
    /// `None` if no argument is known to be an input.
    pub fn batch_size(&self) -> Option<u64> {
        let mut sizes: FxHashMap<u64, u64> = FxHashMap::default();
        for (taken, _) in self.taken.iter().zip(&self.classes).filter(|(_, class)| **class == Class::Input) {
            if let Some(&first) = self.program().array(taken.buffer).and_then(|array| array.dimensions.first()) {
                let sum = sizes.entry(first).or_default();
                *sum = sum.saturating_add(taken.bytes);
            }
        }
        sizes.into_iter().max_by_key(|&(size, bytes)| (bytes, size)).map(|(size, _)| size).filter(|&size| size > 1)
    }

    /// Returns the scopes whose activations are alive at the peak, most bytes first.
    pub fn scopes(&self) -> Vec<String> {
        let at = self.heap().map_or(0, |heap| heap.peak_event);
        let paths = self.program().paths();
        let mut sums: std::collections::BTreeMap<&str, u64> = std::collections::BTreeMap::new();
        for ((taken, class), scope) in self.taken.iter().zip(&self.classes).zip(&self.scopes) {
            if *class == Class::Activation && taken.start <= at && at < taken.end {
                let sum = sums.entry(paths.name(*scope)).or_default();
                *sum = sum.saturating_add(taken.bytes);
            }
        }
        let mut sums: Vec<(&str, u64)> = sums.into_iter().filter(|(scope, _)| !scope.is_empty()).collect();
        base::sort::sort_by(&mut sums, |a, b| b.1.cmp(&a.1));
        sums.into_iter().map(|(scope, _)| scope.to_owned()).collect()
    }

    /// Returns the temporary values alive at the peak, largest first.
    pub fn largest(&self) -> Vec<LiveBuffer> {
        let main = self.program().space(MAIN).into_iter();
        let live = main.flat_map(|space| self.program().live_at_peak(space)).filter(|live| live.lifetime.is_some());
        let mut live: Vec<LiveBuffer> = live.collect();
        base::sort::sort_by(&mut live, |a, b| b.bytes.cmp(&a.bytes));
        live
    }

    /// Returns the name of a buffer.
    pub fn name(&self, buffer: BufferIndex) -> String {
        self.program().name(buffer)
    }

    /// Returns the results that would reuse the memory of donated arguments. For each argument, this is the first
    /// result that has the argument's type and shape and shares no memory.
    fn results_of(&self, donated: &[i64]) -> FxHashSet<BufferIndex> {
        let allocations = &self.program().assignment.allocations;
        let mut found: FxHashSet<BufferIndex> = FxHashSet::default();
        for number in donated {
            let is_argument = |of: &&crate::Allocation| of.parameter == Some(*number) && !of.is_output;
            let Some(argument) = allocations.iter().find(is_argument) else { continue };
            let residents = self.program().space(MAIN).map(|space| space.residents.as_slice()).unwrap_or_default();
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

    /// Returns the bytes of a buffer at another batch size.
    fn bytes_at(&self, taken: &Taken, class: Class, batch: Option<(u64, u64)>) -> u64 {
        let Some((old, new)) = batch.filter(|(old, _)| *old > 0) else { return taken.bytes };
        let keeps = matches!(class, Class::Parameter | Class::OptimizerState | Class::Gradient | Class::Constant);
        let Some(array) = self.program().array(taken.buffer).filter(|_| !keeps) else { return taken.bytes };
        let is_like_a_parameter = self.classifier.is_like_a_parameter(array);
        // If the batch dimension is merged with others, it varies slowest among them.
        let divides = |(place, size): (usize, &u64)| *size == old || (place == 0 && *size > 0 && size % old == 0);
        let Some(place) = array.dimensions.iter().enumerate().position(divides).filter(|_| !is_like_a_parameter) else {
            return taken.bytes;
        };
        let mut scaled = array.clone();
        if let Some(size) = scaled.dimensions.get_mut(place) {
            *size = (u128::from(*size) * u128::from(new) / u128::from(old)).try_into().unwrap_or(u64::MAX);
        }
        let linear = u128::from(taken.bytes) * u128::from(new) / u128::from(old);
        // If the tiles of the layout explain the current size, they also determine the new size.
        let tiled = tiled_bytes(array).filter(|&bytes| bytes == taken.bytes).and_then(|_| tiled_bytes(&scaled));
        tiled.unwrap_or_else(|| linear.try_into().unwrap_or(u64::MAX))
    }

    /// Returns the event at which an activation would be freed, and the event at which it would be recomputed. Returns `None`
    /// if the activation is kept.
    fn left(&self, taken: &Taken, again: &Again) -> Option<(usize, usize)> {
        if self.readers.of_buffer(taken.buffer).any(|reader| again.has.get(reader) != Some(&true)) {
            return None;
        }
        let before_end = again.stay.forward.partition_point(|&at| at < taken.end);
        let left = *again.stay.forward.get(before_end.checked_sub(1)?)?;
        let again = *again.stay.backward.get(again.stay.backward.partition_point(|&at| at <= taken.start))?;
        (taken.start <= left && left + 1 < again && again < taken.end).then_some((left + 1, again))
    }

    /// Returns the scope with this name, including all scopes below it.
    fn again(&self, name: &str) -> Again {
        let names = self.program().paths().names();
        let has: Vec<bool> = names.iter().map(|scope| is_below(scope, name)).collect();
        let mut stay = Stay::default();
        for (_, part) in has.iter().zip(&self.stays).filter(|(has, _)| **has) {
            stay.forward.extend(&part.forward);
            stay.backward.extend(&part.backward);
        }
        stay.forward.sort();
        stay.backward.sort();
        Again { has, stay }
    }
}

/// Returns the events in each scope, by scope index.
fn stays(program: &ProgramMemory, space: &SpaceMemory) -> Vec<Stay> {
    let paths = program.paths();
    let mut found = vec![Stay::default(); paths.names().len()];
    let reached = space.heap.iter().flat_map(|heap| &heap.reached).enumerate();
    for (event, instruction) in reached.filter_map(|(event, instruction)| Some((event, (*instruction)?))) {
        let (Some(pass), Some(stay)) = (paths.pass(instruction), found.get_mut(paths.scope(instruction))) else {
            continue;
        };
        let list = if pass == Pass::Forward { &mut stay.forward } else { &mut stay.backward };
        list.push(event);
    }
    found
}

/// Returns the maximum of the bytes in use, from the change at each event.
fn most(changes: &[i128]) -> u64 {
    // After the last event, memory that nothing frees is still in use.
    let in_program = changes.split_last().map_or(changes, |(_, before)| before);
    let sums = in_program.iter().scan(0_i128, |sum, change| {
        *sum += change;
        Some(*sum)
    });
    u64::try_from(sums.max().unwrap_or(0)).unwrap_or(u64::MAX)
}

/// Returns true if a scope is the same as another scope or is inside it.
fn is_below(scope: &str, of: &str) -> bool {
    scope == of || scope.strip_prefix(of).is_some_and(|rest| rest.starts_with('/'))
}

/// Scopes of the forward pass that read each buffer.
#[derive(Debug)]
struct Readers {
    /// Sorted pairs, without duplicates.
    pairs: Vec<(BufferIndex, ScopeIndex)>,
}

impl Readers {
    fn of(program: &ProgramMemory) -> Readers {
        let (module, paths) = (&program.module, program.paths());
        let mut made_by: Vec<Option<BufferIndex>> = vec![None; module.instructions().len()];
        for (index, buffer) in program.assignment.buffers.iter().enumerate() {
            let instruction = buffer.instruction.filter(|_| buffer.shape_index.is_empty());
            if let Some(of) = instruction.and_then(|instruction| made_by.get_mut(instruction as usize)) {
                *of = Some(index);
            }
        }
        let mut pairs = Vec::new();
        for (index, instruction) in (0..).zip(module.instructions()) {
            if paths.pass(index) == Some(Pass::Forward) {
                let buffers = instruction.operands.iter().filter_map(|&it| *made_by.get(it as usize)?);
                pairs.extend(buffers.map(|buffer| (buffer, paths.scope(index))));
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        Readers { pairs }
    }

    fn of_buffer(&self, buffer: BufferIndex) -> impl Iterator<Item = ScopeIndex> {
        let from = self.pairs.partition_point(|(of, _)| *of < buffer);
        let pairs = self.pairs.get(from..).unwrap_or_default();
        pairs.iter().take_while(move |(of, _)| *of == buffer).map(|(_, scope)| *scope)
    }
}
