//! The link of every finding must lead to an existing page, and the link's filter must match a row on that page.

use std::path::Path;

use crossprof::report::{FindingSeverity, View};
use crossprof::table::Query;
use crossprof::{Settings, TableName};

use crate::support::{samples, xprof};

/// Returns the table that a link to this view filters. Returns `None` for the overview, which lists lost data among the
/// warnings, and for memory, because memory findings cover the whole page.
fn table_of(view: View) -> Option<TableName> {
    Some(match view {
        View::Ops => TableName::Ops,
        View::Kernels => TableName::Kernels,
        View::Roofline => TableName::Roofline,
        View::Steps => TableName::StepBreakdown,
        View::Serving => TableName::Serving,
        View::Communication => TableName::Collectives,
        View::Transfers => TableName::Transfers,
        View::Input => TableName::InputPipeline,
        View::Devices => TableName::Devices,
        View::Overview | View::Memory => return None,
        other => panic!("no table is known for the view {}", other.key()),
    })
}

/// Follows the links of all findings of a profile, and returns the number of links.
fn follow(path: &Path) -> usize {
    let mut session = xprof::open(path);
    let profile = session.report(0, &Settings::default()).unwrap();
    let path = path.display();
    let mut followed = 0;
    for finding in &profile.findings {
        let Some(view) = finding.view else {
            assert_eq!(finding.severity, FindingSeverity::NotChecked, "{path}: {} leads nowhere", finding.id);
            continue;
        };
        let page = session.page(0, &Settings::default(), view, &Default::default());
        assert!(page.is_some_and(|page| !page.blocks.is_empty()), "{path}: {}", view.key());
        followed += 1;
        // The rows of this finding are in a separate table on the page.
        let own = (finding.id == "dcn_stalls").then_some(TableName::Megascale);
        let Some(name) = own.or(table_of(view)) else { continue };
        let filter = finding.filter.clone().unwrap_or_default();
        let query = Query { filter: filter.clone(), ..Query::default() };
        let table = session.table(0, &Settings::default(), name, "", &query).unwrap();
        assert!(
            table.matched_rows > 0,
            "{path}: {} leads to {} with {filter:?}, where nothing is",
            finding.id,
            view.key()
        );
    }
    followed
}

#[test]
fn links_of_our_own_profiles_open_the_evidence() {
    let followed: usize = samples::own().iter().map(|path| follow(path)).sum();
    assert!(followed > 10, "{followed}");
}

#[test]
#[ignore = "reads real profiles"]
fn links_of_real_profiles_open_the_evidence() {
    let followed: usize = super::real::EXPECTED.iter().map(|(path, _)| follow(&samples::real(path))).sum();
    assert!(followed > 10, "{followed}");
}
