//! Reads HLO text, which XLA prints and writes into the folder of `--xla_dump_to`. The result is the same [`Module`] as
//! for a proto.
//!
//! ```text
//! HloModule jit_f, is_scheduled=true, input_output_alias={ {0}: (1, {}, may-alias) }, num_partitions=8
//!
//! FileNames
//! 1 "train.py"
//! ...
//!
//! %add (a: f32[], b: f32[]) -> f32[] {
//!   %a = f32[] parameter(0)
//!   %b = f32[] parameter(1)
//!   ROOT %sum = f32[] add(%a, %b), metadata={op_name="jit(f)/add" stack_frame_id=3}
//! }
//!
//! ENTRY %main (...) -> ... {
//! ```
//!
//! The reader makes one pass over the lines. The reader skips text that it does not understand, and then sets the flag
//! [`Module::damaged`]. The reader ignores text after the HLO module, such as the buffer assignment. HLO text has no
//! ids, so the reader numbers the instructions.

mod asynchronous;
mod attributes;
mod frames;
mod instruction;
mod scan;
mod shape;

use rustc_hash::FxHashMap;

use self::attributes::aliasing;
use self::instruction::{Draft, owned};
use self::scan::{Scan, inside, int};
use crate::derived;
use crate::instruction::{ComputationIndex, InstructionIndex};
use crate::module::{Assignment, Computation, Module};

/// First bytes of HLO text.
const START: &[u8] = b"HloModule";

/// First bytes of texts that may follow a module.
const FOLLOWS: [&[u8]; 3] = [START, b"BufferAssignment:", b"HloLiveRange"];

/// Returns true if these are the first bytes of HLO text.
pub fn is_text(bytes: &[u8]) -> bool {
    bytes.starts_with(START)
}

/// Reads a module of HLO text.
pub(crate) fn module(text: &[u8]) -> Module {
    let mut reader = Reader::default();
    let mut lines = Lines { text, at: 0 };
    reader.header(lines.next().unwrap_or_default());
    while let Some(line) = lines.next() {
        if FOLLOWS.iter().any(|start| line.starts_with(start)) {
            break;
        }
        if reader.open.is_some() {
            if closes(line) {
                reader.close();
            } else if !line.trim_ascii().is_empty() {
                reader.instruction(lines.statement(line));
            }
        } else if line.trim_ascii_end().ends_with(b"{") {
            reader.computation(line);
        } else {
            reader.frames.line(line);
        }
    }
    reader.finish()
}

/// Returns true if a line ends a computation. If a bracket is part of a value, other text follows it.
fn closes(line: &[u8]) -> bool {
    line.strip_prefix(b"}").is_some_and(|rest| rest.trim_ascii().is_empty() || rest.starts_with(b", execution_thread="))
}

struct Lines<'a> {
    text: &'a [u8],
    /// Position of the next line.
    at: usize,
}

impl<'a> Lines<'a> {
    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest();
        let line = rest.get(..memchr::memchr(b'\n', rest).unwrap_or(rest.len()))?;
        self.at += line.len() + 1;
        (!rest.is_empty()).then_some(line)
    }

    /// Returns `line`, which was read last, together with the lines that continue it, because values may contain line
    /// breaks.
    fn statement(&mut self, line: &'a [u8]) -> &'a [u8] {
        let start = self.at.saturating_sub(line.len() + 1);
        loop {
            let rest = self.rest();
            let next = rest.get(..memchr::memchr(b'\n', rest).unwrap_or(rest.len())).unwrap_or_default();
            if rest.is_empty() || closes(next) || instruction::starts(next) {
                return self.text.get(start..self.at).unwrap_or(line).trim_ascii_end();
            }
            self.next();
        }
    }
}

/// A computation that is being read.
#[derive(Default)]
struct Open<'a> {
    name: &'a [u8],
    is_entry: bool,
    drafts: Vec<Draft<'a>>,
}

#[derive(Default)]
struct Reader<'a> {
    module: Module,
    /// True if the order of the instructions is the execution order.
    is_scheduled: bool,
    open: Option<Open<'a>>,
    frames: frames::Tables,
    /// Calling instructions, each with the names of the computations that it calls.
    calls: Vec<(InstructionIndex, Vec<&'a [u8]>)>,
    computations: FxHashMap<&'a [u8], ComputationIndex>,
    /// Instructions of the computation that was read last, by name.
    local: FxHashMap<&'a [u8], InstructionIndex>,
}

impl<'a> Reader<'a> {
    fn header(&mut self, line: &'a [u8]) {
        let mut scan = Scan(line);
        scan.eat(START);
        scan.blanks();
        self.module.name = owned(scan.until(|byte| matches!(byte, b',' | b' ')));
        // Replicas and partitions are both zero if the header has neither. If the header has only one of them, the other is 1.
        let mut assignment = Assignment::default();
        while let Some((key, value)) = scan.pair() {
            match key {
                b"is_scheduled" => self.is_scheduled = value == b"true",
                b"replica_count" => {
                    (assignment.replicas, assignment.partitions) = (int(value), assignment.partitions.max(1))
                }
                b"num_partitions" => {
                    (assignment.replicas, assignment.partitions) = (assignment.replicas.max(1), int(value))
                }
                b"input_output_alias" => {
                    let entries =
                        aliasing(inside(value)).filter(|(output, _, part)| output.len() <= 1 && part.is_empty());
                    let pairs = entries.map(|(output, argument, _)| (output.first().copied().unwrap_or(0), argument));
                    self.module.aliases.extend(pairs);
                }
                _ => {}
            }
        }
        base::sort::sort_by_key(&mut self.module.aliases, |alias| alias.1);
        self.module.assignment = assignment;
        scan.blanks();
        self.module.damaged |= !scan.0.is_empty();
    }

    /// Reads the first line of a computation: `ENTRY %main (x: f32[8]) -> f32[8] {`.
    fn computation(&mut self, line: &'a [u8]) {
        let mut scan = Scan(line);
        let is_entry = scan.eat(b"ENTRY ");
        scan.blanks();
        scan.eat(b"%");
        let name = scan.until(|byte| matches!(byte, b' ' | b'(' | b'{'));
        self.open = Some(Open { name, is_entry, drafts: Vec::new() });
    }

    fn instruction(&mut self, line: &'a [u8]) {
        let draft = instruction::read(line);
        self.module.damaged |= draft.as_ref().is_none_or(|draft| draft.damaged);

        if let (Some(open), Some(draft)) = (&mut self.open, draft) {
            open.drafts.push(draft);
        }
    }

    /// Adds the open computation to the module.
    fn close(&mut self) {
        let Some(mut open) = self.open.take() else { return };
        asynchronous::expand(&mut open.drafts, &mut self.module, &mut self.calls);
        let first = index(self.module.instructions.len());
        let this = index(self.module.computations.len());
        self.local.clear();
        self.local.extend(open.drafts.iter().map(|draft| draft.name).zip(first..));
        // Without the word `ROOT`, the last instruction is the root.
        let mut root =
            first.checked_add(index(open.drafts.len())).and_then(|end| end.checked_sub(1)).filter(|&it| it >= first);
        for (at, draft) in (first..).zip(open.drafts) {
            if draft.is_root {
                root = Some(at);
            }
            let mut instruction = draft.instruction;
            instruction.operands = draft.operands.iter().filter_map(|name| self.local.get(name).copied()).collect();
            self.module.damaged |= instruction.operands.len() < draft.operands.len();
            instruction.computation = this;
            instruction.id = i64::from(at) + 1;
            if !draft.called.is_empty() {
                self.calls.push((at, draft.called));
            }
            self.module.instructions.push(instruction);
        }
        self.computations.entry(open.name).or_insert(this);
        if open.is_entry {
            self.module.entry.get_or_insert(this);
        }
        let instructions = first..index(self.module.instructions.len());
        let (id, name) = (i64::from(this) + 1, owned(open.name));
        self.module.computations.push(Computation {
            id,
            name,
            instructions,
            root,
            elementwise: false,
            is_fused: false,
        });
    }

    fn finish(mut self) -> Module {
        self.module.damaged |= self.open.is_some();
        self.close();
        let Reader { mut module, calls, computations, frames, is_scheduled, .. } = self;
        if is_scheduled {
            module.schedule = (0..index(module.instructions.len())).collect();
        }
        for (at, names) in calls {
            let Some(instruction) = module.instructions.get_mut(at as usize) else { continue };
            let bare = names.iter().map(|name| name.strip_prefix(b"%").unwrap_or(name));
            instruction.called.extend(bare.filter_map(|name| computations.get(name).copied()));
            module.damaged |= instruction.called.len() < names.len();
        }
        derived::set(&mut module);
        if let Some(frames) = frames.finish() {
            derived::set_stack_frames(&mut module, frames);
        }
        module
    }
}

fn index(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
