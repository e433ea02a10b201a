//! Matches the instructions of two programs, computation by computation.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::entry;
use super::hashes::{self, get};
use super::identity::mix;
use super::neighbours::{self, Keyed, Precision};
use super::side::{Level, Side, computations};
use crate::instruction::{ComputationIndex, Instruction, InstructionIndex};

/// Instruction or computation without a partner.
const FREE: u32 = u32::MAX;

/// Pairs of instructions and of computations.
#[derive(Debug)]
pub(super) struct Matching {
    to_b: Vec<u32>,
    to_a: Vec<u32>,
    computation_of_a: Vec<u32>,
    computation_of_b: Vec<u32>,
}

/// Two computations whose instructions are to be matched, and the pairs of parameters that follow from their callers.
struct Task {
    a: ComputationIndex,
    b: ComputationIndex,
    pairs: Vec<(InstructionIndex, InstructionIndex)>,
}

impl Matching {
    /// Matches the instructions of two programs.
    pub(super) fn of(a: &Side<'_>, b: &Side<'_>) -> Matching {
        let free = |len: usize| vec![FREE; len];
        let mut matching = Matching {
            to_b: free(a.module.instructions().len()),
            to_a: free(b.module.instructions().len()),
            computation_of_a: free(a.module.computations().len()),
            computation_of_b: free(b.module.computations().len()),
        };
        let mut tasks = VecDeque::new();
        let index = |side: &Side<'_>| {
            let wanted = entry(side.module)?;
            computations(side.module).find(|(_, it)| std::ptr::eq(*it, wanted)).map(|(index, _)| index)
        };
        if let (Some(entry_a), Some(entry_b)) = (index(a), index(b)) {
            let pairs = arguments(a, b, entry_a, entry_b);
            matching.pair(&mut tasks, entry_a, entry_b, || pairs);
        }
        matching.work(a, b, &mut tasks);
        // Computations that the entry does not reach.
        let dead = |side: &Side<'_>, entry: Option<ComputationIndex>| {
            let reached = reached(side, entry);
            let is_dead = |at: &ComputationIndex| reached.get(*at as usize) == Some(&false);
            let indices = computations(side.module).map(|(at, _)| at).filter(is_dead);
            let mut found: Keyed = indices.map(|at| (get(&side.contents, at), at)).collect();
            found.sort_unstable();
            found
        };
        let (dead_a, dead_b) = (dead(a, index(a)), dead(b, index(b)));
        neighbours::groups(&dead_a, &dead_b, |group_a, group_b| {
            for (&(_, at_a), &(_, at_b)) in group_a.iter().zip(group_b) {
                matching.pair(&mut tasks, at_a, at_b, || by_number(a, b, at_a, at_b));
            }
        });
        matching.work(a, b, &mut tasks);
        matching
    }

    /// Returns the partner of an instruction of `a`.
    pub(super) fn of_a(&self, a: InstructionIndex) -> Option<InstructionIndex> {
        Some(get32(&self.to_b, a)).filter(|&it| it != FREE)
    }

    /// Returns the partner of an instruction of `b`.
    pub(super) fn of_b(&self, b: InstructionIndex) -> Option<InstructionIndex> {
        Some(get32(&self.to_a, b)).filter(|&it| it != FREE)
    }

    /// Returns true if two computations are a pair.
    pub(super) fn are_paired(&self, a: ComputationIndex, b: ComputationIndex) -> bool {
        get32(&self.computation_of_a, a) == b && b != FREE
    }

    /// Pairs two computations, unless one of them already has a partner.
    fn pair(
        &mut self,
        tasks: &mut VecDeque<Task>,
        a: ComputationIndex,
        b: ComputationIndex,
        pairs: impl FnOnce() -> Vec<(InstructionIndex, InstructionIndex)>,
    ) {
        let places = (self.computation_of_a.get_mut(a as usize), self.computation_of_b.get_mut(b as usize));
        if let (Some(of_a), Some(of_b)) = places
            && (*of_a, *of_b) == (FREE, FREE)
        {
            (*of_a, *of_b) = (b, a);
            tasks.push_back(Task { a, b, pairs: pairs() });
        }
    }

    /// Matches the instructions of all tasks, and of the computations that matched instructions call.
    fn work(&mut self, a: &Side<'_>, b: &Side<'_>, tasks: &mut VecDeque<Task>) {
        while let Some(task) = tasks.pop_front() {
            Pass { a, b, matching: self, queue: Vec::new(), scratch: Default::default(), precision: Precision::Path }
                .run(&task);
            let Some(computation) = a.module.computation(task.a) else { continue };
            for at_a in computation.instructions.clone() {
                let Some(at_b) = self.of_a(at_a) else { continue };
                let (Some(in_a), Some(in_b)) = (a.module.at(at_a), b.module.at(at_b)) else { continue };
                if in_a.called.is_empty() {
                    continue;
                }
                let bound = self.bound(in_a, in_b);
                for (&called_a, &called_b) in in_a.called.iter().zip(&in_b.called) {
                    self.pair(tasks, called_a, called_b, || match &bound {
                        Some(bound) => parameters(a, b, called_a, called_b, bound),
                        None => by_number(a, b, called_a, called_b),
                    });
                }
            }
        }
    }

    /// Returns pairs of parameter numbers for the computations that two matched fusions or calls run. Two parameters are a
    /// pair if their operands are a pair.
    fn bound(&self, a: &Instruction, b: &Instruction) -> Option<Vec<(u32, u32)>> {
        if !["fusion", "call", "async-start", "map"].contains(&a.opcode.as_str()) {
            return None;
        }
        let mut places: FxHashMap<InstructionIndex, VecDeque<u32>> = FxHashMap::default();
        for (place, &operand) in (0..).zip(&b.operands) {
            places.entry(operand).or_default().push_back(place);
        }
        let operands = (0..).zip(&a.operands);
        let pair = |(place, &operand): (u32, &InstructionIndex)| {
            let partner = self.of_a(operand)?;
            Some((place, places.get_mut(&partner)?.pop_front()?))
        };
        Some(operands.filter_map(pair).collect())
    }
}

/// Returns true for each computation that the entry computation calls, directly or indirectly.
fn reached(side: &Side<'_>, entry: Option<ComputationIndex>) -> Vec<bool> {
    let mut reached = vec![false; side.module.computations().len()];
    let mut next: Vec<ComputationIndex> = entry.into_iter().collect();
    while let Some(at) = next.pop() {
        if let (Some(place @ false), Some(it)) = (reached.get_mut(at as usize), side.module.computation(at)) {
            *place = true;
            next.extend(side.module.instructions_of(it).iter().flat_map(|it| &it.called));
        }
    }
    reached
}

fn get32(list: &[u32], index: u32) -> u32 {
    list.get(index as usize).copied().unwrap_or(FREE)
}

/// Converts pairs of parameter numbers to pairs of parameters.
fn parameters(
    a: &Side<'_>,
    b: &Side<'_>,
    in_a: ComputationIndex,
    in_b: ComputationIndex,
    numbers: &[(u32, u32)],
) -> Vec<(InstructionIndex, InstructionIndex)> {
    let pair = |&(of_a, of_b): &(u32, u32)| Some((a.parameter(in_a, of_a)?, b.parameter(in_b, of_b)?));
    numbers.iter().filter_map(pair).collect()
}

/// Returns the pairs of parameters with the same number.
fn by_number(
    a: &Side<'_>,
    b: &Side<'_>,
    in_a: ComputationIndex,
    in_b: ComputationIndex,
) -> Vec<(InstructionIndex, InstructionIndex)> {
    let both = a.parameters(in_a).iter().zip(b.parameters(in_b));
    both.filter_map(|(of_a, of_b)| Some(((*of_a)?, (*of_b)?))).collect()
}

/// Returns pairs of the arguments of two programs. Arguments are matched by name, because an additional argument
/// changes the numbers of all arguments after it. If an argument has no name, all arguments are matched by number,
/// provided that both programs have the same number of arguments.
fn arguments(
    a: &Side<'_>,
    b: &Side<'_>,
    in_a: ComputationIndex,
    in_b: ComputationIndex,
) -> Vec<(InstructionIndex, InstructionIndex)> {
    let names = |side: &Side<'_>, of: ComputationIndex| {
        let mut found: Keyed = side
            .parameters(of)
            .iter()
            .flatten()
            .map(|&at| (side.identity(at).path, at))
            .filter(|it| it.0 != 0)
            .collect();
        found.sort_unstable();
        found
    };
    let (names_a, names_b) = (names(a, in_a), names(b, in_b));
    let mut pairs = Vec::new();
    neighbours::pairs(&names_a, &names_b, |at_a, at_b| pairs.push((at_a, at_b)));
    let (all_a, all_b) = (a.parameters(in_a).len(), b.parameters(in_b).len());
    if all_a == all_b && (names_a.len() < all_a || names_b.len() < all_b || pairs.is_empty()) {
        return by_number(a, b, in_a, in_b);
    }
    pairs
}

/// Matches the instructions of two computations.
struct Pass<'p, 'm> {
    a: &'p Side<'m>,
    b: &'p Side<'m>,
    matching: &'p mut Matching,
    /// Pairs whose neighbours are not yet matched.
    queue: Vec<(InstructionIndex, InstructionIndex)>,
    scratch: (Keyed, Keyed),
    /// Details of neighbours that must be equal in a match.
    precision: Precision,
}

/// How instructions with the same key are matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ties {
    /// The instructions are not matched.
    Skip,
    /// The instructions are matched in their order, if both sides have the same number of them.
    InOrder,
}

impl Pass<'_, '_> {
    /// Compares framework paths first, because an additional layer changes the structure around other layers but not
    /// their paths.
    fn run(&mut self, task: &Task) {
        let (Some(in_a), Some(in_b)) = (self.a.module.computation(task.a), self.b.module.computation(task.b)) else {
            return;
        };
        for &(at_a, at_b) in &task.pairs {
            self.link(at_a, at_b);
        }
        let roots = in_a.root.zip(in_b.root);
        let opcode = |side: &Side<'_>, at: InstructionIndex| side.module.at(at).map(|it| it.opcode.clone());
        let roots = roots.filter(|&(at_a, at_b)| opcode(self.a, at_a) == opcode(self.b, at_b));
        let is_tuple = roots.is_some_and(|(at_a, _)| opcode(self.a, at_a).as_deref() == Some("tuple"));
        if let Some((at_a, at_b)) = roots.filter(|_| is_tuple) {
            self.link(at_a, at_b);
        }
        let ranges = (in_a.instructions.clone(), in_b.instructions.clone());
        for precision in [Precision::Path, Precision::Position] {
            self.precision = precision;
            for level in Level::ALL {
                if self.is_done(&ranges) {
                    return;
                }
                self.around_all(&ranges, level);
                if level != Level::SameOpcode && !self.is_done(&ranges) {
                    self.flow(task, level, &ranges);
                }
                self.surroundings(level, &ranges);
                self.around_all(&ranges, level);
            }
            if let Some((at_a, at_b)) = roots {
                self.link(at_a, at_b);
            }
        }
    }

    /// Matches instructions that depend on the same values, or that are used in the same way.
    fn flow(&mut self, task: &Task, level: Level, ranges: &Ranges) {
        let (a, b) = (self.a, self.b);
        let [of_a, of_b] = [true, false].map(|is_a| {
            let keyed =
                task.pairs.iter().map(|&(at_a, at_b)| (if is_a { at_a } else { at_b }, mix(u64::from(at_b), 13)));
            keyed.collect::<FxHashMap<_, _>>()
        });
        let down_a = hashes::down(a, task.a, level, &of_a);
        let down_b = hashes::down(b, task.b, level, &of_b);
        let local = |start: u32, list: &[u64], at: u32| at.checked_sub(start).map(|place| get(list, place));
        let (start_a, start_b) = (ranges.0.start, ranges.1.start);
        if level == Level::Equal && self.precision == Precision::Path {
            let refined_a = hashes::refined(a, task.a, &down_a);
            let refined_b = hashes::refined(b, task.b, &down_b);
            let key_a = |at| local(start_a, &refined_a, at);
            let key_b = |at| local(start_b, &refined_b, at);
            self.by_path(level, ranges, Ties::Skip, key_a, key_b);
            self.by_key(level, ranges, Ties::InOrder, key_a, key_b);
        }
        let key_a = |at| local(start_a, &down_a, at);
        let key_b = |at| local(start_b, &down_b, at);
        let (of_a, of_b) = (a.at(level), b.at(level));
        let up_a = |at| Some(mix(get(&of_a.label, at), get(&of_a.up, at)));
        let up_b = |at| Some(mix(get(&of_b.label, at), get(&of_b.up, at)));
        match self.precision {
            Precision::Path => {
                self.by_path(level, ranges, Ties::Skip, key_a, key_b);
                self.by_path(level, ranges, Ties::Skip, up_a, up_b);
            }
            Precision::Position => {
                self.by_key(level, ranges, Ties::Skip, key_a, key_b);
                self.by_key(level, ranges, Ties::Skip, up_a, up_b);
                self.by_key(level, ranges, Ties::Skip, |at| Some(get(&of_a.far, at)), |at| Some(get(&of_b.far, at)));
            }
        }
    }

    /// Matches instructions with the same path and the same operands and users, or with the same path alone.
    fn surroundings(&mut self, level: Level, ranges: &Ranges) {
        let (a, b) = (self.a.at(level), self.b.at(level));
        let ties = if self.precision == Precision::Path { Ties::Skip } else { Ties::InOrder };
        self.by_path(level, ranges, Ties::Skip, |at| Some(get(&a.far, at)), |at| Some(get(&b.far, at)));
        self.by_path(level, ranges, Ties::Skip, |at| Some(get(&a.near, at)), |at| Some(get(&b.near, at)));
        self.by_path(level, ranges, ties, |at| Some(get(&a.label, at)), |at| Some(get(&b.label, at)));
    }

    fn is_done(&self, (range_a, range_b): &Ranges) -> bool {
        range_a.clone().all(|at| self.matching.of_a(at).is_some())
            || range_b.clone().all(|at| self.matching.of_b(at).is_some())
    }

    /// Matches instructions with the same key and framework path.
    fn by_path(
        &mut self,
        level: Level,
        ranges: &Ranges,
        ties: Ties,
        key_a: impl Fn(InstructionIndex) -> Option<u64>,
        key_b: impl Fn(InstructionIndex) -> Option<u64>,
    ) {
        let (a, b) = (self.a, self.b);
        let with_path = |side: &Side<'_>, at: InstructionIndex, key: Option<u64>| {
            Some(side.identity(at).path).filter(|&path| path != 0).and_then(|path| Some(mix(key?, path)))
        };
        self.by_key(level, ranges, ties, |at| with_path(a, at, key_a(at)), |at| with_path(b, at, key_b(at)));
    }

    /// Matches instructions with the same key, and then their neighbours.
    fn by_key(
        &mut self,
        level: Level,
        (range_a, range_b): &Ranges,
        ties: Ties,
        key_a: impl Fn(InstructionIndex) -> Option<u64>,
        key_b: impl Fn(InstructionIndex) -> Option<u64>,
    ) {
        let keyed = |range: &Range, is_free: &dyn Fn(u32) -> bool, key: &dyn Fn(u32) -> Option<u64>| {
            let mut found: Keyed =
                range.clone().filter(|&at| is_free(at)).filter_map(|at| Some((key(at)?, at))).collect();
            found.sort_unstable();
            found
        };
        let list_a = keyed(range_a, &|at| self.matching.of_a(at).is_none(), &key_a);
        let list_b = keyed(range_b, &|at| self.matching.of_b(at).is_none(), &key_b);
        neighbours::pairs(&list_a, &list_b, |at_a, at_b| self.link(at_a, at_b));
        self.drain(level);
        if ties == Ties::InOrder {
            neighbours::groups(&list_a, &list_b, |group_a, group_b| {
                if group_a.len() == group_b.len() {
                    self.in_order(level, group_a, group_b);
                }
            });
        }
    }

    /// Matches two lists in their order. Matches the neighbours of each pair before the next pair, so that connected
    /// instructions get connected partners.
    fn in_order(&mut self, level: Level, list_a: &[(u64, u32)], list_b: &[(u64, u32)]) {
        let mut rest = list_b.iter();
        for &(_, at_a) in list_a {
            if self.matching.of_a(at_a).is_some() {
                continue;
            }
            let Some(&(_, at_b)) = rest.find(|it| self.matching.of_b(it.1).is_none()) else { return };
            self.link(at_a, at_b);
            self.drain(level);
        }
    }

    /// Pairs two instructions, unless one of them already has a partner.
    fn link(&mut self, a: InstructionIndex, b: InstructionIndex) {
        let places = (self.matching.to_b.get_mut(a as usize), self.matching.to_a.get_mut(b as usize));
        if let (Some(of_a), Some(of_b)) = places
            && (*of_a, *of_b) == (FREE, FREE)
        {
            (*of_a, *of_b) = (b, a);
            self.queue.push((a, b));
        }
    }

    /// Matches the neighbours of all pairs of a computation.
    fn around_all(&mut self, (range_a, _): &Ranges, level: Level) {
        self.queue.clear();
        let pairs = range_a.clone().rev().filter_map(|at| Some((at, self.matching.of_a(at)?)));
        self.queue.extend(pairs.collect::<Vec<_>>());
        self.drain(level);
    }

    /// Matches the neighbours of new pairs until there are no new pairs.
    fn drain(&mut self, level: Level) {
        while let Some((at_a, at_b)) = self.queue.pop() {
            let (Some(in_a), Some(in_b)) = (self.a.module.at(at_a), self.b.module.at(at_b)) else { continue };
            let most = self.precision;
            for precision in [Precision::Path, Precision::Position].into_iter().filter(|&it| it <= most) {
                let (mut of_a, mut of_b) = std::mem::take(&mut self.scratch);
                let (a, b) = (self.a, self.b);
                let is_free_a = |at: InstructionIndex| self.matching.of_a(at).is_none();
                let is_free_b = |at: InstructionIndex| self.matching.of_b(at).is_none();
                neighbours::operands(a, in_a, level, precision, is_free_a, &mut of_a);
                if !of_a.is_empty() {
                    neighbours::operands(b, in_b, level, precision, is_free_b, &mut of_b);
                    neighbours::pairs(&of_a, &of_b, |a, b| self.link(a, b));
                }
                let is_free_a = |at: InstructionIndex| self.matching.of_a(at).is_none();
                let is_free_b = |at: InstructionIndex| self.matching.of_b(at).is_none();
                neighbours::users(a, at_a, level, precision, is_free_a, &mut of_a);
                if !of_a.is_empty() {
                    neighbours::users(b, at_b, level, precision, is_free_b, &mut of_b);
                    neighbours::pairs(&of_a, &of_b, |a, b| self.link(a, b));
                }
                self.scratch = (of_a, of_b);
            }
        }
    }
}

/// Instructions of a computation.
type Range = std::ops::Range<InstructionIndex>;
/// Instructions of two computations.
type Ranges = (Range, Range);
