//! Finds reports in the lines of a log. What other programs put before a line (times, names of hosts and processes) does not matter: marks
//! are looked for anywhere in it.

use super::numbers::{size, size_behind};
use super::shape::array;
use super::{ListedBuffer, OutOfMemory, rounds_to};
use crate::tiling::tiled_bytes;
use crate::unpadded::unpadded_bytes;

/// Sums that the texts give, by their words, in front of which nothing else of the text stands.
const SUMS: [&str; 13] = [
    "parameter allocation",
    "constant allocation",
    "maybe_live_out allocation",
    "preallocated temp allocation",
    "preallocated temp fragmentation",
    "total allocation",
    "total fragmentation",
    "reserved",
    "program",
    "arguments",
    "global",
    "scoped",
    "HLO temp",
];

/// Buffers that are kept of a report: XLA lists some twenty.
const MOST_BUFFERS: usize = 10_000;

/// The reports of a text: those that list buffers.
pub(super) fn reports(text: &str) -> Vec<OutOfMemory> {
    let mut reader = Reader::default();
    text.lines().for_each(|line| reader.line(line));
    reader.end_report();
    reader.reports
}

#[derive(Default)]
struct Reader {
    reports: Vec<OutOfMemory>,
    /// What was said so far of the report that comes or is being read.
    open: OutOfMemory,
    /// Do the lines list buffers?
    is_list: bool,
    /// The buffer whose lines are read.
    buffer: Option<ListedBuffer>,
}

impl Reader {
    fn line(&mut self, line: &str) {
        if let Some(space) = behind(line, "Largest program allocations in ") {
            self.begin_list();
            self.open.memory_space = space.trim_end().trim_end_matches(':').to_owned();
        } else if line.contains("Peak buffers:") {
            self.begin_list();
        } else if begins_error(line) {
            // What an allocator said before belongs to this error.
            if self.is_list {
                self.end_report();
            }
            self.heading(line);
        } else if self.is_list {
            self.list_line(line);
        } else {
            self.heading(line);
        }
    }

    /// A list that follows another without a new error is of another memory space.
    fn begin_list(&mut self) {
        if self.is_list {
            self.end_report();
        }
        self.is_list = true;
    }

    fn end_report(&mut self) {
        self.end_buffer();
        let report = std::mem::take(&mut self.open);
        if std::mem::take(&mut self.is_list) && !report.buffers.is_empty() {
            self.reports.push(report);
        }
    }

    /// A line outside of a list: what was asked for, how much there is, and sums.
    fn heading(&mut self, line: &str) {
        let open = &mut self.open;
        if let Some(space) = behind(line, "Ran out of memory in memory space ") {
            open.memory_space = space.split(['.', ' ']).next().unwrap_or_default().to_owned();
        }
        if let Some((needed, rest)) = behind(line, " Used ").and_then(size) {
            open.needed_bytes = Some(needed);
            open.capacity_bytes = size_behind(rest, " of ");
        }
        for mark in ["trying to allocate ", "Out of memory allocating "] {
            if let Some(bytes) = size_behind(line, mark) {
                open.requested_bytes = Some(bytes);
            }
        }
        // The statistics of an allocator.
        for (mark, field) in [("InUse:", &mut open.in_use_bytes), ("Limit:", &mut open.capacity_bytes)] {
            if line.split_whitespace().any(|word| word == mark) {
                *field = size_behind(line, mark);
            }
        }
        for name in SUMS {
            // One word alone stands in many lines of a log.
            let is_it = |before: &str| before.trim().is_empty() || name.contains(' ');
            let Some((_, rest)) = line.split_once(name).filter(|(before, _)| is_it(before)) else { continue };
            let value = rest.strip_prefix(':').unwrap_or(rest);
            if let Some((bytes, _)) = value.starts_with([' ', '\t']).then(|| size(value)).flatten() {
                open.sums.push((name.to_owned(), bytes));
                break;
            }
        }
    }

    /// A line of a list.
    fn list_line(&mut self, line: &str) {
        if let Some(bytes) = size_behind(line, "Size: ") {
            self.end_buffer();
            self.buffer =
                Some(ListedBuffer { stated_bytes: bytes, bytes, unpadded_bytes: bytes, ..ListedBuffer::default() });
            return;
        }
        if line.contains("==========") {
            self.end_buffer();
            return;
        }
        let Some(buffer) = &mut self.buffer else { return };
        if let Some(operator) = behind(line, "Operator: ") {
            buffer.op_name = quoted(operator, "op_name=").unwrap_or_default().to_owned();
            let line =
                behind(operator, "source_line=").and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
            buffer.source = quoted(operator, "source_file=")
                .filter(|file| !file.is_empty())
                .map(|file| line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}")));
        } else if let Some(shape) = behind(line, "Entry Parameter Subshape: ") {
            buffer.is_argument = true;
            buffer.shape = array(shape);
        } else if let Some(shape) = behind(line, "Shape: ") {
            buffer.shape = array(shape);
        } else if let Some(bytes) = size_behind(line, "Unpadded size: ") {
            buffer.unpadded_bytes = bytes;
        } else if let Some(label) = behind(line, "XLA Label: ").or_else(|| behind(line, "XLA label: ")) {
            let name = label.split([' ', ',']).next().unwrap_or_default();
            buffer.name = name.trim_start_matches('%').to_owned();
        } else if let Some(kind) = behind(line, "Allocation type: ") {
            buffer.allocation_type = kind.trim().to_owned();
            buffer.is_argument |= matches!(kind.trim(), "arguments" | "argument" | "parameter");
        }
    }

    fn end_buffer(&mut self) {
        let Some(mut buffer) = self.buffer.take().filter(|_| self.open.buffers.len() < MOST_BUFFERS) else { return };
        if let Some(shape) = &buffer.shape {
            let unpadded = unpadded_bytes(&hlo::Shape::Array(shape.clone()));
            if let Some(bytes) = tiled_bytes(shape).or(unpadded).filter(|&bytes| rounds_to(bytes, buffer.stated_bytes))
            {
                buffer.bytes = bytes;
            }
            if let Some(unpadded) = unpadded.filter(|&unpadded| unpadded <= buffer.bytes) {
                buffer.unpadded_bytes = unpadded;
            }
        }
        self.open.buffers.push(buffer);
    }
}

/// Does an error begin with this line? Python prints it with its kind, XLA without.
fn begins_error(line: &str) -> bool {
    line.contains("RESOURCE_EXHAUSTED") || line.contains("Ran out of memory in memory space ")
}

/// What stands behind a mark.
fn behind<'t>(line: &'t str, mark: &str) -> Option<&'t str> {
    line.split_once(mark).map(|(_, rest)| rest)
}

/// The text in quotes behind a mark.
fn quoted<'t>(text: &'t str, mark: &str) -> Option<&'t str> {
    let rest = behind(text, mark)?.strip_prefix('"')?;
    rest.split_once('"').map(|(inner, _)| inner)
}
