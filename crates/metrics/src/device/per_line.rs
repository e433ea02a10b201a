//! Keeps a value per line while the events of one device are read.

use base::sort;
use rustc_hash::FxHashMap;

use trace::LineId;

/// One `T` for each line that had an event. A trace of a pod has tens of thousands of lines, and a device has only a
/// few of them. The other lines take no memory.
#[derive(Debug)]
pub(crate) struct PerLine<T> {
    index: FxHashMap<LineId, usize>,
    of_lines: Vec<(LineId, T)>,
    /// Index of the most recently used line. Most events are on the same line as the event before them.
    last: usize,
}

impl<T> Default for PerLine<T> {
    fn default() -> PerLine<T> {
        PerLine { index: FxHashMap::default(), of_lines: Vec::new(), last: 0 }
    }
}

impl<T: Default> PerLine<T> {
    /// Returns the value of `line`, and creates it if the line is new. Never returns `None`.
    pub(crate) fn of(&mut self, line: LineId) -> Option<&mut T> {
        if self.of_lines.get(self.last).is_none_or(|(last, _)| *last != line) {
            self.last = *self.index.entry(line).or_insert_with(|| {
                self.of_lines.push((line, T::default()));
                self.of_lines.len() - 1
            });
        }
        self.of_lines.get_mut(self.last).map(|(_, of_line)| of_line)
    }

    /// Returns all values, in the order of the lines.
    pub(crate) fn in_order(mut self) -> impl Iterator<Item = T> {
        sort::sort_by_key(&mut self.of_lines, |(line, _)| *line);
        self.of_lines.into_iter().map(|(_, of_line)| of_line)
    }
}
