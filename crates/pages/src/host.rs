//! Overview of a capture without device ops: the activity of its hosts, and devices of unknown
//! kinds.

use crate::source::nothing_ran;
use crate::steps::host_roles;
use crate::{PageQuery, Source, table_block};
use base::format;
use document::{Block, Figure};
use report::{HostActivity, Metric, OtherDevice, metric};
use table::Unit;
use tables::TableName;

/// Maximum number of devices that get a separate figure.
const MOST_FIGURES: usize = 4;

/// Returns the blocks of the page: figures first, then the tables of the hosts.
pub(super) fn blocks(source: Source<'_>, query: &PageQuery) -> Vec<Block> {
    let profile = source.profile();
    let mut figures: Vec<Figure> = profile.other_devices.iter().take(MOST_FIGURES).map(device_figure).collect();
    if let Some(host) = &profile.host_activity {
        figures.extend(host_figures(host));
    }
    let mut blocks = Vec::new();
    if !figures.is_empty() {
        blocks.push(Block::Figures { figures });
    } else if profile.metadata.num_events != Some(0) {
        // For a file without events, its warning explains everything.
        blocks.push(nothing_ran());
    }
    blocks.extend(other_devices(source, query));
    if profile.host_activity.is_none() {
        return blocks;
    }
    blocks.extend(source.table_block(TableName::HostPrograms, "Programs: calls, executions, compilations", query));
    if let Some(context) = source.context() {
        blocks.push(Block::Table(table_block(&context, TableName::HostOps, "", "Host functions by time", query)));
    }
    blocks.extend(source.table_block(TableName::HostThreads, "Host threads", query));
    blocks.extend(host_roles(source).map(Block::Bars));
    blocks
}

/// Returns the tables of devices of unknown kinds, if there are any.
pub(super) fn other_devices(source: Source<'_>, query: &PageQuery) -> impl Iterator<Item = Block> {
    let tables = [
        (TableName::OtherDevices, "Devices and processes of unknown kind"),
        (TableName::OtherDeviceEvents, "Their events by time"),
    ];
    tables.into_iter().filter_map(move |(name, title)| source.table_block(name, title, query))
}

fn figure(label: &str, value: f64, unit: Unit, note: String, metric: Metric) -> Figure {
    Figure { label: label.to_owned(), value: Some(value), unit, note, ..Figure::of(metric) }
}

fn device_figure(device: &OtherDevice) -> Figure {
    let name = format::printable(&format::shorten(&device.name, 40));
    let note = format!("{} in {}", format::time_us(device.busy_time_us), format::counted(device.num_events, "event"));
    figure(&format!("{name} busy"), device.busy_percent, Unit::Percent, note, metric!("other_devices[].busy_percent"))
}

fn host_figures(host: &HostActivity) -> Vec<Figure> {
    let threads = format!("{} on {}", format::time_us(host.busy_time_us), format::counted(host.num_threads, "thread"));
    let mut figures =
        vec![figure("Host busy", host.busy_percent, Unit::Percent, threads, metric!("host_activity.busy_percent"))];
    if let Some(span) = host.top_spans.first() {
        let name = format::printable(&format::shorten(&span.name, 40));
        let note = format!("{name}, {} of all self time", format::percent(span.percent));
        let metric = metric!("host_activity.top_spans[].self_time_us");
        figures.push(figure("Most self time", span.self_time_us, Unit::TimeUs, note, metric));
    }
    for (activity, label) in [("call", "Program calls"), ("execute", "Executions"), ("compile", "Compilations")] {
        let programs = || host.programs.iter().filter(|program| program.activity == activity);
        let Some(first) = programs().next() else { continue };
        let name = format::printable(&format::shorten(&first.name, 40));
        let note = format!("most time: {name}, {}", format::time_us(first.total_time_us));
        // Executions and compilations are nested, so only the name with the most time is shown.
        let count = if activity == "call" { programs().map(|program| program.calls).sum() } else { first.calls };
        figures.push(figure(label, count as f64, Unit::Count, note, metric!("host_activity.programs[].calls")));
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use insight::examine;
    use run::{Run, Settings};
    use trace::{SourceFormat, TraceBuilder};

    fn blocks(trace: trace::Trace) -> (Vec<String>, Run) {
        let run = Run { trace, ..Run::default() };
        let examined = examine(&run, &Settings::default());
        let context = examined.context(&run);
        let found = super::blocks(Source::of_events(context), &PageQuery::default());
        let name = |block: &Block| match block {
            Block::Figures { figures } => {
                assert!(figures.iter().all(|figure| figure.value.is_some()), "no dash: {figures:?}");
                format!("{} figures", figures.len())
            }
            Block::Table(table) => {
                assert!(!table.rows.is_empty(), "{:?}", table.table);
                table.table.key().to_owned()
            }
            Block::Bars(_) => "bars".to_owned(),
            Block::Empty { .. } => "empty".to_owned(),
            other => format!("{other:?}"),
        };
        let findings = examined.profile.findings.iter().map(|finding| finding.id.clone());
        let findings: Vec<String> = findings.collect();
        assert!(findings.contains(&"no_device_ops".to_owned()) || run.trace.events.is_empty(), "{findings:?}");
        assert!(
            examined.profile.findings.iter().all(|it| it.severity.label() != "not_checked")
                || run.trace.events.is_empty()
        );
        (found.iter().map(name).collect(), run)
    }

    #[test]
    fn a_host_leads_with_its_own_work() {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        b.event(python, "PjitFunction(f)", 0, 50);
        b.event(python, "TfrtCpuExecutable::Execute", 10, 20);
        let (blocks, _) = blocks(b.build());
        assert_eq!(blocks, ["4 figures", "host-programs", "host-ops", "host-threads", "bars"]);
    }

    #[test]
    fn another_accelerator_comes_before_its_host() {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let device = b.line("/device:CUSTOM:0", "queue 1");
        b.event(python, "main", 0, 50);
        b.event(device, "matmul", 10, 20);
        let mut trace = b.build();
        trace.format = Some(SourceFormat::ChromeJson);
        let (blocks, _) = blocks(trace);
        let expected = ["3 figures", "other-devices", "other-device-events", "host-ops", "host-threads", "bars"];
        assert_eq!(blocks, expected);
        let (nothing, _) = super::tests::blocks(trace::Trace::default());
        // The warning about the file explains why there is nothing.
        assert_eq!(nothing, [""; 0]);
    }
}
