//! Every table of a run: what `crossprof table` prints, the page shows and both export. One table, one file.
//!
//! Column keys are the field names of the unified profile or XProf's column ids, units included, so that a CSV, the
//! JSON and XProf's own export can be joined. docs/metrics.md defines each column.

mod arguments;
pub mod checklist;
mod collectives;
mod findings;
mod framework_ops;
mod host_activity;
mod host_ops;
mod kernels;
mod launches;
mod op_placement;
mod op_tree;
mod ops;
mod report;
mod roofline;
mod step_breakdown;
mod step_events;
mod transfers;

pub use report::table as of_report;
pub use step_breakdown::part_key;

use crate::table::{Rows, Table};
use metrics::Context;

/// Which table of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TableName {
    /// Every step of the capture.
    Steps,
    /// Where the time of each step goes, by device.
    StepBreakdown,
    /// What happened in steps, one by one.
    StepEvents,
    /// What the threads of the hosts spend their time on, by name.
    HostOps,
    /// The threads of the hosts, where no device op ran.
    HostThreads,
    /// What the hosts called, executed and compiled, where no device op ran.
    HostPrograms,
    /// Devices of kinds that crossprof does not know.
    OtherDevices,
    /// What these spend their time on.
    OtherDeviceEvents,
    /// Every op with its time and cost.
    Ops,
    /// The same by framework op.
    FrameworkOps,
    /// The arguments of the programs and how they are spread over the devices.
    Arguments,
    /// Types of op by where they run.
    OpPlacement,
    /// The ops as a tree: by program, category, name scope or source.
    OpTree,
    /// The ops against the peaks of the device.
    Roofline,
    /// Kernel statistics.
    Kernels,
    /// The kernels with the most self time, as the unified profile lists them.
    TopKernels,
    /// Self time by category.
    Categories,
    /// Launches of device work on the host and what became of them.
    Launches,
    /// Collectives, sends and receives.
    Collectives,
    /// Copies by direction.
    Transfers,
    /// The used devices.
    Devices,
    /// The longest idle gaps.
    Gaps,
    /// What to do, with the numbers it rests on.
    Findings,
    /// The questions of the profiling guide and their answers.
    Checklist,
    /// What was lost or odd.
    Warnings,
}

impl TableName {
    /// All of them, in the order of the pages.
    pub const ALL: [TableName; 25] = [
        TableName::Steps,
        TableName::StepBreakdown,
        TableName::StepEvents,
        TableName::HostOps,
        TableName::HostThreads,
        TableName::HostPrograms,
        TableName::OtherDevices,
        TableName::OtherDeviceEvents,
        TableName::Ops,
        TableName::FrameworkOps,
        TableName::Arguments,
        TableName::OpPlacement,
        TableName::OpTree,
        TableName::Roofline,
        TableName::Kernels,
        TableName::TopKernels,
        TableName::Categories,
        TableName::Launches,
        TableName::Collectives,
        TableName::Transfers,
        TableName::Devices,
        TableName::Gaps,
        TableName::Findings,
        TableName::Checklist,
        TableName::Warnings,
    ];

    /// The word of the command line and of file names.
    pub fn key(self) -> &'static str {
        match self {
            TableName::Steps => "steps",
            TableName::StepBreakdown => "step-breakdown",
            TableName::StepEvents => "step-events",
            TableName::HostOps => "host-ops",
            TableName::HostThreads => "host-threads",
            TableName::HostPrograms => "host-programs",
            TableName::OtherDevices => "other-devices",
            TableName::OtherDeviceEvents => "other-device-events",
            TableName::Ops => "ops",
            TableName::FrameworkOps => "framework-ops",
            TableName::Arguments => "arguments",
            TableName::OpPlacement => "op-placement",
            TableName::OpTree => "op-tree",
            TableName::Roofline => "roofline",
            TableName::Kernels => "kernels",
            TableName::TopKernels => "top-kernels",
            TableName::Categories => "categories",
            TableName::Launches => "launches",
            TableName::Collectives => "collectives",
            TableName::Transfers => "transfers",
            TableName::Devices => "devices",
            TableName::Gaps => "gaps",
            TableName::Findings => "findings",
            TableName::Checklist => "checklist",
            TableName::Warnings => "warnings",
        }
    }

    /// The table of that word.
    pub fn from_key(key: &str) -> Option<TableName> {
        TableName::ALL.into_iter().find(|name| name.key() == key)
    }
}

/// A table of a run. `variant` chooses among the forms that some tables have (the grouping of `op-tree`: `program`,
/// `category`, `scope`, `source`); empty for the first.
pub fn rows<'a>(context: &Context<'a>, name: TableName, variant: &str) -> Box<dyn Rows + 'a> {
    match name {
        TableName::StepBreakdown => Box::new(step_breakdown::StepBreakdownRows::new(context)),
        TableName::StepEvents => Box::new(step_events::StepEventRows::new(context, variant)),
        TableName::Collectives => Box::new(collectives::table(context, variant)),
        TableName::HostOps => Box::new(host_ops::HostOpRows::new(context)),
        TableName::Ops => Box::new(ops::OpRows::new(context)),
        TableName::FrameworkOps => Box::new(framework_ops::FrameworkOpRows::new(context)),
        TableName::Arguments => Box::new(arguments::ArgumentRows::new(context)),
        TableName::OpPlacement => Box::new(op_placement::OpPlacementRows::new(context)),
        TableName::Roofline => Box::new(roofline::RooflineRows::new(context)),
        TableName::OpTree => Box::new(op_tree::OpTreeRows::new(context, variant)),
        // Tables made from the run itself are added here, each by its own module.
        TableName::Kernels => Box::new(kernels::KernelTable::new(context)),
        TableName::Launches => Box::new(launches::LaunchTable::new(context)),
        TableName::Transfers => Box::new(transfers::TransferTable::new(context)),
        _ => Box::new(of_report(&context.analysis.profile, name).unwrap_or_else(|| empty(name))),
    }
}

/// A table without rows and columns: what a run has that this table cannot be made of.
pub fn empty(name: TableName) -> Table {
    Table::new(name.key(), Vec::new(), Vec::new())
}
