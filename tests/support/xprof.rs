//! XProf's own output for the real profiles, and our tables in the same form: rows by column id.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crossprof::table::Cell;
use crossprof::{Query, Session, Settings, TableName, WindowChoice};
use serde_json::Value;

use super::samples;

/// Largest relative difference of two numbers that are the same.
pub const TOLERANCE: f64 = 1e-6;

/// Stands for a number that we do not have; it equals nothing.
pub const ABSENT: f64 = f64::NAN;

/// A row by column id.
pub type Row = BTreeMap<String, Value>;

/// The folders below the real profiles for which XProf's output of `tool` is there.
pub fn folders(tool: &str) -> Vec<String> {
    let outputs = samples::files(&samples::traces(), &[&format!("xprof/{tool}.json")]);
    let folder = |path: &PathBuf| Some(path.parent()?.parent()?.file_name()?.to_string_lossy().into_owned());
    outputs.iter().filter_map(folder).collect()
}

/// XProf measures all that the devices did.
pub fn active() -> Settings {
    Settings { window: WindowChoice::Active, ..Settings::default() }
}

/// Of hosts it measures the whole capture.
pub fn all() -> Settings {
    Settings { window: WindowChoice::All, ..Settings::default() }
}

/// What XProf's `tool` printed for a folder's profile.
pub fn output(folder: &str, tool: &str) -> Value {
    let text = samples::real_bytes(&format!("{folder}/xprof/{tool}.json"));
    serde_json::from_slice(&text).expect("XProf writes JSON")
}

/// The xplane of a folder.
pub fn xplane(folder: &str) -> PathBuf {
    samples::real(&format!("{folder}/*.xplane.pb"))
}

/// A profile as a session.
pub fn open(path: &Path) -> Session {
    let mut session = Session::new();
    let bytes = std::fs::read(path).expect("a profile");
    let file = session.begin(&path.to_string_lossy(), Some(bytes.len() as u64));
    session.push(file, &bytes);
    assert_eq!(session.finish(file).error, None, "{}", path.display());
    session.runs();
    session
}

/// A folder's xplane as a session, and XProf's output of `tool`.
pub fn read(folder: &str, tool: &str) -> (Session, Value) {
    (open(&xplane(folder)), output(folder, tool))
}

/// The rows of one of XProf's data tables.
pub fn rows(table: &Value) -> Vec<Row> {
    let ids: Vec<&str> =
        table["cols"].as_array().unwrap().iter().map(|column| column["id"].as_str().unwrap()).collect();
    let row = |row: &Value| {
        let cells = row["c"].as_array().unwrap();
        ids.iter().zip(cells).map(|(&id, cell)| (id.to_owned(), cell["v"].clone())).collect()
    };
    table["rows"].as_array().unwrap().iter().map(row).collect()
}

/// The rows of one of our tables.
pub fn ours(session: &mut Session, settings: &Settings, name: TableName) -> Vec<Row> {
    let table = session.table(0, settings, name, "", &Query::default()).unwrap();
    let value = |cell: &Cell| serde_json::to_value(cell).unwrap();
    let columns = table.columns;
    let row = |row: &Vec<Cell>| columns.iter().zip(row).map(|(c, cell)| (c.key.to_owned(), value(cell))).collect();
    table.rows.iter().map(row).collect()
}

/// A number of a row; 0 where there is none. XProf writes large numbers as text.
pub fn number(row: &Row, key: &str) -> f64 {
    number_of(row.get(key).unwrap_or_else(|| panic!("no column {key}")))
}

/// The same of a value.
pub fn number_of(value: &Value) -> f64 {
    value.as_f64().or_else(|| value.as_str()?.parse().ok()).unwrap_or(0.0)
}

/// A text of a row; empty where there is none.
pub fn text<'r>(row: &'r Row, key: &str) -> &'r str {
    row.get(key).unwrap_or_else(|| panic!("no column {key}")).as_str().unwrap_or("")
}

/// Are two numbers the same?
pub fn close(a: f64, b: f64) -> bool {
    within(a, b, TOLERANCE)
}

/// The same with a tolerance.
pub fn within(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs())
}

/// Why XProf names another limit of a copy between the memories of device and host.
pub const HOST_LINK: &str = "XProf says HBM of copies between the memories of device and host, at 2 % of its peak: here they are limited by the link to the host";

/// Is it a copy between the memories of device and host, here?
pub fn crosses_host_link(row: &Row) -> bool {
    text(row, "bound_by") == "Host link" && text(row, "category").starts_with("copy")
}

/// Why times of a stream differ a little.
pub const OVERLAP: &str = "XProf counts the time of kernels that overlap on one stream for each of them";

/// May two numbers of a GPU differ because some of its kernels overlap on one stream, by a fraction of a microsecond each?
pub fn overlaps(theirs: f64, ours: f64) -> bool {
    within(theirs, ours, 2e-3)
}

/// What a comparison found: values that are equal, and those that differ for a documented reason. Prints both at the end.
#[derive(Default)]
pub struct Comparison {
    name: String,
    /// Rows that were looked at.
    pub rows: usize,
    /// Values that are equal.
    pub equal: usize,
    on_purpose: Vec<(&'static str, String)>,
}

impl Comparison {
    /// Of a folder and a tool, say.
    pub fn new(name: impl Into<String>) -> Comparison {
        Comparison { name: name.into(), ..Comparison::default() }
    }

    /// Two numbers, XProf's (or those of the better input) and ours: equal, or different because of the first reason that is true of them; anything else is a failure.
    #[track_caller]
    pub fn number(&mut self, what: &str, theirs: f64, ours: f64, reasons: &[(&'static str, bool)]) {
        let print = |value: f64| if value.is_nan() { "absent".to_owned() } else { value.to_string() };
        self.value(what, close(theirs, ours), &print(theirs), &print(ours), reasons);
    }

    /// Two texts.
    #[track_caller]
    pub fn text(&mut self, what: &str, theirs: &str, ours: &str, reasons: &[(&'static str, bool)]) {
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

    /// What is compared.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many differ on purpose.
    pub fn on_purpose(&self) -> usize {
        self.on_purpose.len()
    }

    /// Prints what was compared, and every difference below its reason.
    pub fn print(&self) {
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
