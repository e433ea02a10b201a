//! Exports of the report: JSON and its schema, tables (CSV, Markdown, text), one screen of text, a digest for agents,
//! and a web page. Comparisons are exported as text, Markdown, JSON and a web page. A range of the timeline is exported
//! as a trace.
//!
//! Users share exports, so the last step of each exporter is [`shared`](base::home::shared), which replaces each home
//! folder with `~`. The other folders of a path are enough to find source lines.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

pub mod chrome_trace;
pub mod comparison;
pub mod csv;
pub mod digest;
mod findings;
pub mod html;
pub mod json;
pub mod lake_trends;
pub mod markdown;
pub mod text;

#[cfg(test)]
mod tests {
    use super::*;
    use table::{Cell, Table, Unit, column};

    /// Returns a profile whose files, findings and warnings contain a user's home folder.
    fn profile() -> report::UnifiedProfile {
        let mut profile = report::example::profile();
        profile.metadata.run_name = Some("/home/jo.smith/runs/a".to_owned());
        profile.metadata.trace_file = "/Users/jo.smith/runs/a.xplane.pb".to_owned();
        profile.warnings.push(base::Warning::new(
            base::WarningCode::NoDeviceOps,
            r"C:\Users\jo.smith\a.json holds none.".to_owned(),
        ));
        let source = Some("/home/jo.smith/train.py:42".to_owned());
        let op = report::TopOp { name: "dot.1".to_owned(), source, ..report::TopOp::default() };
        profile.op_statistics = Some(report::OpStatistics { top_ops: vec![op], ..report::OpStatistics::default() });
        profile
    }

    #[test]
    fn no_export_contains_the_home_folder_of_a_user() {
        let profile = profile();
        let subjects: Vec<compare::Subject> =
            [&profile, &profile].map(|profile| compare::Subject::new(profile.clone())).into();
        let compared = compare::compare(&subjects, &compare::Options::default());
        let texts = ["/home/jo.smith/train.py:42", r"C:\Users\jo.smith\train.py:7"]
            .map(|text| vec![Cell::Text(text.to_owned())]);
        let table = Table::new("t", vec![column("source", "Source", Unit::Text, "")], texts.to_vec());
        let exported = [
            ("json", json::profile(&profile)),
            ("json of several", json::profiles(std::slice::from_ref(&profile))),
            ("markdown", markdown::report(&profile)),
            ("text", text::report(&profile)),
            ("texts", text::reports(std::slice::from_ref(&profile))),
            ("html", html::report(&profile)),
            ("card", html::card(&profile, None)),
            ("comparison as json", comparison::json(&compared)),
            ("comparison as text", comparison::text(&compared)),
            ("comparison as markdown", comparison::markdown(&compared)),
            ("comparison as html", comparison::html(&compared, &subjects)),
            ("csv", csv::to_csv(&table)),
            ("table as json", json::table(&table)),
            ("table as markdown", markdown::to_markdown(&table)),
            ("table as text", text::table_text(&table, false)),
        ];
        for (name, text) in exported {
            assert!(!text.contains("jo.smith"), "{name}: {text}");
            assert!(text.contains('~'), "{name}");
        }
        let source = |text: &str| text.contains("~/train.py:42");
        assert!(source(&html::report(&profile)) && source(&json::profile(&profile)) && source(&csv::to_csv(&table)));
    }
}
