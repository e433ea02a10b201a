//! The devices beside each other, their longest gaps, and copies by direction.

use crossprof::export::tables::TableName;
use leptos::prelude::*;

use super::{filter_of, reason, table_of};
use crate::components::bars::DeviceBars;
use crate::components::table::TableView;
use crate::components::tip::Term;
use crate::state::{Run, State};

/// The page.
#[component]
pub fn Devices(
    /// The run.
    run: Run,
) -> impl IntoView {
    let report = run.report;
    let filter = filter_of(State::get());
    view! {
        <section class="panel">
            <h2><Term field="multi_device.device_stats[].utilization_percent" text="Busy share of the active span" /></h2>
            {move || view! { <DeviceBars report=report.get() most=64 /> }}
        </section>
        <TableView table=table_of(&run, TableName::Devices) title="Devices" path="multi_device.device_stats[]." filter=filter
            empty=reason(&run, "multi_device", "No device of this capture ran an op.") />
        <TableView table=table_of(&run, TableName::Gaps) title="Longest idle gaps" path="timeline_analysis.longest_gaps[]." filter=filter
            empty=reason(&run, "timeline_analysis", "No device was idle between two ops.") />
        <TableView table=table_of(&run, TableName::Transfers) title="Copies by direction" path="memory_operations.transfers[]." filter=filter
            empty=reason(&run, "memory_operations", "The trace holds no copy.") />
    }
}
