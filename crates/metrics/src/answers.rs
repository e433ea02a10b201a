//! The places of what tables and pages ask of a run again and again: each is filled when the first one asks.

use std::sync::OnceLock;

use crate::arguments::Argument;
use crate::host_ops::HostOps;
use crate::kernel_stats::KernelColumns;
use crate::ops::tree::{OpTree, Wasted};
use crate::ops::{Coverage, Grouping, Groups, OpColumns, TreeColumns};
use crate::placement::Placement;
use crate::roofline::OpLabels;

/// What tables ask of every row, worked out when the first one asks and kept: a question to a million ops must not be
/// answered by a million rooflines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answers {
    pub(crate) labels: OnceLock<OpLabels>,
    pub(crate) coverage: OnceLock<Coverage>,
    pub(crate) columns: OnceLock<OpColumns>,
    pub(crate) kernel_columns: OnceLock<KernelColumns>,
    pub(crate) wasted: OnceLock<Wasted>,
    pub(crate) host_ops: OnceLock<HostOps>,
    pub(crate) arguments: OnceLock<Vec<Argument>>,
    pub(crate) placement: OnceLock<Placement>,
    pub(crate) groupings: [Grouped; Grouping::ALL.len()],
}

/// The ops in one grouping.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grouped {
    pub(crate) groups: OnceLock<Groups>,
    pub(crate) tree: OnceLock<OpTree>,
    pub(crate) tree_columns: OnceLock<TreeColumns>,
    pub(crate) outline: OnceLock<OpTree>,
}
