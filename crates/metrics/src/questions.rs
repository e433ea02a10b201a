//! What tables and pages ask of a run again and again, worked out when the first one asks and kept.

use crate::answers::Grouped;
use crate::arguments::{self, Argument};
use crate::context::Context;
use crate::host_ops::HostOps;
use crate::kernel_stats::KernelColumns;
use crate::ops::tree::{OpTree, Wasted};
use crate::ops::{Coverage, Grouping, Groups, OpColumns, TreeColumns};
use crate::placement::Placement;
use crate::roofline::OpLabels;
use trace::Interval;

/// A chart shows no op that takes less of the whole: it would be a hair on the screen.
pub const LEAST_SHARE: f64 = 0.0005;

impl<'a> Context<'a> {
    /// The labels of the ops.
    pub fn labels(&self) -> &'a OpLabels {
        self.answers.labels.get_or_init(|| OpLabels::new(self.trace(), &self.analysis.ops, &self.analysis.roofline))
    }

    /// What is known of the ops.
    pub fn coverage(&self) -> &'a Coverage {
        self.answers.coverage.get_or_init(|| Coverage::of(&self.analysis.ops))
    }

    /// What questions ask of every op.
    pub fn columns(&self) -> &'a OpColumns {
        self.answers.columns.get_or_init(|| OpColumns::new(self.trace(), &self.analysis.ops))
    }

    /// What questions ask of every kernel.
    pub fn kernel_columns(&self) -> &'a KernelColumns {
        self.answers.kernel_columns.get_or_init(|| KernelColumns::new(self.trace(), &self.analysis.kernel_stats))
    }

    /// What the threads of the hosts spend their time on.
    pub fn host_ops(&self) -> &'a HostOps {
        self.answers
            .host_ops
            .get_or_init(|| HostOps::new(self.trace(), &self.analysis.devices, |host| self.window_of_host(host)))
    }

    /// The arguments of the compiled programs; the first question reads all modules of the file.
    pub fn arguments(&self) -> &'a [Argument] {
        self.answers.arguments.get_or_init(|| arguments::arguments(&self.run.programs().modules))
    }

    /// Where the ops ran.
    pub fn placement(&self) -> &'a Placement {
        self.answers.placement.get_or_init(|| {
            let (devices, ops) = (&self.analysis.devices, &self.analysis.ops);
            Placement::new(self.trace(), devices, ops, |host| self.window_of_host(host))
        })
    }

    fn window_of_host(&self, host: u16) -> Interval {
        self.analysis.window.of_host(&self.analysis.captured, host)
    }

    fn grouped(&self, grouping: Grouping) -> &'a Grouped {
        let [program, category, scope, source] = &self.answers.groupings;
        match grouping {
            Grouping::Program => program,
            Grouping::Category => category,
            Grouping::Scope => scope,
            Grouping::Source => source,
        }
    }

    /// The groups of the ops.
    fn groups(&self, grouping: Grouping) -> &'a Groups {
        self.grouped(grouping).groups.get_or_init(|| Groups::new(self.trace(), &self.analysis.ops, grouping))
    }

    /// All ops of the run as a tree, idle time included.
    pub fn tree(&self, grouping: Grouping) -> &'a OpTree {
        let tree =
            || OpTree::new(self.trace(), &self.analysis.ops, self.groups(grouping), &|op| self.analysis.efficiency(op));
        self.grouped(grouping).tree.get_or_init(tree)
    }

    /// What questions ask of every node of that tree.
    pub fn tree_columns(&self, grouping: Grouping) -> &'a TreeColumns {
        let columns = || TreeColumns::new(self.trace(), &self.analysis.ops, self.tree(grouping));
        self.grouped(grouping).tree_columns.get_or_init(columns)
    }

    /// The groups of all ops, and the large ops: [`OpTree::outline`].
    pub fn outline(&self, grouping: Grouping) -> &'a OpTree {
        self.grouped(grouping).outline.get_or_init(|| self.outline_of(grouping, None))
    }

    /// The groups of the ops that pass, and the large ones of these; of all ops where no filter is given.
    pub fn outline_of(&self, grouping: Grouping, passing: Option<&[bool]>) -> OpTree {
        let wasted =
            self.answers.wasted.get_or_init(|| Wasted::new(&self.analysis.ops, &|op| self.analysis.efficiency(op)));
        let groups = self.groups(grouping);
        OpTree::outline(self.trace(), &self.analysis.ops, groups, self.columns(), wasted, passing, LEAST_SHARE)
    }
}
