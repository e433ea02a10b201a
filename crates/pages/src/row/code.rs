//! Code of an op: its source line, its instruction with operands, and the call stack that created
//! it.

use super::op::Op;
use crate::program_graph;
use base::{format, source_line};
use document::{Block, Fact, Facts, Grid, GridCell};

/// Columns of op tables that the code block already shows.
pub(super) const COLUMNS: [&str; 5] = ["hlo_op_name", "operation", "source_info", "tf_op_name", "hlo_op_expression"];

/// Number of call stack frames that are visible before the user opens the fold. The fold contains frames up to
/// [`MOST_FRAMES`].
const FIRST_FRAMES: usize = 8;
const MOST_FRAMES: usize = 50;
/// Maximum number of operands that are listed.
const MOST_OPERANDS: usize = 32;
/// Maximum number of instructions of a fusion that are listed.
const MOST_INSTRUCTIONS: usize = 100;

impl<'a> Op<'a> {
    /// Returns source line, instruction, operands and call stack, each if it is known.
    pub(super) fn code(&self) -> Vec<Block> {
        let (source, path, expression) =
            (self.text(self.op.source), self.text(self.op.framework_path), self.text(self.op.expression));
        let source = self.why_no_source().unwrap_or(source);
        let fact = |label: &str, text: &str| {
            let value = format::printable(text);
            (!text.is_empty()).then(|| Fact { label: label.to_owned(), value, ..Fact::default() })
        };
        let facts = [fact("Source", source), fact("Framework op", path), fact("HLO", expression)];
        let mut blocks = vec![titled("", facts.into_iter().flatten().collect())];
        blocks.push(titled("Operands", self.operands()));
        blocks.retain(|block| !matches!(block, Block::Facts(Facts { facts, .. }) if facts.is_empty()));
        blocks.extend(self.stack());
        blocks.extend(self.fused());
        blocks
    }

    fn why_no_source(&self) -> Option<&'static str> {
        if !self.text(self.op.source).is_empty() {
            return None;
        }
        let ops = &self.context.analysis.ops;
        Some(if ops.rows.iter().all(|op| self.text(op.source).is_empty()) {
            "None: this profile does not record the lines of ops."
        } else if self.text(self.op.framework_path).is_empty() {
            "None: XLA added this op itself."
        } else {
            "None: the program records the framework path of this op, but not its line."
        })
    }

    /// Lists the operands with their shapes.
    fn operands(&self) -> Vec<Fact> {
        let Some((module, instruction)) = self.instruction() else { return Vec::new() };
        let fact = |it: &hlo::Instruction| Fact {
            label: format::shorten(&format::printable(&it.name), 60),
            value: format::shorten(&format::printable(&it.shape.text(true)), 200),
            definition: module.source_of(it).unwrap_or_default(),
        };
        module.operands(instruction).take(MOST_OPERANDS).map(fact).collect()
    }

    /// Lists the whole call stack of the source line, including libraries. The outer frames of a deep
    /// stack are folded.
    fn stack(&self) -> Vec<Block> {
        let trace = self.context.trace();
        let stated = trace.text(trace.args.get(self.op.args).source_stack);
        let mut stack: Vec<String> = source_line::frames(stated).rev().map(str::to_owned).collect();
        if stack.is_empty() {
            stack = self.instruction().map(|(module, instruction)| module.stack_of(instruction)).unwrap_or_default();
        }
        if stack.len() < 2 {
            return Vec::new();
        }
        stack.truncate(MOST_FRAMES);
        let grid = |title: &str, frames: &[String]| {
            let rows = frames.iter().map(|frame| vec![GridCell::text(&format::printable(frame))]).collect();
            let columns = vec!["Innermost first".to_owned()];
            Block::Grid(Grid { title: title.to_owned(), columns, rows })
        };
        let (inner, outer) = stack.split_at(stack.len().min(FIRST_FRAMES));
        let more = (!outer.is_empty()).then(|| Block::Fold {
            title: format::counted(outer.len() as u64, "outer frame"),
            blocks: vec![grid("", outer)],
        });
        std::iter::once(grid("Call stack", inner)).chain(more).collect()
    }

    /// Returns the instruction of the op, if the program is embedded.
    fn instruction(&self) -> Option<(&'a hlo::Module, &'a hlo::Instruction)> {
        program_graph::instruction(&self.context, self.op)
    }

    /// Lists the instructions inside a fusion, folded.
    fn fused(&self) -> Option<Block> {
        let (module, instruction) = self.instruction()?;
        let inside = hlo::fused(module, instruction);
        let shown = inside.iter().filter(|it| !it.is("parameter")).take(MOST_INSTRUCTIONS);
        let fact = |it: &hlo::Instruction| Fact {
            label: it.opcode.clone(),
            value: format::shorten(&format::printable(&hlo::expression(module, it)), 300),
            definition: module.source_of(it).unwrap_or_default(),
        };
        let facts: Vec<Fact> = shown.map(fact).collect();
        let title = format!("{} in this fusion", format::counted(facts.len() as u64, "instruction"));
        (!facts.is_empty()).then(|| Block::Fold { title, blocks: vec![titled("", facts)] })
    }
}

fn titled(title: &str, facts: Vec<Fact>) -> Block {
    Block::Facts(Facts { title: title.to_owned(), facts })
}
