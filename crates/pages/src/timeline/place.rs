//! Locates data on the timeline: the events that a filter selects, and the time that a table row refers to.

use base::Ps;
use document::{Link, TableBlock};
use metrics::{Context, Devices, event_in};
use report::{Finding, View};
use table::{Cell, Filter};
use timeline::EventRef;
use trace::{EventId, EventKind, Interval, LineKind, Trace, copies};

/// Columns of tables whose texts identify a kind of event.
const KEYS: [&str; 11] = [
    "name",
    "kernel_name",
    "host_op_name",
    "hlo_op_name",
    "operation",
    "before",
    "category",
    "tf_op_name",
    "hlo_module_id",
    "direction",
    "thread_name",
];

/// Options of the URL: the visible range, the selected range and the selected event.
pub const RANGE: &str = "range";
/// See [`RANGE`].
pub const EVENT: &str = "event";
/// See [`RANGE`].
pub const SELECTION: &str = "selection";

/// Evidence of findings that refers to a time in the capture: pairs of a start and a duration.
const TIMES: [(&str, &str); 2] =
    [("longest_gap_start_us", "longest_gap_us"), ("longest_step_start_us", "longest_step_us")];

/// Columns with the duration of the event or time that begins at `start_us`.
const LENGTHS: [&str; 2] = ["duration_us", "time_us"];

/// Returns true if events of a kind pass the filter of all views. Words match the name, op, category, path and thread.
/// Conditions apply if they name one of these properties. `devices` contains the categories of ops that do not record
/// their category. `devices` is `None` for a derived trace.
pub(super) fn passes(filter: &Filter, trace: &Trace, devices: Option<&Devices>, kind: &EventKind) -> bool {
    let args = trace.args.get(kind.args);
    let name = trace.text(kind.name);
    let op = if args.hlo_op.is_empty() { name } else { trace.text(args.hlo_op) };
    let direction = copies::direction(trace, kind.name, kind.args).map_or("", copies::Direction::label);
    let thread = trace.lines.get(kind.line.index()).map_or("", |line| trace.text(line.name));
    let [stated, path, module] = [args.hlo_category, args.tf_op, args.hlo_module].map(|id| trace.text(id));
    let category = match devices {
        // Recognising an op by its name is slow, so this is only done for a filter on categories.
        Some(devices)
            if stated.is_empty() && is_device_op(trace, kind) && filter.columns().any(|key| key == "category") =>
        {
            devices.category(trace, kind.name, kind.args)
        }
        _ => stated,
    };
    let values = [name, name, name, op, op, op, category, path, module, direction, thread];
    let mut texts = [("", ""); KEYS.len()];
    for (text, known) in texts.iter_mut().zip(KEYS.into_iter().zip(values)) {
        *text = known;
    }
    filter.passes_named_texts(&texts)
}

/// Returns true for device ops, which are on op lines, and for ops of XLA's CPU backend, which are on host threads and name an
/// instruction.
fn is_device_op(trace: &Trace, kind: &EventKind) -> bool {
    let is_line_of_ops = trace.lines.get(kind.line.index()).is_some_and(|line| line.kind == LineKind::DeviceOps);
    is_line_of_ops || !trace.args.get(kind.args).hlo_op.is_empty()
}

/// Returns a link from the row with this index to the timeline: to the time of the row or, if it has none, to the events with
/// its name.
pub fn link_to_row(table: &TableBlock, row: usize) -> Option<Link> {
    let cells = table.rows.get(row)?;
    let cell = |key: &str| cells.get(table.columns.iter().position(|column| column.key == key)?);
    let us = |key: &str| match cell(key)? {
        Cell::Float(us) => Some((us * 1e6 + 0.5) as i64),
        Cell::Int(us) => Some((*us as f64 * 1e6) as i64),
        _ => None,
    };
    if let Some((start, length)) = us("start_us").zip(LENGTHS.iter().find_map(|key| us(key))) {
        let end = start.saturating_add(length);
        return (start >= 0 && end > start)
            .then(|| Link { range_ps: Some((start, end)), ..Link::to(View::Timeline, "") });
    }
    let name = table.row_name.as_ref().filter(|name| KEYS.contains(&name.key.as_str()))?;
    let mut values = name.columns.iter().filter_map(|key| match cell(key)? {
        Cell::Text(text) if !text.is_empty() => Some(text),
        _ => None,
    });
    Link::equal(View::Timeline, &name.key, values.next()?)
}

/// Returns a link to the gap or step of a finding on the timeline. Selects a host event during that time, so that the
/// event's thread is visible.
pub(crate) fn link_to_time_of(finding: &Finding, context: &Context<'_>) -> Option<Link> {
    let ps = |name: &str| {
        let number = finding.evidence.iter().find(|it| it.name == name)?;
        Some((number.value * 1e6 + 0.5) as i64)
    };
    let (start, length) = TIMES.iter().find_map(|(start, length)| Some((ps(start)?, ps(length)?)))?;
    let end = start.saturating_add(length);
    let event = host_event(context, (start, end)).map(|event| EventRef::captured(event).key());
    Some(Link { range_ps: Some((start, end)), event, ..Link::to(View::Timeline, "") })
}

/// Returns a link to the events of `link` on the timeline. Returns `None` if the filter has no condition on events.
pub(crate) fn link_to_events(link: &Link) -> Option<Link> {
    let filter = Filter::parse(&link.filter);
    let tells = !filter.is_empty() && filter.columns().all(|key| KEYS.contains(&key));
    tells.then(|| Link::to(View::Timeline, &link.filter))
}

/// Returns the options of the URL in addition to the filter. The visible range extends past each end of the selected
/// range by half its length. A selected event without a selected range gets a wider margin.
pub fn options(link: &Link) -> Vec<(&'static str, String)> {
    let selected = link.range_ps.map(|(start, end)| (SELECTION, format!("{start}-{end}")));
    let length = |(start, end): (i64, i64)| end.saturating_sub(start);
    let range = link.range_ps.map(|range| (range, length(range) / 2 + 1));
    let event = link.around_ps.map(|range| (range, length(range).saturating_mul(5).saturating_add(1_000)));
    let seen = range.or(event).map(|((start, end), around)| {
        (RANGE, format!("{}-{}", start.saturating_sub(around).max(0), end.saturating_add(around)))
    });
    let event = link.event.iter().map(|event| (EVENT, event.clone()));
    seen.into_iter().chain(selected).chain(event).collect()
}

/// Returns the most informative host event between two times, in picoseconds from the start of the capture.
fn host_event(context: &Context<'_>, (start, end): (i64, i64)) -> Option<EventId> {
    let captured = &context.analysis.captured;
    let origin = captured.capture?.start;
    let within = Interval::new(origin + Ps::new(start), origin + Ps::new(end));
    let meanwhile = context.profile.step_breakdown.as_ref()?.host_meanwhile.as_ref()?;
    // Events that explain a wait take precedence over the wait itself. Among events of equal rank, the longest is returned.
    let (waits, works): (Vec<_>, Vec<_>) = meanwhile.ranges.iter().chain(&meanwhile.behind).partition(|it| it.waits);
    let found = works.into_iter().chain(waits).filter_map(|it| {
        let (event, time) = event_in(context.captured_trace(), captured, (&it.name, it.thread.as_deref()?), within)?;
        Some((time, event))
    });
    // The first of several equally long events.
    found.reduce(|a, b| if b.0 > a.0 { b } else { a }).map(|(_, event)| event)
}

#[cfg(test)]
mod tests {
    use super::*;
    use document::{ColumnBlock, RowName};
    use table::{Unit, column};
    use tables::TableName;

    fn table(columns: &[(&'static str, Unit)], row: Vec<Cell>, key: &str) -> TableBlock {
        let columns = columns.iter().map(|&(key, unit)| ColumnBlock::from(&column(key, key, unit, "")));
        let row_name = RowName { key: key.to_owned(), columns: vec![key.to_owned()] };
        TableBlock {
            columns: columns.collect(),
            rows: vec![row],
            row_name: Some(row_name),
            ..TableBlock::empty(TableName::Ops)
        }
    }

    #[test]
    fn a_row_with_a_time_links_to_a_range() {
        let columns = [("device_name", Unit::Text), ("start_us", Unit::TimeUs), ("duration_us", Unit::TimeUs)];
        let row = |start, length| vec![Cell::Text("GPU 0".to_owned()), start, length];
        let link = link_to_row(&table(&columns, row(Cell::Int(3), Cell::Float(0.5)), "device_name"), 0).unwrap();
        assert_eq!((link.view, link.range_ps), (View::Timeline, Some((3_000_000, 3_500_000))));
        assert_eq!(options(&link), [(RANGE, "2749999-3750001".to_owned()), (SELECTION, "3000000-3500000".to_owned())]);
        let event = Link {
            event: Some("0".to_owned()),
            around_ps: Some((3_000_000, 3_500_000)),
            ..Link::to(View::Timeline, "")
        };
        assert_eq!(options(&event), [(RANGE, "499000-6001000".to_owned()), (EVENT, "0".to_owned())]);
        assert_eq!(link_to_row(&table(&columns, row(Cell::Int(3), Cell::Int(0)), "device_name"), 0), None);
        assert_eq!(link_to_row(&table(&columns, row(Cell::Absent, Cell::Int(1)), "device_name"), 0), None);
    }

    #[test]
    fn a_row_with_a_name_links_to_its_events() {
        let link =
            |value: &str, key| link_to_row(&table(&[(key, Unit::Text)], vec![Cell::Text(value.to_owned())], key), 0);
        assert_eq!(link("dot.3", "hlo_op_name"), Some(Link::to(View::Timeline, "hlo_op_name=\"dot.3\"")));
        assert_eq!(link("matmul", "family"), None);
        assert_eq!(link("a \"quoted\" name", "hlo_op_name"), None);
    }

    /// Ops of a CPU or GPU do not record their category. The filter uses the category that the ops page shows for these
    /// ops.
    #[test]
    fn categories_match_the_page_of_ops() {
        let mut b = trace::TraceBuilder::new();
        let line = b.line("/device:GPU:0", "Stream #7(Compute)");
        b.event(line, "DeviceRadixSortOnesweepKernel", 0, 10);
        b.event(line, "gemm_kernel", 10, 10);
        let run = run::Run { trace: b.build(), ..Default::default() };
        let examined = metrics::analyse(&run, &run::Settings::default());
        let devices = &examined.context(&run).analysis.devices;
        let filter = Filter::parse("category=\"sort\"");
        let kinds = run.trace.events.kinds().iter();
        let passing: Vec<bool> = kinds.map(|kind| passes(&filter, &run.trace, Some(devices), kind)).collect();
        assert_eq!(passing, [true, false]);
    }

    /// Two steps on a device that waits 60 us for a batch. The longest host event during the wait is
    /// selected.
    #[test]
    fn a_finding_about_a_gap_links_to_the_gap_and_the_host_thread() {
        let mut b = trace::TraceBuilder::new();
        let line = b.line("/device:TPU:0", "XLA Ops");
        let python = b.line("/host:CPU", "python");
        b.event(line, "fusion.1", 0, 10);
        let wanted = b.event(python, "fetch", 12, 50).id();
        b.event(python, "fetch", 63, 5);
        b.event(line, "fusion.1", 70, 10);
        let run = run::Run { trace: b.build(), ..Default::default() };
        let examined = metrics::analyse(&run, &run::Settings::default());
        let context = examined.context(&run);
        let evidence = |name: &str, value| report::Evidence { name: name.to_owned(), value, threshold: None };
        let mut finding = report::example::profile().findings.remove(0);
        assert_eq!(link_to_time_of(&finding, &context), None);
        finding.evidence = vec![evidence("longest_gap_us", 60.0), evidence("longest_gap_start_us", 10.0)];
        let link = link_to_time_of(&finding, &context).unwrap();
        assert_eq!(link.range_ps, Some((10_000_000, 70_000_000)));
        assert_eq!(link.event, Some(EventRef::captured(wanted).key()));
    }

    #[test]
    fn a_filter_links_to_the_timeline_if_it_selects_events() {
        let of = |filter: &str| link_to_events(&Link::to(View::Ops, filter)).map(|link| link.filter);
        assert_eq!(of("category=\"loop fusion\" -copy").as_deref(), Some("category=\"loop fusion\" -copy"));
        assert_eq!(of("bound_by=HBM"), None);
        assert_eq!(of(""), None);
    }
}
