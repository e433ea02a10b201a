//! The colours of ops that tell what they gained or lost against another run, as the comparison matched them.

use std::collections::BTreeMap;

use compare::{ChangeKind, Comparison};
use timeline::{Change, Paint};
use trace::Trace;

/// The colour of each kind of event of `trace`, which is of the run of `comparison` with this index; none of what is no op. The baseline is
/// coloured by what the first other run made of its ops.
pub fn colours(trace: &Trace, comparison: &Comparison, run: u32) -> Vec<Option<Paint>> {
    let is_baseline = run == comparison.baseline;
    let other = (0..).zip(&comparison.runs).map(|(index, _)| index).find(|index| *index != comparison.baseline);
    let of = if is_baseline { other.unwrap_or(run) } else { run };
    let mut changes: BTreeMap<&str, Change> = BTreeMap::new();
    for op in comparison.ops.iter().filter(|op| op.run == of) {
        let name = if is_baseline { op.baseline_name.as_ref().unwrap_or(&op.name) } else { &op.name };
        let [time, baseline] = op.time_us;
        let change = match op.change {
            ChangeKind::New if is_baseline => continue,
            ChangeKind::Gone if !is_baseline => continue,
            ChangeKind::New | ChangeKind::Gone => Change::Alone,
            ChangeKind::Same => Change::Same,
            _ if time > baseline => Change::Lost,
            _ if time < baseline => Change::Gained,
            _ => Change::Same,
        };
        changes.insert(name, change);
    }
    let colour = |kind: &trace::EventKind| {
        let args = trace.args.get(kind.args);
        let name = trace.text(kind.name);
        let known = changes.get(trace.text(args.hlo_op)).or_else(|| changes.get(name));
        let is_op = !args.hlo_op.is_empty() || known.is_some();
        is_op.then(|| Paint::of_change(known.copied().unwrap_or(Change::Same)))
    };
    trace.events.kinds().iter().map(colour).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::TraceBuilder;

    #[test]
    fn an_op_has_the_colour_of_its_change_in_both_runs() {
        let mut b = TraceBuilder::new();
        let line = b.line("/device:GPU:0", "Stream #1");
        for name in ["slow", "fast", "new", "old", "else"] {
            b.event(line, name, 0, 1);
        }
        let trace = b.build();
        let op = |name: &str, change, time_us| compare::Change {
            run: 1,
            name: name.to_owned(),
            change,
            time_us,
            ..compare::Change::default()
        };
        let renamed =
            compare::Change { baseline_name: Some("old".to_owned()), ..op("fast", ChangeKind::Faster, [1.0, 2.0]) };
        let comparison = Comparison {
            runs: vec![compare::ComparedRun::default(); 2],
            ops: vec![op("slow", ChangeKind::Slower, [3.0, 2.0]), renamed, op("new", ChangeKind::New, [1.0, 0.0])],
            ..Comparison::default()
        };
        let paint = |change| Some(Paint::of_change(change));
        let (lost, gained, alone) = (paint(Change::Lost), paint(Change::Gained), paint(Change::Alone));
        assert_eq!(colours(&trace, &comparison, 1), [lost, gained, alone, None, None]);
        assert_eq!(colours(&trace, &comparison, 0), [lost, None, None, gained, None]);
    }
}
