//! Selects the listed ops of a step. If a program has too many ops, identical ops are summed before the list is cut.
//! For example, 36 layers have 36 identical fusions, each too small for the list.

use rustc_hash::FxHashMap;

use crate::op::ops::{Op, Ops, Text};
use base::{Ps, framework_path, sort};
use trace::Trace;

/// Maximum number of listed ops. With more ops, reports would be too large to share.
const MOST_OPS: usize = 300;

/// Number of ops that are compared with each other. The ops with the most time come first.
const MOST_SUMMED: usize = 20_000;

/// An op, or identical ops of repeated layers.
pub(super) struct ListedOp {
    /// Rows of [`Ops`], sorted by descending time.
    pub rows: Vec<usize>,
    /// Framework path of the ops. If their paths differ, each number is replaced by `*`. `None` if there is no path.
    pub path: Option<String>,
}

/// Returns the ops that the section lists, sorted by descending self time.
pub(super) fn listed(trace: &Trace, ops: &Ops) -> Vec<ListedOp> {
    let path_of = |op: &Op| path(ops.text(trace, op.framework_path));
    // Rows are sorted by time.
    let mut listed: Vec<ListedOp> = Vec::new();
    if ops.rows.len() <= MOST_OPS {
        listed.extend(ops.rows.iter().enumerate().map(|(row, op)| ListedOp { rows: vec![row], path: path_of(op) }));
        return listed;
    }
    let mut index: FxHashMap<Equal<'_>, usize> = FxHashMap::default();
    for (row, op) in ops.rows.iter().enumerate().take(MOST_SUMMED) {
        let at = *index.entry(Equal::of(trace, ops, op)).or_insert_with(|| {
            listed.push(ListedOp { rows: Vec::new(), path: path_of(op) });
            listed.len() - 1
        });
        if let Some(it) = listed.get_mut(at) {
            it.rows.push(row);
            let other = ops.text(trace, op.framework_path).trim_end_matches(':');
            if it.path.as_deref().is_some_and(|path| path != other) {
                it.path = Some(framework_path::layered(other));
            }
        }
    }
    let time = |it: &ListedOp| it.rows.iter().filter_map(|&row| Some(ops.rows.get(row)?.self_time)).sum::<Ps>();
    let mut timed: Vec<(Ps, ListedOp)> = listed.into_iter().map(|it| (time(&it), it)).collect();
    sort::sort_by(&mut timed, |a, b| b.0.cmp(&a.0).then_with(|| a.1.rows.cmp(&b.1.rows)));
    timed.into_iter().take(MOST_OPS).map(|(_, it)| it).collect()
}

fn path(text: &str) -> Option<String> {
    Some(text.trim_end_matches(':').to_owned()).filter(|path| !path.is_empty())
}

/// Properties that identical ops of repeated layers share.
#[derive(PartialEq, Eq, Hash)]
struct Equal<'a> {
    family: &'static str,
    module: Text,
    layered_path: String,
    /// Hash of the op's expression. If the trace contains no expression, `name` is used instead.
    fingerprint: Option<String>,
    name: &'a str,
}

impl<'a> Equal<'a> {
    fn of(trace: &'a Trace, ops: &'a Ops, op: &Op) -> Equal<'a> {
        let (expression, name) = (ops.text(trace, op.expression), ops.text(trace, op.name));
        let layered_path = framework_path::layered(ops.text(trace, op.framework_path).trim_end_matches(':'));
        let fingerprint = (!expression.is_empty()).then(|| hlo::fingerprint(expression));
        let name = match &fingerprint {
            Some(_) => "",
            // A number after a general name does not identify an op.
            None if layered_path.is_empty() => name,
            None => framework_path::name_without_number(name),
        };
        Equal { family: op.family.label(), module: op.module, layered_path, fingerprint, name }
    }
}

#[cfg(test)]
mod tests {
    use crate::analyse;
    use run::{Run, Settings};
    use trace::TraceBuilder;

    /// Returns the section for a program of `layers` layers. Each layer has three ops, of 3, 2 and 1 us.
    fn step_ops(layers: i64) -> report::StepOps {
        let mut b = TraceBuilder::new();
        let line = b.line("/device:GPU:0", "Stream #1(Compute)");
        for layer in 0..layers {
            for (at, (op, us)) in [("dot", 3), ("add", 2), ("mul", 1)].into_iter().enumerate() {
                let name = format!("{op}.{}", 3 * layer + at as i64);
                let path = format!("jit(f)/layer_{layer}/mlp/{op}");
                b.event(line, &name, 10 * layer + 3 * at as i64, us).hlo_op(&name).tf_op(&path);
            }
        }
        let run = Run { trace: b.build(), ..Run::default() };
        analyse(&run, &Settings::default()).profile.step_ops.unwrap()
    }

    #[test]
    fn equal_ops_of_layers_are_summed_where_there_are_too_many() {
        let few = step_ops(100);
        assert_eq!((few.ops.len(), few.ops[0].instances), (300, 1));
        assert_eq!(few.ops[0].framework_op.as_deref(), Some("jit(f)/layer_0/mlp/dot"));
        let many = step_ops(101);
        let shown: Vec<(&str, u64, f64)> =
            many.ops.iter().map(|op| (op.framework_op.as_deref().unwrap(), op.instances, op.self_time_us)).collect();
        assert_eq!(
            shown,
            [
                ("jit(f)/layer_*/mlp/dot", 101, 303.0),
                ("jit(f)/layer_*/mlp/add", 101, 202.0),
                ("jit(f)/layer_*/mlp/mul", 101, 101.0)
            ]
        );
        assert_eq!((many.num_ops, many.op_time_us), (303, 606.0));
    }
}
