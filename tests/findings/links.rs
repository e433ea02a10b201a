//! Every link leads to a page that exists, with a filter that leaves something on it.

use crossprof::report::FindingSeverity;
use crossprof::table::Query;
use crossprof::{Settings, TableName};

use super::runs::session;

/// The table of a view that links are filtered on.
fn table_of(view: &str) -> TableName {
    match view {
        "ops" => TableName::Ops,
        "kernels" => TableName::Kernels,
        "roofline" => TableName::Roofline,
        "steps" => TableName::StepBreakdown,
        "communication" => TableName::Collectives,
        "transfers" => TableName::Transfers,
        "devices" => TableName::Devices,
        // What is lost stands among its warnings.
        "overview" => TableName::TopKernels,
        other => panic!("no table is known for the view {other}"),
    }
}

#[test]
fn links_open_the_evidence() {
    let mut followed = 0;
    for (path, _) in super::real::EXPECTED {
        let Some(mut session) = session(path) else { return };
        let profile = session.report(0, &Settings::default()).unwrap();
        for finding in &profile.findings {
            let Some(view) = &finding.view else {
                assert_eq!(finding.severity, FindingSeverity::NotChecked, "{path}: {} leads nowhere", finding.id);
                continue;
            };
            // The page of devices is made of tables alone.
            let has_page = session.page(0, &Settings::default(), view, &Default::default()).is_some();
            assert!(has_page || view == "devices", "{path}: {view}");
            let filter = finding.filter.clone().unwrap_or_default();
            let query = Query { filter: filter.clone(), ..Query::default() };
            let table = session.table(0, &Settings::default(), table_of(view), "", &query).unwrap();
            assert!(table.matched_rows > 0, "{path}: {} leads to {view} with {filter:?}, where nothing is", finding.id);
            followed += 1;
        }
    }
    assert!(followed > 10, "{followed}");
}
