//! Where device time goes: categories, and the kernels with the most self time.

use crossprof::export::tables::TableName;
use leptos::prelude::*;

use super::{filter_of, reason, table_of};
use crate::components::bars::CategoryBars;
use crate::components::table::TableView;
use crate::components::tip::Term;
use crate::state::{Run, State};

/// The page.
#[component]
pub fn Kernels(
    /// The run.
    run: Run,
) -> impl IntoView {
    let report = run.report;
    let filter = filter_of(State::get());
    view! {
        <section class="panel">
            <h2><Term field="kernels.kernels_by_category.*.time_us" text="Kernel time by category" /></h2>
            {move || view! { <CategoryBars report=report.get() /> }}
        </section>
        <TableView table=table_of(&run, TableName::Kernels) title="Top kernels" path="kernels.top_kernels[]." filter=filter
            empty=reason(&run, "kernels", "No device op was read.") />
        <TableView table=table_of(&run, TableName::Categories) title="Categories" path="kernels.kernels_by_category.*." filter=filter
            empty=reason(&run, "kernels", "No device op was read.") />
    }
}
