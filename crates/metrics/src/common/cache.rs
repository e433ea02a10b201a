//! Caches values of a run that tables and pages request repeatedly. Each value is computed when it is first used.

use std::sync::OnceLock;

use crate::host::host_ops::HostOps;
use crate::op::kernel_stats::KernelColumns;
use crate::op::layers::{LayerGrouping, Layers};
use crate::op::ops::tree::{OpTree, Wasted};
use crate::op::ops::{Coverage, Grouping, Groups, OpColumns, TreeColumns};
use crate::op::placement::Placement;
use crate::op::roofline::OpLabels;
use crate::program::arguments::Argument;

/// Values that tables need for every row. Without this cache, a query on a table with a million ops would compute a
/// million rooflines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cache {
    pub(crate) labels: OnceLock<OpLabels>,
    pub(crate) coverage: OnceLock<Coverage>,
    pub(crate) columns: OnceLock<OpColumns>,
    pub(crate) kernel_columns: OnceLock<KernelColumns>,
    pub(crate) wasted: OnceLock<Wasted>,
    pub(crate) host_ops: OnceLock<HostOps>,
    pub(crate) arguments: OnceLock<Vec<Argument>>,
    pub(crate) placement: OnceLock<Placement>,
    pub(crate) layers: [OnceLock<Layers>; LayerGrouping::ALL.len()],
    pub(crate) layer_bytes: [OnceLock<Option<Vec<u64>>>; LayerGrouping::ALL.len()],
    pub(crate) groupings: [Grouped; Grouping::ALL.len()],
}

/// Cached results of one grouping of the ops.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grouped {
    pub(crate) groups: OnceLock<Groups>,
    pub(crate) tree: OnceLock<OpTree>,
    pub(crate) tree_columns: OnceLock<TreeColumns>,
    pub(crate) outline: OnceLock<OpTree>,
}
