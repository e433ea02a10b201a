//! Writes a run as an XPlane protobuf: planes, lines and events. As in the profiler's output, names and arguments are
//! stored in tables. The field numbers come from `XSpace` and its messages.

use super::generate::{Arg, Event, Line, Sink, Value};
use std::collections::{BTreeMap, HashMap};
use std::io::{Result, Write};
use wire_writer::{Message, message};

/// Collects a run and writes it as one `XSpace`.
#[derive(Default)]
pub struct XplaneSink {
    planes: BTreeMap<u32, Plane>,
}

#[derive(Default)]
struct Plane {
    name: String,
    lines: BTreeMap<u32, (String, Message)>,
    events: Table,
    /// Arguments of the event metadata, by the id of the metadata.
    fixed: BTreeMap<i64, Message>,
    stats: Table,
}

/// A table of names. The ids of the names start at 1.
#[derive(Default)]
struct Table {
    ids: HashMap<String, i64>,
    names: Vec<String>,
}

impl Table {
    /// Returns the id of a name, and true if the name is new.
    fn id(&mut self, name: &str) -> (i64, bool) {
        if let Some(&id) = self.ids.get(name) {
            return (id, false);
        }
        self.names.push(name.to_owned());
        let id = self.names.len() as i64;
        self.ids.insert(name.to_owned(), id);
        (id, true)
    }
}

impl XplaneSink {
    /// Writes the collected run.
    pub fn write(self, mut out: impl Write) -> Result<()> {
        for (pid, plane) in self.planes {
            // Device N has pid N + 1 in the trace.
            let mut plane_message = message().int(1, i64::from(pid) - 1).bytes(2, plane.name);
            for (tid, (name, events)) in plane.lines {
                let head = message().int(1, i64::from(tid)).bytes(2, name);
                plane_message = plane_message.bytes(3, [head.0, events.0].concat());
            }
            for (id, name) in (1..).zip(&plane.events.names) {
                let fixed = plane.fixed.get(&id).cloned().unwrap_or_default();
                plane_message = plane_message.entry(4, id, Message([message().bytes(2, name).0, fixed.0].concat()));
            }
            for (id, name) in (1..).zip(&plane.stats.names) {
                plane_message = plane_message.stat_metadata(id, name);
            }
            out.write_all(&message().message(1, plane_message).0)?;
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
            let fixed = stats(message(), &mut plane.stats, 5, event.args.iter().filter(|arg| arg.of_operation));
            plane.fixed.insert(id, fixed);
        }
        let message = message().int(1, id).int(2, event.start_ps).int(3, event.duration_ps);
        let message = stats(message, &mut plane.stats, 4, event.args.iter().filter(|arg| !arg.of_operation));
        let (_, events) = plane.lines.entry(event.line.tid).or_default();
        *events = std::mem::take(events).message(4, message);
        Ok(())
    }
}

/// Adds arguments to a message, as `XStat` messages in the field `field`. Texts become references into the table of
/// names.
fn stats<'a>(to: Message, table: &mut Table, field: u32, args: impl Iterator<Item = &'a Arg<'a>>) -> Message {
    args.fold(to, |to, arg| {
        let stat = message().int(1, table.id(arg.key).0);
        let stat = match arg.value {
            Value::Number(value) => stat.int(4, value),
            Value::Text(value) => stat.int(7, table.id(value).0),
        };
        to.message(field, stat)
    })
}
