//! Building blocks of the page: folds, tables and drawings.

use maud::{Markup, Render, html};

/// Width of every drawing, in pixels.
pub const WIDTH: f64 = 760.0;

/// Renders the details of one run under a heading. The details are folded if there are many runs.
pub fn part(title: &str, body: &dyn Render, many: bool) -> Markup {
    html! {
        @if many {
            details.folded { summary { (title) } (body) }
        } @else {
            h3 { (title) }
            (body)
        }
    }
}

/// Joins items with a separator.
pub fn join(items: &[impl Render], separator: &dyn Render) -> Markup {
    html! {
        @for (index, item) in items.iter().enumerate() {
            @if index > 0 { (separator) }
            (item)
        }
    }
}

/// Renders a drawing with the width of the page and this height, in pixels.
pub fn drawing(label: &str, height: f64, shapes: &dyn Render) -> Markup {
    html! {
        svg role="img" aria-label=(label) viewBox={ "0 0 " (WIDTH) " " (height) } width=(WIDTH) height=(height) {
            (shapes)
        }
    }
}

/// Position or length in a drawing, in pixels. A value is written with one decimal.
pub struct Px(pub f64);

impl Render for Px {
    fn render_to(&self, page: &mut String) {
        format_args!("{:.1}", self.0).render_to(page);
    }
}

/// Kind of a table column.
#[derive(Clone, Copy)]
pub enum Align {
    /// Words.
    Left,
    /// Sentences, which need more room.
    Wide,
    /// Numbers.
    Right,
    /// Names from a trace, which can be long.
    Name,
}

impl Align {
    fn class(self) -> Option<&'static str> {
        match self {
            Align::Left => None,
            Align::Wide => Some("w"),
            Align::Right => Some("n"),
            Align::Name => Some("name"),
        }
    }
}

/// Table under construction.
pub struct Table {
    columns: Vec<Align>,
    head: Markup,
    rows: Vec<Markup>,
}

impl Table {
    /// Creates a table with these columns.
    pub fn new(columns: &[(impl Render, Align)]) -> Table {
        let head = html! {
            @for (title, align) in columns {
                th scope="col" class=[align.class()] { (title) }
            }
        };
        Table { columns: columns.iter().map(|(_, align)| *align).collect(), head, rows: Vec::new() }
    }

    /// Adds a row. The first cell is the heading of the row.
    pub fn row(&mut self, cells: &[&dyn Render]) {
        self.push(None, cells);
    }

    /// Adds a row from a list of cells.
    pub fn row_of(&mut self, cells: &[impl Render]) {
        self.row(&cells.iter().map(|cell| cell as &dyn Render).collect::<Vec<_>>());
    }

    /// Adds the row with the totals.
    pub fn sum(&mut self, cells: &[&dyn Render]) {
        self.push(Some("sum"), cells);
    }

    fn push(&mut self, class: Option<&str>, cells: &[&dyn Render]) {
        self.rows.push(html! {
            tr class=[class] {
                @for (index, (cell, align)) in cells.iter().zip(&self.columns).enumerate() {
                    @if index == 0 {
                        th scope="row" class=[align.class()] { (cell) }
                    } @else {
                        td class=[align.class()] { (cell) }
                    }
                }
            }
        });
    }
}

impl Render for Table {
    fn render(&self) -> Markup {
        html! {
            div.wide {
                table {
                    thead { tr { (self.head) } }
                    tbody { @for row in &self.rows { (row) } }
                }
            }
        }
    }
}

/// Returns the CSS class of a known colour. Returns `c-other` for unknown colours.
pub fn colour(class: &str) -> &'static str {
    const KNOWN: [(&str, &str); 9] = [
        ("matmul", "c-matmul"),
        ("convolution", "c-convolution"),
        ("attention", "c-attention"),
        ("elementwise", "c-elementwise"),
        ("reduction", "c-reduction"),
        ("communication", "c-communication"),
        ("data-movement", "c-data-movement"),
        ("data_movement", "c-data-movement"),
        ("compute", "c-matmul"),
    ];
    if class.starts_with("idle") {
        return "c-idle";
    }
    KNOWN.iter().find(|(name, _)| *name == class).map_or("c-other", |(_, class)| class)
}
