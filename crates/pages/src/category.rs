//! Links from a category of ops to its rows.

use crate::Source;
use document::Link;
use metrics::family_of;
use report::View;
use trace::copies::Direction;

/// Returns a link to the rows of a category on the Kernels page. Used for earlier results, whose pages list only the data in
/// the profile.
pub(super) fn rows_of_category(category: &str) -> Option<Link> {
    Link::equal(View::Kernels, "category", category)
}

/// Returns a link to the ops of a category. If no op has this category, returns a link to the kernels.
pub(super) fn link_of_category(source: Source<'_>, category: &str) -> Option<Link> {
    let Some(context) = source.context() else { return rows_of_category(category) };
    let (ops, trace) = (&context.analysis.ops, context.trace());
    if ops.rows.iter().any(|op| ops.text(trace, op.category) == category) {
        return Link::equal(View::Ops, "category", category);
    }
    let family = family_of(category);
    let kernels = &context.analysis.kernel_stats.kernels;
    if kernels.iter().any(|kernel| kernel.family == family) {
        Link::equal(View::Kernels, "family", family.label())
    } else if ops.rows.iter().any(|op| op.family == family) {
        Link::equal(View::Ops, "family", family.label())
    } else if category == Direction::Fill.label() {
        // Fills that library calls launch belong to the rows of these calls.
        Link::equal(View::Transfers, "direction", category)
    } else {
        None
    }
}
