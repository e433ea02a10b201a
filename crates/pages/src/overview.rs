//! Overview: the headline figures, the first findings, the steps, and the categories, kernels and
//! devices with the most time, each with a link to its rows.
//!
//! The report groups categories and names by kernel, whereas tables list ops and what XProf calls kernels. A copy is an
//! op but not a kernel, and an op that runs a library kernel has the `custom-call` category. Each link therefore leads
//! to a table that has rows for the category or name.

use crate::category::link_of_category;
use crate::{
    PageQuery, Source, columns_option, communication, devices, findings, headlines, host, layers, live_memory,
    roofline, run_facts, serving, steps, table_block, transfers,
};
use base::{format, sort};
use document::{About, Bar, Bars, Block, Figure, FindingBlock, Link, TableBlock};
use metrics::{Context, OpFamily, demangle, family_of};
use report::{UNKNOWN, UnifiedProfile, View, metric};
use table::{Cell, Unit};
use tables::TableName;
use trace::{Framework, Platform};

/// Maximum number of categories that get a separate bar.
const MAX_CATEGORIES: usize = 9;
/// Maximum number of devices that get a bar.
const MAX_DEVICES: usize = 10;

/// Returns the blocks of the page. Without device ops, shows the hosts and no chart of steps.
pub(super) fn blocks(source: Source<'_>, query: &PageQuery) -> Vec<Block> {
    let profile = source.profile();
    let is_host_only = is_host_only(profile);
    let mut blocks = vec![Block::Figures { figures: figures(source) }, Block::Findings { findings: to_do(source) }];
    blocks.retain(|block| match block {
        Block::Figures { figures } => !figures.is_empty(),
        Block::Findings { findings } => !findings.is_empty(),
        _ => true,
    });
    if profile.is_of_memory_alone() {
        blocks.extend(live_memory::blocks(source, query));
    } else if is_host_only {
        blocks.extend(host::blocks(source, query));
    } else {
        blocks.push(Block::Stack(steps::overview(source)));
        blocks.push(Block::Bars(largest_categories(source)));
        blocks.extend(layers::largest(profile).map(Block::Bars));
        blocks.extend(layers::phases(profile).map(Block::Bars));
        blocks.push(Block::Bars(devices::first(profile, MAX_DEVICES)));
        blocks.extend(top_ops(source, query).map(Block::Table));
        blocks.extend(source.context().map(|context| Block::Table(op_placement(&context, query))));
        blocks.extend(host::other_devices(source, query));
    }
    blocks.push(run_facts::run(profile));
    blocks.extend(run_facts::not_measured(profile));
    blocks.push(run_facts::environment(profile));
    blocks
}

/// Returns true if no op ran on a device.
pub(super) fn is_host_only(profile: &UnifiedProfile) -> bool {
    profile.metadata.num_devices == 0 && profile.metadata.platform == UNKNOWN
}

/// Returns the figures of the whole run. Omits figures without a value if the run has no device
/// ops.
pub(super) fn figures(source: Source<'_>) -> Vec<Figure> {
    let mut figures = headlines::figures(source);
    figures.retain(|figure| !is_host_only(source.profile()) || figure.value.is_some());
    figures.extend(of_other_views(source));
    figures
}

/// Returns the first findings, then the categories that take most of the time, as on the findings page.
fn to_do(source: Source<'_>) -> Vec<FindingBlock> {
    findings::first(source)
}

/// Returns the most informative figure of each view. Omits figures without a value.
fn of_other_views(source: Source<'_>) -> impl Iterator<Item = Figure> {
    let all = [
        (View::Serving, serving::decoded(source)),
        (View::Roofline, roofline::mfu(source)),
        (View::Roofline, roofline::memory_bandwidth(source)),
        (View::Communication, communication::exposed(source)),
        (View::Transfers, transfers::host_to_device(source)),
    ];
    all.into_iter().filter_map(|(view, figure)| {
        let figure = figure.filter(|figure| figure.value.is_some())?;
        Some(Figure { link: Some(Link::to(view, "")), ..figure })
    })
}

/// Draws kernel time by category, largest first. `link` returns the link of a category.
#[inline(never)]
pub(super) fn categories(report: &UnifiedProfile, link: &dyn Fn(&str) -> Option<Link>) -> Bars {
    let all = &report.kernels.kernels_by_category;
    let whole: f64 = all.values().map(|category| category.time_us).sum();
    let mut bars: Vec<Bar> = all
        .iter()
        .map(|(name, category)| Bar {
            label: name.clone(),
            value: category.time_us,
            class: family_of(name).into(),
            note: share(category.time_us, whole),
            link: link(name),
        })
        .collect();
    sort::sort_by(&mut bars, |a, b| b.value.total_cmp(&a.value).then_with(|| a.label.cmp(&b.label)));
    Bars {
        title: "Kernel time by category".to_owned(),
        unit: Unit::TimeUs,
        bars,
        whole: Some(whole),
        ..Bars::default()
    }
}

/// Draws the categories with links to their rows. The small categories share a bar.
fn largest_categories(source: Source<'_>) -> Bars {
    let mut all = categories(source.profile(), &|category| link_of_category(source, category));
    all.about = Some(About::new(metric!("kernels.kernels_by_category.*.time_us"), View::Kernels));
    if all.bars.is_empty() {
        all.note = "No device op was read.".to_owned();
    } else if source.profile().metadata.platform() == Some(Platform::Gpu) {
        all.note = match source.profile().metadata.framework() {
            Framework::PyTorch => "Grouped by the work that each kernel or copy does.",
            _ => {
                "Grouped by the work that each kernel or copy does. The Ops page shows XLA's categories of the ops \
                    that launch the kernels and copies."
            }
        }
        .to_owned();
    }
    if all.bars.len() <= MAX_CATEGORIES {
        return all;
    }
    let whole: f64 = all.bars.iter().map(|bar| bar.value).sum();
    let rest = all.bars.split_off(MAX_CATEGORIES - 1);
    let value = rest.iter().map(|bar| bar.value).sum();
    // Links to the remaining categories, if one view lists all of them.
    let views = || all.bars.iter().chain(&rest).map(|bar| bar.link.as_ref());
    let one_view = views().flatten().next().filter(|first| {
        views().all(|link| link.is_some_and(|link| link.view == first.view && link.filter.starts_with("category=")))
    });
    let link = one_view.map(|first| {
        let without = all.bars.iter().filter_map(|bar| bar.link.as_ref()).map(|link| format!("-{}", link.filter));
        Link::to(first.view, &without.collect::<Vec<_>>().join(" "))
    });
    let label = format!("{} other categories", rest.len());
    let (class, note) = (OpFamily::OtherCompute.into(), share(value, whole));
    all.bars.push(Bar { label, value, class, note, link });
    all
}

fn share(part: f64, whole: f64) -> String {
    if whole > 0.0 { format::percent(100.0 * part / whole) } else { String::new() }
}

/// Returns the ops with the most self time, with the corresponding ops of repeated layers merged. For an earlier
/// result, which lists no ops, returns its kernels.
fn top_ops(source: Source<'_>, query: &PageQuery) -> Option<TableBlock> {
    let mut table =
        source.measured_or_recorded(|context| Some(top_groups(context, query)), |_| top_kernels(source, query))?;
    table.mark_bounds(source.profile());
    Some(table)
}

/// Maximum number of op groups on the overview.
const MAX_GROUPS: usize = 20;
/// Columns that are shown until the user chooses others. These columns fit next to the findings.
const GROUP_COLUMNS: [&str; 5] = ["name", "total_self_time_us", "busy_self_time_percent", "executions", "source_info"];

fn top_groups(context: &Context<'_>, query: &PageQuery) -> TableBlock {
    let mut table = table_block(context, TableName::OpGroups, "name", "Top ops", query);
    table.rows.truncate(MAX_GROUPS);
    if !query.options.contains_key(&columns_option(TableName::OpGroups)) {
        table.columns.iter_mut().for_each(|column| column.is_folded |= !GROUP_COLUMNS.contains(&column.key.as_str()));
    }
    let place = |key: &str| table.columns.iter().position(|column| column.key == key).unwrap_or_default();
    let (name_at, count_at, largest_at) = (place("name"), place("num_ops"), place("largest"));
    for row in &mut table.rows {
        let is_one = row.get(count_at) == Some(&Cell::Int(1));
        let largest = row.get(largest_at).cloned();
        let Some(Cell::Text(name)) = row.get_mut(name_at) else { continue };
        // One op, or several ops with the same name, appear under the readable form of the name.
        table.links.push(match largest {
            Some(Cell::Text(op)) if is_one || op == *name => {
                *name = demangle(&op).unwrap_or_else(|| op.clone());
                link_of_kernel(context, &op, name)
            }
            _ => link_of_group(name),
        });
    }
    table
}

/// Returns a link to the ops whose names contain the common part of the group's names: the text before the first number. The
/// name of the first op has no number.
fn link_of_group(name: &str) -> Option<Link> {
    let common = name.split('*').next().unwrap_or_default().trim_end_matches('.');
    (!common.contains('"')).then(|| Link::to(View::Ops, &format!("hlo_op_name:\"{common}\"")))
}

/// Returns the kernels with the most self time, under their readable names.
fn top_kernels(source: Source<'_>, query: &PageQuery) -> Option<TableBlock> {
    let mut table = source.table(TableName::TopKernels, "Top kernels", query)?;
    for row in &mut table.rows {
        let Some(Cell::Text(name)) = row.first_mut() else { continue };
        table.links.push(Link::equal(View::Kernels, "name", name));
        *name = demangle(name).unwrap_or_else(|| name.clone());
    }
    Some(table)
}

/// Lists the op types by the place where they run. Types on devices link to their ops, and callbacks link to the host's
/// functions.
fn op_placement(context: &Context<'_>, query: &PageQuery) -> TableBlock {
    let mut table = table_block(context, TableName::OpPlacement, "", "Op types by place", query);
    let text = |row: &[Cell], at: usize| match row.get(at) {
        Some(Cell::Text(text)) => text.clone(),
        _ => String::new(),
    };
    let link = |row: &Vec<Cell>| match (text(row, 1).as_str(), text(row, 2).as_str()) {
        ("device", _) => Link::equal(View::Ops, "category", &text(row, 0)),
        (_, "callback") => Link::equal(View::Steps, "host_op_name", &text(row, 0)),
        _ => None,
    };
    table.links = table.rows.iter().map(link).collect();
    table
}

/// Returns a link to the kernel. If the op is not a kernel (for example, a copy), returns a link to the op.
fn link_of_kernel(context: &Context<'_>, name: &str, readable: &str) -> Option<Link> {
    // The kernels with the most time come first.
    let stats = &context.analysis.kernel_stats;
    let known = stats.texts.find(context.trace(), readable);
    let is_kernel = known.is_some_and(|known| stats.kernels.iter().any(|kernel| kernel.name == known));
    if is_kernel {
        Link::equal(View::Kernels, "kernel_name", readable)
    } else {
        Link::equal(View::Ops, "hlo_op_name", name)
    }
}
