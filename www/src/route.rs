//! URLs of the page, for example
//! `#/ops?run=2&q=fusion&sort.ops=-total_time_us&by.group=category&table=self-time&row.ops=3-fusion.1`. This module
//! only parses and formats text.
//!
//! A route is the part of the URL after the `#`. Any static host can therefore serve the page, and navigation sends no
//! request.

use std::collections::BTreeMap;

use crossprof::document::Link;
use crossprof::pages::{self, PageQuery};
use crossprof::table::Sort;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, percent_decode_str, utf8_percent_encode};

/// A view of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// The start page, on which the user opens a profile. The start page requires no run.
    #[default]
    Start,
    /// A view that the library defines for a run.
    Of(pages::View),
    /// Downloads of a run.
    Export,
    /// Comparison of runs.
    Compare,
}

impl View {
    /// The first view of a run.
    pub const OVERVIEW: View = View::Of(pages::View::Overview);
    /// The timeline with all events.
    pub const TIMELINE: View = View::Of(pages::View::Timeline);
    /// Compiled programs as graph and text.
    pub const GRAPH: View = View::Of(pages::View::Graph);
    /// Memory use of the devices.
    pub const MEMORY: View = View::Of(pages::View::Memory);
    /// Form for model data that the trace does not contain.
    pub const MODEL: View = View::Of(pages::View::Model);

    /// Returns the views of a run in the order of the rail and of the keys `1` to `9`.
    pub fn of_a_run() -> impl Iterator<Item = View> {
        pages::View::ALL.into_iter().map(View::Of).chain([View::Export])
    }

    /// Returns the name of the view in URLs.
    pub fn slug(self) -> &'static str {
        match self {
            View::Start => "start",
            View::Of(view) => view.key(),
            View::Export => "export",
            View::Compare => "compare",
        }
    }

    /// Returns the name of the view that the page shows.
    pub fn title(self) -> &'static str {
        match self {
            View::Start => "Open",
            View::Of(view) => view.title(),
            View::Export => "Export",
            View::Compare => "Compare",
        }
    }

    /// Returns the view with this name in URLs.
    pub fn from_slug(slug: &str) -> Option<View> {
        let known = View::of_a_run().chain([View::Start, View::Compare]).find(|view| view.slug() == slug);
        known.or_else(|| pages::View::from_key(slug).map(View::Of))
    }
}

/// A route within the page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// The view to show.
    pub view: View,
    /// Number of the run in the rail, from 1.
    pub run: Option<u32>,
    /// Filter, table sorting and options of the view.
    pub query: PageQuery,
    /// Keys ([`key_of`]) of the charts that are shown as tables.
    pub as_tables: Vec<String>,
    /// For each table with an open row, the key of the table and the row. See [`RowKey`].
    pub rows: BTreeMap<String, RowKey>,
}

/// A table row. If the user sorts the table again, the index may be wrong, and the name identifies the row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowKey {
    /// Index of the row when the user opened it.
    pub index: usize,
    /// First text cell of the row.
    pub name: String,
}

/// URL option with the number or name of the compiled program to show.
pub const PROGRAM: &str = "program";

/// Maximum length of a row name in the URL, in characters.
const KEY_CHARS: usize = 120;

impl RowKey {
    /// Creates the key of a row from its index and name. A long name is shortened.
    pub fn new(index: usize, name: &str) -> RowKey {
        RowKey { index, name: crossprof::text::format::shorten(name, KEY_CHARS) }
    }

    /// Parses `3-fusion.1`.
    fn parse(text: &str) -> Option<RowKey> {
        let (index, name) = text.split_once('-')?;
        Some(RowKey { index: index.parse().ok()?, name: name.to_owned() })
    }
}

impl Route {
    /// Returns the route to a view of a run, without a filter.
    pub fn of(view: View, run: u32) -> Route {
        Route { view, run: Some(run), ..Route::default() }
    }

    /// Returns the route to a view of a run, with a filter.
    pub fn filtered(view: View, run: u32, filter: &str) -> Route {
        let query = PageQuery { filter: filter.to_owned(), ..PageQuery::default() };
        Route { query, ..Route::of(view, run) }
    }

    /// Returns the route to which a link of a run leads.
    pub fn to(run: u32, link: &Link) -> Route {
        let mut route = Route::filtered(View::Of(link.view), run, &link.filter);
        route
            .query
            .options
            .extend(pages::timeline::options(link).into_iter().map(|(key, value)| (key.to_owned(), value)));
        let program = link.program.iter().map(|program| (PROGRAM.to_owned(), program.clone()));
        route.query.options.extend(program);
        route
    }

    /// Parses the text after the `#`. Unknown views become the start page, and unknown keys are ignored.
    pub fn parse(hash: &str) -> Route {
        let text = hash.trim_start_matches('#').trim_start_matches('/');
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        let mut route = Route { view: View::from_slug(path).unwrap_or_default(), ..Route::default() };
        for pair in query.split('&') {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            match key {
                "run" => route.run = value.parse().ok().filter(|run| *run > 0),
                "q" => route.query.filter = decode(value),
                "table" => {
                    let keys = value.split(',').map(key_of);
                    route.as_tables = keys.filter(|key| !key.is_empty()).collect();
                }
                _ => {
                    if let Some(table) = key.strip_prefix("sort.") {
                        route.query.sorts.set(&decode(table), Some(Sort::parse(&decode(value))));
                    } else if let Some(table) = key.strip_prefix("row.") {
                        route.rows.extend(RowKey::parse(&decode(value)).map(|row| (decode(table), row)));
                    } else if let Some(option) = key.strip_prefix("by.") {
                        route.query.options.insert(decode(option), decode(value));
                    }
                }
            }
        }
        route
    }

    /// Returns the URL fragment of the route, including the `#`.
    pub fn href(&self) -> String {
        let mut pairs = Vec::new();
        if let Some(run) = self.run {
            pairs.push(format!("run={run}"));
        }
        if !self.query.filter.is_empty() {
            pairs.push(format!("q={}", encode(&self.query.filter)));
        }
        for (table, sort) in self.query.sorts.iter() {
            let sign = if sort.descending { "-" } else { "" };
            pairs.push(format!("sort.{}={sign}{}", encode(table), encode(&sort.column)));
        }
        for (option, value) in &self.query.options {
            pairs.push(format!("by.{}={}", encode(option), encode(value)));
        }
        for (table, RowKey { index, name }) in &self.rows {
            pairs.push(format!("row.{}={index}-{}", encode(table), encode(name)));
        }
        if !self.as_tables.is_empty() {
            pairs.push(format!("table={}", self.as_tables.join(",")));
        }
        let separator = if pairs.is_empty() { "" } else { "?" };
        format!("#/{}{separator}{}", self.view.slug(), pairs.join("&"))
    }
}

/// Returns the key that identifies a chart in URLs: the words of its title, joined by `-`.
pub fn key_of(title: &str) -> String {
    let mut key = String::new();
    for c in title.chars().take(60) {
        if c.is_ascii_alphanumeric() {
            key.push(c.to_ascii_lowercase());
        } else if !key.is_empty() && !key.ends_with('-') {
            key.push('-');
        }
    }
    key.trim_end_matches('-').to_owned()
}

/// Characters that are escaped in URLs: all except the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

fn encode(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, RESERVED)
}

/// Reverses [`encode`]. A `%` without two hex digits stays unchanged. Invalid UTF-8 becomes U+FFFD.
fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        assert_eq!(Route::parse(""), Route::default());
        assert_eq!(Route::parse("#/nowhere?run=2").view, View::Start);
        let route = Route::parse("#/kernels?run=2&q=fusion%20-copy&colour=red");
        assert_eq!(route, Route::filtered(View::Of(pages::View::Kernels), 2, "fusion -copy"));
        assert_eq!(Route::parse("#/overview?run=0").run, None);
        assert_eq!(Route::parse("#/overview?run=x&q=100%&").query.filter, "100%");
        assert_eq!(Route::parse("#/overview?q=%+f%zz%ff").query.filter, "%+f%zz\u{fffd}");
        assert_eq!(Route::parse("#/steps?table=step-by-step,,<b>").as_tables, ["step-by-step", "b"]);
        assert!(Route::parse("#/ops?row.ops=x-fusion&row.steps=3").rows.is_empty());
        assert_eq!(key_of("Bytes sent, from A to B"), "bytes-sent-from-a-to-b");
    }

    #[test]
    fn addresses_survive_a_round_trip() {
        for filter in ["", "a b", "é/%&=?#", "<img onerror=x>", "\u{202e}abc"] {
            for view in View::of_a_run() {
                let mut route = Route::filtered(view, 7, filter);
                route.query.sorts.set("op-tree", Some(Sort { column: "time_us".into(), descending: true }));
                route.query.sorts.set("ops", Some(Sort { column: "name".into(), descending: false }));
                route.query.options.insert("group".into(), "name scope".into());
                route.as_tables = vec![key_of("Time by kind, all devices"), key_of("(µs) a/b")];
                route.rows.insert("ops".into(), RowKey { index: 3, name: filter.into() });
                assert_eq!(Route::parse(&route.href()), route);
            }
        }
    }
}
