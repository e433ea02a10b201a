//! Returns cached values that tables and pages request repeatedly. Each value is computed when it is first used.

use crate::common::cache::Grouped;
use crate::context::Context;
use crate::host::host_ops::HostOps;
use crate::op::kernel_stats::KernelColumns;
use crate::op::layers::{LayerGrouping, Layers};
use crate::op::ops::tree::{OpTree, Wasted};
use crate::op::ops::{Coverage, Grouping, Groups, OpColumns, TreeColumns};
use crate::op::placement::Placement;
use crate::op::roofline::OpLabels;
use crate::program::arguments::{self, Argument};
use trace::Interval;

/// An op appears in a chart if it takes at least this share of the chart's total. Smaller ops would be invisible.
pub const LEAST_SHARE: f64 = 0.0005;

impl<'a> Context<'a> {
    /// Returns the labels of the ops.
    pub fn labels(&self) -> &'a OpLabels {
        self.cache.labels.get_or_init(|| OpLabels::new(self.trace(), &self.analysis.ops, &self.analysis.roofline))
    }

    /// Returns how much of the ops' time has a known cost, and which other values are known.
    pub fn coverage(&self) -> &'a Coverage {
        self.cache.coverage.get_or_init(|| Coverage::of(&self.analysis.ops))
    }

    /// Returns the columns of all ops.
    pub fn columns(&self) -> &'a OpColumns {
        self.cache.columns.get_or_init(|| OpColumns::new(self.trace(), &self.analysis.ops))
    }

    /// Returns the columns of all kernels.
    pub fn kernel_columns(&self) -> &'a KernelColumns {
        self.cache.kernel_columns.get_or_init(|| KernelColumns::new(self.trace(), &self.analysis.kernel_stats))
    }

    /// Returns the time of the hosts' threads by event name.
    pub fn host_ops(&self) -> &'a HostOps {
        self.cache
            .host_ops
            .get_or_init(|| HostOps::new(self.trace(), &self.analysis.devices, |host| self.window_of_host(host)))
    }

    /// Returns the arguments of the compiled programs. The first call reads all HLO modules of the trace file.
    pub fn arguments(&self) -> &'a [Argument] {
        self.cache.arguments.get_or_init(|| arguments::arguments(&self.run.programs().modules))
    }

    /// Returns the ops' placement: on devices or on the host.
    pub fn placement(&self) -> &'a Placement {
        self.cache.placement.get_or_init(|| {
            let (devices, ops) = (&self.analysis.devices, &self.analysis.ops);
            Placement::new(self.trace(), devices, ops, |host| self.window_of_host(host))
        })
    }

    fn window_of_host(&self, host: u16) -> Interval {
        self.analysis.window.of_host(&self.analysis.captured, host)
    }

    fn grouped(&self, grouping: Grouping) -> &'a Grouped {
        let [program, category, scope, source] = &self.cache.groupings;
        match grouping {
            Grouping::Program => program,
            Grouping::Category => category,
            Grouping::Scope => scope,
            Grouping::Source => source,
        }
    }

    /// Returns the layers of the model.
    pub fn layers(&self, grouping: LayerGrouping) -> &'a Layers {
        let [layer, each, phase, source] = &self.cache.layers;
        let kept = match grouping {
            LayerGrouping::Layer => layer,
            LayerGrouping::EachLayer => each,
            LayerGrouping::Phase => phase,
            LayerGrouping::Source => source,
        };
        kept.get_or_init(|| self.analysis.layers(self.trace(), grouping))
    }

    /// Computes one more grouping of the layers in advance, so that its page appears without delay. Returns false if
    /// nothing is left to prepare. Skips runs with very many layers, because their groupings take much memory.
    pub fn prepare_layers(&self) -> bool {
        const MOST_LAYERS: usize = 20_000;
        let is_small = self.layers(LayerGrouping::Layer).rows.len() <= MOST_LAYERS;
        let next = LayerGrouping::ALL.into_iter().zip(&self.cache.layers).find(|(_, kept)| kept.get().is_none());
        next.filter(|_| is_small).map(|(grouping, _)| self.layers(grouping)).is_some()
    }

    /// Returns the bytes of memory that each row of [`Context::layers`] uses at the peak, or `None` if the bytes are
    /// unknown.
    pub fn layer_bytes(&self, grouping: LayerGrouping) -> Option<&'a [u64]> {
        let [layer, each, phase, source] = &self.cache.layer_bytes;
        let kept = match grouping {
            LayerGrouping::Layer => layer,
            LayerGrouping::EachLayer => each,
            LayerGrouping::Phase => phase,
            LayerGrouping::Source => source,
        };
        let bytes = || self.layers(grouping).bytes_at_peak(self.run, &self.analysis.ops, grouping);
        kept.get_or_init(bytes).as_deref()
    }

    fn groups(&self, grouping: Grouping) -> &'a Groups {
        self.grouped(grouping).groups.get_or_init(|| Groups::new(self.trace(), &self.analysis.ops, grouping))
    }

    /// Returns all ops of the run as a tree, including idle time.
    pub fn tree(&self, grouping: Grouping) -> &'a OpTree {
        let tree =
            || OpTree::new(self.trace(), &self.analysis.ops, self.groups(grouping), &|op| self.analysis.efficiency(op));
        self.grouped(grouping).tree.get_or_init(tree)
    }

    /// Returns the text columns of the tree that [`Context::tree`] returns.
    pub fn tree_columns(&self, grouping: Grouping) -> &'a TreeColumns {
        let columns = || TreeColumns::new(self.trace(), &self.analysis.ops, self.tree(grouping));
        self.grouped(grouping).tree_columns.get_or_init(columns)
    }

    /// Returns the groups of all ops, and the large ops themselves: see [`OpTree::outline`].
    pub fn outline(&self, grouping: Grouping) -> &'a OpTree {
        self.grouped(grouping).outline.get_or_init(|| self.outline_of(grouping, None))
    }

    /// Returns the groups of the ops that pass the filter, and the large ops among them. Without a filter, covers all
    /// ops.
    pub fn outline_of(&self, grouping: Grouping, passing: Option<&[bool]>) -> OpTree {
        let wasted =
            self.cache.wasted.get_or_init(|| Wasted::new(&self.analysis.ops, &|op| self.analysis.efficiency(op)));
        let groups = self.groups(grouping);
        OpTree::outline(self.trace(), &self.analysis.ops, groups, self.columns(), wasted, passing, LEAST_SHARE)
    }
}
