//! Pages for what the library has no page of: the overview's parts, the devices, and every view of an imported result, which
//! has its numbers but no events.

use crossprof::metrics::Settings;
use crossprof::pages::{
    Bar, Bars, Block, Figure, Link, Page, PageQuery, Series, Stack, StackRow, categories, largest_categories,
    table_block_of,
};
use crossprof::report::UnifiedProfile;
use crossprof::session::Session;
use crossprof::table::{Cell, Query, Unit};
use crossprof::tables::TableName;

/// Findings on the overview.
const FIRST_FINDINGS: usize = 3;
/// Figures that the overview takes from other pages: the page, and a word of its label or of its definition's path.
const FIGURES: [(&str, &str); 4] = [
    ("roofline", "mfu_percent"),
    ("roofline", "hbm_gibps"),
    ("communication", "exposed"),
    ("transfers", "host to device"),
];

/// The parts of the overview that need the run: figures of other pages, what to do first, the kernels with the most time.
pub fn overview(session: &mut Session, run: u32, settings: &Settings, query: &PageQuery) -> Page {
    let nothing = PageQuery::default();
    let mut figures: Vec<Figure> = Vec::new();
    for (view, word) in FIGURES {
        let Some(page) = session.page(run, settings, view, &nothing) else { continue };
        let all = page.blocks.into_iter().filter_map(|block| match block {
            Block::Figures { figures } => Some(figures),
            _ => None,
        });
        let is_meant = |figure: &Figure| {
            figure.label.to_lowercase().contains(word) || figure.metric.as_ref().is_some_and(|path| path.contains(word))
        };
        let found = all.flatten().find(|figure| figure.value.is_some() && is_meant(figure));
        if let Some(mut figure) = found.filter(|figure| figures.iter().all(|other| other.label != figure.label)) {
            figure.link = Some(Link { view: view.to_owned(), filter: String::new() });
            figures.push(figure);
        }
    }
    let mut blocks = vec![Block::Figures { figures }];
    let findings = session.page(run, settings, "findings", &nothing).unwrap_or_default().blocks.into_iter();
    let mut findings: Vec<_> = findings
        .filter_map(|block| match block {
            Block::Findings { findings } => Some(findings),
            _ => None,
        })
        .flatten()
        .filter(|finding| finding.severity != "not_checked")
        .collect();
    findings.truncate(FIRST_FINDINGS);
    blocks.push(Block::Findings { findings });
    blocks.extend(match session.page(run, settings, "overview", query) {
        Some(page) => page.blocks,
        None => of_import(session, run, settings, query),
    });
    Page { blocks }
}

/// What an imported result has of it: its kernels page lists the same kernels.
fn of_import(session: &mut Session, run: u32, settings: &Settings, query: &PageQuery) -> Vec<Block> {
    let Some(report) = session.report(run, settings) else { return Vec::new() };
    let bars = largest_categories(&report, &|category| link("category", category));
    let mut kernels = table(session, run, settings, TableName::TopKernels, "Top kernels", query);
    if let Some(Block::Table(table)) = &mut kernels {
        let name = |row: &Vec<Cell>| match row.first() {
            Some(Cell::Text(name)) => link("name", name),
            _ => None,
        };
        table.links = table.rows.iter().map(name).collect();
    }
    std::iter::once(Block::Bars(bars)).chain(kernels).collect()
}

/// The rows of an import's kernels page with this value; no filter can write some.
fn link(key: &str, value: &str) -> Option<Link> {
    (!value.contains('"')).then(|| Link { view: "kernels".to_owned(), filter: format!("{key}=\"{value}\"") })
}

/// A page made from the report alone.
pub fn page(session: &mut Session, run: u32, settings: &Settings, view: &str, query: &PageQuery) -> Page {
    let Some(report) = session.report(run, settings) else { return Page::default() };
    let mut blocks = match view {
        "steps" => vec![Block::Figures { figures: step_figures(&report) }, Block::Stack(steps(&report))],
        "kernels" => vec![Block::Bars(categories(&report, &|category| link("category", category)))],
        "devices" => vec![Block::Bars(devices(&report))],
        _ => Vec::new(),
    };
    let tables: &[(TableName, &str)] = match view {
        "findings" => &[(TableName::Findings, "Findings")],
        "steps" => &[(TableName::Steps, "Steps")],
        "kernels" => &[(TableName::TopKernels, "Top kernels"), (TableName::Categories, "Categories")],
        "devices" => &[(TableName::Devices, "Devices"), (TableName::Gaps, "Longest idle gaps")],
        "transfers" => &[(TableName::Transfers, "Copies by direction")],
        _ => &[],
    };
    for (name, title) in tables {
        blocks.extend(table(session, run, settings, *name, title, query));
    }
    blocks.retain(|block| match block {
        Block::Bars(bars) => !bars.bars.is_empty(),
        Block::Stack(stack) => !stack.rows.is_empty(),
        _ => true,
    });
    if blocks.is_empty() {
        blocks.push(nothing(&report, view));
    }
    Page { blocks }
}

fn nothing(report: &UnifiedProfile, view: &str) -> Block {
    let is_import = report.metadata.source_format.as_deref() == Some("unified_profile") || report.provenance.is_empty();
    let reason = match is_import {
        true => {
            "This is an earlier result: it holds the numbers of a run and not its events, so this view has nothing to show."
        }
        false => "This run holds nothing for this view.",
    };
    let section = view.replace("transfers", "memory_operations");
    let why = report.not_measured.iter().find(|missing| missing.field == section);
    let remedy = why.and_then(|missing| missing.remedy.clone());
    let remedy = remedy.or_else(|| is_import.then(|| "Open the profile that it was made from.".to_owned()));
    Block::Empty { reason: why.map_or_else(|| reason.to_owned(), |missing| missing.reason.clone()), remedy }
}

/// A table with the page's filter and order; nothing where this run has no such table.
fn table(
    session: &mut Session,
    run: u32,
    settings: &Settings,
    name: TableName,
    title: &str,
    query: &PageQuery,
) -> Option<Block> {
    let none = Query { top: Some(0), ..Query::default() };
    let empty = session.table(run, settings, name, "", &none)?;
    if empty.columns.is_empty() || empty.total_rows == 0 {
        return None;
    }
    let mut ask = |asked: &Query| session.table(run, settings, name, "", asked).unwrap_or_else(|| empty.clone());
    Some(Block::Table(table_block_of(name, "", title, query, &empty.columns, &mut ask)))
}

fn step_figures(report: &UnifiedProfile) -> Vec<Figure> {
    let timing = &report.step_timing;
    let figures = [
        ("Mean step", "step_timing.avg_step_time_us", timing.avg_step_time_us),
        ("Median", "step_timing.median_step_time_us", timing.median_step_time_us),
        ("95th percentile", "step_timing.p95_step_time_us", timing.p95_step_time_us),
        ("Shortest", "step_timing.min_step_time_us", timing.min_step_time_us),
        ("Longest", "step_timing.max_step_time_us", timing.max_step_time_us),
        ("Std deviation", "step_timing.stddev_step_time_us", timing.stddev_step_time_us),
    ];
    let figure = |(label, metric, value): (&str, &str, Option<f64>)| Figure {
        label: label.to_owned(),
        value,
        unit: Unit::TimeUs,
        note: if value.is_none() { "not in this profile".to_owned() } else { String::new() },
        status: None,
        metric: Some(metric.to_owned()),
        link: None,
    };
    figures.into_iter().map(figure).collect()
}

fn steps(report: &UnifiedProfile) -> Stack {
    let series = |label: &str, class: &str| Series { label: label.to_owned(), class: class.to_owned(), link: None };
    let rows = report.steps.iter().map(|step| StackRow {
        label: step.name.clone().unwrap_or_else(|| format!("step {}", step.index)),
        parts: vec![step.compute_us, step.communication_us, step.transfer_us, step.idle_us],
        link: None,
    });
    Stack {
        title: "Step by step".to_owned(),
        unit: Unit::TimeUs,
        series: vec![
            series("Compute", "compute"),
            series("Exposed communication", "communication"),
            series("Exposed transfers", "data_movement"),
            series("Idle", "idle"),
        ],
        rows: rows.collect(),
    }
}

fn devices(report: &UnifiedProfile) -> Bars {
    let devices = report.multi_device.iter().flat_map(|devices| &devices.device_stats);
    let bars = devices.map(|device| Bar {
        label: device.device_name.clone(),
        value: device.utilization_percent,
        class: "compute".to_owned(),
        note: String::new(),
        link: Some(Link { view: "devices".to_owned(), filter: format!("device_name=\"{}\"", device.device_name) }),
    });
    Bars { title: "Devices, busy share".to_owned(), unit: Unit::Percent, bars: bars.collect() }
}
