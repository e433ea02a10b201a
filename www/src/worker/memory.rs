//! Memory records that the second analyst received from the analyst, and the pages and tables that are made from them.

use std::collections::BTreeMap;

use crossprof::document::Page;
use crossprof::pages::PageQuery;
use crossprof::pages::memory::{self, KeptMemory};
use crossprof::session::Recorded;
use crossprof::table::{Rows, query};

use super::text::text;
use crate::protocol::analyst::{RowRequest, TableRequest};
use crate::protocol::wire::Document;

/// Memory records of each run, at the index of the run. The value is `None` for an imported report.
#[derive(Default)]
pub struct ReceivedMemory(BTreeMap<u32, Option<KeptMemory>>);

impl ReceivedMemory {
    /// Returns true if the memory records of this run were received.
    pub fn contains(&self, run: u32) -> bool {
        self.0.contains_key(&run)
    }

    /// Stores the memory records of a run. If `bytes` is empty, the run has no records. Makes the memory page at once,
    /// because the user will probably open that page next.
    pub fn store(&mut self, run: u32, bytes: &[u8]) {
        self.0.insert(run, Recorded::from_bytes(bytes).map(KeptMemory::new));
        drop(self.page(run, &PageQuery::default()));
    }

    /// Makes the memory page of a run.
    pub fn page(&self, run: u32, query: &PageQuery) -> Page {
        memory::page(self.of(run), query)
    }

    /// Writes a memory table as text. Returns `None` if the run has no such table.
    pub fn table(
        &self,
        TableRequest { run, name, variant, query: asked, format, .. }: &TableRequest,
    ) -> Option<Document> {
        let written = |rows: &dyn Rows| Document::new(&text(&query(rows, asked), *format));
        self.of(*run)?.rows(*name, variant, written)
    }

    /// Returns the details of a row. Returns `None` if the run has no memory records.
    pub fn row(&self, RowRequest { run, name, variant, query, index }: &RowRequest) -> Option<Page> {
        Some(memory::row_of_memory(self.of(*run)?, *name, variant, query, *index))
    }

    fn of(&self, run: u32) -> Option<&KeptMemory> {
        self.0.get(&run)?.as_ref()
    }
}
