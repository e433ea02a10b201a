//! The numbers that several rules rest on, each made in one place so that two rules never disagree.
//!
//! Shares are of the *window* ([`metrics::WindowKind`]), summed over the used devices.

use std::cell::OnceCell;

use super::Verdict;
use super::draft::{equals, lacks};
use base::Ps;
use base::framework_path::training_pass;
use metrics::{Context, HostRole, Op, OpFamily, StepPart, WindowKind, family_of};
use report::UnifiedProfile;
use trace::{Framework, Platform, SourceFormat, StatValue, Trace, Words};

/// What rules are given.
pub(super) struct Numbers<'a> {
    /// The run and everything measured of it.
    pub context: &'a Context<'a>,
    /// The document.
    pub profile: &'a UnifiedProfile,
    /// The events.
    pub trace: &'a Trace,
    /// Platform of the used devices; `None` where nothing ran.
    pub platform: Option<Platform>,
    short_gaps: OnceCell<Option<f64>>,
}

/// What shares are of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Window {
    /// Whether the window is one of steps.
    pub steps: bool,
    /// Kind of the window.
    pub kind: WindowKind,
    /// Length of the window per step and device; where it is none of steps, per device.
    pub length_us: f64,
    /// Share of the window in which a device runs at least one op.
    pub busy_percent: f64,
}

impl Window {
    /// Share of the window in which a device runs nothing.
    pub fn idle_percent(self) -> f64 {
        100.0 - self.busy_percent
    }

    /// A share of it as a time per step (or of the span) and device.
    pub fn us(self, percent: f64) -> f64 {
        self.length_us * percent / 100.0
    }

    /// For sentences: `each 33.1 ms step`, `the 4.2 ms from its first to its last op`.
    pub fn words(self) -> String {
        let time = base::format::time_us(self.length_us);
        match self.kind {
            WindowKind::Steps | WindowKind::GivenSteps => format!("each {time} step"),
            WindowKind::ActiveSpan => format!("the {time} from a device's first op to its last"),
            WindowKind::Capture => format!("the {time} captured"),
            WindowKind::Range => format!("the chosen {time}"),
        }
    }
}

/// Who made a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vendor {
    Nvidia,
    Amd,
}

/// Share of the window in which devices wait for input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct InputWait {
    percent: f64,
}

impl InputWait {
    /// True where it is worth asking why (XProf: 10 % of the step).
    pub fn bound(self) -> bool {
        self.percent >= 10.0
    }
}

/// Fewer ops than this on a device cannot show how busy it usually is (ours: a capture of one launch has no gaps).
const FEWEST_OPS: usize = 10;

impl<'a> Numbers<'a> {
    pub fn new(context: &'a Context<'a>) -> Numbers<'a> {
        Numbers {
            context,
            profile: context.profile,
            trace: context.trace(),
            platform: context.analysis.devices.platform,
            short_gaps: OnceCell::new(),
        }
    }

    /// A rule that lacks what another file of the run may hold: XLA's trace JSON is an export of the xplane, which holds more. Of any
    /// other file there is no better one.
    pub(super) fn lacks_in_json(&self, sentence: &str) -> Verdict {
        let is_export =
            self.trace.format == Some(SourceFormat::ChromeJson) && self.trace.framework != Framework::PyTorch;
        if is_export { lacks(&format!("{sentence} Open the xplane of the same run.")) } else { lacks(sentence) }
    }

    /// What advice names in the framework of the run.
    pub fn words(&self) -> &'static Words {
        self.trace.framework.words()
    }

    /// A rule that lacks host events, which another capture could hold.
    pub fn lacks_host_events(&self) -> Verdict {
        lacks(&format!("the capture holds no host events. Capture with {}.", self.words().host_events))
    }

    /// A rule that lacks the peaks of the device.
    pub fn lacks_peaks(&self) -> Verdict {
        match self.platform {
            Some(Platform::Cpu) => lacks("crossprof has no peaks of CPUs."),
            _ => lacks("the device's peaks are not known. Choose the device on the Model page."),
        }
    }

    /// A rule that lacks what [`Numbers::utilization`] is made of: the peaks of the device, or the costs of the ops.
    pub fn lacks_utilization(&self) -> Verdict {
        match self.context.analysis.roofline.peaks {
            None => self.lacks_peaks(),
            Some(_) => self.lacks_in_json("the FLOPs and bytes of the ops are not in the file."),
        }
    }

    /// Whether the program is one of training, which has a backward pass; `None` if nothing says it: paths of ops (JAX), kernels that are
    /// named after a gradient, calls of the host (PyTorch), or the program's name.
    pub fn trains(&self) -> Option<bool> {
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
        let is_told = match self.trace.framework {
            Framework::PyTorch => host_names().any(|name| name.starts_with("aten::")),
            _ => paths().next().is_some(),
        };
        let is_named = || ops.rows.iter().any(|op| text(op.module).contains("train"));
        if is_told { Some(false) } else { is_named().then_some(true) }
    }

    /// A rule that lacks steps, which the program could have marked.
    pub(super) fn lacks_steps(&self, sentence: &str) -> Verdict {
        lacks(&format!("{sentence} {}.", self.words().mark_steps))
    }

    /// True on GPUs.
    pub fn is_gpu(&self) -> bool {
        self.platform == Some(Platform::Gpu)
    }

    /// True on TPUs.
    pub fn is_tpu(&self) -> bool {
        self.platform == Some(Platform::Tpu)
    }

    /// The window; `None` where too little ran to speak of busy and idle.
    pub fn window(&self) -> Option<Window> {
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

    /// The window that the parts of the breakdown are shares of: the counted steps also where the user chose a window of no steps.
    /// `None` as for [`Numbers::window`].
    pub fn window_of_parts(&self) -> Option<Window> {
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

    /// A time as a share of the self time of all device ops.
    pub fn op_percent(&self, time: Ps) -> f64 {
        let all = self.context.analysis.ops.op_time;
        if all > Ps::ZERO { 100.0 * time.as_ps() as f64 / all.as_ps() as f64 } else { 0.0 }
    }

    /// Bytes that the ops move over what the main memory could in the window, and FLOPs over what the arithmetic units could; percent. `None` where a peak or every cost is unknown.
    pub fn utilization(&self) -> Option<(f64, f64)> {
        let roofline = &self.context.analysis.roofline;
        Some((100.0 * roofline.hbm_share()?, 100.0 * roofline.program_point()?.compute_efficiency?))
    }

    /// Share of the self time of all device ops in custom calls of unknown cost.
    pub fn uncosted_calls_percent(&self) -> f64 {
        self.context.analysis.roofline.unknown_custom_call_percent.unwrap_or(0.0)
    }

    /// What FLOPs and bytes leave out, as a sentence with a blank before it; empty if it is less than a percent of the op time (ours).
    pub fn left_out(&self) -> String {
        let calls = self.uncosted_calls_percent();
        if calls < 1.0 {
            return String::new();
        }
        format!(
            " Custom calls of unknown FLOPs and bytes, {} of the op time, are left out.",
            base::format::percent(calls)
        )
    }

    /// Whether the GPUs have tensor or matrix cores; `None` where the file does not say which GPUs they are.
    pub fn has_tensor_cores(&self) -> Option<bool> {
        Some(match self.compute_capability()? {
            // gfx908 has matrix cores and is 9.0, as is gfx906, which has none: known by name.
            (Vendor::Amd, capability) => capability >= (9, 4) || self.device_name_has(&["gfx908", "gfx90a"]),
            (Vendor::Nvidia, capability) => capability >= (7, 0),
        })
    }

    /// Whether the devices multiply matrices in bfloat16 much faster than in float32; `None` where the file does not say
    /// which devices they are.
    pub fn has_bf16_units(&self) -> Option<bool> {
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

    /// Vendor and compute capability that the plane of the first GPU states.
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

    /// A share of the self time of all device ops as a share of the window; unchanged where the window is unknown.
    pub fn of_window(&self, percent_of_ops: f64) -> f64 {
        self.window().map_or(percent_of_ops, |window| percent_of_ops * window.busy_percent / 100.0)
    }

    /// Share of the self time of all device ops that is of categories for which `wanted` holds.
    pub fn category_percent(&self, wanted: &dyn Fn(&str) -> bool) -> f64 {
        let categories = self.profile.kernels.kernels_by_category.iter();
        categories.filter(|(name, _)| wanted(name)).filter_map(|(_, category)| category.percent).sum()
    }

    /// Where ops of the largest of such categories are shown: the kernel with most time on a GPU, whose ops have categories of
    /// their own, else the ops of the category.
    pub fn link_to(&self, wanted: &dyn Fn(&str) -> bool) -> (&'static str, String) {
        let top = self.profile.kernels.top_kernels.iter().find(|kernel| wanted(&kernel.category));
        match (self.is_gpu(), top) {
            (true, Some(kernel)) => ("kernels", equals("kernel_name", &kernel.name)),
            _ => ("ops", equals("category", self.largest_category(wanted).unwrap_or_default())),
        }
    }

    /// The op with most self time of those in categories for which `wanted` holds.
    pub fn largest_op(&self, wanted: &dyn Fn(&str) -> bool) -> Option<&'a Op> {
        let ops = &self.context.analysis.ops;
        ops.rows.iter().filter(|op| wanted(ops.text(self.trace, op.category))).max_by_key(|op| op.self_time)
    }

    /// An op in a sentence, with its source line where that is known: `sort.49 (train.py:31)`.
    pub fn op_with_source(&self, op: &Op) -> String {
        let ops = &self.context.analysis.ops;
        let source = match ops.text(self.trace, op.source) {
            "" => String::new(),
            line => format!(" ({})", shown(line)),
        };
        format!("{}{source}", shown(ops.text(self.trace, op.name)))
    }

    /// The page of communication, filtered on the kind with most time for which `wanted` holds.
    pub fn link_to_communication(&self, wanted: &dyn Fn(&str) -> bool) -> (&'static str, String) {
        let kinds = self.context.analysis.collectives.kinds();
        let kind = kinds.iter().find(|(kind, _)| wanted(kind));
        match kind.filter(|_| kinds.len() > 1) {
            Some((kind, _)) => ("communication", equals("kind", kind)),
            None if kinds.is_empty() => self.link_to(wanted),
            None => ("communication", String::new()),
        }
    }

    /// The category of those for which `wanted` holds that takes most time.
    pub fn largest_category(&self, wanted: &dyn Fn(&str) -> bool) -> Option<&'a str> {
        let categories = self.profile.kernels.kernels_by_category.iter().filter(|(name, _)| wanted(name));
        categories.max_by(|a, b| a.1.time_us.total_cmp(&b.1.time_us)).map(|(name, _)| name.as_str())
    }

    /// Share of the window that is `part`; `None` where nothing ran, or the trace does not say it.
    pub fn part_percent(&self, part: StepPart) -> Option<f64> {
        let breakdown = &self.context.analysis.step_breakdown;
        breakdown.mean.as_ref().filter(|_| breakdown.measures(part))?.percent(part)
    }

    /// Share of the window in which a device runs communication that no computation hides.
    pub fn exposed_communication_percent(&self) -> Option<f64> {
        self.part_percent(StepPart::Communication)
    }

    /// How long devices wait for input, whether idle or in infeed; `None` where too little ran.
    pub fn input_wait_percent(&self) -> Option<InputWait> {
        self.window()?;
        let idle = self.part_percent(StepPart::InputBound).unwrap_or(0.0);
        let infeed = if self.is_tpu() { self.of_window(self.category_percent(&|name| name == "infeed")) } else { 0.0 };
        Some(InputWait { percent: idle + infeed })
    }

    /// Time that threads of the hosts spend on making input, and on moving data between host and device; `None` without
    /// either.
    pub fn input_time_us(&self) -> Option<(f64, f64)> {
        let threads = self.context.analysis.step_breakdown.host_threads.as_ref()?;
        let time = |wanted: HostRole| {
            threads.roles.iter().filter(|(role, _)| *role == wanted).fold(0.0, |sum, (_, time)| sum + time.as_us())
        };
        let (input, transfer) = (time(HostRole::Input), time(HostRole::Transfer));
        (input + transfer > 0.0).then_some((input, transfer))
    }

    /// Why devices are idle: causes with at least 5 % of the window, for sentences; empty where none is known.
    pub fn idle_causes(&self) -> String {
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
        let said = |(part, share): &(StepPart, f64)| {
            format!("{} {}", part.title().trim_start_matches("Idle: "), base::format::percent(*share))
        };
        causes.iter().map(said).collect::<Vec<_>>().join(", ")
    }

    /// Share of the communication in flight that computation hides; `None` without communication.
    pub fn communication_overlap_percent(&self) -> Option<f64> {
        self.context.analysis.step_breakdown.mean.as_ref()?.communication_overlap_percent()
    }

    /// True where some device op is communication.
    pub fn communicates(&self) -> bool {
        self.profile.kernels.kernels_by_category.keys().any(|name| is_communication(name))
    }

    /// Share of the window that is idle in gaps between ops that are shorter than 100 microseconds: the device waits for the next
    /// launch. `None` where nothing ran.
    pub fn short_gap_percent(&self) -> Option<f64> {
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

/// Parts of the names of kernels, of PyTorch's ops and of autograd's nodes that compute gradients, or apply them; in lower case.
const GRADIENTS: [&str; 8] =
    ["backward", "_bwd", "bwd_", "dgrad", "wgrad", "autograd::engine", "optimizer.step", "optimizer.zero_grad"];

/// A name of the trace in a sentence.
pub(super) fn shown(name: &str) -> String {
    base::format::printable(&base::format::shorten(name, 60))
}

/// `1 step`, `7 steps`.
pub(super) fn plural(count: u64, word: &str) -> String {
    format!("{} {word}{}", base::format::count(count), if count == 1 { "" } else { "s" })
}

/// Words in a row: `FLOPs, bytes or shapes`.
pub(super) fn listed(words: &[&str], last: &str) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}

/// True for the categories of collectives, sends and receives.
pub(super) fn is_communication(category: &str) -> bool {
    family_of(category) == OpFamily::Communication
}

/// A kernel or gap shorter than this is short (JAX guide: "many small kernels, below 0.1 ms each").
pub(super) const SHORT: Ps = Ps::new(100_000_000);
