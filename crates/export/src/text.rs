//! Renders a run on one screen of a terminal: headline figures, then a breakdown of the time, then the warnings.

use super::findings;
use base::format::{self, printable, shorten};
use base::home::shared;
use document::columns::SENTENCE;
use document::terminal::{self, WIDTH};
use pages::sections::sections;
use report::{UNKNOWN, UnifiedProfile, distinct_names};
use table::{Cell, Column, Table, Unit, display};
use tables::TableName;

pub use pages::warning::warning_line;

/// Maximum number of characters of a name in a whole table on a terminal.
const NAME: usize = 60;

/// Largest width to which the cells of a column are padded. Longer cells are wider than their column.
const PADDED: usize = 300;

/// Returns the report of one run.
pub fn report(profile: &UnifiedProfile) -> String {
    shared(format::with_plain_spaces(&report_called(profile, &title(profile))))
}

/// Returns the reports of several runs, each with a unique name.
pub fn reports(profiles: &[UnifiedProfile]) -> String {
    let reports = profiles.iter().zip(titles(profiles)).map(|(profile, title)| report_called(profile, &title));
    shared(format::with_plain_spaces(&reports.collect::<Vec<_>>().join("\n")))
}

fn report_called(profile: &UnifiedProfile, title: &str) -> String {
    format!("{title}\n{}", terminal::render(&sections(profile)))
}

/// Returns a whole table with aligned columns. On a terminal, long names are shortened in the middle. Files and other
/// programs receive full names.
pub fn table_text(table: &Table, for_terminal: bool) -> String {
    if table.rows.is_empty() && TableName::from_key(table.name).is_some_and(TableName::is_of_area) {
        return "No events in this range.\n".to_owned();
    }
    if table.rows.is_empty() {
        return format!("No {} in the measured part of this run.\n", table.name);
    }
    let text = match table.name {
        "findings" if table.columns.iter().any(|column| column.key == "message") => findings::list(table, WIDTH),
        // Sentences are shortened only above a certain length.
        "warnings" => aligned(table, "", SENTENCE),
        _ => aligned(table, "", if for_terminal { NAME } else { usize::MAX }),
    };
    shared(format::with_plain_spaces(&text))
}

/// Returns the name, device and origin of a run in one line.
pub fn title(profile: &UnifiedProfile) -> String {
    title_called(profile, &profile.metadata.full_name())
}

/// Returns the name, device and origin of several runs, with one line for each run. The names are unique.
pub fn titles(profiles: &[UnifiedProfile]) -> Vec<String> {
    if let [only] = profiles {
        return vec![title(only)];
    }
    let naming: Vec<_> = profiles.iter().map(|profile| profile.metadata.naming()).collect();
    profiles.iter().zip(distinct_names(&naming)).map(|(profile, name)| title_called(profile, &name)).collect()
}

fn title_called(profile: &UnifiedProfile, name: &str) -> String {
    let metadata = &profile.metadata;
    let mut parts = vec![printable(&shorten(name, 80))];
    if metadata.num_devices > 0 || metadata.device_type != "Unknown" {
        parts.push(printable(&shorten(&metadata.device_type, 40)));
    }
    let accelerators = profile.other_devices.iter().filter(|device| device.kind == "accelerator").count() as u64;
    parts.push(match (metadata.num_devices, accelerators) {
        (0, 1) => "1 device of unknown kind".to_owned(),
        (0, 2..) => format!("{} of unknown kind", format::counted(accelerators, "device")),
        (0, 0) if profile.is_of_memory_alone() => "memory only".to_owned(),
        (0, 0) if profile.host_activity.is_some() => "host only".to_owned(),
        (devices, _) => format::counted(devices, "device"),
    });
    if metadata.framework != UNKNOWN {
        parts.push(printable(&shorten(&metadata.framework, 40)));
    }
    parts.join(", ")
}

/// Aligns columns. Numbers are right-aligned, and names with more than `most` characters are
/// shortened in the middle.
fn aligned(table: &Table, indent: &str, most: usize) -> String {
    let cell = |column: &Column, cell: &Cell| shorten(&shared(display(cell, column.unit)), most);
    let mut lines: Vec<Vec<String>> = vec![table.columns.iter().map(|column| column.title.to_owned()).collect()];
    for row in &table.rows {
        lines.push(table.columns.iter().zip(row).map(|(column, value)| cell(column, value)).collect());
    }
    let width = |index: usize| {
        lines.iter().filter_map(|line| line.get(index)).map(|text| text.chars().count()).max().unwrap_or(0).min(PADDED)
    };
    let widths: Vec<usize> = (0..table.columns.len()).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let mut row = indent.to_owned();
        for ((value, column), &width) in line.iter().zip(&table.columns).zip(&widths) {
            if column.unit == Unit::Text {
                row.push_str(&format!("{value:<width$}  "));
            } else {
                row.push_str(&format!("{value:>width$}  "));
            }
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Warning, WarningCode};
    use tables::of_report;

    #[test]
    fn the_report_fits_a_screen_and_ends_with_the_warnings() {
        let text = report(&report::example::profile());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "demo, TPU v6 Lite, 1 device, JAX");
        assert!(lines[1].starts_with("  Step time") && lines[1].contains("120 µs  ± 400 ns over "), "{text}");
        assert!(text.contains("  Step times   median 120 µs"), "{text}");
        assert_eq!(
            lines.last(),
            Some(&"  damage       demo.json, byte 77: The file ends inside an event. Copy it again.")
        );
        assert!(lines.len() < 60 && lines.iter().all(|line| line.chars().count() <= WIDTH + 20), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }

    /// Returns a warning of a profile that another program wrote.
    fn imported(code: &str, message: &str) -> Warning {
        Warning { code: code.to_owned(), ..Warning::new(WarningCode::NoEvents, message) }
    }

    /// Rust cannot format widths above 65 535.
    #[test]
    fn a_long_warning_is_cut_in_the_table_and_in_the_report() {
        let mut profile = report::example::profile();
        let long = "x".repeat(70_000);
        profile.warnings = vec![imported(&long, &long).with_file(&long).with_remedy(&long), imported("a", "b")];
        let table = of_report(&profile, TableName::Warnings).unwrap();
        for text in [table_text(&table, true), table_text(&table, false), report(&profile)] {
            assert!(text.contains("xx…xx") && text.lines().all(|line| line.chars().count() < 5 * SENTENCE), "{text}");
        }
    }

    #[test]
    fn names_are_whole_beyond_a_terminal() {
        let mut profile = report::example::profile();
        let long = format!("start_{}_end", "x".repeat(400));
        profile.kernels.kernels_by_category.insert(long.clone(), report::KernelCategory::default());
        let table = of_report(&profile, TableName::Categories).unwrap();
        assert!(table_text(&table, false).contains(&long));
        let on_terminal = table_text(&table, true);
        assert!(!on_terminal.contains(&long) && on_terminal.contains("start_xx"), "{on_terminal}");
    }

    #[test]
    fn numbers_are_aligned_to_the_right() {
        let table = of_report(&report::example::profile(), TableName::Categories).unwrap();
        assert_eq!(
            table_text(&table, true),
            "Category  Self time  Share of busy time  Count\nmatmul      60.5 µs              60.5 %      2\ncopy        39.5 µs              39.5 %      2\n"
        );
    }
}
