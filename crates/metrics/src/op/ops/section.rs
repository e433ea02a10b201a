//! Builds the op statistics section of the report.

use super::{Op, Ops, Text, shapes};
use base::{Ps, sort};
use report::{OpStatistics, TopOp};
use trace::Trace;

const TOP_OPS: usize = 50;

/// Number of operands whose shapes the section lists, largest first. Fusions and tuples may have hundreds.
const MOST_OPERANDS: usize = 4;

/// Returns the largest operands, in the order in which the instruction lists them.
fn largest(operands: Vec<String>) -> Vec<String> {
    let mut by_size: Vec<usize> = (0..operands.len()).collect();
    sort::sort_by(&mut by_size, |&a, &b| {
        let size = |at: usize| operands.get(at).map_or(0.0, |shape| shapes::elements(shape));
        size(b).total_cmp(&size(a)).then(a.cmp(&b))
    });
    by_size.truncate(MOST_OPERANDS);
    let kept = |(at, shape): (usize, String)| by_size.contains(&at).then_some(shape);
    operands.into_iter().enumerate().filter_map(kept).collect()
}

/// Builds the section. Returns `None` if no op ran. `bound_by` returns the limiting resource of an op.
pub(crate) fn section(
    trace: &Trace,
    ops: &Ops,
    bound_by: &dyn Fn(&Op) -> Option<&'static str>,
) -> Option<OpStatistics> {
    if ops.rows.is_empty() {
        return None;
    }
    let share = |part: Ps, whole: Ps| {
        (whole > Ps::ZERO).then(|| (100.0 * part.as_ps() as f64 / whole.as_ps() as f64).min(100.0))
    };
    let known: Ps = ops.rows.iter().filter(|op| op.cost_source.is_some()).map(|op| op.self_time).sum();
    let text = |text: Text| Some(ops.text(trace, text).to_owned()).filter(|text| !text.is_empty());
    let shapes = |op: &Op| shapes::of_expression(ops.text(trace, op.expression)).unwrap_or_default();
    let top = ops.rows.iter().take(TOP_OPS).map(|op| (op, shapes(op))).map(|(op, shapes)| TopOp {
        name: ops.text(trace, op.name).to_owned(),
        category: ops.text(trace, op.category).to_owned(),
        program_id: text(op.program),
        framework_op: text(op.framework_path).map(|path| path.trim_end_matches(':').to_owned()),
        source: text(op.source),
        function: text(op.function),
        result_shape: Some(shapes.result).filter(|shape| !shape.is_empty()),
        num_operands: shapes.operands.len() as u64,
        operand_shapes: largest(shapes.operands),
        occurrences: op.occurrences,
        executions: Some(op.executions),
        total_time_us: op.total.as_us(),
        self_time_us: op.self_time.as_us(),
        self_time_percent: share(op.self_time, ops.device_time),
        busy_self_time_percent: share(op.self_time, ops.op_time),
        flops: op.flops,
        bytes_accessed: op.bytes,
        cost_source: op.cost_source.map(|source| source.label().to_owned()),
        bound_by: bound_by(op).map(str::to_owned),
    });
    Some(OpStatistics {
        num_ops: ops.rows.len() as u64,
        device_time_us: ops.device_time.as_us(),
        op_time_us: ops.op_time.as_us(),
        idle_time_us: ops.idle.as_us(),
        idle_percent: share(ops.idle, ops.device_time),
        known_cost_percent: share(known, ops.op_time),
        top_ops: top.collect(),
    })
}
