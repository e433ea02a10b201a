//! A run, analysed: everything measured of it, and the unified profile that says so.
//!
//! Tables and pages are made from this; so are findings, which cite its numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use crate::arguments::{self, Argument};
use crate::collectives::{self, Collectives};
use crate::copies::Copies;
use crate::device_time::DeviceTime;
use crate::devices::{Device, Devices};
use crate::host_ops::HostOps;
use crate::host_threads::{self, HostTime};
use crate::host_waits::HostWaits;
use crate::kernel_stats::{self, KernelStats};
use crate::launches::{self, CallIndex, Launches};
use crate::ops::tree::{OpTree, Wasted};
use crate::ops::{self, Coverage, Grouping, Groups, Op, OpColumns, Ops, Tallies, TreeColumns};
use crate::placement::Placement;
use crate::roofline::{self, OpLabels, Roofline};
use crate::step_breakdown::{self, Breakdown, Measured};
use crate::steps::{self, Steps};
use crate::window::{self, Limited, Window, WindowChoice};
use crate::{
    Run, Settings, compilation, device_clocks, framework, freezing, gaps, host_activity, io, kernels, metadata,
    not_measured, other_devices, parameters, step_ops, throughput, transfers, utilization,
};
use base::{Warning, WarningCode};
use hlo::Modules;
use report::UnifiedProfile;
use trace::Trace;

/// Everything measured of one run with one set of settings.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The part of the run that its numbers are of.
    pub window: Window,
    /// The devices and their ops in the window.
    pub devices: Devices,
    /// The devices and their ops in the whole capture.
    pub captured: Devices,
    /// The events in the window, where its edges cut some.
    limited: Option<Trace>,
    /// What the hosts do, and when.
    pub hosts: BTreeMap<u16, HostTime>,
    /// The calls that launch device work.
    pub calls: CallIndex,
    /// The steps found in the whole trace.
    pub steps: Steps,
    /// Op statistics.
    pub ops: Ops,
    /// The ops against the peaks of the devices.
    pub roofline: Roofline,
    /// Where the time of each step goes.
    pub step_breakdown: Breakdown,
    /// GPU kernels.
    pub kernel_stats: KernelStats,
    /// Launches of device work.
    pub launches: Launches,
    /// Copies and fills.
    pub copies: Copies,
    /// Communication.
    pub collectives: Collectives,
    /// The document.
    pub profile: UnifiedProfile,
    answers: Answers,
}

/// A run together with its analysis: what tables and pages are made from.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The run.
    pub run: &'a Run,
    /// What was measured of it.
    pub analysis: &'a Analysis,
}

impl<'a> Context<'a> {
    /// The run's events; those that an edge of the window cuts have the times that are left of them.
    pub fn trace(&self) -> &'a Trace {
        self.analysis.limited.as_ref().unwrap_or(&self.run.trace)
    }

    /// The run's events as they were captured.
    pub fn captured_trace(&self) -> &'a Trace {
        &self.run.trace
    }
}

impl Analysis {
    /// Analyses `run`: the same for the same bytes and settings, on every machine.
    pub fn new(run: &Run, settings: &Settings) -> Analysis {
        let whole = &run.trace;
        // Steps are found and judged in the whole capture, whatever is measured.
        let captured = Devices::new(whole);
        let modules = Modules::new(whole);
        let hosts = host_threads::host_times(whole, &captured);
        let compile = host_threads::compiling(&hosts);
        let cut = base::cut(run.warnings.iter().chain(&whole.warnings));
        let times = DeviceTime::of_all(whole, &captured);
        let mut steps = Steps::find(whole, &captured);
        if cut.is_some() {
            steps.open_where_cut(&captured);
        }
        let steps = steps.related(&times);
        let calls = launches::calls_of(whole, &captured);
        let mut warnings = run.warnings.clone();
        warnings.extend(whole.warnings.iter().cloned());
        let (choice, chosen) = match window::chosen_steps(&settings.window, &captured, &steps, settings.num_steps) {
            Ok(chosen) => (&settings.window, chosen),
            Err(warning) => {
                warnings.push(*warning);
                (&WindowChoice::Main, None)
            }
        };
        let mut step_report =
            steps::report(whole, &captured, &times, &steps, &compile, settings.num_steps, chosen.as_deref());
        let is_given = step_report.rows.is_empty() && step_report.timing.num_steps > 0;
        let given = settings.num_steps.filter(|_| is_given);
        let extents = given.map(|_| steps::extents(&captured, &steps));
        let plain = window::plain(choice, &captured, extents.as_deref());
        let measured = Measured { steps: &steps, judged: &step_report.rows, plain: &plain };
        let mut step_breakdown = Breakdown::new(whole, &captured, &times, &hosts, &calls, measured);
        let window = step_breakdown.window(choice, &steps, &plain, given);
        // From here on everything is of the window, or says that it is not.
        let Limited { trace: limited, devices } = Limited::new(whole, &captured, &window.of_device);
        let trace = limited.as_ref().unwrap_or(whole);
        let tallies = Tallies::new(trace, &devices);
        step_breakdown.measure_window(whole, &devices, &tallies, &hosts, &window);
        step_report.timing.total_time_us = window.mean_length_us();
        step_report.timing.total_kernels = devices.used.iter().map(Device::num_ops).sum();
        let model_config = run.model.overridden_by(&settings.model);
        let all_devices = steps.relation.filter(|_| !step_report.rows.is_empty()).and_then(|it| it.steps_per_sec());
        let num_devices = devices.used.len() as u64;
        let device = settings.device.as_deref().or(run.device.as_deref());
        warnings.extend(step_report.warnings);
        warnings.extend(no_device_ops(&captured));
        warnings.extend(device_clocks::warnings(&captured));
        let ops = Ops::new(trace, &devices, &tallies, &modules);
        let kernels_by_shape = KernelStats::new(trace, &devices, &modules, &calls);
        let launched = Launches::new(trace, &devices, &calls);
        let roofline = Roofline::new(trace, &devices, &ops, device);
        warnings.extend(roofline::warning(&roofline));
        let communicated = Collectives::new(whole, &captured, &times, &modules, &window.of_device);
        let ran: BTreeSet<i64> = ops.rows.iter().filter_map(|op| op.program_id).collect();
        let layer_freezing = freezing::layer_freezing(&modules, &ran);
        let mut profile = UnifiedProfile {
            metadata: metadata::metadata(run, &captured, framework::framework(trace, &ops, &modules), device),
            parameter_counts: parameters::with_program(
                parameters::parameter_counts(&model_config),
                layer_freezing.as_ref(),
            ),
            layer_freezing,
            throughput: throughput::throughput(&step_report.timing, &model_config, num_devices, all_devices),
            model_config,
            window: window::section(&window, choice, &captured),
            compute_utilization: utilization::compute_utilization(trace, &devices, &window),
            kernels: kernels::kernels(trace, &tallies),
            memory_operations: transfers::memory_operations(trace, &devices),
            multi_device: utilization::multi_device(trace, &devices, cut.is_some()),
            timeline_analysis: gaps::timeline_analysis(trace, &devices),
            compilation: compilation::compilation(whole, &captured),
            io_operations: io::io_operations(whole, &captured, window.of_hosts(&captured)),
            step_timing: step_report.timing,
            steps: step_report.rows,
            step_breakdown: step_breakdown::section(&step_breakdown, &devices),
            kernel_statistics: kernel_stats::section(trace, &kernels_by_shape),
            launches: launches::section(trace, &devices, &launched),
            roofline: roofline::section(&roofline, window.kind),
            op_statistics: ops::section(trace, &ops, &|op| roofline.bound_label(op)),
            step_ops: step_ops::section(trace, &devices, &tallies, &ops, &communicated, &window),
            communication: collectives::section(trace, &devices, &communicated),
            findings: Vec::new(),
            host_activity: host_activity::host_activity(trace, &devices, step_breakdown.host_threads.as_ref()),
            other_devices: other_devices::other_devices(trace, &devices),
            warnings,
            not_measured: Vec::new(),
            provenance: run.files.iter().chain(&settings.model_files).cloned().collect(),
        };
        profile.not_measured = not_measured::not_measured(&profile, trace, &roofline.utilization);
        Analysis {
            ops,
            roofline,
            step_breakdown,
            kernel_stats: kernels_by_shape,
            launches: launched,
            copies: Copies::new(whole, &captured, &steps, &calls, Some(&window)),
            collectives: communicated,
            window,
            devices,
            captured,
            limited,
            hosts,
            calls,
            steps,
            profile,
            answers: Answers::default(),
        }
    }
}

/// What tables ask of every row, worked out when the first one asks and kept: a question to a million ops must not be
/// answered by a million rooflines.
#[derive(Clone, Debug, Default)]
struct Answers {
    labels: OnceLock<OpLabels>,
    coverage: OnceLock<Coverage>,
    columns: OnceLock<OpColumns>,
    kernel_columns: OnceLock<kernel_stats::KernelColumns>,
    wasted: OnceLock<Wasted>,
    host_ops: OnceLock<HostOps>,
    arguments: OnceLock<Vec<Argument>>,
    host_waits: OnceLock<HostWaits>,
    placement: OnceLock<Placement>,
    groupings: [Grouped; Grouping::ALL.len()],
}

/// The ops in one grouping.
#[derive(Clone, Debug, Default)]
struct Grouped {
    groups: OnceLock<Groups>,
    tree: OnceLock<OpTree>,
    tree_columns: OnceLock<TreeColumns>,
    outline: OnceLock<OpTree>,
}

/// A chart shows no op that takes less of the whole: it would be a hair on the screen.
pub const LEAST_SHARE: f64 = 0.0005;

impl Analysis {
    /// The labels of the ops.
    pub fn labels(&self, trace: &Trace) -> &OpLabels {
        self.answers.labels.get_or_init(|| OpLabels::new(trace, &self.ops, &self.roofline))
    }

    /// What is known of the ops.
    pub fn coverage(&self) -> &Coverage {
        self.answers.coverage.get_or_init(|| Coverage::of(&self.ops))
    }

    /// What questions ask of every op.
    pub fn columns(&self, trace: &Trace) -> &OpColumns {
        self.answers.columns.get_or_init(|| OpColumns::new(trace, &self.ops))
    }

    /// What questions ask of every kernel.
    pub fn kernel_columns(&self, trace: &Trace) -> &kernel_stats::KernelColumns {
        self.answers.kernel_columns.get_or_init(|| kernel_stats::KernelColumns::new(trace, &self.kernel_stats))
    }

    /// What the threads of the hosts spend their time on.
    pub fn host_ops(&self, trace: &Trace) -> &HostOps {
        self.answers
            .host_ops
            .get_or_init(|| HostOps::new(trace, &self.devices, |host| self.window.of_host(&self.captured, host)))
    }

    /// The arguments of the compiled programs; the first question reads all modules of the file.
    pub fn arguments(&self, trace: &Trace) -> &[Argument] {
        self.answers.arguments.get_or_init(|| arguments::arguments(&Modules::new(trace)))
    }

    /// What the hosts do while the devices are idle in the window.
    pub fn host_waits(&self, trace: &Trace) -> &HostWaits {
        let windows = || self.window.of_device.iter().map(|set| set.parts().to_vec()).collect::<Vec<_>>();
        self.answers.host_waits.get_or_init(|| HostWaits::new(trace, &self.devices, &windows()))
    }

    /// Where the ops ran.
    pub fn placement(&self, trace: &Trace) -> &Placement {
        self.answers.placement.get_or_init(|| Placement::new(trace, &self.devices, &self.ops))
    }

    fn grouped(&self, grouping: Grouping) -> &Grouped {
        let [program, category, scope, source] = &self.answers.groupings;
        match grouping {
            Grouping::Program => program,
            Grouping::Category => category,
            Grouping::Scope => scope,
            Grouping::Source => source,
        }
    }

    /// The groups of the ops.
    fn groups(&self, trace: &Trace, grouping: Grouping) -> &Groups {
        self.grouped(grouping).groups.get_or_init(|| Groups::new(trace, &self.ops, grouping))
    }

    /// All ops of the run as a tree, idle time included.
    pub fn tree(&self, trace: &Trace, grouping: Grouping) -> &OpTree {
        let tree = || OpTree::new(trace, &self.ops, self.groups(trace, grouping), &|op| self.efficiency(op));
        self.grouped(grouping).tree.get_or_init(tree)
    }

    /// What questions ask of every node of that tree.
    pub fn tree_columns(&self, trace: &Trace, grouping: Grouping) -> &TreeColumns {
        let columns = || TreeColumns::new(trace, &self.ops, self.tree(trace, grouping));
        self.grouped(grouping).tree_columns.get_or_init(columns)
    }

    /// The groups of all ops, and the large ops: [`OpTree::outline`].
    pub fn outline(&self, trace: &Trace, grouping: Grouping) -> &OpTree {
        self.grouped(grouping).outline.get_or_init(|| self.outline_of(trace, grouping, None))
    }

    /// The same of those ops that pass, all where nothing is told.
    pub fn outline_of(&self, trace: &Trace, grouping: Grouping, passing: Option<&[bool]>) -> OpTree {
        let wasted = self.answers.wasted.get_or_init(|| Wasted::new(&self.ops, &|op| self.efficiency(op)));
        let groups = self.groups(trace, grouping);
        OpTree::outline(trace, &self.ops, groups, self.columns(trace), wasted, passing, LEAST_SHARE)
    }

    /// What limits an op: the resource of which it uses the largest share.
    pub fn bound_by(&self, op: &Op) -> Option<&'static str> {
        self.roofline.bound_label(op)
    }

    /// The share of its time that an op would need at the peak of what limits it, 0 to 1.
    pub fn efficiency(&self, op: &Op) -> Option<f64> {
        self.roofline.point(op)?.roofline_efficiency
    }
}

fn no_device_ops(devices: &Devices) -> Option<Warning> {
    let warning = Warning::new(
        WarningCode::NoDeviceOps,
        "The profile holds no op that ran on a TPU, a GPU or XLA's CPU backend: steps, kernels and utilisation are unknown.",
    );
    let remedy = "Capture while the jitted function runs, and call jax.block_until_ready on its result before the trace is stopped.";
    devices.used.is_empty().then(|| warning.with_remedy(remedy))
}
