//! Reads the end markers of a JSON trace, which have no numbers.

use rustc_hash::FxHashMap;

use super::{OpEvent, Role};
use base::Ps;
use trace::{END_MARKER, StrId, Trace};

/// Returns true if any op ends after its event. Otherwise, the marker of each op is inside the op's own event, on the
/// same thread.
pub(super) fn some_op_outlasts_its_event(trace: &Trace, roles: &[Role], ops: &[OpEvent]) -> bool {
    let mut events: FxHashMap<(usize, StrId), Vec<(Ps, Ps)>> = FxHashMap::default();
    for op in ops {
        events.entry((op.line, op.name)).or_default().push((op.start, op.end));
    }
    let kinds = trace.events.kinds();
    let ended = |kind: usize| trace.strings.find(trace.text(kinds.get(kind)?.name).strip_prefix(END_MARKER)?);
    let names: Vec<Option<StrId>> = (0..kinds.len()).map(ended).collect();
    let mut found = false;
    trace.events.for_each_time(trace.events.ids(), |_, kind, marker| {
        if found || roles.get(kind) != Some(&Role::Marker) {
            return;
        }
        let (Some(line), Some(Some(name))) = (kinds.get(kind).map(|kind| kind.line.index()), names.get(kind)) else {
            return;
        };
        let is_inside = events.get(&(line, *name)).is_some_and(|events| {
            let after = events.partition_point(|&(start, _)| start <= marker.start);
            after.checked_sub(1).and_then(|latest| events.get(latest)).is_some_and(|&(_, end)| marker.start <= end)
        });
        found = !is_inside;
    });
    found
}
