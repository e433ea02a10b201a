//! A loop computes rows that are padding.
//!
//! A loop gathers rows of an array by index, block by block, computes with them, and scatters the results by the same
//! indices. The gather limits its indices to the last row, and the scatter does not: entries behind the last row are
//! padding, whose results are dropped. All devices together have at least 1.5 times as many entries as there are rows
//! (ours). This is the case if rows are split unevenly over devices, and each part is padded to the largest. The impact
//! is the time of the ops of such loops, without the share of the rows. Severity: warning from 10 % of the op time (JAX
//! guide, overheads), critical from 50 %. Confidence: medium, because the capture contains the number of the entries,
//! but not their values: they may also repeat rows. Remedy: split the rows evenly. The rule is skipped if the compiled
//! program is missing.

use super::draft::{Draft, equals};
use super::limits::OVERHEAD_PERCENT;
use super::numbers::{Numbers, code_line, shown};
use super::{Needs, Rule, Verdict};
use base::{Ps, format};
use hlo::{ComputationIndex, Instruction, Module, row_indices};
use metrics::Op;
use report::{Confidence, View};

pub(super) static RULE: Rule = Rule {
    id: "padded_rows",
    title: "A loop computes rows that are padding",
    needs: Needs::AllOps,
    ..Rule::checked_by(check)
};

/// Minimum ratio of entries to rows.
const FEWEST_ENTRIES: f64 = 1.5;

/// A loop over blocks of row indices.
struct Loop<'a> {
    module: &'a Module,
    /// Loop that runs the body.
    instruction: &'a Instruction,
    /// Array that contains the rows.
    rows: &'a Instruction,
    /// Indices of one device.
    indices: &'a Instruction,
    body: ComputationIndex,
    /// Number of rows.
    num_rows: f64,
    /// Number of devices that split the rows.
    devices: f64,
}

impl Loop<'_> {
    fn entries(&self) -> f64 {
        self.devices * self.indices.shape.elements()
    }
}

fn check(numbers: &Numbers<'_>) -> Verdict {
    if let Some(verdict) = numbers.lacks_program() {
        return verdict;
    }
    let ops = &numbers.context.analysis.ops;
    let mut found: Vec<(f64, Ps, &Op, Loop<'_>)> = Vec::new();
    for (id, module) in numbers.programs() {
        for it in loops(module) {
            let is_inside = |op: &&Op| {
                let name = ops.text(numbers.trace, op.name);
                op.program_id == Some(id)
                    && module.instruction(name).is_some_and(|inside| inside.computation == it.body)
            };
            let inside: Vec<&Op> = ops.rows.iter().filter(is_inside).collect();
            let time: Ps = inside.iter().map(|op| op.self_time).sum();
            if let Some(largest) = inside.into_iter().max_by_key(|op| op.self_time) {
                found.push((numbers.op_percent(time) * (1.0 - it.num_rows / it.entries()), time, largest, it));
            }
        }
    }
    let lost: f64 = found.iter().map(|(lost, ..)| lost).sum();
    let share = numbers.op_percent(found.iter().map(|(_, time, ..)| *time).sum::<Ps>());
    let largest = found.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let Some((_, _, op, it)) = largest.filter(|_| lost >= OVERHEAD_PERCENT.good) else { return Verdict::Fine };
    let (severity, limit) = OVERHEAD_PERCENT.severity(lost);
    let count = |number: f64| format::count(number.round() as u64);
    let ratio = format::number(it.entries() / it.num_rows);
    let source = it.module.source_of(it.instruction).map_or(String::new(), |line| format!(" at {}", code_line(&line)));
    let own = it.indices.shape.elements();
    let total = if it.devices > 1.0 {
        format!("{} entries, {} on {} devices", count(own), count(it.entries()), count(it.devices))
    } else {
        format!("{} entries", count(own))
    };
    let message = format!(
        "The loop{source} gathers and updates rows of {} by the indices {}, a block in each iteration. The indices have {total}, for {} \
         rows: {ratio} times as many. The gather limits the indices to the last row, so entries behind it are padding, and their \
         results are dropped. Such loops take {} of the op time. The largest op is {}.",
        shown(&it.rows.shape.text(false)),
        shown(&it.indices.shape.text(false)),
        count(it.num_rows),
        format::percent(share),
        numbers.op_with_source(op),
    );
    let title = format!(
        "A loop{source} computes {ratio} times as many rows as there are: {} of the op time is padding",
        format::percent(lost)
    );
    Draft::new(severity, Confidence::Medium, &title, message)
        .remedy(
            "Split the rows evenly: sort them (by cell, or along a space-filling curve), and give each device the same number, instead of \
             padding each part to the largest. If rows move between parts, balance the parts again from time to time. On one device, use \
             several sizes of blocks (buckets).",
        )
        .passed("padding_percent", lost, limit)
        .passed("entries_per_row", it.entries() / it.num_rows, FEWEST_ENTRIES)
        .at_stake(numbers.of_window(lost))
        .link(View::Ops, &equals("hlo_op_name", ops.text(numbers.trace, op.name)))
        .fires()
}

/// Returns the loops of a program that compute padded rows.
fn loops(module: &Module) -> Vec<Loop<'_>> {
    let scatters: Vec<_> = module
        .instructions()
        .iter()
        .filter(|it| it.is("scatter"))
        .filter_map(|it| Some((it, row_indices(module, it).filter(|indices| indices.clamp.is_none())?)))
        .collect();
    let mut found: Vec<Loop<'_>> = Vec::new();
    for gather in module.instructions().iter().filter(|it| it.is("gather") && !scatters.is_empty()) {
        let Some((rows, indices)) = module.operand(gather, 0).zip(row_indices(module, gather)) else { continue };
        let Some(&num_rows) = rows.shape.array().and_then(|array| array.dimensions.first()) else { continue };
        if !indices.is_block || indices.clamp != i64::try_from(num_rows).ok().map(|rows| rows - 1) {
            continue;
        }
        let index = module.index_of(indices.array);
        let same = |scatter: &Instruction, by: &hlo::RowIndices<'_>| {
            let target = scatter.shape.first_array().and_then(|array| array.dimensions.first());
            module.index_of(by.array) == index && target == Some(&num_rows)
        };
        let Some((scatter, _)) = scatters.iter().find(|(scatter, by)| same(scatter, by)) else { continue };
        let body = indices.array.computation;
        let is_loop = |it: &&Instruction| it.is("while") && it.called.first() == Some(&body);
        let Some(instruction) = module.instructions().iter().find(is_loop) else { continue };
        let devices = if is_summed(module, scatter) { num_devices(module) } else { 1.0 };
        let it = Loop { module, instruction, rows, indices: indices.array, body, num_rows: num_rows as f64, devices };
        if it.entries() >= FEWEST_ENTRIES * it.num_rows && !found.iter().any(|known| known.body == body) {
            found.push(it);
        }
    }
    found
}

fn num_devices(module: &Module) -> f64 {
    module.num_devices() as f64
}

/// Returns true if the devices add up arrays of the scatter's shape: each device then computes a part of the rows.
fn is_summed(module: &Module, scatter: &Instruction) -> bool {
    let Some(own) = scatter.shape.first_array() else { return false };
    let mut sums = module.instructions().iter().filter(|it| it.opcode.starts_with("all-reduce"));
    sums.any(|it| it.shape.arrays().iter().any(|array| array.dimensions == own.dimensions))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_steps};
    use crate::testing_programs::{add_text_program, op_of};
    use report::FindingSeverity::{Critical, Warning};
    use trace::Trace;

    /// Builds a loop over `blocks` blocks of 32 indices into 3072 rows. Its product takes `time` of 1000 us. `clamp` limits the
    /// indices of the gather.
    fn steps(blocks: u32, clamp: &'static str, time: i64) -> Trace {
        let table = format!("s32[{blocks},32]");
        let state = format!("(s32[], f32[3072,3], {table}, f32[3072,3])");
        let text = format!(
            "HloModule jit_f\n\nadd {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}}\n\n\
             body {{\n  p = {state} parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n  \
             sums = f32[3072,3] get-tuple-element(p), index=1\n  table = {table} get-tuple-element(p), index=2\n  \
             rows = f32[3072,3] get-tuple-element(p), index=3\n  zero = s32[] constant(0)\n  one = s32[] constant(1)\n  \
             s = s32[1,32] dynamic-slice(table, i, zero), dynamic_slice_sizes={{1,32}}\n  b = s32[32] bitcast(s)\n  \
             last = s32[] constant(3071)\n  lasts = s32[32] broadcast(last), dimensions={{}}\n  low = s32[32] {clamp}(b, lasts)\n  \
             at = s32[32,1] bitcast(low)\n  all = s32[32,1] bitcast(b)\n  \
             gather.1 = f32[32,3] gather(rows, at), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, \
             index_vector_dim=1, slice_sizes={{1,3}}\n  force.1 = f32[32,3] tanh(gather.1)\n  \
             scatter.1 = f32[3072,3] scatter(sums, all, force.1), update_window_dims={{1}}, inserted_window_dims={{0}}, \
             scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=add\n  next = s32[] add(i, one)\n  \
             ROOT t = {state} tuple(next, scatter.1, table, rows)\n}}\n\n\
             condition {{\n  q = {state} parameter(0)\n  j = s32[] get-tuple-element(q), index=0\n  n = s32[] constant({blocks})\n  \
             ROOT lt = pred[] compare(j, n), direction=LT\n}}\n\n\
             ENTRY main {{\n  x = {state} parameter(0)\n  ROOT while.1 = {state} while(x), condition=condition, body=body\n}}\n"
        );
        tpu_steps(12, |b, at| {
            if at == 0 {
                add_text_program(b, 7, &text);
            }
            op_of(b, 7, ("force.1", "loop fusion"), at, time);
            op_of(b, 7, ("other.1", "loop fusion"), at + time, 1000 - time);
        })
    }

    #[test]
    fn fires_if_there_are_many_more_entries_than_rows() {
        // 304 blocks of 32 are 9728 entries.
        let found = finding(steps(304, "minimum", 1000), &RULE);
        assert_eq!(found.severity, Critical);
        assert!(
            found.title.ends_with("computes 3.17 times as many rows as there are: 68.4 % of the op time is padding"),
            "{}",
            found.title
        );
        assert!(
            found.message.contains("The indices have 9\u{202f}728 entries, for 3\u{202f}072 rows"),
            "{}",
            found.message
        );
        assert_eq!(finding(steps(304, "minimum", 200), &RULE).severity, Warning);
        fine(steps(304, "minimum", 100), &RULE);
    }

    #[test]
    fn indices_without_padding_may_repeat_rows() {
        // Without the limit, all entries are rows, and some rows come several times.
        fine(steps(304, "add", 1000), &RULE);
        // A few entries more fill the last block.
        fine(steps(100, "minimum", 1000), &RULE);
    }
}
