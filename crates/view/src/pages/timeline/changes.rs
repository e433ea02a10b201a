//! The colours of ops that show what they gained or lost against another run, as the comparison matched them.

use compare::Comparison;
use timeline::{Paint, Source};

pub use crate::op_changes::OpChanges;

/// Whether the ops of the first two runs of a comparison can be distinguished by what they gained or lost: most have a partner.
pub fn tells_apart(comparison: &Comparison) -> bool {
    OpChanges::telling(comparison, comparison.baseline).is_some()
}

/// The colour of each kind of event of `source`, which is of the run that `changes` are of; none of what is no op.
pub fn colours(source: Source<'_>, changes: &OpChanges) -> Vec<Option<Paint>> {
    let trace = source.trace;
    let colour = |(index, kind): (usize, &trace::EventKind)| {
        let is_op = source.paint(index).family().is_some();
        changes.of(trace.text(trace.args.get(kind.args).hlo_op), trace.text(kind.name), is_op).map(Paint::of_change)
    };
    trace.events.kinds().iter().enumerate().map(colour).collect()
}
