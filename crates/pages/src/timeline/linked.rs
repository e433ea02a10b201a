//! Events that the selected event depends on, and events that depend on the selected event.

use super::EVENT;
use base::format::{count, printable, time_us};
use document::{Block, Grid, GridCell};
use timeline::{EventRef, LinkKind, Linked, MOST_ARROWS};
use trace::Trace;

/// Lists the linked events, nearest first, as many as have arrows. Returns `None` if there are no linked events.
pub(super) fn block(trace: &Trace, linked: &[Linked]) -> Option<Block> {
    let rows: Vec<_> = linked.iter().take(MOST_ARROWS).filter_map(|it| row(trace, it)).collect();
    let title = match linked.len() {
        0 => return None,
        all if all > rows.len() => format!("Linked events: the {} nearest of {}", rows.len(), count(all as u64)),
        _ => "Linked events".to_owned(),
    };
    let columns = ["Event", "Link", "Line", "Delay from start to start"].map(str::to_owned).to_vec();
    Some(Block::Grid(Grid { title, columns, rows }))
}

fn row(trace: &Trace, linked: &Linked) -> Option<Vec<GridCell>> {
    let event = trace.events.get(linked.event)?;
    let line = trace.lines.get(event.line.index())?;
    let process = trace.plane_of(line).map_or("", |plane| trace.text(plane.name));
    let choice = Some((EVENT.to_owned(), EventRef::captured(linked.event).key()));
    let link = match (linked.kind, linked.follows) {
        (LinkKind::Launch, true) => "launched by the selected event".to_owned(),
        (LinkKind::Launch, false) => "launches the selected event".to_owned(),
        (LinkKind::Flow(name), true) => format!("flow {} to it", printable(trace.text(name))),
        (LinkKind::Flow(name), false) => format!("flow {} from it", printable(trace.text(name))),
        (LinkKind::Handover, true) => "consumer of what the selected event produces".to_owned(),
        (LinkKind::Handover, false) => "producer of what the selected event consumes".to_owned(),
    };
    Some(vec![
        GridCell { choice, ..GridCell::text(&printable(trace.text(event.name))) },
        GridCell::text(&link),
        GridCell::text(&format!("{} of {}", printable(trace.text(line.name)), printable(process))),
        GridCell::text(&time_us(linked.delay.as_us())),
    ])
}
