//! Link targets of elements on a page: other views of the same run, with a filter.

use serde::{Deserialize, Serialize};

use base::format::{printable, shorten, time_us};

use report::View;
use table::terms;

/// Link to another view of the same run, with a filter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Target view.
    pub view: View,
    /// Filter in the target view; see [`table::Filter`].
    pub filter: String,
    /// Selection on the timeline: start and end in picoseconds from the start of the capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range_ps: Option<(i64, i64)>,
    /// Key of the event to select on the timeline. The event's thread is scrolled into view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// Range to show, with some margin, if only the event is selected. The range has the same unit as `range_ps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub around_ps: Option<(i64, i64)>,
    /// Compiled program to show: its key, name or number. The filter is then the name of an op.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}

impl Link {
    /// Returns a link to a view with a filter.
    pub fn to(view: View, filter: &str) -> Link {
        Link { view, filter: filter.to_owned(), ..Link::default() }
    }

    /// Returns a link to the rows whose column `key` is `value`. Returns `None` for a value that a filter cannot
    /// express.
    pub fn equal(view: View, key: &str, value: &str) -> Option<Link> {
        (!value.contains('"')).then(|| Link::to(view, &format!("{key}=\"{value}\"")))
    }

    /// Returns a link to an op in the graph of its program. `program` is the key, name or number of the program, or empty
    /// if unknown.
    pub fn graph(op: &str, program: &str) -> Link {
        let program = Some(program.to_owned()).filter(|program| !program.is_empty());
        Link { program, ..Link::to(View::Graph, op) }
    }

    /// Describes the target: `Ops: fusion.3`, `Timeline: 1.20 ms from 3.40 ms`.
    pub fn title(&self) -> String {
        let view = self.view.title();
        match self.range_ps {
            Some((start, end)) => {
                let us = |ps: i64| time_us(ps as f64 / 1e6);
                format!("{view}: {} from {}", us(end.saturating_sub(start)), us(start))
            }
            None if self.filter.is_empty() => view.to_owned(),
            None => format!("{view}: {}", shorten(&printable(&self.shown()), LONGEST)),
        }
    }

    /// Formats the filter for display. For a single `key="value"`, returns only the value.
    fn shown(&self) -> String {
        let value = match terms(&self.filter).as_slice() {
            [term] if !term.starts_with('-') => {
                term.split_once("=\"").and_then(|(_, value)| value.strip_suffix('"')).map(str::to_owned)
            }
            _ => None,
        };
        value.unwrap_or_else(|| self.filter.clone())
    }
}

/// Maximum number of characters of the filter in a title.
const LONGEST: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_named_by_what_it_shows() {
        let of = |filter: &str| Link::to(View::Ops, filter).title();
        assert_eq!(of("hlo_op_name=\"fusion.3\""), "Ops: fusion.3");
        assert_eq!(of("category=copy -x"), "Ops: category=copy -x");
        assert_eq!(of(""), "Ops");
        assert!(of(&"x".repeat(1000)).chars().count() < 80);
        let range = Link { range_ps: Some((3_400_000_000, 4_600_000_000)), ..Link::to(View::Timeline, "") };
        assert_eq!(range.title(), "Timeline: 1.20 ms from 3.40 ms");
    }
}
