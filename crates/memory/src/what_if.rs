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

use rustc_hash::{FxHashMap, FxHashSet};

use crate::assignment::BufferIndex;
use crate::class::{Class, Classifier};
use crate::heap::Heap;
use crate::paths::{Pass, ScopeIndex};
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
    classifier: Arc<Classifier>,
    /// What is there, as it is.
    taken: Vec<Taken>,
    classes: Vec<Class>,
    /// The scope of each of them.
    scopes: Vec<ScopeIndex>,
    events: usize,
    /// When the program is in each scope.
    stays: Vec<Stay>,
    readers: Readers,
}

/// The events at which a program is in a scope, by index.
#[derive(Clone, Debug, Default)]
struct Stay {
    forward: Vec<usize>,
    /// Events of the backward pass, and of what is computed again for it.
    backward: Vec<usize>,
}

/// A scope that would be computed again, with all scopes below it.
struct Again {
    /// By number, whether a scope is one of these.
    has: Vec<bool>,
    stay: Stay,
}

impl WhatIf {
    /// Estimates of a program; `None` where it keeps nothing in the main memory.
    pub fn new(classifier: &Arc<Classifier>) -> Option<WhatIf> {
        let program = classifier.program();
        let space = program.space(MAIN)?;
        // What is there all the time is there also where no heap has events.
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

    /// The peak as it is.
    pub fn peak_bytes(&self) -> u64 {
        self.program().space(MAIN).map_or(0, SpaceMemory::peak_bytes)
    }

    /// The peak with a change.
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

    /// What is there with a change: activations that are computed again are there twice, one after the other.
    pub fn taken_with(&self, change: &Change) -> Vec<Taken> {
        let mut found = Vec::with_capacity(self.taken.len());
        self.each_with(change, |taken| found.push(taken));
        found
    }

    fn each_with(&self, change: &Change, mut look: impl FnMut(Taken)) {
        let module = &self.program().module;
        // By the instruction first: a name is made for each buffer that is looked at.
        let made_by = |name: &str| module.index_of(module.instruction(name.split('{').next().unwrap_or(name))?);
        let without: Vec<_> = change.without.iter().map(|name| (made_by(name), name)).collect();
        let shared = self.results_of(&change.donated);
        let again: Vec<Again> = change.rematerialized.iter().map(|scope| self.again(scope)).collect();
        // The first of them that each scope is in.
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

    /// The batch size of one device: the first dimension that most bytes of the inputs have; `None` where no argument is known as one.
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

    /// The scopes whose activations are alive at the peak, the one with most bytes first.
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

    /// What is alive at the peak and comes and goes, the largest first.
    pub fn largest(&self) -> Vec<LiveBuffer> {
        let main = self.program().space(MAIN).into_iter();
        let live = main.flat_map(|space| self.program().live_at_peak(space)).filter(|live| live.lifetime.is_some());
        let mut live: Vec<LiveBuffer> = live.collect();
        base::sort::sort_by(&mut live, |a, b| b.bytes.cmp(&a.bytes));
        live
    }

    /// The name of a buffer.
    pub fn name(&self, buffer: BufferIndex) -> String {
        self.program().name(buffer)
    }

    /// The results that would take the memory of donated arguments: of each the first result of its type and shape that shares with none.
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

    /// Bytes at another batch size.
    fn bytes_at(&self, taken: &Taken, class: Class, batch: Option<(u64, u64)>) -> u64 {
        let Some((old, new)) = batch.filter(|(old, _)| *old > 0) else { return taken.bytes };
        let keeps = matches!(class, Class::Parameter | Class::OptimizerState | Class::Gradient | Class::Constant);
        let Some(array) = self.program().array(taken.buffer).filter(|_| !keeps) else { return taken.bytes };
        let is_like_a_parameter = self.classifier.is_like_a_parameter(array);
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
    fn left(&self, taken: &Taken, again: &Again) -> Option<(usize, usize)> {
        if self.readers.of_buffer(taken.buffer).any(|reader| again.has.get(reader) != Some(&true)) {
            return None;
        }
        let before_end = again.stay.forward.partition_point(|&at| at < taken.end);
        let left = *again.stay.forward.get(before_end.checked_sub(1)?)?;
        let again = *again.stay.backward.get(again.stay.backward.partition_point(|&at| at <= taken.start))?;
        (taken.start <= left && left + 1 < again && again < taken.end).then_some((left + 1, again))
    }

    /// A scope of this name with those below it.
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

/// When the program is in each scope, by its number.
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

/// The most bytes that are taken at once, of what is taken more at each event.
fn most(changes: &[i128]) -> u64 {
    // Behind the last event what nothing frees is still there.
    let in_program = changes.split_last().map_or(changes, |(_, before)| before);
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

/// The scopes of the forward pass that read each buffer.
#[derive(Debug)]
struct Readers {
    /// Sorted, each once.
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
