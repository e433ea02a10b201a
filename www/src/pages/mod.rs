//! The views. One file each, named as in the address.

pub mod devices;
pub mod export;
pub mod kernels;
pub mod model;
pub mod overview;
pub mod start;
pub mod steps;

use std::sync::Arc;

use crossprof::export::tables::{self, Table, TableName};
use leptos::prelude::*;

use crate::headline::why_missing;
use crate::state::{Report, Run, State};

/// A table of a run, as a signal.
fn table_of(run: &Run, name: TableName) -> Signal<Table> {
    let report = run.report;
    Memo::new(move |_| tables::table(&report.get().profile, name)).into()
}

/// The filter of the address, as a signal that tables can write to.
fn filter_of(state: State) -> RwSignal<String> {
    let filter = RwSignal::new(state.route.with_untracked(|route| route.filter.clone()));
    Effect::new(move |_| {
        let wanted = state.route.with(|route| route.filter.clone());
        if filter.get_untracked() != wanted {
            filter.set(wanted);
        }
    });
    Effect::new(move |_| {
        let typed = filter.get();
        if state.route.with_untracked(|route| route.filter != typed) {
            state.filter(typed);
        }
    });
    filter
}

/// Why a table has no rows: the profile's own reason for a field, else a general one.
fn reason(run: &Run, field: &'static str, general: &'static str) -> Signal<String> {
    let report: RwSignal<Arc<Report>> = run.report;
    Signal::derive(move || why_missing(&report.get().profile, field).unwrap_or(general).to_owned())
}
