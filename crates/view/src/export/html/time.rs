//! What the devices spend their time on: categories, ops, kernels.

use super::page::{Align, Table, escape, push};
use super::steps::bar;
use base::format::{self, optional_percent};
use report::{TopOp, UnifiedProfile};

/// Ops and kernels that are listed; the profile in the page has more.
const LISTED: usize = 30;

/// Categories and ops; kernels where the profile has no ops.
pub fn section(page: &mut String, profile: &UnifiedProfile) {
    let mut body = String::new();
    categories(&mut body, profile);
    match profile.op_statistics.as_ref().filter(|ops| !ops.top_ops.is_empty()) {
        Some(ops) => top_ops(&mut body, &ops.top_ops),
        None => kernels(&mut body, profile),
    }
    if !body.is_empty() {
        push(page, &["<section id=\"ops\" class=\"break\">\n<h2>Ops</h2>\n", &body, "</section>\n"]);
    }
}

fn categories(page: &mut String, profile: &UnifiedProfile) {
    let mut all: Vec<_> = profile.kernels.kernels_by_category.iter().collect();
    all.sort_by(|a, b| b.1.time_us.total_cmp(&a.1.time_us).then_with(|| a.0.cmp(b.0)));
    if all.is_empty() {
        return;
    }
    page.push_str("<h3>By category</h3>\n");
    let columns = [
        ("Category", Align::Left),
        ("Self time", Align::Right),
        ("Share", Align::Right),
        ("", Align::Left),
        ("Count", Align::Right),
    ];
    let mut table = Table::new(&columns);
    for (name, category) in all {
        let share = category.percent.unwrap_or(0.0).clamp(0.0, 100.0);
        let (time, count) = (format::time_us(category.time_us), format::count(category.count));
        table.row("", &[escape(name), time, optional_percent(category.percent), bar("dot", share), count]);
    }
    page.push_str(&table.finish());
}

fn top_ops(page: &mut String, ops: &[TopOp]) {
    page.push_str("<h3>Most self time</h3>\n");
    let mut table = Table::new(&[
        ("Op", Align::Name),
        ("Category", Align::Left),
        ("Self time", Align::Right),
        ("Share", Align::Right),
        ("Count", Align::Right),
        ("FLOP/s", Align::Right),
        ("Limited by", Align::Left),
        ("Framework op and source", Align::Name),
    ]);
    for op in ops.iter().take(LISTED) {
        let rate = op.flops.filter(|_| op.total_time_us > 0.0).map(|flops| flops / op.total_time_us * 1e6);
        let from: Vec<String> = [&op.framework_op, &op.source].into_iter().flatten().map(|text| escape(text)).collect();
        table.row(
            "",
            &[
                escape(&op.name),
                escape(&op.category),
                format::time_us(op.self_time_us),
                optional_percent(op.self_time_percent),
                format::count(op.occurrences),
                rate.map_or_else(|| format::DASH.to_owned(), |rate| format::si(rate, "FLOP/s")),
                op.bound_by.as_deref().map_or_else(|| format::DASH.to_owned(), escape),
                from.join("<br>"),
            ],
        );
    }
    page.push_str(&table.finish());
}

fn kernels(page: &mut String, profile: &UnifiedProfile) {
    let kernels = &profile.kernels.top_kernels;
    if kernels.is_empty() {
        return;
    }
    page.push_str("<h3>Kernels</h3>\n");
    let columns = [
        ("Kernel", Align::Name),
        ("Category", Align::Left),
        ("Self time", Align::Right),
        ("Share", Align::Right),
        ("Count", Align::Right),
        ("Mean", Align::Right),
    ];
    let mut table = Table::new(&columns);
    for kernel in kernels.iter().take(LISTED) {
        table.row(
            "",
            &[
                escape(&kernel.name),
                escape(&kernel.category),
                format::time_us(kernel.total_us),
                optional_percent(kernel.percent),
                format::count(kernel.count),
                format::time_us(kernel.avg_us),
            ],
        );
    }
    page.push_str(&table.finish());
}
