//! What a column is, declared once: its name in files, its heading, its unit and its definition. docs/metrics.md, the page's
//! tips and the names that a filter knows are made of these declarations.

use base::fields::{Definition, definition};
use report::UnifiedProfile;

use super::Unit;

/// Type of a column's values, which no run changes. A value may be absent in any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Texts.
    Text,
    /// Whole numbers; differences may be less than 0.
    Int,
    /// Real numbers.
    Float,
    /// Yes or no.
    Flag,
}

impl Kind {
    /// Name of the type in Arrow.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Text => "large_string",
            Kind::Int => "int64",
            Kind::Float => "double",
            Kind::Flag => "bool",
        }
    }

    /// The type of values in this unit, unless the column states another.
    const fn of(unit: Unit) -> Kind {
        match unit {
            Unit::Text => Kind::Text,
            Unit::Flag => Kind::Flag,
            Unit::Count | Unit::Bytes => Kind::Int,
            _ => Kind::Float,
        }
    }
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Field name in the unified profile, or XProf's column id.
    pub key: &'static str,
    /// Heading for people.
    pub title: &'static str,
    /// What the column's values are.
    pub unit: Unit,
    /// Type of the values.
    pub kind: Kind,
    /// What the values mean, in one sentence, with the formula where there is one.
    pub definition: &'static str,
    /// Where the values come from, where the table's introduction does not say it. Empty in the page's program, as are
    /// `caveat` and `xprof`.
    pub source: &'static str,
    /// What the values do not say, or how they differ from XProf's.
    pub caveat: &'static str,
    /// XProf's id of the column, where it has one.
    pub xprof: &'static str,
}

/// A column with the sentence that defines it.
pub const fn column(key: &'static str, title: &'static str, unit: Unit, definition: &'static str) -> Column {
    Column { key, title, unit, kind: Kind::of(unit), definition, source: "", caveat: "", xprof: "" }
}

/// The columns of a list that says of each how its cells are made.
pub fn columns<C>(fields: &[(Column, C)]) -> Vec<Column> {
    fields.iter().map(|(column, _)| *column).collect()
}

impl Column {
    /// A column that is a field of the unified profile: the field's definition is its own.
    pub const fn of_field(key: &'static str, title: &'static str, unit: Unit, path: &str) -> Column {
        let Definition { sentence, more } = definition::<UnifiedProfile>(path);
        column(key, title, unit, sentence).caveat(more)
    }

    /// The column with real numbers in a unit that usually has whole ones.
    pub const fn real(self) -> Column {
        Column { kind: Kind::Float, ..self }
    }

    /// The column with its source.
    pub const fn source(self, source: &'static str) -> Column {
        Column { source: documented(source), ..self }
    }

    /// The column with what to beware of.
    pub const fn caveat(self, caveat: &'static str) -> Column {
        Column { caveat: documented(caveat), ..self }
    }

    /// The column with XProf's id.
    pub const fn xprof(self, id: &'static str) -> Column {
        Column { xprof: documented(id), ..self }
    }
}

/// The page shows the sentence only: what the documentation adds is no part of its program.
const fn documented(text: &'static str) -> &'static str {
    if cfg!(target_family = "wasm") { "" } else { text }
}
