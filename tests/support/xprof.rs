//! Reads XProf's output for the real profiles, and converts crossprof's tables to the same form.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crossprof::table::Cell;
use crossprof::{Query, Session, Settings, TableName, WindowChoice};
use serde_json::Value;

use super::samples;

/// Maximum relative difference between two numbers that are treated as equal.
pub(crate) const TOLERANCE: f64 = 1e-6;

/// Stands for a number that crossprof does not have. `ABSENT` is not equal to any number.
pub(crate) const ABSENT: f64 = f64::NAN;

/// A row of a table, as values by column id.
pub(crate) type Row = BTreeMap<String, Value>;

/// Returns the folders below the real profiles that contain XProf's output of `tool`.
pub(crate) fn folders(tool: &str) -> Vec<String> {
    let outputs = samples::files(&samples::traces(), &[&format!("xprof/{tool}.json")]);
    let folder = |path: &PathBuf| Some(path.parent()?.parent()?.file_name()?.to_string_lossy().into_owned());
    outputs.iter().filter_map(folder).collect()
}

/// Returns settings that measure all work of the devices, as XProf does.
pub(crate) fn active() -> Settings {
    Settings { window: WindowChoice::Active, ..Settings::default() }
}

/// Returns settings that measure the whole capture, as XProf does for hosts.
pub(crate) fn all() -> Settings {
    Settings { window: WindowChoice::All, ..Settings::default() }
}

/// Returns the output of XProf's `tool` for a folder's profile.
pub(crate) fn output(folder: &str, tool: &str) -> Value {
    let text = samples::real_bytes(&format!("{folder}/xprof/{tool}.json"));
    serde_json::from_slice(&text).expect("XProf writes JSON")
}

/// Returns the path of a folder's xplane file.
pub(crate) fn xplane(folder: &str) -> PathBuf {
    samples::real(&format!("{folder}/*.xplane.pb"))
}

/// Loads a profile into a session.
pub(crate) fn open(path: &Path) -> Session {
    let mut session = Session::new();
    let bytes = std::fs::read(path).expect("a profile");
    let file = session.begin(&path.to_string_lossy(), Some(bytes.len() as u64));
    session.push(file, &bytes);
    assert_eq!(session.finish(file).error, None, "{}", path.display());
    session.runs();
    session
}

/// Loads a folder's xplane file into a session, and reads XProf's output of `tool`.
pub(crate) fn read(folder: &str, tool: &str) -> (Session, Value) {
    (open(&xplane(folder)), output(folder, tool))
}

/// Returns the rows of one of XProf's data tables.
pub(crate) fn rows(table: &Value) -> Vec<Row> {
    let ids: Vec<&str> =
        table["cols"].as_array().unwrap().iter().map(|column| column["id"].as_str().unwrap()).collect();
    let row = |row: &Value| {
        let cells = row["c"].as_array().unwrap();
        ids.iter().zip(cells).map(|(&id, cell)| (id.to_owned(), cell["v"].clone())).collect()
    };
    table["rows"].as_array().unwrap().iter().map(row).collect()
}

/// Returns the rows of one of crossprof's tables.
pub(crate) fn ours(session: &mut Session, settings: &Settings, name: TableName) -> Vec<Row> {
    let table = session.table(0, settings, name, "", &Query::default()).unwrap();
    let value = |cell: &Cell| serde_json::to_value(cell).unwrap();
    let columns = table.columns;
    let row = |row: &Vec<Cell>| columns.iter().zip(row).map(|(c, cell)| (c.key.to_owned(), value(cell))).collect();
    table.rows.iter().map(row).collect()
}

/// Returns the number in a column of a row, or 0 if there is no number. XProf writes large numbers as text.
pub(crate) fn number(row: &Row, key: &str) -> f64 {
    number_of(row.get(key).unwrap_or_else(|| panic!("no column {key}")))
}

/// Returns the number in a value, or 0 if there is none.
pub(crate) fn number_of(value: &Value) -> f64 {
    value.as_f64().or_else(|| value.as_str()?.parse().ok()).unwrap_or(0.0)
}

/// Returns the text in column `key` of a row. Returns an empty text if the value is no text.
pub(crate) fn text<'r>(row: &'r Row, key: &str) -> &'r str {
    row.get(key).unwrap_or_else(|| panic!("no column {key}")).as_str().unwrap_or("")
}

/// Returns true if two numbers are equal within [`TOLERANCE`].
pub(crate) fn close(a: f64, b: f64) -> bool {
    within(a, b, TOLERANCE)
}

/// Returns true if two numbers are equal within a tolerance.
pub(crate) fn within(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs())
}

/// Reason why XProf names a different limit for a copy between device and host memory.
pub(crate) const HOST_LINK: &str = "XProf says HBM of copies between the memories of device and host, at 2 % of its peak: here they are limited by the link to the host";

/// Returns true for a copy between device and host memory.
pub(crate) fn crosses_host_link(row: &Row) -> bool {
    text(row, "bound_by") == "Host link" && text(row, "category").starts_with("copy")
}

/// Reason why times on a stream differ slightly.
pub(crate) const OVERLAP: &str = "XProf counts the time of kernels that overlap on one stream for each of them";

/// Returns true if the difference can come from kernels that overlap on one stream by a fraction of a microsecond each.
pub(crate) fn overlaps(theirs: f64, ours: f64) -> bool {
    within(theirs, ours, 2e-3)
}

/// Result of a comparison: equal values, and values that differ for a documented reason. The test prints both at the
/// end.
#[derive(Default)]
pub(crate) struct Comparison {
    name: String,
    /// Number of compared rows.
    pub rows: usize,
    /// Number of equal values.
    pub equal: usize,
    on_purpose: Vec<(&'static str, String)>,
}

impl Comparison {
    /// Starts a comparison. Creates a comparison. The name consists, for example, of a folder and a tool.
    pub(crate) fn new(name: impl Into<String>) -> Comparison {
        Comparison { name: name.into(), ..Comparison::default() }
    }

    /// Compares XProf's number (or the number from the better input) with our number. The two numbers must be equal, or
    /// differ for the first reason that applies. Any other difference is a failure.
    #[track_caller]
    pub(crate) fn number(&mut self, what: &str, theirs: f64, ours: f64, reasons: &[(&'static str, bool)]) {
        let print = |value: f64| if value.is_nan() { "absent".to_owned() } else { value.to_string() };
        self.value(what, close(theirs, ours), &print(theirs), &print(ours), reasons);
    }

    /// Compares two texts.
    #[track_caller]
    pub(crate) fn text(&mut self, what: &str, theirs: &str, ours: &str, reasons: &[(&'static str, bool)]) {
        self.value(what, theirs == ours, theirs, ours, reasons);
    }

    #[track_caller]
    fn value(&mut self, what: &str, equal: bool, theirs: &str, ours: &str, reasons: &[(&'static str, bool)]) {
        let name = &self.name;
        if equal {
            self.equal += 1;
        } else if let Some((reason, _)) = reasons.iter().find(|(_, holds)| *holds) {
            self.on_purpose.push((reason, format!("{what} is {theirs} in XProf, {ours} here")));
        } else {
            panic!("{name}: {what} is {theirs} in XProf and {ours} here");
        }
    }

    /// Returns the name of the comparison.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of values that differ intentionally.
    pub(crate) fn on_purpose(&self) -> usize {
        self.on_purpose.len()
    }

    /// Prints how many numbers were compared, and then each reason with the differences that it explains.
    pub(crate) fn print(&self) {
        let Comparison { name, rows, equal, on_purpose } = self;
        println!("{name}: {rows} rows, {equal} values equal, {} differ on purpose", on_purpose.len());
        let reasons: BTreeSet<&str> = on_purpose.iter().map(|(reason, _)| *reason).collect();
        for reason in reasons {
            println!("  {reason}:");
            for (_, what) in on_purpose.iter().filter(|(other, _)| *other == reason) {
                println!("    {what}");
            }
        }
    }
}
