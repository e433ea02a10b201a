//! What the overview lists: the largest categories and the kernels with the most time, each with a link to its rows.
//!
//! Categories and names of the report are told by kernels, tables go by ops and by what XProf calls kernels: a copy is an op and
//! no kernel, a category of a library's kernel is `custom-call` as an op. So each link is to rows that are there.

use super::{Bar, Bars, Block, Link, Page, PageQuery, TableBlock, host, table_block};
use crate::table::{Cell, Unit};
use crate::tables::TableName;
use base::format;
use metrics::{Context, demangle, family_of};
use report::UnifiedProfile;

/// Categories that get a bar of their own.
const MAX_CATEGORIES: usize = 9;

/// The blocks.
pub fn page(context: &Context<'_>, query: &PageQuery) -> Page {
    if context.analysis.devices.platform.is_none() {
        return host::page(context, query);
    }
    let bars = largest_categories(&context.analysis.profile, &|category| link_of_category(context, category));
    let mut blocks = vec![Block::Bars(bars), Block::Table(top_kernels(context, query))];
    blocks.push(Block::Table(op_placement(context, query)));
    if !context.analysis.profile.other_devices.is_empty() {
        blocks.extend(host::other_devices(context, query));
    }
    Page { blocks }
}

/// Kernel time by category, most first; `link` says where each leads.
pub fn categories(report: &UnifiedProfile, link: &dyn Fn(&str) -> Option<Link>) -> Bars {
    let all = &report.kernels.kernels_by_category;
    let whole: f64 = all.values().map(|category| category.time_us).sum();
    let mut bars: Vec<Bar> = all
        .iter()
        .map(|(name, category)| Bar {
            label: name.clone(),
            value: category.time_us,
            class: family_of(name).label().to_owned(),
            note: share(category.time_us, whole),
            link: link(name),
        })
        .collect();
    bars.sort_by(|a, b| b.value.total_cmp(&a.value).then_with(|| a.label.cmp(&b.label)));
    Bars { title: "Kernel time by category".to_owned(), unit: Unit::TimeUs, bars }
}

/// The same, the small ones as one bar.
pub fn largest_categories(report: &UnifiedProfile, link: &dyn Fn(&str) -> Option<Link>) -> Bars {
    let mut all = categories(report, link);
    if all.bars.len() <= MAX_CATEGORIES {
        return all;
    }
    let whole: f64 = all.bars.iter().map(|bar| bar.value).sum();
    let rest = all.bars.split_off(MAX_CATEGORIES - 1);
    let value = rest.iter().map(|bar| bar.value).sum();
    // All but those that are shown, where one view lists them all.
    let views = || all.bars.iter().chain(&rest).map(|bar| bar.link.as_ref());
    let one_view = views().flatten().next().filter(|first| {
        views().all(|link| link.is_some_and(|link| link.view == first.view && link.filter.starts_with("category=")))
    });
    let link = one_view.map(|first| {
        let without = all.bars.iter().filter_map(|bar| bar.link.as_ref()).map(|link| format!("-{}", link.filter));
        Link { view: first.view.clone(), filter: without.collect::<Vec<_>>().join(" ") }
    });
    let label = format!("{} other categories", rest.len());
    let (class, note) = ("other_compute".to_owned(), share(value, whole));
    all.bars.push(Bar { label, value, class, note, link });
    all
}

fn share(part: f64, whole: f64) -> String {
    if whole > 0.0 { format::percent(100.0 * part / whole) } else { String::new() }
}

fn equal(view: &str, key: &str, value: &str) -> Option<Link> {
    // No filter can write such a value.
    (!value.contains('"')).then(|| Link { view: view.to_owned(), filter: format!("{key}=\"{value}\"") })
}

/// The ops of a category; where they have others, the kernels that do such things.
fn link_of_category(context: &Context<'_>, category: &str) -> Option<Link> {
    let (ops, trace) = (&context.analysis.ops, context.trace());
    if ops.rows.iter().any(|op| ops.text(trace, op.category) == category) {
        return equal("ops", "category", category);
    }
    let family = family_of(category);
    let kernels = &context.analysis.kernel_stats.kernels;
    if kernels.iter().any(|kernel| kernel.family == family) { equal("kernels", "family", family.label()) } else { None }
}

/// The kernels with the most self time, by the names that people read.
fn top_kernels(context: &Context<'_>, query: &PageQuery) -> TableBlock {
    let mut table = table_block(context, TableName::TopKernels, "", "Top kernels", query);
    for row in &mut table.rows {
        let Some(Cell::Text(name)) = row.first_mut() else { continue };
        let readable = demangle(name).unwrap_or_else(|| name.clone());
        table.links.push(link_of_kernel(context, name, &readable));
        *name = readable;
    }
    table
}

/// Types of op by where they run: those of devices lead to their ops, callbacks to the host's functions.
fn op_placement(context: &Context<'_>, query: &PageQuery) -> TableBlock {
    let mut table = table_block(context, TableName::OpPlacement, "", "Op types by where they run", query);
    let text = |row: &[Cell], at: usize| match row.get(at) {
        Some(Cell::Text(text)) => text.clone(),
        _ => String::new(),
    };
    let link = |row: &Vec<Cell>| match (text(row, 1).as_str(), text(row, 2).as_str()) {
        ("device", _) => equal("ops", "category", &text(row, 0)),
        (_, "callback") => equal("steps", "host_op_name", &text(row, 0)),
        _ => None,
    };
    table.links = table.rows.iter().map(link).collect();
    table
}

/// The kernel; where it is none, such as a copy, the op.
fn link_of_kernel(context: &Context<'_>, name: &str, readable: &str) -> Option<Link> {
    // The kernels with the most time come first.
    let stats = &context.analysis.kernel_stats;
    let known = stats.texts.find(context.trace(), readable);
    let is_kernel = known.is_some_and(|known| stats.kernels.iter().any(|kernel| kernel.name == known));
    if is_kernel { equal("kernels", "kernel_name", readable) } else { equal("ops", "hlo_op_name", name) }
}
