//! Tables of a run: `crossprof table` prints them, the page shows them, and both export them. One
//! table is one file.
//!
//! Column keys are the field names of the unified profile or XProf's column ids, with units, so
//! that a CSV, the JSON and XProf's own export can be joined. Each column declares its definition,
//! which docs/metrics.md and the page's tips show.

#![warn(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod area;
mod arguments;
mod checklist;
mod collectives;
mod counters;
mod equal_ops;
mod events;
mod findings;
mod framework_ops;
mod host_activity;
mod host_ops;
mod kernels;
mod launches;
mod layers;
mod memory;
mod op_columns;
mod op_groups;
mod op_placement;
mod op_tree;
mod ops;
mod profile_table;
mod range;
mod report;
mod roofline;
mod shown;
mod step_breakdown;
mod step_events;
mod transfers;

pub use area::{AreaError, AreaQuery, LineQuery};
pub use host_activity::why_empty;
pub use report::top_ops_or_kernels;
pub use shown::{RowKey, Shown};
pub use step_breakdown::part_metric;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use ::memory::Recorded;
use ::report::UnifiedProfile;
use metrics::Context;
use table::{Column, Query, Rows, Table, columns, has_column, query_indexed};
use timeline::Timeline;
use trace::EventId;

use area::AreaOf;

/// Form of the range table that lists counters instead of events.
pub const COUNTER: &str = "counter";

/// Declares the tables: the doc comment, name, key, forms (the default first), columns, source and display of each. The source
/// is a function of the unified profile, or of the run and the requested form. A table with both sources uses the run if it is
/// available, with all columns. [`rows_of_area`] makes the tables of a timeline area, and [`rows_of_memory`] makes the memory
/// tables.
macro_rules! tables {
    ($($(#[doc = $doc:literal])+ $name:ident $key:literal [$($form:literal),*] with $columns:expr, from $source:ident $make:expr $(, or $of_report:path)? $(, shown $shown:expr)?;)+) => {
        /// Table of a run.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum TableName {
            $($(#[doc = $doc])+ $name,)+
        }

        impl TableName {
            /// All tables, in the order of the pages.
            pub const ALL: [TableName; [$($key),+].len()] = [$(TableName::$name),+];

            /// Returns the name on the command line and in file names.
            pub fn key(self) -> &'static str {
                match self {
                    $(TableName::$name => $key,)+
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
                    $(TableName::$name => made!(is_of_memory $source),)+
                }
            }

            /// Returns how a page shows the table.
            pub fn shown(self) -> Shown {
                match self {
                    $(TableName::$name => shown!($($shown)?),)+
                }
            }

            /// Returns the forms of the table, the default first. Empty if there is only one.
            pub fn forms(self) -> &'static [&'static str] {
                match self {
                    $(TableName::$name => &[$($form),*],)+
                }
            }
        }

        /// Returns the columns of all forms of a table, without duplicates.
        pub fn columns_of(name: TableName) -> Vec<Column> {
            match name {
                $(TableName::$name => $columns,)+
            }
        }

        /// Returns the columns of a memory table, or of a table whose forms all have the same columns.
        fn columns_of_plain_form(name: TableName, variant: &str) -> Vec<Column> {
            match name {
                $(TableName::$name => made!(form_columns $source $make, $columns, variant),)+
            }
        }

        /// Returns a table of a run's memory data. Returns `None` for any other table. `variant` as in
        /// [`rows`].
        pub fn rows_of_memory<'a>(recorded: &'a Recorded, name: TableName, variant: &str) -> Option<Box<dyn Rows + 'a>> {
            match name {
                $(TableName::$name => made!(recorded $source $make, recorded, variant),)+
            }
        }

        /// Returns a table of a run. Has no rows if the table requires the [timeline](rows_of_area) or
        /// [memory data](rows_of_memory). `variant` selects one of the [forms](TableName::forms) that some
        /// tables have; an empty text selects the first.
        pub fn rows<'a>(context: &Context<'a>, name: TableName, variant: &str) -> Box<dyn Rows + 'a> {
            match name {
                $(TableName::$name => made!(rows $source $make, context, variant),)+
            }
        }

        /// Returns a table from a unified profile, so that imported results have it too. Returns `None` for
        /// a table that requires the run itself.
        pub fn of_report(profile: &UnifiedProfile, name: TableName) -> Option<Table> {
            match name {
                $(TableName::$name => made!(report $source $make, profile $(, $of_report)?),)+
            }
        }
    };
}

/// Returns how a page shows a table. A table that declares no display is shown completely.
macro_rules! shown {
    () => {
        Shown::WHOLE
    };
    ($shown:expr) => {
        $shown
    };
}

/// Makes a table from its source.
macro_rules! made {
    (rows profile $make:expr, $context:ident, $variant:ident) => {
        Box::new($make(&$context.profile))
    };
    (rows area $make:expr, $context:ident, $variant:ident) => {
        Box::new(Table::new($make.key(), columns_of($make), Vec::new()))
    };
    (rows run $make:expr, $context:ident, $variant:ident) => {
        Box::new($make($context, $variant))
    };
    (rows memory $make:expr, $context:ident, $variant:ident) => {
        Box::new(Table::new("", Vec::new(), Vec::new()))
    };
    (recorded memory $make:expr, $recorded:ident, $variant:ident) => {
        Some(Box::new($make($recorded, $variant)))
    };
    (recorded $source:ident $make:expr, $recorded:ident, $variant:ident) => {
        None
    };
    (is_of_memory memory) => {
        true
    };
    (is_of_memory $source:ident) => {
        false
    };
    (form_columns memory $make:expr, $columns:expr, $variant:ident) => {
        Rows::columns(&$make(&Recorded::default(), $variant)).to_vec()
    };
    (form_columns $source:ident $make:expr, $columns:expr, $variant:ident) => {
        $columns
    };
    (report memory $make:expr, $profile:ident) => {
        None
    };
    (report profile $make:expr, $profile:ident) => {
        Some($make($profile))
    };
    (report run $make:expr, $profile:ident) => {
        None
    };
    (report area $make:expr, $profile:ident) => {
        None
    };
    (report run $make:expr, $profile:ident, $of_report:path) => {
        Some($of_report($profile))
    };
}

tables! {
    /// Every step of the capture.
    Steps "steps" [] with columns(&report::STEPS), from profile report::steps, shown report::STEPS_SHOWN;
    /// Breakdown of the time of each step, by device.
    StepBreakdown "step-breakdown" [] with step_breakdown::columns(), from run |context, _| step_breakdown::StepBreakdownRows::new(context), shown step_breakdown::SHOWN;
    /// Events in steps, one by one.
    StepEvents "step-events" [] with columns(&step_events::COLUMNS), from run step_events::StepEventRows::new, shown step_events::SHOWN;
    /// Activity of the host threads, by name.
    HostOps "host-ops" [] with columns(&host_ops::COLUMNS), from run |context, _| host_ops::HostOpRows::new(context), shown host_ops::SHOWN;
    /// Threads of the hosts, if no device op ran.
    HostThreads "host-threads" [] with columns(&host_activity::THREADS), from profile host_activity::threads, shown host_activity::HOST_THREADS_SHOWN;
    /// Programs that the hosts called, executed or compiled, if no device op ran.
    HostPrograms "host-programs" [] with columns(&host_activity::PROGRAMS), from profile host_activity::programs, shown host_activity::HOST_PROGRAMS_SHOWN;
    /// Devices of unknown kinds.
    OtherDevices "other-devices" [] with columns(&host_activity::OTHER_DEVICES), from profile host_activity::other_devices, shown host_activity::OTHER_DEVICES_SHOWN;
    /// Events of devices of unknown kinds with the most time.
    OtherDeviceEvents "other-device-events" [] with columns(&host_activity::OTHER_DEVICE_EVENTS), from profile host_activity::other_device_events, shown host_activity::OTHER_DEVICE_EVENTS_SHOWN;
    /// Every op with its time and cost.
    Ops "ops" [] with columns(&ops::COLUMNS), from run |context, _| ops::OpRows::new(context), shown ops::SHOWN;
    /// Ops grouped by a common property.
    OpGroups "op-groups" ["name", "scope", "category", "program", "source"] with columns(&op_groups::COLUMNS), from run op_groups::table, shown op_groups::SHOWN;
    /// Layers of the model with their time by phase.
    Layers "layers" ["layer", "each-layer", "phase", "source"] with columns(&layers::COLUMNS), from run layers::table, shown layers::SHOWN;
    /// Ops of the framework, each with the time and cost of its HLO ops.
    FrameworkOps "framework-ops" [] with columns(&framework_ops::COLUMNS), from run |context, _| framework_ops::FrameworkOpRows::new(context), shown framework_ops::SHOWN;
    /// Arguments of the programs, and their distribution over the devices.
    Arguments "arguments" [] with columns(&arguments::COLUMNS), from run |context, _| arguments::ArgumentRows::new(context), shown arguments::SHOWN;
    /// Memory of the compiled programs.
    ProgramMemory "program-memory" ["program", "space"] with memory::programs::columns(), from memory memory::programs::table, shown memory::programs::SHOWN;
    /// Buffers that are alive when the memory of a program is fullest.
    Buffers "buffers" ["buffer", "class", "scope", "source"] with memory::buffers::columns(), from memory memory::buffers::table, shown memory::buffers::SHOWN;
    /// Estimated peaks without some of the memory.
    MemoryWhatIf "memory-what-if" ["scope", "buffer", "argument", "batch"] with memory::what_if::columns(), from memory memory::what_if::table;
    /// Allocators of the devices.
    Allocators "allocators" [] with memory::allocations::allocator_columns(), from memory |recorded, _| memory::allocations::allocator_table(recorded), shown memory::allocations::ALLOCATORS_SHOWN;
    /// Contents of each allocator at its peak.
    Allocations "allocations" ["peak", "xprof"] with memory::allocations::columns(), from memory memory::allocations::table, shown memory::allocations::ALLOCATIONS_SHOWN;
    /// Every allocation and release.
    MemoryTimeline "memory-timeline" [] with memory::timeline::columns(), from memory |recorded, _| memory::timeline::TimelineRows::new(recorded), shown memory::timeline::SHOWN;
    /// Contents of a device memory profile (pprof).
    Heap "heap" ["line", "stack", "kind", "device"] with memory::heap::columns(), from memory memory::heap::table, shown memory::heap::SHOWN;
    /// Lines of code that allocated live device memory, as listed in the unified profile.
    LiveMemory "live-memory" [] with columns(&report::LIVE_MEMORY), from profile report::live_memory;
    /// Types of op by where they run.
    OpPlacement "op-placement" [] with columns(&op_placement::COLUMNS), from run |context, _| op_placement::OpPlacementRows::new(context), shown op_placement::SHOWN;
    /// Ops as a tree: by program, category, name scope or source.
    OpTree "op-tree" ["program", "category", "scope", "source"] with columns(&op_tree::COLUMNS), from run op_tree::OpTreeRows::new;
    /// Ops against the peaks of the device.
    Roofline "roofline" [] with columns(&roofline::COLUMNS), from run |context, _| roofline::RooflineRows::new(context), shown roofline::SHOWN;
    /// Kernel statistics.
    Kernels "kernels" [] with columns(&kernels::COLUMNS), from run |context, _| kernels::KernelTable::new(context), shown kernels::SHOWN;
    /// Kernels with the most self time, as listed in the unified profile.
    TopKernels "top-kernels" [] with columns(&report::KERNELS), from profile report::kernels, shown report::TOP_KERNELS_SHOWN;
    /// Self time by category.
    Categories "categories" [] with columns(&report::CATEGORIES), from profile report::categories, shown report::CATEGORIES_SHOWN;
    /// Launches of device work on the host, and the work that they started.
    Launches "launches" [] with columns(&launches::COLUMNS), from run |context, _| launches::LaunchTable::new(context), shown launches::SHOWN;
    /// Collectives, sends and receives.
    Collectives "collectives" ["op", "kind", "run", "apart"] with collectives::columns(), from run collectives::table, shown collectives::SHOWN;
    /// Copies by direction.
    Transfers "transfers" [] with columns(&transfers::COLUMNS), from run |context, _| transfers::TransferTable::new(context), or report::transfers, shown transfers::SHOWN;
    /// Devices that ran at least one op.
    Devices "devices" [] with columns(&report::DEVICES), from profile report::devices, shown report::DEVICES_SHOWN;
    /// Longest idle gaps.
    Gaps "gaps" [] with columns(&report::GAPS), from profile report::gaps, shown report::GAPS_SHOWN;
    /// Findings: recommended actions with their evidence.
    Findings "findings" [] with columns(&findings::COLUMNS), from profile findings::table, shown findings::SHOWN;
    /// Questions of the profiling guide with their answers.
    Checklist "checklist" [] with columns(&checklist::COLUMNS), from profile checklist::table, shown checklist::SHOWN;
    /// Events in a range of time on some lines, one by one.
    Events "events" [] with columns(&events::COLUMNS), from area TableName::Events;
    /// Statistics of a range of time on some lines.
    Range "range" ["name", "op", "category", "scope", "line", "counter"] with range::all_columns(), from area TableName::Range, shown range::SHOWN;
    /// Warnings about lost or unusual data.
    Warnings "warnings" [] with columns(&report::WARNINGS), from profile report::warnings;
}

impl TableName {
    /// Returns true if the table covers an [area](AreaQuery) of the timeline instead of the window of
    /// other tables.
    pub fn is_of_area(self) -> bool {
        matches!(self, TableName::Events | TableName::Range)
    }

    /// Returns the table with a name.
    pub fn from_key(key: &str) -> Option<TableName> {
        TableName::ALL.into_iter().find(|name| name.key() == key)
    }
}

/// Returns the columns of a table in one of its [forms](TableName::forms), independent of the run.
/// An empty text selects the default form.
pub fn columns_of_form(name: TableName, variant: &str) -> Vec<Column> {
    match name {
        TableName::Collectives => collectives::columns_of_form(variant),
        TableName::Range => range::columns_of_form(variant),
        _ => columns_of_plain_form(name, variant),
    }
}

/// Returns a memory table. It is expensive to build, so callers should cache it. Returns `None` for any other table.
pub fn memory_table(recorded: &Recorded, name: TableName, variant: &str) -> Option<Table> {
    match name {
        TableName::Buffers => Some(memory::buffers::table(recorded, variant)),
        TableName::MemoryWhatIf => Some(memory::what_if::table(recorded, variant)),
        _ => None,
    }
}

/// Returns true if a memory table has rows in this form. Does not make expensive tables.
pub fn has_rows_of_memory(recorded: &Recorded, name: TableName, variant: &str) -> bool {
    match name {
        TableName::Buffers => memory::buffers::has_rows(recorded),
        TableName::MemoryWhatIf => memory::what_if::has_rows(recorded, variant),
        _ => rows_of_memory(recorded, name, variant).is_some_and(|rows| !rows.is_empty()),
    }
}

/// Returns a table of a run. A table that covers a timeline area has the rows of `asked`.
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
    let area = || AreaOf::new(context, timeline, asked);
    Ok(match name {
        TableName::Events => Box::new(events::EventRows::new(area()?)),
        TableName::Range if variant == COUNTER => Box::new(counters::table(&area()?, timeline, asked)),
        TableName::Range => Box::new(range::RangeRows::new(area()?, variant)),
        _ => rows(context, name, variant),
    })
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
