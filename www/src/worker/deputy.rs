//! The second analyst ("deputy"). It makes comparisons, reports, and the page and tables of memory, which need no
//! events. For memory it uses the records that the analyst sends. It is a separate program that starts only on
//! demand, because its code would make the analyst too large.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crossprof::export::{comparison, html, markdown};
use crossprof::memory::Recorded;
use crossprof::pages::memory::{self, KeptMemory};
use crossprof::pages::timeline::OpChanges;
use crossprof::pages::{PageQuery, compare};
use crossprof::table::{Rows, query};
use js_sys::Array;

use super::asker::Asker;
use super::compared::{NO_PROFILE, compared, profile};
use super::text::text;
use crate::protocol::analyst::{
    AnalystRequest, ComparisonPageRequest, DocumentRequest, Form, PageRequest, RowRequest, Subjects, TableRequest,
};
use crate::protocol::wire::{Body, Document, Packed};

const NOT_MINE: &str = "This request reached the wrong worker. Reload the page.";
const NO_TABLE: &str = "This run has no such table.";

/// Memory records of the runs of a load, by run index. `None` for an imported report.
#[derive(Default)]
pub struct Deputy {
    memory: BTreeMap<u32, Option<KeptMemory>>,
}

/// Handles a request of the page.
pub fn begin(deputy: &Rc<RefCell<Deputy>>, request: AnalystRequest, asker: Asker) {
    let mut deputy = deputy.borrow_mut();
    let kept = |run: u32| deputy.memory.get(&run).and_then(Option::as_ref);
    match request {
        AnalystRequest::Page(PageRequest { run, query, .. }) => {
            asker.respond::<PageRequest>(&Packed(memory::page(kept(run), &query)));
        }
        AnalystRequest::Table(TableRequest { run, name, variant, query: asked, format, .. }) => {
            let made = |rows: &dyn Rows| Document::new(&text(&query(rows, &asked), format));
            let made = kept(run).and_then(|kept| kept.rows(name, &variant, made));
            asker.answer::<TableRequest>(made.ok_or(NO_TABLE));
        }
        AnalystRequest::Row(RowRequest { run, name, variant, query, index }) => {
            let made = kept(run).map(|kept| memory::row_of_memory(kept, name, &variant, &query, index));
            asker.answer::<RowRequest>(made.map(Packed).ok_or(NO_TABLE));
        }
        AnalystRequest::ComparisonPage(ComparisonPageRequest { subjects, filter }) => {
            let found = compared(subjects, &asker.attachments()).ok_or(NO_PROFILE);
            let page = found.map(|(found, _)| Packed(compare::page(&found, &filter)));
            asker.answer::<ComparisonPageRequest>(page);
        }
        AnalystRequest::Document(DocumentRequest { form: Form::Remembered { run }, .. }) => {
            let bytes = Document::from_js(asker.attachments().get(0)).map(|bytes| bytes.to_vec()).unwrap_or_default();
            let kept = Recorded::from_bytes(&bytes).map(KeptMemory::new);
            asker.respond::<DocumentRequest>(&Document::new(""));
            // Make the page now, because the user will probably open it next.
            drop(memory::page(kept.as_ref(), &PageQuery::default()));
            deputy.memory.insert(run, kept);
        }
        AnalystRequest::Document(DocumentRequest { form, subjects }) => {
            let made = document(form, subjects, &asker.attachments());
            asker.answer::<DocumentRequest>(made.map(|text| Document::new(&text)));
        }
        _ => asker.refuse(NOT_MINE),
    }
}

fn document(form: Form, subjects: Subjects, attachments: &Array) -> Result<String, &'static str> {
    if subjects.subjects.len() == 1 {
        let profile = profile(attachments, 0).ok_or(NO_PROFILE)?;
        return match form {
            Form::Html => Ok(html::report(&profile)),
            Form::Markdown => Ok(markdown::report(&profile)),
            _ => Err(NOT_MINE),
        };
    }
    let (found, subjects) = compared(subjects, attachments).ok_or(NO_PROFILE)?;
    match form {
        Form::Html => Ok(comparison::html(&found, &subjects)),
        Form::Json => Ok(comparison::json(&found)),
        Form::Markdown => Ok(comparison::markdown(&found)),
        Form::Changes { side } => serde_json::to_string(&OpChanges::new(&found, side)).map_err(|_| NO_PROFILE),
        _ => Err(NOT_MINE),
    }
}
