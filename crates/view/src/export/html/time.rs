//! What the devices spend their time on: categories, ops, kernels.

use super::page::{Align, Table, join};
use super::steps::bar;
use crate::tables::equal_ops;
use base::format::{self, optional_percent};
use base::sort;
use maud::{Markup, html};
use report::{TopOp, UnifiedProfile};

/// Ops and kernels that are listed; the profile in the page has more.
const LISTED: usize = 30;

/// Categories and ops; kernels where the profile has no ops.
pub fn section(profile: &UnifiedProfile) -> Markup {
    let body = html! {
        (categories(profile))
        @if let Some(ops) = profile.op_statistics.as_ref().filter(|ops| !ops.top_ops.is_empty()) {
            (top_ops(&ops.top_ops))
        } @else {
            (kernels(profile))
        }
    };
    html! {
        @if !body.0.is_empty() {
            section id="ops" class="break" {
                h2 { "Ops" }
                (body)
            }
        }
    }
}

fn categories(profile: &UnifiedProfile) -> Markup {
    let mut all: Vec<_> = profile.kernels.kernels_by_category.iter().collect();
    sort::sort_by(&mut all, |a, b| b.1.time_us.total_cmp(&a.1.time_us).then_with(|| a.0.cmp(b.0)));
    if all.is_empty() {
        return html! {};
    }
    let mut table = Table::new(&[
        ("Category", Align::Left),
        ("Self time", Align::Right),
        ("Share of busy time", Align::Right),
        ("", Align::Left),
        ("Count", Align::Right),
    ]);
    for (name, category) in all {
        let share = category.percent.unwrap_or(0.0).clamp(0.0, 100.0);
        let (time, count) = (format::time_us(category.time_us), format::count(category.count));
        table.row(&[name, &time, &optional_percent(category.percent), &bar("dot", share), &count]);
    }
    html! { h3 { "By category" } (table) }
}

fn top_ops(ops: &[TopOp]) -> Markup {
    let mut table = Table::new(&[
        ("Op", Align::Name),
        ("Category", Align::Left),
        ("Self time", Align::Right),
        ("Share of busy time", Align::Right),
        ("Executions", Align::Right),
        ("FLOP/s", Align::Right),
        ("Limited by", Align::Left),
        ("Framework op and source", Align::Name),
    ]);
    let merged = equal_ops(ops);
    for op in merged.iter().take(LISTED) {
        let rate = op.flops.filter(|_| op.total_time_us > 0.0).map(|flops| flops / op.total_time_us * 1e6);
        let from: Vec<&String> = [&op.framework_op, &op.source].into_iter().flatten().collect();
        table.row(&[
            &op.name,
            &op.category,
            &format::time_us(op.self_time_us),
            &optional_percent(op.busy_self_time_percent),
            &op.executions.map_or_else(|| format::DASH.to_owned(), format::count),
            &rate.map_or_else(|| format::DASH.to_owned(), |rate| format::si(rate, "FLOP/s")),
            &op.bound_by.as_deref().unwrap_or(format::DASH),
            &join(&from, &html! { br; }),
        ]);
    }
    html! {
        h3 { "Most self time" }
        (table)
        @if merged.len() < ops.len() {
            p.note {
                "Equal ops of repeated layers are one row, as far as they are among the " (format::count(ops.len() as u64))
                " ops with the most time."
            }
        }
    }
}

fn kernels(profile: &UnifiedProfile) -> Markup {
    let kernels = &profile.kernels.top_kernels;
    if kernels.is_empty() {
        return html! {};
    }
    let mut table = Table::new(&[
        ("Kernel", Align::Name),
        ("Category", Align::Left),
        ("Self time", Align::Right),
        ("Share of busy time", Align::Right),
        ("Count", Align::Right),
        ("Mean", Align::Right),
    ]);
    for kernel in kernels.iter().take(LISTED) {
        table.row(&[
            &kernel.name,
            &kernel.category,
            &format::time_us(kernel.total_us),
            &optional_percent(kernel.percent),
            &format::count(kernel.count),
            &format::time_us(kernel.avg_us),
        ]);
    }
    html! { h3 { "Kernels" } (table) }
}
