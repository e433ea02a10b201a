//! Record of a table: its name, forms, columns and display, and the function that makes it from a run.

use crate::Shown;
use crate::area::{AreaOf, AreaQuery};
use memory::Recorded;
use metrics::Context;
use report::UnifiedProfile;
use table::{Column, Rows, Table};

/// Declaration of a table, next to its columns. [`crate::TableName`] lists the records.
#[derive(Clone, Copy)]
pub(crate) struct TableRecord {
    /// Name on the command line and in file names.
    pub key: &'static str,
    /// Forms, the default first. Empty if the table has only one form.
    pub forms: &'static [&'static str],
    /// Returns the columns of all forms, without duplicates.
    pub columns: fn() -> Vec<Column>,
    /// Returns the columns of one form. `None` if all forms have the same columns. Memory tables do not need this
    /// function.
    pub columns_of_form: Option<fn(&str) -> Vec<Column>>,
    /// Function that makes the table.
    pub made: Made,
    /// Display on a page.
    pub shown: Shown,
}

/// Function that makes a table, by the part of a run that it reads.
#[derive(Clone, Copy)]
pub(crate) enum Made {
    /// Makes the table from the unified profile, which every run has.
    Profile(ProfileMaker),
    /// Makes the table from the measurements, in the requested form. Runs without events get the second table instead,
    /// if there is one.
    Events(EventMaker, Option<ProfileMaker>),
    /// Makes the table from the events in an area of the timeline, in the requested form.
    Area(AreaMaker),
    /// Makes the table from the memory data, in the requested form.
    Memory(MemoryMaker),
    /// Makes the table from the memory data. Making the table is expensive, so callers cache it. The second function
    /// returns true if the table has rows, without making it.
    KeptMemory(KeptMaker, fn(&Recorded, &str) -> bool),
}

type ProfileMaker = fn(&UnifiedProfile) -> Table;
type EventMaker = for<'a> fn(&Context<'a>, &str) -> Box<dyn Rows + 'a>;
type AreaMaker = for<'a> fn(AreaOf<'a>, &AreaQuery, &str) -> Box<dyn Rows + 'a>;
type MemoryMaker = for<'a> fn(&'a Recorded, &str) -> Box<dyn Rows + 'a>;
type KeptMaker = fn(&Recorded, &str) -> Table;

impl TableRecord {
    /// Creates the record of a table with one form that a page shows completely.
    pub(crate) const fn new(key: &'static str, columns: fn() -> Vec<Column>, made: Made) -> TableRecord {
        TableRecord { key, forms: &[], columns, columns_of_form: None, made, shown: Shown::WHOLE }
    }
}

/// Properties of a table as constants. A program that only uses these properties, for example the page, does not link the
/// functions that make tables.
impl Made {
    /// Returns true if the table is made from memory data.
    pub(crate) const fn is_of_memory(self) -> bool {
        matches!(self, Made::Memory(_) | Made::KeptMemory(..))
    }

    /// Returns true if the table covers an area of the timeline.
    pub(crate) const fn is_of_area(self) -> bool {
        matches!(self, Made::Area(_))
    }

    /// Returns the function that makes the table from a unified profile.
    pub(crate) const fn profile_maker(self) -> Option<ProfileMaker> {
        match self {
            Made::Profile(make) => Some(make),
            Made::Events(_, or) => or,
            Made::Area(_) | Made::Memory(_) | Made::KeptMemory(..) => None,
        }
    }
}
