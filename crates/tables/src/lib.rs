//! Tables of a run: `crossprof table` prints them, the page shows them, and both export them. Each table has one source
//! file.
//!
//! Column keys are the field names of the unified profile or XProf's column ids, with units, so that a CSV, the JSON and
//! XProf's own export can be joined. Each column declares its definition, which docs/metrics.md and the page's tooltips show.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod area;
mod arguments;
mod arrivals;
mod checklist;
mod collectives;
mod counters;
mod equal_ops;
mod events;
mod experts;
mod findings;
mod framework_ops;
mod goodput;
mod hardware;
mod host_activity;
mod host_ops;
mod hosts;
mod input_pipeline;
mod kernels;
mod launches;
mod layers;
mod megascale;
mod memory;
mod op_columns;
mod op_groups;
mod op_placement;
mod op_tree;
mod ops;
mod pipeline;
mod profile_table;
mod range;
mod record;
mod report;
mod roofline;
mod serving;
mod shown;
mod step_breakdown;
mod step_events;
mod transfers;

pub use area::{AreaError, AreaQuery, LineQuery};
pub use hardware::absent_counters;
pub use report::top_ops_or_kernels;
pub use shown::{RowKey, Shown};
pub use step_breakdown::part_metric;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use ::memory::Recorded;
use ::report::UnifiedProfile;
use metrics::Context;
use table::{Column, Query, Rows, Table, has_column, query_indexed};
use timeline::Timeline;
use trace::EventId;

use area::AreaOf;
use record::{Made, TableRecord};

/// Form of the range table that lists counters instead of events.
pub const COUNTER: &str = "counter";

/// Declares the tables, each with a line about its contents and with its [record](TableRecord). Each function below
/// uses one part of the records as a constant. A program that makes no tables therefore does not link the functions
/// that make tables.
macro_rules! tables {
    ($($(#[doc = $doc:literal])+ $name:ident = $record:path;)+) => {
        /// Table of a run.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum TableName {
            $($(#[doc = $doc])+ $name,)+
        }

        impl TableName {
            /// All tables, in the order of the pages.
            pub const ALL: [TableName; [$($record.key),+].len()] = [$(TableName::$name),+];

            /// Returns the name on the command line and in file names.
            pub fn key(self) -> &'static str {
                match self {
                    $(TableName::$name => const { $record.key },)+
                }
            }

            /// Returns the contents of the table, in one line.
            pub fn about(self) -> &'static str {
                match self {
                    $(TableName::$name => concat!($($doc),+).trim_ascii(),)+
                }
            }

            /// Returns true if the table is made from the [memory data](rows_of_memory) of a run.
            pub fn is_of_memory(self) -> bool {
                match self {
                    $(TableName::$name => const { $record.made.is_of_memory() },)+
                }
            }

            /// Returns true if every run has the table, because it can be made from a unified profile.
            pub fn is_of_profile(self) -> bool {
                match self {
                    $(TableName::$name => const { $record.made.profile_maker().is_some() },)+
                }
            }

            /// Returns true if the table covers an [area](AreaQuery) of the timeline instead of the window of other tables.
            pub fn is_of_area(self) -> bool {
                match self {
                    $(TableName::$name => const { $record.made.is_of_area() },)+
                }
            }

            /// Returns how a page shows the table.
            pub fn shown(self) -> Shown {
                match self {
                    $(TableName::$name => const { $record.shown },)+
                }
            }

            /// Returns the forms of the table, the default first. Empty if the table has only one form.
            pub fn forms(self) -> &'static [&'static str] {
                match self {
                    $(TableName::$name => const { $record.forms },)+
                }
            }

            fn record(self) -> TableRecord {
                match self {
                    $(TableName::$name => $record,)+
                }
            }
        }

        /// Returns the columns of all forms of a table, without duplicates.
        pub fn columns_of(name: TableName) -> Vec<Column> {
            match name {
                $(TableName::$name => (const { $record.columns })(),)+
            }
        }

        /// Returns a table from a unified profile, so that imported results have it too. Returns `None` for
        /// a table that requires the run itself.
        pub fn of_report(profile: &UnifiedProfile, name: TableName) -> Option<Table> {
            let make = match name {
                $(TableName::$name => const { $record.made.profile_maker() },)+
            };
            make.map(|make| make(profile))
        }
    };
}

tables! {
    /// Every step of the capture.
    Steps = report::STEPS_TABLE;
    /// Phases of an inference engine.
    Serving = serving::TABLE;
    /// Breakdown of each step's time, by device.
    StepBreakdown = step_breakdown::TABLE;
    /// Events in steps, one row per event.
    StepEvents = step_events::TABLE;
    /// Activity of the host threads, by name.
    HostOps = host_ops::TABLE;
    /// Input pipeline: its ops, its stages, or the steps with the time of each stage.
    InputPipeline = input_pipeline::TABLE;
    /// Threads of the hosts, if no device op ran.
    HostThreads = host_activity::HOST_THREADS_TABLE;
    /// Programs that the hosts called, executed or compiled, if no device op ran.
    HostPrograms = host_activity::HOST_PROGRAMS_TABLE;
    /// Devices of unknown kinds.
    OtherDevices = host_activity::OTHER_DEVICES_TABLE;
    /// Events with the most time on devices of unknown kinds.
    OtherDeviceEvents = host_activity::OTHER_DEVICE_EVENTS_TABLE;
    /// Every op with its time and cost.
    Ops = ops::TABLE;
    /// Ops grouped by a common property.
    OpGroups = op_groups::TABLE;
    /// Layers of the model with their time by phase.
    Layers = layers::TABLE;
    /// Ops of the framework, each with the time and cost of its HLO ops.
    FrameworkOps = framework_ops::TABLE;
    /// Arguments of the programs, and their distribution over the devices.
    Arguments = arguments::TABLE;
    /// Memory of the compiled programs.
    ProgramMemory = memory::programs::TABLE;
    /// Buffers alive at the peak of a program's memory.
    Buffers = memory::buffers::TABLE;
    /// Estimated memory peaks after a change of the program.
    MemoryWhatIf = memory::what_if::TABLE;
    /// Allocators of the devices.
    Allocators = memory::allocations::ALLOCATORS_TABLE;
    /// Contents of each allocator at its peak.
    Allocations = memory::allocations::ALLOCATIONS_TABLE;
    /// Every allocation and release.
    MemoryTimeline = memory::timeline::TABLE;
    /// Contents of a device memory profile (pprof).
    Heap = memory::heap::TABLE;
    /// Lines of code that allocated live device memory, as listed in the unified profile.
    LiveMemory = report::LIVE_MEMORY_TABLE;
    /// Op types by the place where they run: device or host.
    OpPlacement = op_placement::TABLE;
    /// Ops as a tree: by program, category, name scope or source.
    OpTree = op_tree::TABLE;
    /// Ops compared with the peaks of the device.
    Roofline = roofline::TABLE;
    /// Kernel statistics.
    Kernels = kernels::TABLE;
    /// Kernels with the most self time, as listed in the unified profile.
    TopKernels = report::TOP_KERNELS_TABLE;
    /// Self time by category.
    Categories = report::CATEGORIES_TABLE;
    /// Calls on the host that launched device work, and the work that they started.
    Launches = launches::TABLE;
    /// Collectives, sends and receives.
    Collectives = collectives::TABLE;
    /// Arrivals at collectives: the device that arrives last, and how long the other devices wait.
    Arrivals = arrivals::TABLE;
    /// Collectives between TPU slices: slack, stalls and required bandwidth.
    Megascale = megascale::TABLE;
    /// Stages of a pipeline-parallel program: work and bubbles.
    Pipeline = pipeline::TABLE;
    /// Load of the experts of a mixture-of-experts model, and of the devices that run experts.
    Experts = experts::TABLE;
    /// Productive and lost time of the capture.
    Goodput = goodput::TABLE;
    /// Copies by direction.
    Transfers = transfers::TABLE;
    /// Hosts with their steps, idle time and communication.
    Hosts = hosts::TABLE;
    /// Devices that ran at least one op, with their place, steps, scores and arrivals.
    Devices = report::DEVICES_TABLE;
    /// Utilisation of the units of TPUs, from hardware counters.
    Utilization = hardware::UTILIZATION_TABLE;
    /// Power, clocks, temperature and other counters over time, by device.
    Meters = hardware::METERS_TABLE;
    /// Utilisation of the units of TPUs by custom calls (Pallas kernels).
    KernelUnits = hardware::KERNEL_UNITS_TABLE;
    /// Readings of the hardware counters of chips.
    PerfCounters = hardware::PERF_COUNTERS_TABLE;
    /// Longest idle gaps.
    Gaps = report::GAPS_TABLE;
    /// Findings: recommended actions with their evidence.
    Findings = findings::TABLE;
    /// Questions of the profiling guide, with answers.
    Checklist = checklist::TABLE;
    /// Events on some lines in a range of time, one row per event.
    Events = events::TABLE;
    /// Statistics of the events on some lines in a range of time.
    Range = range::TABLE;
    /// Warnings about lost or unusual data.
    Warnings = report::WARNINGS_TABLE;
}

/// Explains why a table is empty, if the profile shows the reason.
pub fn why_empty(name: TableName, profile: &UnifiedProfile) -> Option<String> {
    let counters = || absent_counters(name, profile).map(|(reason, remedy)| format!("{reason} {remedy}"));
    host_activity::why_empty(name, profile).or_else(counters)
}

impl TableName {
    /// Returns the table with a name.
    pub fn from_key(key: &str) -> Option<TableName> {
        TableName::ALL.into_iter().find(|name| name.key() == key)
    }
}

/// Returns the columns of a table in one of its [forms](TableName::forms), independent of the run.
/// An empty text selects the default form.
pub fn columns_of_form(name: TableName, variant: &str) -> Vec<Column> {
    let record = name.record();
    match (record.columns_of_form, record.made) {
        (Some(columns_of_form), _) => columns_of_form(variant),
        (None, Made::Memory(make)) => make(&Recorded::default(), variant).columns().to_vec(),
        (None, Made::KeptMemory(make, _)) => make(&Recorded::default(), variant).columns,
        (None, _) => (record.columns)(),
    }
}

/// Returns a memory table that is expensive to make, so that callers can keep it. Returns `None` for any other table.
pub fn memory_table(recorded: &Recorded, name: TableName, variant: &str) -> Option<Table> {
    match name.record().made {
        Made::KeptMemory(make, _) => Some(make(recorded, variant)),
        _ => None,
    }
}

/// Returns true if a memory table has rows in this form. Does not make expensive tables.
pub fn has_rows_of_memory(recorded: &Recorded, name: TableName, variant: &str) -> bool {
    match name.record().made {
        Made::KeptMemory(_, has_rows) => has_rows(recorded, variant),
        _ => rows_of_memory(recorded, name, variant).is_some_and(|rows| !rows.is_empty()),
    }
}

/// Returns a table of a run's memory data. Returns `None` for any other table. `variant` has the same meaning as in [`rows`].
pub fn rows_of_memory<'a>(recorded: &'a Recorded, name: TableName, variant: &str) -> Option<Box<dyn Rows + 'a>> {
    match name.record().made {
        Made::Memory(make) => Some(make(recorded, variant)),
        Made::KeptMemory(make, _) => Some(Box::new(make(recorded, variant))),
        _ => None,
    }
}

/// Returns a table of a run. Has no rows if the table requires the [timeline](rows_of_area) or [memory data](rows_of_memory).
/// `variant` selects one of the [forms](TableName::forms) that some tables have; an empty text selects the first.
pub fn rows<'a>(context: &Context<'a>, name: TableName, variant: &str) -> Box<dyn Rows + 'a> {
    match name.record().made {
        Made::Profile(make) => Box::new(make(context.profile)),
        Made::Events(make, _) => make(context, variant),
        Made::Area(_) => Box::new(Table::new(name.key(), columns_of(name), Vec::new())),
        Made::Memory(_) | Made::KeptMemory(..) => Box::new(empty(name)),
    }
}

/// Returns a table of a run. A table that covers an area of the timeline has the rows of the area `asked`.
///
/// # Errors
///
/// Fails if no line or no time is selected.
pub fn rows_of_area<'a>(
    context: &Context<'a>,
    timeline: &'a Timeline,
    asked: &AreaQuery,
    name: TableName,
    variant: &str,
) -> Result<Box<dyn Rows + 'a>, AreaError> {
    match name.record().made {
        Made::Area(make) => Ok(make(AreaOf::new(context, timeline, asked)?, asked, variant)),
        _ => Ok(rows(context, name, variant)),
    }
}

/// Returns the table of the [events](TableName::Events) of an area, with the event of each row.
///
/// # Errors
///
/// Fails if no line or no time is selected.
pub fn listed_events(
    context: &Context<'_>,
    timeline: &Timeline,
    area: &AreaQuery,
    query: &Query,
) -> Result<(Table, Vec<EventId>), AreaError> {
    let rows = events::EventRows::new(AreaOf::new(context, timeline, area)?);
    let (table, chosen) = query_indexed(&rows, query);
    Ok((table, chosen.into_iter().filter_map(|row| rows.event(row)).collect()))
}

/// Writes a table's name as its key.
impl Serialize for TableName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.key())
    }
}

impl<'de> Deserialize<'de> for TableName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TableName, D::Error> {
        let key = String::deserialize(deserializer)?;
        TableName::from_key(&key).ok_or_else(|| D::Error::custom("no such table"))
    }
}

/// Returns true if any table has a column with this key.
pub fn any_has_column(key: &str) -> bool {
    TableName::ALL.into_iter().any(|name| has_column(&columns_of(name), key))
}

/// Returns a table without rows and columns, for a run that lacks the data for it.
pub fn empty(name: TableName) -> Table {
    Table::new(name.key(), Vec::new(), Vec::new())
}

#[cfg(test)]
mod tests;
