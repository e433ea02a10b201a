//! Questions to a run's analyst: pages, tables, texts. Each has a number; whoever asked gets the answer, or nothing where the
//! run was closed.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use crossprof::pages::PageQuery;
use crossprof::table::Query;

use crate::client;
use crate::protocol::{Order, SummaryForm, TextFormat};
use crate::state::Run;

type Heard = Box<dyn FnOnce(String)>;

thread_local! {
    static LAST: Cell<u32> = const { Cell::new(0) };
    static OPEN: RefCell<BTreeMap<u32, Heard>> = const { RefCell::new(BTreeMap::new()) };
}

/// Asks for a page; the answer is its JSON.
pub fn page(run: &Run, view: &str, query: PageQuery, heard: Heard) {
    let order = Order::Page { run: run.index, view: view.to_owned(), query, asked: number() };
    ask(run, order, heard);
}

/// Asks for a whole table; the answer is its text.
pub fn table(run: &Run, name: &str, variant: &str, query: Query, format: TextFormat, heard: Heard) {
    let (name, variant) = (name.to_owned(), variant.to_owned());
    ask(run, Order::Table { run: run.index, name, variant, query, format, asked: number() }, heard);
}

/// Asks for a comparison; the analyst of any run can make it.
pub fn compare(run: &Run, order: impl FnOnce(u32) -> Order, heard: Heard) {
    ask(run, order(number()), heard);
}

/// Asks for the report of a run; the answer is its text.
pub fn summary(run: &Run, form: SummaryForm, heard: Heard) {
    ask(run, Order::Summary { run: run.index, form, asked: number() }, heard);
}

/// An answer has come.
pub fn answered(asked: u32, text: String) {
    let heard = OPEN.with_borrow_mut(|open| open.remove(&asked));
    if let Some(heard) = heard {
        heard(text);
    }
}

fn number() -> u32 {
    LAST.set(LAST.get().wrapping_add(1));
    LAST.get()
}

fn ask(run: &Run, order: Order, heard: Heard) {
    let asked = LAST.get();
    OPEN.with_borrow_mut(|open| {
        // Those of closed runs are never answered: only the latest questions are kept.
        while open.len() >= 64 {
            open.pop_first();
        }
        open.insert(asked, heard)
    });
    client::send(run.load, &order);
}
