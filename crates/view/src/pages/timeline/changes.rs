//! The colours of ops that tell what they gained or lost against another run, as the comparison matched them.

use compare::Comparison;
use timeline::{Paint, Source};

use crate::op_changes::OpChanges;

/// Whether the ops of the first two runs of a comparison can be distinguished by what they gained or lost: most have a partner.
pub fn tells_apart(comparison: &Comparison) -> bool {
    OpChanges::telling(comparison, comparison.baseline).is_some()
}

/// The colour of each kind of event of `source`, which is of the run of `comparison` with this index; none of what is no op. The baseline is
/// coloured by what the first other run made of its ops.
pub fn colours(source: Source<'_>, comparison: &Comparison, run: u32) -> Vec<Option<Paint>> {
    let changes = OpChanges::new(comparison, run);
    let trace = source.trace;
    let colour = |(index, kind): (usize, &trace::EventKind)| {
        let is_op = source.paint(index).family().is_some();
        changes.of(trace.text(trace.args.get(kind.args).hlo_op), trace.text(kind.name), is_op).map(Paint::of_change)
    };
    trace.events.kinds().iter().enumerate().map(colour).collect()
}
