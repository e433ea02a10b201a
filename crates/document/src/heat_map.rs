//! Map of coloured cells: a value for each row and column, for example the time of each step on each device.
//!
//! A map may have millions of cells, so each cell is one letter for one of 90 levels. The levels cover the middle 96 %
//! of the values evenly. The remaining values on either side share the outermost levels, so that one extreme value does
//! not hide the differences between all other values.

use serde::{Deserialize, Serialize};
use table::Unit;

use crate::Link;
use report::View;

/// Number of levels.
pub const LEVELS: u8 = 90;
/// Number of levels at each end that are shared by values outside the middle.
const OUTER: u8 = 5;
/// Letter of a cell without a value. The letters after `#` stand for the levels.
const ABSENT: u8 = b'#';
/// Maximum number of cells for which the map contains each value and its event.
pub const MOST_EXACT: usize = 16_384;

/// Map of coloured cells.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeatMap {
    /// Title that names the rows, the columns and the measured quantity.
    pub title: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Sentence below the title.
    pub note: String,
    /// Names of the rows, from top to bottom.
    pub rows: Vec<String>,
    /// Groups of rows: first row, and name. Empty if rows are not grouped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<(u32, String)>,
    /// Names of the columns, from left to right.
    pub columns: Vec<String>,
    /// Cells, row by row: one letter each. See [`HeatMap::level`].
    pub cells: String,
    /// Mean value of the cells of each level, from the first. `None` if no cell has the level.
    pub values: Vec<Option<f64>>,
    /// Values at the ends of the colour scale. `None` if no value is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<(f64, f64)>,
    /// Level of the value 0. Present if values may be above or below 0, such as differences from a median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub middle: Option<u8>,
    /// Value of each cell, row by row. Empty for large maps, which only have levels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exact: Vec<Option<f64>>,
    /// Times of the cells on the timeline, if a click on a cell opens the timeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<CellTimes>,
}

/// Times of the cells of a map, in picoseconds from the start of the capture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellTimes {
    /// Start and end of each column in one row.
    pub columns: Vec<(i64, i64)>,
    /// Delay of each row relative to `columns`.
    pub shifts: Vec<i64>,
    /// Number of the first event of each cell, row by row. `None` if the cell has no event. Empty for large maps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Option<u32>>,
}

impl HeatMap {
    /// Creates the cells of a map from values, row by row. Values that are not finite are absent. If `least_end` is
    /// given, the values are differences. Levels are then symmetric around 0, and the colours reach from at least
    /// `-least_end` to `least_end`, so that smaller differences stay pale.
    pub fn with_cells(self, values: &[f64], least_end: Option<f64>) -> HeatMap {
        let scale = Scale::of(values, least_end);
        let mut sums = vec![(0.0, 0u64); usize::from(LEVELS)];
        let mut cells = String::with_capacity(values.len());
        for &value in values {
            let level = scale.as_ref().map_or(0, |scale| scale.level(value));
            cells.push(char::from(ABSENT + level));
            if let Some(sum) = usize::from(level).checked_sub(1).and_then(|level| sums.get_mut(level)) {
                *sum = (sum.0 + value, sum.1 + 1);
            }
        }
        let mean = |(sum, count): (f64, u64)| (count > 0).then(|| sum / count as f64);
        let is_exact = values.len() <= MOST_EXACT;
        let exact = values.iter().filter(|_| is_exact).map(|value| Some(*value).filter(|value| value.is_finite()));
        HeatMap {
            cells,
            values: sums.into_iter().map(mean).collect(),
            middle: least_end.map(|_| LEVELS / 2),
            ends: scale.map(|Scale([(low, _), .., (high, _)])| (low, high)),
            exact: exact.collect(),
            ..self
        }
    }

    /// Returns the level of a cell, from 1, or 0 if it has no value.
    pub fn level(&self, row: usize, column: usize) -> u8 {
        let at = row * self.columns.len() + column;
        let letter = self.cells.as_bytes().get(at).filter(|_| column < self.columns.len());
        letter.map_or(0, |letter| letter.saturating_sub(ABSENT).min(LEVELS))
    }

    /// Returns the value of a cell, and true if it is the exact value instead of the mean of its level.
    pub fn value(&self, row: usize, column: usize) -> Option<(f64, bool)> {
        let level = usize::from(self.level(row, column)).checked_sub(1)?;
        let exact = self.exact.get(row * self.columns.len() + column).copied().flatten();
        exact.map(|value| (value, true)).or_else(|| Some(((*self.values.get(level)?)?, false)))
    }

    /// Returns the strength of a level's colour, from -1 to 1. The strength is negative for levels below the middle.
    pub fn strength(&self, level: u8) -> f64 {
        let middle = f64::from(self.middle.unwrap_or(0));
        (f64::from(level) - middle) / (f64::from(LEVELS) - middle)
    }

    /// Returns a link to the time of a cell on the timeline: to the first event of the cell, or to the cell's time if
    /// the event is unknown.
    pub fn link(&self, row: usize, column: usize) -> Option<Link> {
        let times = self.times.as_ref().filter(|_| self.level(row, column) > 0)?;
        let (start, end) = *times.columns.get(column)?;
        let shift = times.shifts.get(row).copied().unwrap_or_default();
        let (start, end) = (start.saturating_add(shift).max(0), end.saturating_add(shift));
        let event = times.events.get(row * self.columns.len() + column).copied().flatten();
        let link = Link::to(View::Timeline, "");
        Some(match event {
            Some(event) => {
                // The timeline adds five times the length of this range on both sides, so the range is a tenth of the
                // cell's time.
                let (middle, length) = (start.midpoint(end), end.saturating_sub(start));
                let around_ps = Some((middle.saturating_sub(length / 20), middle.saturating_add(length / 20)));
                Link { event: Some(format!("c{event}")), around_ps, ..link }
            }
            None => Link { range_ps: Some((start, end)), ..link },
        })
    }

    /// Returns the rows of a smaller map with at most this many rows and columns, each with its name and the levels of its
    /// cells. A cell has the level of the strongest cell that it replaces.
    pub fn reduced(&self, most_rows: usize, most_columns: usize) -> Vec<(String, Vec<u8>)> {
        let (rows, columns) = (self.rows.len(), self.columns.len());
        let (tall, wide) = (rows.div_ceil(most_rows.max(1)).max(1), columns.div_ceil(most_columns.max(1)).max(1));
        let strongest = |row: usize, column: usize| {
            let inside = (row..(row + tall).min(rows))
                .flat_map(|row| (column..(column + wide).min(columns)).map(move |column| self.level(row, column)));
            let strong = |level: &u8| self.strength(*level).abs();
            let known = inside.filter(|level| *level > 0);
            known.max_by(|a, b| strong(a).total_cmp(&strong(b)).then(a.cmp(b))).unwrap_or(0)
        };
        let label = |row: usize| match (self.rows.get(row), self.rows.get((row + tall).min(rows) - 1)) {
            (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
            (first, _) => first.cloned().unwrap_or_default(),
        };
        let row = |row| (label(row), (0..columns).step_by(wide).map(|column| strongest(row, column)).collect());
        (0..rows).step_by(tall).map(row).collect()
    }
}

/// Assignment of levels to values: linear between pairs of value and level.
struct Scale([(f64, f64); 4]);

impl Scale {
    /// Creates the scale of some values. Returns `None` if no value is finite.
    fn of(values: &[f64], least_end: Option<f64>) -> Option<Scale> {
        let known = values.iter().filter(|value| value.is_finite());
        let mut known: Vec<f64> = known.map(|value| if least_end.is_some() { value.abs() } else { *value }).collect();
        let mut at = |percent: usize| -> Option<f64> {
            let rank = (known.len().checked_sub(1)? * percent) / 100;
            Some(*known.select_nth_unstable_by(rank, f64::total_cmp).1)
        };
        let [least, low, high, most] = [at(0)?, at(2)?, at(98)?, at(100)?];
        let (last, outer) = (f64::from(LEVELS), f64::from(OUTER));
        Some(Scale(match least_end {
            None => [(least, 1.0), (low, 1.0 + outer), (high, last - outer), (most, last)],
            Some(end) => {
                let (high, most) = (high.max(end), most.max(end));
                [(-most, 1.0), (-high, 1.0 + outer), (high, last - outer), (most, last)]
            }
        }))
    }

    fn level(&self, value: f64) -> u8 {
        if !value.is_finite() {
            return 0;
        }
        let [least, low, high, most] = self.0;
        let between = |(from, first): (f64, f64), (to, last): (f64, f64)| {
            if to > from { first + (value - from) / (to - from) * (last - first) } else { first }
        };
        let level = match value {
            value if value < low.0 => between(least, low),
            value if value > high.0 => between(high, most),
            _ => between(low, high),
        };
        (level.round() as u8).clamp(1, LEVELS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, html, markdown, terminal};

    fn map(rows: usize, columns: usize, values: &[f64], differs: bool) -> HeatMap {
        let names = |count: usize| (0..count).map(|at| at.to_string()).collect();
        HeatMap { rows: names(rows), columns: names(columns), ..HeatMap::default() }
            .with_cells(values, differs.then_some(0.0))
    }

    #[test]
    fn levels_rise_with_values_and_one_extreme_value_does_not_hide_the_others() {
        let mut values: Vec<f64> = (0..100).map(|value| 10.0 + f64::from(value)).collect();
        values.extend([1e9, f64::NAN]);
        let map = map(2, 51, &values, false);
        let levels: Vec<u8> = (0..102).map(|cell| map.level(cell / 51, cell % 51)).collect();
        assert!(levels[..101].is_sorted() && levels[101] == 0, "{levels:?}");
        assert_eq!((levels[0], levels[100]), (1, LEVELS));
        assert!(levels[90] > 70, "{levels:?}");
        assert_eq!((map.value(0, 3), map.value(1, 50)), (Some((13.0, true)), None));
        assert_eq!(map.ends, Some((10.0, 1e9)));
    }

    #[test]
    fn differences_are_symmetric_around_zero() {
        let map = map(1, 4, &[-2.0, 0.0, 2.0, 8.0], true);
        let strength: Vec<f64> = (0..4).map(|column| map.strength(map.level(0, column))).collect();
        assert!(strength[1].abs() < 0.03 && (strength[0] + strength[2]).abs() < 0.05, "{strength:?}");
        assert_eq!(strength[3], 1.0);
    }

    #[test]
    fn small_differences_stay_pale() {
        let small =
            HeatMap { rows: vec!["0".to_owned()], columns: vec!["0".to_owned(), "1".to_owned()], ..HeatMap::default() };
        let map = small.with_cells(&[-1.0, 2.0], Some(40.0));
        assert_eq!(map.ends, Some((-40.0, 40.0)));
        assert!((0..2).all(|column| map.strength(map.level(0, column)).abs() < 0.1));
    }

    #[test]
    fn large_maps_have_levels_and_a_small_map_shows_the_strongest_cells() {
        let values: Vec<f64> =
            (0..200 * 100).map(|cell| if cell == 15_050 { 50.0 } else { f64::from(cell % 7) }).collect();
        let map = map(200, 100, &values, false);
        assert!(map.exact.is_empty());
        let (value, is_exact) = map.value(3, 3).unwrap();
        assert!(!is_exact && (value - values[303]).abs() < 0.1, "{value} {}", values[303]);
        let small = map.reduced(20, 10);
        assert_eq!((small.len(), small[0].1.len(), small[15].0.as_str()), (20, 10, "150 to 159"));
        let strongest = small.iter().enumerate().flat_map(|(row, (_, levels))| {
            levels.iter().enumerate().filter(|(_, level)| **level == LEVELS).map(move |(column, _)| (row, column))
        });
        assert_eq!(strongest.collect::<Vec<_>>(), [(15, 5)]);
    }

    #[test]
    fn every_format_shows_the_strong_cells() {
        let mut map = map(2, 4, &[1.0, 1.0, 1.0, 9.0, 1.0, f64::NAN, 1.0, 1.0], false);
        map.rows = vec!["TPU:0 </pre>".to_owned(), "TPU:1".to_owned()];
        map.unit = Unit::TimeUs;
        let blocks = [Block::HeatMap(map)];
        let text = terminal::blocks(&blocks);
        assert!(text.contains("TPU:0 </pre> │   █│") && text.contains("TPU:1        │ ·  │"), "{text}");
        assert!(text.contains("from 1.00 µs to 9.00 µs"), "{text}");
        assert!(markdown::blocks(&blocks).contains("```text\n  TPU:0"));
        let page = html::blocks(&blocks).into_string();
        assert!(page.contains("d=\"M3 0h1v1h-1z\"") && page.contains("TPU:0 &lt;/pre&gt;"), "{page}");
    }

    #[test]
    fn a_cell_leads_to_its_own_time() {
        let mut map = map(2, 2, &[1.0, 2.0, f64::NAN, 4.0], false);
        map.times = Some(CellTimes {
            columns: vec![(100, 200), (200, 320)],
            shifts: vec![0, 7],
            events: vec![None, None, None, Some(9)],
        });
        assert_eq!(map.link(1, 0), None);
        let link = map.link(1, 1).unwrap();
        assert_eq!((link.event.as_deref(), link.around_ps, link.range_ps), (Some("c9"), Some((261, 273)), None));
        assert_eq!(map.link(0, 1).unwrap().range_ps, Some((200, 320)));
    }
}
