//! Caches the memory data of a run, and the charts and tables made from it.
//!
//! A request from the page changes the form, filter or order of one table. The other tables and all charts stay the
//! same. These tables and charts are cached, because making them takes most of the time for a program with 100,000
//! buffers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use base::Ps;
use memory::Recorded;
use metrics::Context;

use document::Block;
use table::{Rows, Table};
use tables::{TableName, memory_table, rows_of_memory};

/// Charts, by name of the program and number of the memory space.
type Charts = BTreeMap<(String, i64), Arc<[Block]>>;

/// Memory data of a run, with the charts and tables made from it.
#[derive(Debug, Default)]
pub struct KeptMemory {
    recorded: Recorded,
    charts: Mutex<Charts>,
    /// Tables by form.
    tables: Mutex<BTreeMap<(TableName, String), Arc<Table>>>,
}

impl KeptMemory {
    /// Creates a cache for the memory data of a run.
    pub fn new(recorded: Recorded) -> KeptMemory {
        KeptMemory { recorded, ..KeptMemory::default() }
    }

    /// Creates a cache for the memory data of a run with events.
    pub(crate) fn of_run(context: &Context<'_>) -> KeptMemory {
        let run = context.run;
        // A trace without planes has no device, and its times start at 0.
        let has_planes = !run.trace.planes.is_empty();
        let start = context.analysis.devices.capture.filter(|_| has_planes).map(|capture| capture.start);
        let metadata = has_planes.then_some(&context.profile.metadata);
        let earlier = run.earlier_heap_profile.as_ref().map(|it| (it.name.clone(), it.bytes.clone()));
        let mut recorded = Recorded::new(&run.trace, start.unwrap_or(Ps::ZERO))
            .with_heap_profile(run.heap_profile.clone(), earlier)
            .with_error(run.memory_error.as_deref());
        recorded.platform = metadata.map(|it| it.platform.clone()).unwrap_or_default();
        let size = metadata.and_then(|it| it.environment.get("memory_size"));
        recorded.device_memory_bytes = size.and_then(|size| size.parse().ok());
        KeptMemory::new(recorded)
    }

    /// Returns the memory data of the run.
    pub fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    /// Calls `look` with a table in one of its forms, or in another variant that the table accepts (a change for a what-if
    /// estimate). Returns `None` if the table is not a memory table.
    pub fn rows<T>(&self, name: TableName, variant: &str, look: impl FnOnce(&dyn Rows) -> T) -> Option<T> {
        // Only forms are cached, because variants that users type are rarely requested twice.
        let is_form = variant.is_empty() || name.forms().contains(&variant);
        let kept = is_form.then(|| self.table(name, variant)).flatten();
        match kept {
            Some(table) => Some(look(&*table)),
            None => rows_of_memory(&self.recorded, name, variant).map(|rows| look(&*rows)),
        }
    }

    /// Returns a cached table that is expensive to make.
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

    /// Returns the charts of a program's memory space. Calls `make` on the first request.
    pub(super) fn charts(&self, program: &str, space: i64, make: impl FnOnce() -> Vec<Block>) -> Arc<[Block]> {
        let mut charts = self.charts.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(charts.entry((program.to_owned(), space)).or_insert_with(|| make().into()))
    }
}
