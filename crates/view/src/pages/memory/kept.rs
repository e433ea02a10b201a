//! What a run says of memory, with the charts and tables that were made of it.
//!
//! A question on the page is about one table, by its form, its filter or its order: the other tables and all charts stay as they are, and of a program
//! of 100,000 buffers it is these that take long.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use memory::Recorded;

use super::super::Block;
use crate::table::{Rows, Table};
use crate::tables::{TableName, memory_table, rows_of_memory};

/// Charts by name of the program and number of the memory space.
type Charts = BTreeMap<(String, i64), Arc<[Block]>>;

/// What a run says of memory, with what was made of it.
#[derive(Debug, Default)]
pub struct KeptMemory {
    recorded: Recorded,
    charts: Mutex<Charts>,
    /// Tables by form.
    tables: Mutex<BTreeMap<(TableName, String), Arc<Table>>>,
}

impl KeptMemory {
    /// Keeps what a run says of memory.
    pub fn new(recorded: Recorded) -> KeptMemory {
        KeptMemory { recorded, ..KeptMemory::default() }
    }

    /// What the run says.
    pub fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    /// What `look` makes of a table in one of its forms, or in another that it takes (a change of what if); `None` where the table is not of memory.
    pub fn rows<T>(&self, name: TableName, variant: &str, look: impl FnOnce(&dyn Rows) -> T) -> Option<T> {
        // What somebody types is asked once: only forms are kept.
        let is_form = variant.is_empty() || name.forms().contains(&variant);
        let kept = is_form.then(|| self.table(name, variant)).flatten();
        match kept {
            Some(table) => Some(look(&*table)),
            None => rows_of_memory(&self.recorded, name, variant).map(|rows| look(&*rows)),
        }
    }

    /// A table that takes long to make.
    fn table(&self, name: TableName, variant: &str) -> Option<Arc<Table>> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (name, variant.to_owned());
        if let Some(known) = tables.get(&key) {
            return Some(Arc::clone(known));
        }
        let made = Arc::new(memory_table(&self.recorded, name, variant)?);
        tables.insert(key, Arc::clone(&made));
        Some(made)
    }

    /// The charts of a memory space of a program, which `make` makes the first time.
    pub(super) fn charts(&self, program: &str, space: i64, make: impl FnOnce() -> Vec<Block>) -> Arc<[Block]> {
        let mut charts = self.charts.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(charts.entry((program.to_owned(), space)).or_insert_with(|| make().into()))
    }
}
