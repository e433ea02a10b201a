//! A table is read through a product with a one-hot matrix.
//!
//! An op whose framework path contains `one_hot` writes a matrix of at least a million elements, and this op and the ops that
//! read its result take much of the op time: note from 5 %, warning from 20 % (ours: a lookup takes less than a percent). The
//! ops that read it are those with an operand of the same shape. Confidence medium. Remedy: `table[ids]`.

use super::draft::{Draft, equals, lacks};
use super::numbers::{Numbers, shown};
use super::{Rule, Verdict};
use base::{Ps, format};
use metrics::{elements, op_shapes};
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule =
    Rule { id: "one_hot_lookup", title: "One-hot matrices take much of the time", ..Rule::checked_by(check) };

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
        .link(View::Ops, &equals("hlo_op_name", text(op.name)))
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, tpu_steps};
    use report::FindingSeverity::{Note, Warning};

    #[test]
    fn fires_above_its_limit() {
        let trace = |one_hot: i64, reader: i64, rows: i64| {
            tpu_steps(12, move |b, at| {
                let matrix = format!("f32[{rows},50304]");
                let texts = [
                    format!("%fusion.1 = {matrix}{{1,0}} fusion(s32[{rows}]{{0}} %ids), kind=kLoop, calls=%f"),
                    format!(
                        "%dot.2 = f32[{rows},128]{{1,0}} dot({matrix}{{1,0}} %fusion.1, f32[50304,128]{{1,0}} %table)"
                    ),
                    "%tanh.3 = f32[8]{0} tanh(f32[8]{0} %x)".to_owned(),
                ];
                let texts = texts.map(|text| b.trace_mut().strings.intern(&text));
                let path = b.trace_mut().strings.intern("jit(f)/jit(_one_hot)/eq");
                let line = b.line("/device:TPU:0", "XLA Ops");
                let mut now = at;
                let spans = [("fusion.1", one_hot), ("dot.2", reader), ("tanh.3", 1000 - one_hot - reader)];
                for ((name, time), text) in spans.into_iter().zip(texts) {
                    b.event(line, name, now, time).args(|args| {
                        args.long_name = text;
                        if name == "fusion.1" {
                            args.tf_op = path;
                        }
                    });
                    now += time;
                }
            })
        };
        let found = finding(trace(100, 300, 64), &RULE);
        assert_eq!((found.severity, found.title.as_str()), (Warning, "A one-hot matrix takes 40.0 % of the op time"));
        assert!(found.message.starts_with("fusion.1 writes a one-hot matrix, f32[64,50304]."), "{}", found.message);
        assert_eq!(finding(trace(50, 100, 64), &RULE).severity, Note);
        fine(trace(10, 30, 64), &RULE);
        fine(trace(100, 300, 16), &RULE);
    }
}
