//! Checks that every link of the overview has a target. In every profile, the link must open a view that has rows under
//! the link's filter.

use std::path::Path;

use crate::support::{samples, xprof};
use crossprof::document::{Bars, Block, Link, Page, TableBlock};
use crossprof::pages::{PageQuery, View};
use crossprof::{Cell, Query, Session, Table, TableName};

/// Returns the rows that a click on a link shows.
fn rows(session: &mut Session, link: &Link) -> Table {
    let name = match link.view {
        View::Ops => TableName::Ops,
        View::Kernels => TableName::Kernels,
        View::Devices => TableName::Devices,
        View::Layers => TableName::Layers,
        View::Transfers => TableName::Transfers,
        other => panic!("no table of {other:?}"),
    };
    let query = Query { filter: link.filter.clone(), ..Query::default() };
    session.table(0, &xprof::active(), name, "", &query).unwrap()
}

/// Returns the sum of a column of whole numbers.
fn sum(table: &Table, key: &str) -> u64 {
    let at = table.columns.iter().position(|column| column.key == key).unwrap();
    table.rows.iter().map(|row| if let Cell::Int(value) = row[at] { value } else { 0 }).sum()
}

/// Returns the bar charts, categories first.
fn bars(page: &Page) -> Vec<&Bars> {
    let bars = page.blocks.iter().filter_map(|block| if let Block::Bars(bars) = block { Some(bars) } else { None });
    bars.collect()
}

/// Returns the table with the ops that take the most time.
fn top_ops(page: &Page) -> &TableBlock {
    let tables =
        page.blocks.iter().filter_map(|block| if let Block::Table(table) = block { Some(table) } else { None });
    tables.into_iter().find(|table| table.table == TableName::OpGroups).unwrap()
}

/// Checks the links of one profile. Returns their number.
fn links(path: &Path) -> usize {
    let mut session = xprof::open(path);
    let Some(page) = session.page(0, &xprof::active(), View::Overview, &PageQuery::default()) else { return 0 };
    let mut count = 0;
    // Without device ops, the page describes hosts, and the tables themselves are the evidence.
    if !page.blocks.iter().any(|block| matches!(block, Block::Stack(_))) {
        return 0;
    }
    for block in page.blocks {
        match block {
            Block::Bars(bars) => {
                // The last bar may stand for all categories that are too small for their own bar.
                let named = bars.bars.iter().filter(|bar| !bar.label.ends_with(" other categories"));
                for bar in named {
                    let Some(link) = &bar.link else { panic!("{}: {} leads nowhere", path.display(), bar.label) };
                    let found = rows(&mut session, link);
                    assert!(!found.rows.is_empty(), "{}: {} leads to {link:?}", path.display(), bar.label);
                    count += 1;
                }
            }
            // These blocks link to whole views, or state facts.
            Block::Figures { .. } | Block::Findings { .. } | Block::Stack(_) | Block::Fold { .. } | Block::Facts(_) => {
            }
            Block::Table(table) if matches!(table.table, TableName::OtherDevices | TableName::OtherDeviceEvents) => {}
            Block::Table(table) => {
                assert_eq!(table.links.len(), table.rows.len());
                for (row, link) in table.rows.iter().zip(&table.links) {
                    // A host op is not an op of a device.
                    if table.table == TableName::OpPlacement && row[1] == Cell::Text("host".to_owned()) {
                        continue;
                    }
                    let link = link.as_ref().unwrap_or_else(|| panic!("{}: {row:?} leads nowhere", path.display()));
                    let found = rows(&mut session, link);
                    assert!(!found.rows.is_empty(), "{}: {row:?} leads to {link:?}", path.display());
                    count += 1;
                }
            }
            other => panic!("{other:?}"),
        }
    }
    count
}

#[test]
fn every_line_of_the_overview_leads_to_rows() {
    let own: usize = samples::own().iter().map(|path| links(path)).sum();
    assert!(own > 30, "{own} links");
}

#[test]
#[ignore = "reads real profiles"]
fn every_line_of_the_overview_of_real_profiles_leads_to_rows() {
    let folder = samples::traces();
    let mut paths = samples::files(&folder, &[".xplane.pb", ".trace.json.gz"]);
    paths.retain(|path| !path.components().any(|part| part.as_os_str() == "broken" || part.as_os_str() == "damaged"));
    let found: Vec<(String, usize)> =
        paths.iter().map(|path| (path.strip_prefix(&folder).unwrap().display().to_string(), links(path))).collect();
    assert!(found.iter().map(|(_, count)| count).sum::<usize>() > 250, "{found:?}");
}

/// On TPUs, categories, ops and kernels cover the same events. The times of the three differ because they use different
/// clocks (docs/metrics.md, Ops).
#[test]
#[ignore = "reads real profiles"]
fn the_rows_are_the_ops_of_the_category() {
    let mut session = xprof::open(&samples::real("tpu-v6e-4chip/*.xplane.pb"));
    let page = session.page(0, &xprof::active(), View::Overview, &PageQuery::default()).unwrap();
    let of = |label: &str| bars(&page)[0].bars.iter().find(|bar| bar.label == label).unwrap().link.clone().unwrap();
    for (category, count) in [("copy-done", 2400), ("loop fusion", 1200), ("all-reduce", 12), ("broadcast", 1)] {
        assert_eq!(sum(&rows(&mut session, &of(category)), "occurrences"), count, "{category}");
    }
}

/// Mangled names are shown in C++ notation and still link to their kernels. A link to a copy leads to the ops.
#[test]
#[ignore = "reads real profiles"]
fn names_are_those_that_people_read() {
    let mut session = xprof::open(&samples::real("pascal-tf-laptop/*.xplane.pb"));
    let page = session.page(0, &xprof::active(), View::Overview, &PageQuery::default()).unwrap();
    let table = top_ops(&page);
    for row in &table.rows {
        assert!(!matches!(&row[0], Cell::Text(name) if name.starts_with("_Z")), "{row:?}");
    }
    let views: Vec<View> = table.links.iter().flatten().map(|link| link.view).collect();
    assert!(views.contains(&View::Kernels), "{views:?}");
    let mut session = xprof::open(&samples::real("kineto/h100-owlv2.json.gz"));
    let page = session.page(0, &xprof::active(), View::Overview, &PageQuery::default()).unwrap();
    let table = top_ops(&page);
    let copies = table
        .rows
        .iter()
        .zip(&table.links)
        .filter(|(row, _)| matches!(&row[0], Cell::Text(name) if name.starts_with("Mem")));
    let views: Vec<View> = copies.filter_map(|(_, link)| Some(link.as_ref()?.view)).collect();
    assert_eq!(views, [View::Ops; 3]);
}
