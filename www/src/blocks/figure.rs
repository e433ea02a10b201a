//! The frame around every chart: title, the data as a table, and downloads as SVG and PNG.

use std::sync::Arc;

use crossprof::table::{Cell, Unit, unit};
use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, MouseEvent};

use super::export;
use crate::browser;
use crate::components::live::live;
use crate::components::warnings::bounded;
use crate::route::key_of;
use crate::state::State;
use crate::table::cell;

/// Maximum number of rows in the table of a chart. Copied text contains all rows.
const MAX_ROWS: usize = 500;
/// Significant digits of numbers in the table. Copied text contains all digits.
const DIGITS: usize = 6;
/// Maximum length of text in a cell, in characters.
const NAME_CHARS: usize = 80;

/// The data of a chart.
#[derive(Debug, Default)]
pub struct Data {
    /// Heading and unit of each column.
    pub columns: Vec<(String, Unit)>,
    /// Rows with one cell per column.
    pub rows: Vec<Vec<Cell>>,
}

impl Data {
    /// Creates an empty table with these columns.
    pub fn of(columns: &[(&str, Unit)]) -> Data {
        Data { columns: columns.iter().map(|(name, unit)| ((*name).to_owned(), *unit)).collect(), rows: Vec::new() }
    }

    /// Returns the data as tab-separated text. The headings contain the units, and numbers have no separators between
    /// groups of digits.
    pub fn tsv(&self) -> String {
        let plain = |text: &str| text.replace(['\t', '\n', '\r'], " ");
        let heads: Vec<String> = self.columns.iter().map(|(name, unit)| plain(&heading(name, *unit))).collect();
        let mut out = heads.join("\t");
        for row in &self.rows {
            out.push('\n');
            out.push_str(&row.iter().map(|cell| plain(&cell::raw(cell))).collect::<Vec<_>>().join("\t"));
        }
        out.push('\n');
        out
    }
}

/// Returns the heading of a column with its unit, so that cells need no units.
fn heading(name: &str, of: Unit) -> String {
    match unit::word(of) {
        "" => name.to_owned(),
        word => format!("{name} ({word})"),
    }
}

/// Creates a text cell.
pub fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

/// Creates a number cell, or an absent cell if the number is not finite.
pub fn number(value: f64) -> Cell {
    if value.is_finite() { Cell::Float(value) } else { Cell::Absent }
}

/// A chart, with the heading and the data that its frame offers.
pub struct Chart {
    /// Rendered heading.
    pub title: AnyView,
    /// Heading as plain text, also used for file names.
    pub name: String,
    /// Additional CSS classes of the chart.
    pub class: &'static str,
    /// Returns the data of the chart. Called only when the user views or copies the data.
    pub data: Arc<dyn Fn() -> Data + Send + Sync>,
    /// The drawing, with its legend and axes.
    pub body: AnyView,
}

/// Renders the chart in its frame.
pub fn figure(chart: Chart) -> AnyView {
    let Chart { title, name, class, data, body } = chart;
    let state = State::get();
    let outer = NodeRef::<html::Figure>::new();
    let name = bounded(&name);
    let (label, key) = (name.clone(), key_of(&name));
    let own = key.clone();
    let as_table = Memo::new(move |_| state.route.with(|route| route.as_tables.contains(&own)));
    let copied = data.clone();
    // One handler serves all buttons. The attribute `data-save` distinguishes them.
    let on_click = move |event: MouseEvent| {
        let button = event.target().and_then(|target| target.dyn_into::<Element>().ok());
        let what = button.and_then(|button| button.get_attribute("data-save")).unwrap_or_default();
        let Some(element) = outer.get_untracked() else { return };
        let title = element.get_attribute("data-chart").unwrap_or_default();
        let file =
            format!("{}.{}.{what}", stem(state), browser::file_stem(&title.to_ascii_lowercase().replace('/', "-")));
        match what.as_str() {
            "table" => state.toggle_table(&key),
            "tsv" => state.copy(&copied().tsv(), "Table"),
            "svg" => browser::download(&file, "image/svg+xml", &export::picture(&element).svg),
            "png" => export::save_png(state, file, export::picture(&element)),
            _ => {}
        }
    };
    let table = move || as_table.get().then(|| table(&data(), &label));
    view! {
        <figure class=format!("panel chart-box {class}") class:as-table=move || as_table.get()
            aria-label=name.clone() data-chart=name node_ref=outer>
            <header class="chart-head"><h2>{title}</h2>
                <div class="chart-tools" on:click=on_click>
                    <button class="tool" data-save="table" title="Show the numbers as a table" aria-pressed=move || as_table.get().to_string()>"Table"</button>
                    <button class="tool" data-save="tsv" title="Copy as tab-separated values">"Copy"</button>
                    <button class="tool" data-save="svg" title="Download as SVG">"SVG"</button>
                    <button class="tool" data-save="png" title="Download as PNG">"PNG"</button>
                </div>
            </header>
            <div class="chart-body">{body}</div>
            {live(table)}
        </figure>
    }
    .into_any()
}

/// Returns the file name for downloads, without an extension. The file name contains the name of the run.
pub(super) fn stem(state: State) -> String {
    let run = untrack(|| state.run());
    run.map_or_else(|| "chart".to_owned(), |run| browser::file_stem(&untrack(|| state.name_of(run.id))))
}

fn table(data: &Data, label: &str) -> AnyView {
    let units: Vec<Unit> = data.columns.iter().map(|column| column.1).collect();
    let heads = data.columns.iter().map(|(name, of)| {
        view! { <th scope="col" class:number=cell::is_number(*of)>{bounded(&heading(name, *of))}</th> }
    });
    let rows = data.rows.iter().take(MAX_ROWS).map(|row| {
        let cells = row.iter().zip(&units).map(|(value, of)| {
            let text = match cell::number(value) {
                Some(number) if number.fract() != 0.0 => crossprof::text::format::number_of_digits(number, DIGITS),
                Some(number) => crossprof::text::format::full(number),
                None => cell::short(value, *of, NAME_CHARS),
            };
            view! { <td class:number=cell::is_number(*of)><bdi>{text}</bdi></td> }
        });
        view! { <tr>{cells.collect_view()}</tr> }
    });
    let more = (data.rows.len() > MAX_ROWS)
        .then(|| view! { <p class="quiet">{format!("The first {MAX_ROWS} of {} rows. The copied text contains all rows.", data.rows.len())}</p> });
    view! {
        <div class="chart-table" tabindex="0" role="region" aria-label=label.to_owned()>
            <table><thead><tr>{heads.collect_view()}</tr></thead><tbody>{rows.collect_view()}</tbody></table>
        </div>
        {more}
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_contain_all_digits_and_headings_contain_units() {
        let mut data = Data::of(&[("Name", Unit::Text), ("Time", Unit::TimeUs), ("Count", Unit::Count)]);
        data.rows.push(vec![text("a\tb"), number(1234.5678), number(f64::NAN)]);
        assert_eq!(data.tsv(), "Name\tTime (µs)\tCount\na b\t1234.5678\t\n");
    }
}
