//! Finds out-of-memory reports in the lines of a log. The search looks for markers in each line, so any prefix that
//! other programs add (times, names of hosts and processes) is ignored.

use super::numbers::{behind, size_behind};
use super::shape::array;
use super::{ListedBuffer, OutOfMemory, rounds_to, statements, text};
use crate::tiling::tiled_bytes;
use crate::unpadded::unpadded_bytes;
use base::out_of_memory::{LARGEST_ALLOCATIONS, PEAK_BUFFERS, is_said};

/// Maximum number of buffers per report. XLA lists about twenty.
const MOST_BUFFERS: usize = 10_000;

/// Returns the reports in a text, including repeated reports.
pub(super) fn reports(log: &str) -> Vec<OutOfMemory> {
    let mut reader = Reader::default();
    text::lines(log, |line| reader.line(line));
    reader.end_report();
    reader.reports
}

#[derive(Default)]
struct Reader {
    reports: Vec<OutOfMemory>,
    /// Report that is being read, or about to start.
    open: OutOfMemory,
    /// True if a line stated the error.
    is_stated: bool,
    /// True if the current lines list buffers.
    is_list: bool,
    /// Buffer that is being read.
    buffer: Option<ListedBuffer>,
}

impl Reader {
    fn line(&mut self, line: &str) {
        if let Some(space) = behind(line, LARGEST_ALLOCATIONS) {
            self.begin_list();
            self.open.memory_space = statements::name(space).to_owned();
        } else if line.contains(PEAK_BUFFERS) {
            self.begin_list();
        } else if is_said(line.as_bytes()) && !line.contains("OOM Debugging") {
            self.error(line);
        } else if self.is_list {
            self.list_line(line);
        } else {
            statements::note(line, &mut self.open);
        }
    }

    /// Handles a line that states an error. The error may be new, or the previous error in other words.
    fn error(&mut self, line: &str) {
        let stated = statements::error(line);
        // Earlier statements of an allocator belong to this error.
        if self.is_list || !self.open.agrees(&stated) {
            self.end_report();
        }
        self.is_stated = true;
        self.open.is_survived |= stated.is_survived && self.open.statement.is_empty();
        self.open.complete(stated);
    }

    /// Starts a list. A list that follows another list without a new error belongs to another memory space.
    fn begin_list(&mut self) {
        if self.is_list {
            self.end_report();
        }
        self.is_list = true;
    }

    fn end_report(&mut self) {
        self.end_buffer();
        let report = std::mem::take(&mut self.open);
        let is_list = std::mem::take(&mut self.is_list);
        if std::mem::take(&mut self.is_stated) || (is_list && !report.buffers.is_empty()) {
            self.reports.push(report);
        }
    }

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
            let kind = kind.split(['"', '\'']).next().unwrap_or_default().trim();
            buffer.allocation_type = kind.to_owned();
            buffer.is_argument |= matches!(kind, "arguments" | "argument" | "parameter");
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

fn quoted<'t>(text: &'t str, mark: &str) -> Option<&'t str> {
    let rest = behind(text, mark)?.strip_prefix('"')?;
    rest.split_once('"').map(|(inner, _)| inner)
}
