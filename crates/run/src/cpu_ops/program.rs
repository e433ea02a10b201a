//! Reads the relations between ops from the compiled program: the ops that use the result of an op, and the ops that
//! run the op.

use base::sort;
use rustc_hash::{FxHashMap, FxHashSet};

use hlo::{Instruction, InstructionIndex, Module};
use trace::{StrId, Trace};

/// Maximum number of instructions that are examined to find the uses of one op. Real chains of uses have only a few
/// instructions.
const MAX_VISITED: usize = 10_000;

/// Opcodes of ops that run other ops or may run foreign code.
const RUNS_OTHERS: &[&str] = &["async-start", "call", "conditional", "custom-call", "while"];

/// An op of a compiled program.
#[derive(Debug, Default)]
pub(super) struct ProgramOp {
    /// The ops that use the result of this op, by their numbers in the program.
    pub(super) users: Vec<usize>,
    /// The ops that run the computation of this op, by their numbers in the program. The list is empty for ops of the
    /// entry computation.
    pub(super) callers: Vec<usize>,
    /// The computation that contains the op. `None` if the program does not contain the op.
    pub(super) computation: Option<u32>,
    /// True if this computation is the entry computation, which runs once per program run.
    pub(super) is_entry: bool,
    /// True if the op itself computes, and runs no other ops and no foreign code.
    pub(super) is_leaf: bool,
}

/// The ops of a compiled program that have events.
#[derive(Debug, Default)]
pub(super) struct Program {
    pub(super) ops: Vec<ProgramOp>,
}

impl Program {
    /// Creates the program for the ops in `names`, which are names of ops in events. The position of a name in `names`
    /// is the number of the op.
    pub(super) fn new(trace: &Trace, module: Option<&Module>, names: &[StrId]) -> Program {
        let Some(module) = module else {
            return Program { ops: names.iter().map(|_| ProgramOp::default()).collect() };
        };
        let index = |name: &StrId| module.index_of(module.instruction(trace.text(*name))?);
        let places: Vec<Option<InstructionIndex>> = names.iter().map(index).collect();
        let numbers: FxHashMap<InstructionIndex, usize> =
            places.iter().enumerate().filter_map(|(number, place)| Some(((*place)?, number))).collect();
        let graph = Graph::new(module);
        let entry = module.entry().map(|entry| entry.id);
        let op = |place: &Option<InstructionIndex>| {
            let Some((at, instruction)) = place.and_then(|at| Some((at, module.at(at)?))) else {
                return ProgramOp::default();
            };
            let computation = instruction.computation;
            let is_entry = module.computation(computation).map(|it| it.id) == entry;
            let callers = graph.callers.get(&computation).map_or(&[][..], Vec::as_slice);
            ProgramOp {
                users: graph.users(module, at, &numbers),
                callers: callers.iter().filter_map(|caller| numbers.get(caller).copied()).collect(),
                computation: Some(computation),
                is_entry,
                is_leaf: !RUNS_OTHERS.contains(&instruction.opcode.as_str()),
            }
        };
        Program { ops: places.iter().map(op).collect() }
    }
}

/// Edges from the values of a module to their uses.
struct Graph {
    users: Vec<Vec<InstructionIndex>>,
    callers: FxHashMap<u32, Vec<InstructionIndex>>,
}

impl Graph {
    fn new(module: &Module) -> Graph {
        let mut users = vec![Vec::new(); module.instructions().len()];
        let mut callers: FxHashMap<u32, Vec<InstructionIndex>> = FxHashMap::default();
        for (at, instruction) in (0..).zip(module.instructions()) {
            for &operand in &instruction.operands {
                if let Some(users) = users.get_mut(operand as usize).filter(|users| users.last() != Some(&at)) {
                    users.push(at);
                }
            }
            for &called in &instruction.called {
                callers.entry(called).or_default().push(at);
            }
        }
        Graph { users, callers }
    }

    /// Finds the ops with events that use the result of an instruction. Follows uses through instructions without
    /// events: aliases, tuples, and ops whose events were lost. Elements of tuples are tracked separately: a use of one
    /// element is not a use of the other elements.
    fn users(
        &self,
        module: &Module,
        from: InstructionIndex,
        numbers: &FxHashMap<InstructionIndex, usize>,
    ) -> Vec<usize> {
        let mut found = Vec::new();
        let mut seen: FxHashSet<(InstructionIndex, Option<usize>)> = FxHashSet::default();
        let mut open = vec![(from, None)];
        while let Some((value, element)) = open.pop() {
            if seen.len() >= MAX_VISITED || !seen.insert((value, element)) {
                continue;
            }
            for &user in self.users.get(value as usize).into_iter().flatten() {
                let Some(instruction) = module.at(user) else { continue };
                match (numbers.get(&user), element) {
                    (Some(&number), _) => found.push(number),
                    (None, Some(element)) if takes(instruction, element) => open.push((user, None)),
                    (None, Some(_)) => {}
                    (None, None) if instruction.is("tuple") => {
                        let places = instruction.operands.iter().enumerate();
                        let ours = places.filter(|&(_, &operand)| operand == value);
                        open.extend(ours.map(|(place, _)| (user, Some(place))));
                    }
                    (None, None) => open.push((user, None)),
                }
            }
        }
        sort::sort_by(&mut found, Ord::cmp);
        found.dedup();
        found
    }
}

/// Returns true if an instruction takes element `element` out of a tuple.
fn takes(instruction: &Instruction, element: usize) -> bool {
    instruction.is("get-tuple-element") && usize::try_from(instruction.attributes().tuple_index) == Ok(element)
}
