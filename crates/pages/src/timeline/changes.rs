//! Colours ops by the change of their time relative to another run, as matched by the comparison.

use compare::Comparison;
use timeline::{Paint, Source};

pub use crate::op_changes::OpChanges;

/// Returns true if most ops of the first two runs of a comparison have a match, so that colours can show their changes.
pub fn tells_apart(comparison: &Comparison) -> bool {
    OpChanges::telling(comparison, comparison.baseline).is_some()
}

/// Returns the colour of each kind of event in `source`, the source of the run of `changes`. Returns `None` for events
/// that are not ops.
pub fn colours(source: Source<'_>, changes: &OpChanges) -> Vec<Option<Paint>> {
    let trace = source.trace;
    let colour = |(index, kind): (usize, &trace::EventKind)| {
        let is_op = source.paint(index).family().is_some();
        changes.of(trace.text(trace.args.get(kind.args).hlo_op), trace.text(kind.name), is_op).map(Paint::of_change)
    };
    trace.events.kinds().iter().enumerate().map(colour).collect()
}
