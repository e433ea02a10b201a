//! A table is read through a product with a one-hot matrix.

use super::draft::{Draft, equals, lacks};
use super::numbers::{Numbers, shown};
use super::{Rule, Verdict};
use base::{Ps, format};
use metrics::{elements, op_shapes};
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule = Rule { id: "one_hot_lookup", title: "One-hot matrices take much of the time", check };

/// Share of the op time from which the finding is a note (ours).
const NOTE_PERCENT: f64 = 5.0;
/// Share of the op time from which the finding is a warning (ours: a lookup takes less than a percent).
const WARNING_PERCENT: f64 = 20.0;
/// Fewest elements of a matrix for which a lookup is cheaper (ours: a small one-hot matrix is a fair way to select).
const FEWEST_ELEMENTS: f64 = 1e6;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let ops = &numbers.context.analysis.ops;
    if ops.rows.is_empty() {
        return lacks("no device op ran. Capture while the program runs on the device.");
    }
    let text = |text| ops.text(numbers.trace, text);
    let shapes = |op: &metrics::Op| op_shapes(text(op.expression));
    let one_hot = ops.rows.iter().filter(|op| text(op.framework_path).contains("one_hot"));
    let large = one_hot.filter_map(|op| {
        let shape = shapes(op)?.result;
        (elements(&shape) >= FEWEST_ELEMENTS).then_some((op, shape))
    });
    let Some((op, shape)) = large.max_by_key(|(op, _)| op.self_time) else { return Verdict::Fine };
    let is_user = |it: &&metrics::Op| shapes(it).is_some_and(|found| found.operands.contains(&shape));
    let users: Ps = ops.rows.iter().filter(|it| !std::ptr::eq(*it, op)).filter(is_user).map(|it| it.self_time).sum();
    let share = numbers.op_percent(op.self_time + users);
    if share < NOTE_PERCENT {
        return Verdict::Fine;
    }
    let costs = share >= WARNING_PERCENT;
    let severity = if costs { FindingSeverity::Warning } else { FindingSeverity::Note };
    let message = format!(
        "{} writes a one-hot matrix, {}. Writing it and the ops that read it take {} of the op time. Nearly all of its elements are \
         zero.",
        numbers.op_with_source(op),
        shown(&shape),
        format::percent(share)
    );
    Draft::new(severity, Confidence::Medium, &format!("A one-hot matrix takes {} of the op time", format::percent(share)), message)
        .remedy(
            "Read the rows of the table directly: table[ids] or jnp.take(table, ids, axis=0). For the loss, pick the logits of the \
             labels with jnp.take_along_axis instead of multiplying by a one-hot matrix.",
        )
        .passed("one_hot_percent", share, if costs { WARNING_PERCENT } else { NOTE_PERCENT })
        .at_stake(numbers.of_window(share))
        .link("ops", &equals("hlo_op_name", text(op.name)))
        .fires()
}
