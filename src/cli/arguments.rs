//! `--arguments`: reads each file a second time, to get all arguments of the listed events.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use crossprof::home::shared;
use crossprof::input::{ArgumentsReader, EventArguments, NOT_FOUND};
use crossprof::session::EventInFile;
use crossprof::table::{Cell, Column, Unit, column};
use crossprof::{Table, json_text};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::load::outlines;

/// Names and values of an event's arguments. `None` if they could not be read.
pub(super) type Arguments = Option<Vec<(String, String)>>;

/// Number of bytes in each read from disk.
const READ_BYTES: usize = 1 << 20;

const COLUMN: Column =
    column("arguments", "Arguments", Unit::Text, "All other values of the event in the file, as a JSON object.");

/// Returns the arguments of each event, and messages about files that could not be read.
pub(super) fn read(events: &[Option<EventInFile>]) -> (Vec<Arguments>, Vec<String>) {
    let mut files: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for event in events.iter().flatten() {
        files.entry(&event.path).or_default().push(event.index);
    }
    let (mut found, mut problems) = (BTreeMap::new(), Vec::new());
    for (path, wanted) in files {
        match read_file(path, wanted) {
            Ok(events) => found.extend(events.into_iter().map(|event| ((path, event.event), event))),
            Err(problem) => problems.push(problem),
        }
    }
    let mut missing: BTreeMap<&str, usize> = BTreeMap::new();
    let arguments = events.iter().map(|event| {
        let event = event.as_ref()?;
        let known = found.get(&(event.path.as_str(), event.index)).filter(|known| known.name == event.name);
        if known.is_none() {
            *missing.entry(&event.path).or_default() += 1;
        }
        known.map(|known| known.arguments.clone())
    });
    let arguments = arguments.collect();
    if problems.is_empty() {
        problems.extend(missing.into_keys().map(|path| format!("{path}: {NOT_FOUND}")));
    }
    (arguments, problems)
}

/// Returns the arguments of the events with these indices. `path` names a file or a member of an archive.
fn read_file(path: &str, wanted: Vec<u32>) -> Result<Vec<EventArguments>, String> {
    let failed = |reason: String| format!("{path}: cannot be read again for the arguments of its events: {reason}");
    // The path of a member starts with the path of its archive.
    let archives = std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(parent, _)| parent));
    let Some(stored) = archives.into_iter().find(|path| Path::new(path).is_file()) else {
        return Err(failed("the file no longer exists, or it is a pipe.".to_owned()));
    };
    let failed = |error: std::io::Error| failed(error.to_string());
    let mut file = File::open(stored).map_err(failed)?;
    let mut reader = ArgumentsReader::new(stored, path, wanted);
    let size = file.metadata().map_err(failed)?.len();
    reader.set_outlines(outlines(&mut file, size).map_err(failed)?);
    let mut chunk = vec![0; READ_BYTES];
    while !reader.is_done() {
        match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => reader.push(chunk.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(reader.finish())
}

/// Adds the arguments to the table as a column.
pub(super) fn with_column(mut table: Table, arguments: &[Arguments]) -> Table {
    table.columns.push(COLUMN);
    for (row, arguments) in table.rows.iter_mut().zip(arguments) {
        let text = |arguments: &[_]| Cell::Text(json_text::compact(&Object(arguments)));
        row.push(arguments.as_deref().map_or(Cell::Absent, text));
    }
    table
}

/// Returns the table as JSON, with arguments as objects.
pub(super) fn json(table: &Table, arguments: &[Arguments]) -> String {
    let rows = table.rows.iter().zip(arguments);
    let rows: Vec<Row<'_>> = rows.map(|(cells, arguments)| Row { columns: &table.columns, cells, arguments }).collect();
    shared(json_text::pretty(&rows) + "\n")
}

struct Object<'a>(&'a [(String, String)]);

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

struct Row<'a> {
    columns: &'a [Column],
    cells: &'a [Cell],
    arguments: &'a Arguments,
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (column, cell) in self.columns.iter().zip(self.cells) {
            map.serialize_entry(column.key, cell)?;
        }
        map.serialize_entry(COLUMN.key, &self.arguments.as_deref().map(Object))?;
        map.end()
    }
}
