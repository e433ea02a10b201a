//! Numbers that several rules share. Each number is computed in one place, so that two rules never disagree.
//!
//! Shares are relative to the *window* ([`report::WindowKind`]), summed over the devices that ran ops.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use super::Verdict;
use super::draft::{equals, lacks};
use super::limits::{INPUT_BOUND_PERCENT, SHORT_KERNEL_US};
use base::framework_path::{primitive, training_pass};
use base::{Ps, format};
use facts::hlo_categories;
use hlo::{Instruction, Module};
use metrics::{Context, HostRole, Op, OpFamily, RangeCall, StepPart, family_of};
use report::{UnifiedProfile, View, WindowKind};
use trace::{Framework, Platform, SourceFormat, StatValue, Trace, Words};

/// Input of the rules.
pub(super) struct Numbers<'a> {
    /// The run and its measurements.
    pub context: &'a Context<'a>,
    /// The report.
    pub profile: &'a UnifiedProfile,
    /// The events of the run.
    pub trace: &'a Trace,
    /// Platform of the devices that ran ops. `None` if nothing ran.
    pub platform: Option<Platform>,
    short_gaps: OnceCell<Option<f64>>,
}

/// Time that shares are relative to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Window {
    /// True if the window consists of steps.
    pub steps: bool,
    /// Kind of the window.
    pub kind: WindowKind,
    /// Length of the window per step per device, or per device if the window does not consist of steps. In
    /// microseconds.
    pub length_us: f64,
    /// Share of the window during which a device runs at least one op, percent.
    pub busy_percent: f64,
}

impl Window {
    /// Returns the share of the window during which a device runs nothing, percent.
    pub(crate) fn idle_percent(self) -> f64 {
        100.0 - self.busy_percent
    }

    /// Converts a share of the window to microseconds per step (or window) per device.
    pub(crate) fn us(self, percent: f64) -> f64 {
        self.length_us * percent / 100.0
    }

    /// Names the window in a sentence: `each 33.1 ms step`, `the 4.2 ms from a device's first op to its last`.
    pub(crate) fn words(self) -> String {
        let time = base::format::time_us(self.length_us);
        match self.kind {
            WindowKind::Steps | WindowKind::GivenSteps => format!("each {time} step"),
            WindowKind::ActiveSpan => format!("the {time} from a device's first op to its last"),
            WindowKind::Capture => format!("the {time} captured"),
            WindowKind::Range => format!("the selected {time}"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vendor {
    Nvidia,
    Amd,
}

/// Share of the window during which devices wait for input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct InputWait {
    percent: f64,
}

impl InputWait {
    /// Returns true if the wait is long enough to look for its cause.
    pub(crate) fn bound(self) -> bool {
        self.percent >= INPUT_BOUND_PERCENT.good
    }
}

/// Minimum number of ops needed to judge how busy a device usually is. We chose this limit because a capture of a
/// single launch has no gaps.
const FEWEST_OPS: usize = 10;

/// An op repeats if it runs at least this often per step. A value between 1 and this limit means that the op runs once
/// per step and that the window cuts a step.
pub(super) const REPEATED: f64 = 1.5;

impl<'a> Numbers<'a> {
    pub(crate) fn new(context: &'a Context<'a>) -> Numbers<'a> {
        Numbers {
            context,
            profile: context.profile,
            trace: context.trace(),
            platform: context.analysis.devices.platform,
            short_gaps: OnceCell::new(),
        }
    }

    /// Returns the verdict for a rule that lacks an input. If the file is XLA's trace JSON, advises the user to open
    /// the xplane, which contains more data.
    pub(super) fn lacks_in_json(&self, sentence: &str) -> Verdict {
        let is_export =
            self.trace.format == Some(SourceFormat::ChromeJson) && self.trace.framework != Framework::PyTorch;
        if is_export { lacks(&format!("{sentence} Open the xplane of the same run.")) } else { lacks(sentence) }
    }

    /// Returns the verdict for a rule that needs device ops and their compiled programs. `None` if the capture contains
    /// both.
    pub(super) fn lacks_program(&self) -> Option<Verdict> {
        if self.context.analysis.ops.rows.is_empty() {
            return Some(lacks("no device op ran. Capture while the program runs on the device."));
        }
        let lacks = self.trace.hlo.is_empty();
        lacks.then(|| self.lacks_in_json("the file does not contain the compiled program."))
    }

    /// Returns the compiled programs that ran, by id.
    pub(super) fn programs(&self) -> impl Iterator<Item = (i64, &'a Module)> + '_ {
        let ids: BTreeSet<i64> = self.context.analysis.ops.rows.iter().filter_map(|op| op.program_id).collect();
        ids.into_iter().filter_map(|id| Some((id, self.module(id)?)))
    }

    /// Returns the names of calls and options in the framework of the run, for advice.
    pub(crate) fn words(&self) -> &'static Words {
        self.trace.framework.words()
    }

    pub(crate) fn lacks_host_events(&self) -> Verdict {
        lacks(&format!("the capture contains no host events. Capture with {}.", self.words().host_events))
    }

    pub(crate) fn lacks_peaks(&self) -> Verdict {
        match self.platform {
            Some(Platform::Cpu) => lacks("crossprof has no peak rates for CPUs."),
            _ => lacks("the device's peak rates are unknown. Choose the device on the Model page, or with --device."),
        }
    }

    /// Returns the verdict for a rule that lacks an input of [`Numbers::utilization`]: the device's peaks or the costs
    /// of the ops.
    pub(crate) fn lacks_utilization(&self) -> Verdict {
        match self.context.analysis.roofline.peaks {
            None => self.lacks_peaks(),
            Some(_) => self.lacks_in_json("the file does not contain the FLOPs and bytes of the ops."),
        }
    }

    /// Returns true if the program trains a model, that is, has a backward pass. Looks at the paths of ops (JAX), kernels named
    /// after a gradient, host calls (PyTorch) and the program's name. Returns `None` if these names are inconclusive.
    pub(crate) fn trains(&self) -> Option<bool> {
        let ops = &self.context.analysis.ops;
        let text = |text| ops.text(self.trace, text);
        let paths = || ops.rows.iter().map(|op| text(op.framework_path)).filter(|path| !path.is_empty());
        if paths().any(|path| matches!(training_pass(path), Some("backward" | "recomputed"))) {
            return Some(true);
        }
        let host_names = || self.context.analysis.devices.by_line.host_names.iter().map(|&name| self.trace.text(name));
        let of_gradients = |name: &str| {
            let name = name.to_ascii_lowercase();
            GRADIENTS.iter().any(|part| name.contains(part))
        };
        if ops.rows.iter().any(|op| of_gradients(text(op.name))) || host_names().any(of_gradients) {
            return Some(true);
        }
        let has_evidence = match self.trace.framework {
            Framework::PyTorch => host_names().any(|name| name.starts_with("aten::")),
            _ => paths().next().is_some(),
        };
        let is_named = || ops.rows.iter().any(|op| text(op.module).contains("train"));
        if has_evidence { Some(false) } else { is_named().then_some(true) }
    }

    /// Returns true if the program of an op has a backward pass. `None` if the paths of its ops are unknown.
    pub(crate) fn trains_in(&self, op: &Op) -> Option<bool> {
        let ops = &self.context.analysis.ops;
        let of_program = ops.rows.iter().filter(|it| it.module == op.module);
        let paths = of_program.map(|it| ops.text(self.trace, it.framework_path)).filter(|path| !path.is_empty());
        paths.fold(None, |trains, path| {
            let is_backward = matches!(training_pass(path), Some("backward" | "recomputed"));
            Some(trains.unwrap_or(false) || is_backward)
        })
    }

    /// Returns the verdict for a rule that lacks steps, with advice to mark them in the program.
    pub(super) fn lacks_steps(&self, sentence: &str) -> Verdict {
        lacks(&format!("{sentence} {}.", self.words().mark_steps))
    }

    pub(crate) fn is_gpu(&self) -> bool {
        self.platform == Some(Platform::Gpu)
    }

    pub(crate) fn is_tpu(&self) -> bool {
        self.platform == Some(Platform::Tpu)
    }

    /// Returns the window. `None` if too few ops ran to measure busy and idle time.
    pub(crate) fn window(&self) -> Option<Window> {
        let busy = self.profile.compute_utilization.as_ref()?;
        let length_us = busy.kernel_time_us + busy.overhead_time_us;
        let fewest = self.context.analysis.devices.used.iter().map(|device| device.ops.len()).min()?;
        let kind = self.context.analysis.window.kind;
        (length_us > 0.0 && fewest >= FEWEST_OPS).then_some(Window {
            steps: matches!(kind, WindowKind::Steps | WindowKind::GivenSteps),
            kind,
            length_us,
            busy_percent: busy.compute_util_percent,
        })
    }

    /// Returns the window of the step breakdown: the counted steps, even if the user selected a window without steps.
    /// Returns `None` if [`Numbers::window`] returns `None`.
    pub(crate) fn window_of_parts(&self) -> Option<Window> {
        let window = self.window()?;
        let breakdown = &self.context.analysis.step_breakdown;
        let Some(mean) =
            breakdown.mean.as_ref().filter(|mean| breakdown.window != window.kind && mean.duration_us > 0.0)
        else {
            return Some(window);
        };
        Some(Window {
            steps: matches!(breakdown.window, WindowKind::Steps | WindowKind::GivenSteps),
            kind: breakdown.window,
            length_us: mean.duration_us,
            busy_percent: 100.0 * mean.busy_us() / mean.duration_us,
        })
    }

    /// Returns a time as a share of the self time of all device ops, percent.
    pub(crate) fn op_percent(&self, time: Ps) -> f64 {
        let all = self.context.analysis.ops.op_time;
        if all > Ps::ZERO { 100.0 * time.as_ps() as f64 / all.as_ps() as f64 } else { 0.0 }
    }

    /// Returns the used shares of the main memory's bandwidth and of the peak FLOP rate in the window, percent. `None` if a
    /// peak is unknown, or if the costs of all ops are unknown.
    pub(crate) fn utilization(&self) -> Option<(f64, f64)> {
        let roofline = &self.context.analysis.roofline;
        Some((100.0 * roofline.hbm_share()?, 100.0 * roofline.program_point()?.compute_efficiency?))
    }

    /// Returns the share of custom calls of unknown cost in the self time of all device ops, percent.
    pub(crate) fn uncosted_calls_percent(&self) -> f64 {
        self.context.analysis.roofline.unknown_custom_call_percent.unwrap_or(0.0)
    }

    /// Returns a sentence, with a leading space, about the custom calls that FLOPs and bytes exclude. Empty if these
    /// calls take less than a percent of the op time.
    pub(crate) fn left_out(&self) -> String {
        let calls = self.uncosted_calls_percent();
        if calls < 1.0 {
            return String::new();
        }
        format!(
            " This excludes custom calls with unknown FLOPs and bytes, which take {} of the op time.",
            base::format::percent(calls)
        )
    }

    /// Returns true if the GPUs have tensor or matrix cores. `None` if the file does not name the GPUs.
    pub(crate) fn has_tensor_cores(&self) -> Option<bool> {
        Some(match self.compute_capability()? {
            // gfx908 has matrix cores and gfx906 has none, but both report 9.0. Only the name distinguishes them.
            (Vendor::Amd, capability) => capability >= (9, 4) || self.device_name_has(&["gfx908", "gfx90a"]),
            (Vendor::Nvidia, capability) => capability >= (7, 0),
        })
    }

    /// Returns true if the devices multiply matrices in bfloat16 much faster than in float32. `None` if the file does not name
    /// the devices.
    pub(crate) fn has_bf16_units(&self) -> Option<bool> {
        match self.platform? {
            Platform::Tpu => Some(true),
            Platform::Cpu => Some(false),
            Platform::Gpu => Some(match self.compute_capability()? {
                (Vendor::Amd, _) => self.has_tensor_cores()?,
                (Vendor::Nvidia, capability) => capability >= (8, 0),
            }),
        }
    }

    fn device_name_has(&self, parts: &[&str]) -> bool {
        parts.iter().any(|part| self.profile.metadata.device_type.contains(part))
    }

    /// Returns vendor and compute capability from the plane of the first GPU.
    fn compute_capability(&self) -> Option<(Vendor, (i64, i64))> {
        let device = self.context.analysis.devices.used.first()?;
        let plane = self.trace.planes.get(device.plane)?;
        let number = |name: &str| match self.trace.plane_stat(plane, name)? {
            StatValue::Int(value) => Some(value),
            StatValue::Double(_) | StatValue::Text(_) => None,
        };
        let amd = match self.trace.plane_stat(plane, "device_vendor") {
            Some(StatValue::Text(vendor)) => self.trace.text(vendor) == "AMD",
            _ => false,
        };
        let vendor = if amd { Vendor::Amd } else { Vendor::Nvidia };
        Some((vendor, (number("compute_cap_major")?, number("compute_cap_minor")?)))
    }

    /// Converts a share of the self time of all device ops to a share of the window. Returns the share unchanged if the
    /// window is unknown.
    pub(crate) fn of_window(&self, percent_of_ops: f64) -> f64 {
        self.window().map_or(percent_of_ops, |window| percent_of_ops * window.busy_percent / 100.0)
    }

    /// Returns the share of the op time that the wanted categories take, percent.
    pub(crate) fn category_percent(&self, wanted: &dyn Fn(&str) -> bool) -> f64 {
        let categories = self.profile.kernels.kernels_by_category.iter();
        categories.filter(|(name, _)| wanted(name)).filter_map(|(_, category)| category.percent).sum()
    }

    /// Returns the view and filter that show the largest wanted category: on a GPU, its longest-running kernel, and elsewhere,
    /// its ops.
    pub(crate) fn link_to(&self, wanted: &dyn Fn(&str) -> bool) -> (View, String) {
        let top = self.profile.kernels.top_kernels.iter().find(|kernel| wanted(&kernel.category));
        // Without HLO, the ops of a CPU have their own categories.
        let has_kernels = self.is_gpu() || self.largest_op(wanted).is_none();
        match (has_kernels, top) {
            (true, Some(kernel)) => (View::Kernels, equals("kernel_name", &kernel.name)),
            _ => (View::Ops, equals("category", self.largest_category(wanted).unwrap_or_default())),
        }
    }

    /// Returns true for an op of the category `sort`, and for a call of a library's sort.
    pub(crate) fn is_sort(&self, op: &Op) -> bool {
        let path = self.context.analysis.ops.text(self.trace, op.framework_path);
        self.category(op) == hlo_categories::SORT || matches!(primitive(path), Some("sort" | "top_k"))
    }

    pub(crate) fn category(&self, op: &Op) -> &'a str {
        self.context.analysis.ops.text(self.trace, op.category)
    }

    /// Returns the op that takes the most self time in the wanted categories.
    pub(crate) fn largest_op(&self, wanted: &dyn Fn(&str) -> bool) -> Option<&'a Op> {
        let ops = &self.context.analysis.ops;
        ops.rows.iter().filter(|op| wanted(ops.text(self.trace, op.category))).max_by_key(|op| op.self_time)
    }

    /// Names an op in a sentence, with its source line if known: `sort.49 (train.py:31)`.
    pub(crate) fn op_with_source(&self, op: &Op) -> String {
        let ops = &self.context.analysis.ops;
        let source = match ops.text(self.trace, op.source) {
            "" => String::new(),
            line => format!(" ({})", code_line(line)),
        };
        format!("{}{source}", shown(ops.text(self.trace, op.name)))
    }

    /// Returns the compiled program with this id. `None` if the file does not contain it.
    pub(crate) fn module(&self, id: i64) -> Option<&'a Module> {
        self.context.run.programs().modules.of_programs(|it| it == id).next()
    }

    /// Returns the compiled program of an op, and its instruction there. `None` if the file does not contain them.
    pub(crate) fn instruction(&self, op: &Op) -> Option<(&'a Module, &'a Instruction)> {
        let module = self.module(op.program_id?)?;
        Some((module, module.instruction(self.context.analysis.ops.text(self.trace, op.name))?))
    }

    /// Returns the number of steps in the window. `None` if steps are unknown, or if the window is a part of the capture that
    /// does not consist of steps.
    pub(crate) fn steps_in_window(&self) -> Option<f64> {
        let window = &self.context.analysis.window;
        let all = Some(self.profile.step_timing.num_steps);
        let all = all.filter(|_| matches!(window.kind, WindowKind::Capture | WindowKind::ActiveSpan));
        window.num_steps.or(all).filter(|&steps| steps > 0).map(|steps| steps as f64)
    }

    /// Returns the number of steps in the window, for rules that count calls from Python to functions that JAX compiled.
    ///
    /// # Errors
    ///
    /// Returns a verdict if another framework made the trace, or if it has no host events or no steps.
    pub(crate) fn steps_of_jax_calls(&self) -> Result<f64, Verdict> {
        if !matches!(self.trace.framework, Framework::Jax | Framework::Unknown) {
            return Err(Verdict::Irrelevant);
        }
        if self.context.analysis.devices.by_line.host_names.is_empty() {
            return Err(self.lacks_host_events());
        }
        self.steps_in_window().ok_or_else(|| self.lacks_steps("the steps are unknown."))
    }

    /// Returns how often a device runs an op per step. `None` if steps are unknown.
    pub(crate) fn runs_per_step(&self, op: &Op) -> Option<f64> {
        Some(op.executions as f64 / self.steps_in_window()? / f64::from(op.devices.max(1)))
    }

    /// Names the largest of the wanted collectives, with its number of runs if it runs more than once per step, as a
    /// sentence that starts with a space. Empty if there is no such collective.
    pub(crate) fn largest_collective(&self, wanted: &dyn Fn(&Op) -> bool) -> String {
        let wanted = self.context.analysis.ops.rows.iter().filter(|op| wanted(op));
        let Some(op) = wanted.max_by_key(|op| op.self_time) else { return String::new() };
        let repeated = match self.runs_per_step(op) {
            Some(runs) if runs >= REPEATED => {
                format!(", which runs {} times per step", format::count(runs.round() as u64))
            }
            _ => String::new(),
        };
        format!(" The largest is {}{repeated}.", self.op_with_source(op))
    }

    /// Returns a link to the Communication page, filtered on the wanted kind that takes the most time.
    pub(crate) fn link_to_communication(&self, wanted: &dyn Fn(&str) -> bool) -> (View, String) {
        let kinds = self.context.analysis.collectives.kinds();
        let kind = kinds.iter().find(|(kind, _)| wanted(kind));
        match kind.filter(|_| kinds.len() > 1) {
            Some((kind, _)) => (View::Communication, equals("kind", kind)),
            None if kinds.is_empty() => self.link_to(wanted),
            None => (View::Communication, String::new()),
        }
    }

    /// Returns the wanted category that takes the most time.
    pub(crate) fn largest_category(&self, wanted: &dyn Fn(&str) -> bool) -> Option<&'a str> {
        let categories = self.profile.kernels.kernels_by_category.iter().filter(|(name, _)| wanted(name));
        categories.max_by(|a, b| a.1.time_us.total_cmp(&b.1.time_us)).map(|(name, _)| name.as_str())
    }

    /// Returns the share of `part` in the window, percent. `None` if nothing ran, or the trace lacks the events to measure it.
    pub(crate) fn part_percent(&self, part: StepPart) -> Option<f64> {
        let breakdown = &self.context.analysis.step_breakdown;
        breakdown.mean.as_ref().filter(|_| breakdown.measures(part))?.percent(part)
    }

    /// Returns the share of the window during which a device runs communication that no computation overlaps, percent.
    pub(crate) fn exposed_communication_percent(&self) -> Option<f64> {
        self.part_percent(StepPart::Communication)
    }

    /// Returns the share of the window during which devices wait for input, idle or in infeed. `None` if too few ops ran.
    pub(crate) fn input_wait_percent(&self) -> Option<InputWait> {
        self.window()?;
        let idle = self.part_percent(StepPart::InputBound).unwrap_or(0.0);
        let infeed = if self.is_tpu() {
            self.of_window(self.category_percent(&|name| name == hlo_categories::INFEED))
        } else {
            0.0
        };
        Some(InputWait { percent: idle + infeed })
    }

    /// Returns the time that host threads spend on preparing input, and on transfers between host and device, in microseconds.
    /// `None` if host threads do neither.
    pub(crate) fn input_time_us(&self) -> Option<(f64, f64)> {
        let threads = self.context.analysis.step_breakdown.host_threads.as_ref()?;
        let time = |wanted: HostRole| {
            threads.roles.iter().filter(|(role, _)| *role == wanted).fold(0.0, |sum, (_, time)| sum + time.as_us())
        };
        let (input, transfer) = (time(HostRole::Input), time(HostRole::Transfer));
        (input + transfer > 0.0).then_some((input, transfer))
    }

    /// Lists the causes of idle time that take at least 5 % of the window, for sentences. Empty if no cause is known.
    pub(crate) fn idle_causes(&self) -> String {
        let Some(mean) = self.context.analysis.step_breakdown.mean.as_ref() else { return String::new() };
        let share = |part: StepPart| mean.percent(part).filter(|&share| share >= 5.0);
        let causes: Vec<(StepPart, f64)> = StepPart::ALL
            .into_iter()
            .filter(|part| part.is_idle())
            .filter_map(|part| Some((part, share(part)?)))
            .collect();
        if matches!(causes.as_slice(), [(StepPart::OtherIdle, _)]) {
            return String::new();
        }
        let text = |(part, share): &(StepPart, f64)| {
            format!("{} {}", part.title().trim_start_matches("Idle: "), base::format::percent(*share))
        };
        causes.iter().map(text).collect::<Vec<_>>().join(", ")
    }

    /// Returns the share of the time with communication in flight that computation overlaps, percent. `None` if there
    /// is no communication.
    pub(crate) fn communication_overlap_percent(&self) -> Option<f64> {
        self.context.analysis.step_breakdown.mean.as_ref()?.communication_overlap_percent()
    }

    /// Returns true if any device op is communication.
    pub(crate) fn communicates(&self) -> bool {
        self.profile.kernels.kernels_by_category.keys().any(|name| is_communication(name))
    }

    /// Returns the share of the window that short gaps between ops (below 100 microseconds) take, percent. During these
    /// gaps, the device waits for the next launch. `None` if nothing ran.
    pub(crate) fn short_gap_percent(&self) -> Option<f64> {
        *self.short_gaps.get_or_init(|| {
            let (mut window, mut short) = (Ps::ZERO, Ps::ZERO);
            for device in &self.context.analysis.devices.used {
                window += device.window.length();
                for pair in device.busy.parts().windows(2) {
                    let [before, after] = pair else { continue };
                    let gap = after.start - before.end;
                    if gap < SHORT {
                        short += gap;
                    }
                }
            }
            (window > Ps::ZERO).then(|| 100.0 * short.as_ps() as f64 / window.as_ps() as f64)
        })
    }
}

/// Lower-case parts of the names of kernels, PyTorch ops and autograd nodes that compute or apply gradients.
const GRADIENTS: [&str; 8] =
    ["backward", "_bwd", "bwd_", "dgrad", "wgrad", "autograd::engine", "optimizer.step", "optimizer.zero_grad"];

/// Shortens a name from the trace for a sentence.
pub(super) fn shown(name: &str) -> String {
    base::format::printable(&base::format::shorten(name, 60))
}

/// Shortens a source line for a sentence to its file and line, as the Python tracer names them: `train.py:12` for
/// `/home/jo/app/train.py:12`.
pub(super) fn code_line(line: &str) -> String {
    shown(line.rsplit(['/', '\\']).next().unwrap_or(line))
}

/// Names an argument of a program in a sentence: the framework's name if the program contains it, else the name in the program.
pub(super) fn argument_name(parameter: &Instruction) -> String {
    let name = parameter.metadata.op_name.as_str();
    shown(if name.is_empty() { &parameter.name } else { name })
}

/// Names a function with its file and line, if they are known: `load (train.py:12)`.
pub(super) fn function(call: &RangeCall) -> String {
    let place = call.place.as_ref().map_or(String::new(), |place| format!(" ({})", shown(place)));
    format!("{}{place}", shown(&call.name))
}

/// Returns a count with its noun: `1 step`, `7 steps`.
pub(super) fn plural(count: u64, word: &str) -> String {
    format!("{} {word}{}", base::format::count(count), if count == 1 { "" } else { "s" })
}

/// Joins words into a list: `FLOPs, bytes or shapes`.
pub(super) fn listed(words: &[&str], last: &str) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}

/// Returns true for the categories of collectives, sends and receives.
pub(super) fn is_communication(category: &str) -> bool {
    family_of(category) == OpFamily::Communication
}

/// Duration below which a kernel or gap is short.
pub(super) const SHORT: Ps = Ps::new((SHORT_KERNEL_US * 1e6) as i64);
