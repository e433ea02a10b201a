//! The few pieces that all parts of the page are made of: text, parts that fold, tables.

pub(crate) use crate::export::markup::escape;

/// Appends the pieces.
pub fn push(page: &mut String, pieces: &[&str]) {
    for piece in pieces {
        page.push_str(piece);
    }
}

/// The heading of what belongs to one run: folded away where there are many. Ended by [`end_part`].
pub fn begin_part(page: &mut String, title: &str, many: bool) {
    if many {
        push(page, &["<details>\n<summary>", title, "</summary>\n"]);
    } else {
        push(page, &["<h3>", title, "</h3>\n"]);
    }
}

/// Ends what [`begin_part`] began.
pub fn end_part(page: &mut String, many: bool) {
    if many {
        page.push_str("</details>\n");
    }
}

/// A column of a table.
#[derive(Clone, Copy)]
pub enum Align {
    /// Words.
    Left,
    /// Sentences, which need room.
    Wide,
    /// Numbers.
    Right,
    /// Names of a trace, which can be long.
    Name,
}

impl Align {
    fn class(self) -> &'static str {
        match self {
            Align::Left => "",
            Align::Wide => " class=\"w\"",
            Align::Right => " class=\"n\"",
            Align::Name => " class=\"name\"",
        }
    }
}

/// A table while it is written. Titles and cells are markup already.
pub struct Table {
    text: String,
    columns: Vec<Align>,
}

impl Table {
    /// A table with these columns.
    pub fn new(columns: &[(&str, Align)]) -> Table {
        let mut text = "<div class=\"wide\"><table>\n<thead><tr>".to_owned();
        for (title, align) in columns {
            push(&mut text, &["<th scope=\"col\"", align.class(), ">", title, "</th>"]);
        }
        text.push_str("</tr></thead>\n<tbody>\n");
        Table { text, columns: columns.iter().map(|(_, align)| *align).collect() }
    }

    /// A row, with a separate class or none. The first cell is its heading.
    pub fn row(&mut self, class: &str, cells: &[String]) {
        push(&mut self.text, &if class.is_empty() { ["<tr>", "", ""] } else { ["<tr class=\"", class, "\">"] });
        for (index, (cell, align)) in cells.iter().zip(&self.columns).enumerate() {
            let (open, close) = if index == 0 { ("<th scope=\"row\"", "</th>") } else { ("<td", "</td>") };
            push(&mut self.text, &[open, align.class(), ">", cell, close]);
        }
        self.text.push_str("</tr>\n");
    }

    /// The whole table.
    pub fn finish(mut self) -> String {
        self.text.push_str("</tbody></table></div>\n");
        self.text
    }
}

/// The class of a known colour; what is unknown is `c-other`.
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
