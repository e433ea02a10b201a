//! Declarations of columns: name in files, heading, unit and definition of each. docs/metrics.md, the page's tooltips and
//! the names in filters come from these declarations.

use base::fields::{Definition, definition};
use report::UnifiedProfile;

use super::Unit;

/// Type of a column's values, independent of the run. Any value may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Texts.
    Text,
    /// Integers. Differences may be negative.
    Int,
    /// Real numbers.
    Float,
    /// Yes or no.
    Flag,
}

impl Kind {
    /// Returns the name of the type in Arrow.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Text => "large_string",
            Kind::Int => "int64",
            Kind::Float => "double",
            Kind::Flag => "bool",
        }
    }

    /// Returns the type of values in this unit. A column can declare a different type.
    const fn of(unit: Unit) -> Kind {
        match unit {
            Unit::Text => Kind::Text,
            Unit::Flag => Kind::Flag,
            Unit::Count | Unit::Bytes => Kind::Int,
            _ => Kind::Float,
        }
    }
}

/// Column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Field name in the unified profile, or XProf's column id.
    pub key: &'static str,
    /// Heading for display.
    pub title: &'static str,
    /// Unit of the values.
    pub unit: Unit,
    /// Type of the values.
    pub kind: Kind,
    /// Definition of the values in one sentence, with the formula if there is one.
    pub definition: &'static str,
    /// Source of the values, if the table's introduction does not name it. Empty in the WebAssembly of the page, like
    /// `caveat` and `xprof`.
    pub source: &'static str,
    /// Limits of the values, or how they differ from XProf's values.
    pub caveat: &'static str,
    /// XProf's id of the column, if it has one.
    pub xprof: &'static str,
    /// True if the values are times that depend on when ops end. If a capture lacks these ends, the times are upper bounds.
    pub may_be_bound: bool,
}

/// Creates a column with its definition.
pub const fn column(key: &'static str, title: &'static str, unit: Unit, definition: &'static str) -> Column {
    Column {
        key,
        title,
        unit,
        kind: Kind::of(unit),
        definition,
        source: "",
        caveat: "",
        xprof: "",
        may_be_bound: false,
    }
}

/// Returns the columns of a list that also contains a cell function for each column.
pub fn columns<C>(fields: &[(Column, C)]) -> Vec<Column> {
    fields.iter().map(|(column, _)| *column).collect()
}

impl Column {
    /// Creates a column for a field of the unified profile, with the field's definition.
    pub const fn of_field(key: &'static str, title: &'static str, unit: Unit, path: &str) -> Column {
        let Definition { sentence, more } = definition::<UnifiedProfile>(path);
        column(key, title, unit, sentence).caveat(more)
    }

    /// Declares real numbers for a unit that usually has integers.
    pub const fn real(self) -> Column {
        Column { kind: Kind::Float, ..self }
    }

    /// Adds the source.
    pub const fn source(self, source: &'static str) -> Column {
        Column { source: documented(source), ..self }
    }

    /// Adds a caveat.
    pub const fn caveat(self, caveat: &'static str) -> Column {
        Column { caveat: documented(caveat), ..self }
    }

    /// Marks times that depend on when ops end.
    pub const fn bound(self) -> Column {
        Column { may_be_bound: true, ..self }
    }

    /// Adds XProf's id.
    pub const fn xprof(self, id: &'static str) -> Column {
        Column { xprof: documented(id), ..self }
    }
}

/// Returns text for the documentation only. The page shows only the definition, so its WebAssembly does not contain
/// this text.
const fn documented(text: &'static str) -> &'static str {
    if cfg!(target_family = "wasm") { "" } else { text }
}
