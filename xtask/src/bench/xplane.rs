//! Writes a run as an XPlane protobuf: planes, lines and events with their names and arguments in
//! tables, as the profiler records them. The field numbers are those of `XSpace` and its parts.

use super::generate::{Arg, Event, Line, Sink, Value};
use std::collections::{BTreeMap, HashMap};
use std::io::{Result, Write};

/// Collects a run and writes it as one `XSpace`.
#[derive(Default)]
pub struct XplaneSink {
    planes: BTreeMap<u32, Plane>,
}

#[derive(Default)]
struct Plane {
    name: String,
    lines: BTreeMap<u32, (String, Vec<u8>)>,
    events: Table,
    /// Bytes of the event metadata's own arguments, by its id.
    fixed: BTreeMap<u64, Vec<u8>>,
    stats: Table,
}

/// Names with ids from 1.
#[derive(Default)]
struct Table {
    ids: HashMap<String, u64>,
    names: Vec<String>,
}

impl Table {
    /// The id of a name, and whether it is new.
    fn id(&mut self, name: &str) -> (u64, bool) {
        if let Some(&id) = self.ids.get(name) {
            return (id, false);
        }
        self.names.push(name.to_owned());
        let id = self.names.len() as u64;
        self.ids.insert(name.to_owned(), id);
        (id, true)
    }
}

impl XplaneSink {
    /// Writes what was collected.
    pub fn write(self, mut out: impl Write) -> Result<()> {
        for (pid, plane) in self.planes {
            let mut bytes = Vec::new();
            // Device N has the trace's pid N + 1.
            field_number(&mut bytes, 1, u64::from(pid) - 1);
            field_bytes(&mut bytes, 2, plane.name.as_bytes());
            for (tid, (name, events)) in &plane.lines {
                let mut line = Vec::new();
                field_number(&mut line, 1, u64::from(*tid));
                field_bytes(&mut line, 2, name.as_bytes());
                line.extend(events);
                field_bytes(&mut bytes, 3, &line);
            }
            for (id, name) in (1..).zip(&plane.events.names) {
                let fixed = plane.fixed.get(&id).map(Vec::as_slice).unwrap_or_default();
                map_entry(&mut bytes, 4, id, name, fixed);
            }
            for (id, name) in (1..).zip(&plane.stats.names) {
                map_entry(&mut bytes, 5, id, name, &[]);
            }
            let mut head = Vec::new();
            key(&mut head, 1, 2);
            varint(&mut head, bytes.len() as u64);
            out.write_all(&head)?;
            out.write_all(&bytes)?;
        }
        out.flush()
    }
}

impl Sink for XplaneSink {
    fn process(&mut self, pid: u32, name: &str) -> Result<()> {
        self.planes.entry(pid).or_default().name = name.to_owned();
        Ok(())
    }

    fn line(&mut self, line: Line, name: &str) -> Result<()> {
        let lines = &mut self.planes.entry(line.pid).or_default().lines;
        lines.entry(line.tid).or_default().0 = name.to_owned();
        Ok(())
    }

    fn event(&mut self, event: &Event) -> Result<()> {
        let plane = self.planes.entry(event.line.pid).or_default();
        let (id, new) = plane.events.id(event.name);
        if new {
            let fixed = stats(&mut plane.stats, 5, event.args.iter().filter(|arg| arg.of_operation));
            plane.fixed.insert(id, fixed);
        }
        let mut bytes = Vec::with_capacity(64);
        field_number(&mut bytes, 1, id);
        field_number(&mut bytes, 2, event.start_ps as u64);
        field_number(&mut bytes, 3, event.duration_ps as u64);
        bytes.extend(stats(&mut plane.stats, 4, event.args.iter().filter(|arg| !arg.of_operation)));
        let line = plane.lines.entry(event.line.tid).or_default();
        field_bytes(&mut line.1, 4, &bytes);
        Ok(())
    }
}

/// Arguments as `XStat` messages in this field; texts are references into the table of names.
fn stats<'a>(table: &mut Table, field: u32, args: impl Iterator<Item = &'a Arg<'a>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for arg in args {
        let mut stat = Vec::with_capacity(16);
        field_number(&mut stat, 1, table.id(arg.key).0);
        match arg.value {
            Value::Number(value) => field_number(&mut stat, 4, value as u64),
            Value::Text(value) => field_number(&mut stat, 7, table.id(value).0),
        }
        field_bytes(&mut bytes, field, &stat);
    }
    bytes
}

/// An entry of a map from ids to `XEventMetadata` or `XStatMetadata`.
fn map_entry(bytes: &mut Vec<u8>, field: u32, id: u64, name: &str, more: &[u8]) {
    let mut metadata = Vec::new();
    field_number(&mut metadata, 1, id);
    field_bytes(&mut metadata, 2, name.as_bytes());
    metadata.extend(more);
    let mut entry = Vec::new();
    field_number(&mut entry, 1, id);
    field_bytes(&mut entry, 2, &metadata);
    field_bytes(bytes, field, &entry);
}

fn field_number(bytes: &mut Vec<u8>, field: u32, value: u64) {
    key(bytes, field, 0);
    varint(bytes, value);
}

fn field_bytes(bytes: &mut Vec<u8>, field: u32, value: &[u8]) {
    key(bytes, field, 2);
    varint(bytes, value.len() as u64);
    bytes.extend(value);
}

fn key(bytes: &mut Vec<u8>, field: u32, wire_type: u32) {
    varint(bytes, u64::from(field << 3 | wire_type));
}

fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}
