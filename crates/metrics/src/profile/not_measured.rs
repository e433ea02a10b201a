//! Lists the numbers that a run lacks, each with the reason and a remedy.
//!
//! Only headline numbers are listed: the numbers that the page and the text report would show.

use crate::op::roofline::Utilization;
use crate::program::compilation::has_host_spans;
use crate::step::steps::mark_steps;
use base::WarningCode;
use report::{NotMeasured, UnifiedProfile};
use trace::{Framework, Platform, SourceFormat, Trace};

/// Returns the numbers that are absent from `profile`, in the order of the report's sections. `trace` contains the
/// events that `profile` was computed from. `utilization` contains the reasons for a missing MFU and HFU.
pub(crate) fn not_measured(profile: &UnifiedProfile, trace: &Trace, utilization: &Utilization) -> Vec<NotMeasured> {
    let mut list = List(Vec::new());
    metadata(profile, trace, &mut list);
    model(profile, &mut list);
    steps(profile, &mark_steps(trace), &mut list);
    devices(profile, trace, &mut list);
    communication(profile, trace, &mut list);
    flops(profile, trace, utilization, &mut list);
    host(profile, trace, &mut list);
    list.0
}

/// Returns true if the file was exported from an xplane file, which contains more data. PyTorch writes no xplane file.
fn is_export(trace: &Trace) -> bool {
    trace.format == Some(SourceFormat::ChromeJson) && trace.framework != Framework::PyTorch
}

struct List(Vec<NotMeasured>);

impl List {
    fn add(&mut self, field: &str, reason: &str, remedy: &str) {
        let remedy = (!remedy.is_empty()).then(|| remedy.to_owned());
        self.0.push(NotMeasured { field: field.to_owned(), reason: reason.to_owned(), remedy });
    }
}

fn metadata(profile: &UnifiedProfile, trace: &Trace, list: &mut List) {
    let json = is_export(trace);
    let nothing_ran = profile.metadata.num_devices == 0;
    if profile.metadata.timestamp.is_none() {
        let reason = "The file does not contain the time of the capture.";
        let remedy = match (json, trace.framework) {
            (true, _) => {
                "Open the *.xplane.pb next to it, or drop the whole profile folder: its name contains the time."
            }
            (false, Framework::PyTorch) => "",
            (false, _) => "Drop the whole profile folder: its name contains the time.",
        };
        list.add("metadata.timestamp", reason, remedy);
    }
    if !nothing_ran
        && profile.metadata.platform() != Some(Platform::Cpu)
        && profile.metadata.device_type == profile.metadata.platform
    {
        let (reason, remedy) = if json {
            ("A trace JSON does not name the device's model.", "Open the *.xplane.pb of the same run, which names it.")
        } else {
            ("This profile does not name the device's model. Older profilers did not record it.", "")
        };
        list.add("metadata.device_type", reason, remedy);
    }
}

fn model(profile: &UnifiedProfile, list: &mut List) {
    if profile.parameter_counts.is_none() {
        list.add(
            "parameter_counts.total_params",
            "The model's dimensions are not in the trace.",
            "Enter the model's dimensions on the Model page, or put its config.json next to the profile.",
        );
    }
}

fn steps(profile: &UnifiedProfile, remedy: &str, list: &mut List) {
    let timed = profile.step_timing.avg_step_time_us.is_some();
    if !timed && profile.step_timing.num_steps == 0 {
        let warned = profile.warnings.iter().find(|warning| warning.is(WarningCode::StepsUnknown));
        let reason = warned.map_or("No steps found.", |warning| warning.message.as_str());
        list.add("step_timing.avg_step_time_us", reason, remedy);
    } else if !timed && profile.window.as_ref().is_some_and(|window| window.chosen.is_some()) {
        let reason = "No whole step is inside the chosen window.";
        list.add("step_timing.avg_step_time_us", reason, "Choose a window that contains a whole step.");
    } else if !timed {
        let reason = "No step of the capture is complete, so none can be timed.";
        list.add("step_timing.avg_step_time_us", reason, "Capture more steps.");
    }
    let throughput = &profile.throughput;
    if throughput.steps_per_sec.is_none() {
        list.add("throughput.steps_per_sec", "The step time is unknown.", remedy);
    }
    let form = "Enter the missing values on the Model page.";
    let model = &profile.model_config;
    let one_after_another = profile.step_timing.devices_in_step.as_deref() == Some("one_after_another");
    for (field, value, needed) in [
        ("throughput.samples_per_sec", throughput.samples_per_sec, &[("the batch size", model.batch_size)][..]),
        (
            "throughput.tokens_per_sec",
            throughput.tokens_per_sec,
            &[("the batch size", model.batch_size), ("the sequence length", model.seq_length)][..],
        ),
    ] {
        if value.is_some() {
            continue;
        }
        let missing: Vec<&str> = needed.iter().filter(|(_, it)| it.is_none_or(|it| it == 0)).map(|&(n, _)| n).collect();
        if one_after_another {
            let reason =
                "The devices run their steps one after another, so no step processes the batch of all devices.";
            list.add(field, reason, "Divide the batch of one device by the step time.");
        } else if missing.is_empty() {
            list.add(field, "The step time is unknown.", remedy);
        } else {
            list.add(field, &format!("Not in the trace: {}.", missing.join(" and ")), form);
        }
    }
}

fn devices(profile: &UnifiedProfile, trace: &Trace, list: &mut List) {
    let platform = profile.metadata.platform();
    if profile.compute_utilization.is_none() {
        let visible = profile.metadata.num_devices_visible.unwrap_or(0);
        let (reason, remedy) = if profile.metadata.num_devices > 0 {
            ("The devices' ops have no duration, so there are no shares of time.".to_owned(), String::new())
        } else if visible > 0 {
            (
                format!("The profile lists {visible} devices, but no op ran on any of them during the capture."),
                format!(
                    "Capture while the program computes, and wait for its results inside the capture ({}).",
                    trace.framework.words().wait
                ),
            )
        } else if profile.other_devices.iter().any(|device| device.kind == "accelerator") {
            (
                "The profile contains devices that crossprof does not support, so it is unknown which of their events \
                 are ops."
                    .to_owned(),
                String::new(),
            )
        } else {
            (
                "The profile contains no device ops, only host events.".to_owned(),
                match trace.framework {
                    Framework::Jax | Framework::Unknown => {
                        "Capture on the machine that has the devices. On the CPU backend, use a JAX version that \
                         records its ops (0.7 or newer)."
                    }
                    Framework::TensorFlow | Framework::PyTorch => "Capture on the machine that has the devices.",
                }
                .to_owned(),
            )
        };
        list.add("compute_utilization.compute_util_percent", &reason, &remedy);
        list.add("kernels.top_kernels", &reason, &remedy);
    }
    if profile.timeline_analysis.is_none() && profile.metadata.num_devices > 0 {
        let reason = "No device ran more than one op, so there is no time between ops.";
        list.add("timeline_analysis", reason, "Capture several steps.");
    }
    if profile.warnings.iter().any(|warning| warning.is(WarningCode::HostClocksNotAligned)) {
        let reason = "The hosts' clocks are not aligned, so starts on different hosts cannot be compared.";
        list.add(
            "multi_device.start_skew_us",
            reason,
            "Open the *.xplane.pb of all hosts: these files contain the start of each capture.",
        );
    }
    match &profile.memory_operations {
        None if platform == Some(Platform::Tpu) => list.add(
            "memory_operations",
            "Copies between host and chip that the runtime makes are not recorded as ops of a TPU, and the host's \
             transfer spans cover only their dispatch. Copies by the program itself are ops: see the Transfers page.",
            "",
        ),
        None if platform == Some(Platform::Cpu) => {
            list.add(
                "memory_operations",
                "The CPU backend computes in host memory: nothing is copied to a device.",
                "",
            );
        }
        Some(memory) if !memory.transfers.is_empty() && memory.transfers.iter().all(|it| it.sized_count == 0) => {
            let reason = "This profile does not record the bytes of its copies.";
            let remedy = if is_export(trace) { "Open the *.xplane.pb of the same run." } else { "" };
            list.add("memory_operations.transfers[].total_bytes", reason, remedy);
        }
        _ => {}
    }
}

/// If the waits between devices are unknown, adds the reason.
fn communication(profile: &UnifiedProfile, trace: &Trace, list: &mut List) {
    let Some(communication) = profile.communication.as_ref().filter(|it| it.num_collectives > 0) else { return };
    if communication.wait_time_us.is_some() {
        return;
    }
    let (reason, remedy) = if profile.metadata.num_devices < 2 {
        ("Only one of the devices that communicate is in this capture.", "Open the profiles of all hosts together.")
    } else {
        (
            "No run of a collective was found on two devices of one group. Possible reasons: the trace does not \
             record which devices communicate and their runs do not end together; the other devices of each group are \
             on hosts outside this capture; or the devices ran the collective a different number of times.",
            match trace.framework {
                Framework::PyTorch => "Open the traces of all ranks together.",
                _ => "Open the *.xplane.pb of all hosts together: these files contain the groups.",
            },
        )
    };
    list.add("communication.wait_time_us", reason, remedy);
}

/// If MFU or HFU is unknown, adds the reasons.
fn flops(profile: &UnifiedProfile, trace: &Trace, utilization: &Utilization, list: &mut List) {
    for (field, share) in [("roofline.mfu_percent", utilization.mfu), ("roofline.hfu_percent", utilization.hfu)] {
        let Err(reason) = share else { continue };
        let remedy = if profile.metadata.num_devices == 0 || profile.metadata.platform() == Some(Platform::Cpu) {
            ""
        } else if profile.roofline.is_none() {
            "Choose the device on the Model page or the command line."
        } else if is_export(trace) && profile.metadata.platform() != Some(Platform::Tpu) {
            "Open the *.xplane.pb of the same run, which has the HLO."
        } else {
            ""
        };
        list.add(field, reason, remedy);
    }
}

fn host(profile: &UnifiedProfile, trace: &Trace, list: &mut List) {
    let no_host = !has_host_spans(trace);
    let words = trace.framework.words();
    let host_remedy = format!("Capture with {}.", words.host_events);
    if profile.compilation.is_none() {
        let (reason, remedy) = if no_host {
            ("The profile contains no host events.", host_remedy.as_str())
        } else if trace.framework == Framework::PyTorch {
            ("This profile does not mark compilation.", "")
        } else {
            (
                "No compilation was recorded. That is expected if the program was compiled before the capture.",
                "To measure compilation, start the capture before the first call.",
            )
        };
        list.add("compilation.compilation_time_us", reason, remedy);
    }
    if profile.compilation.as_ref().is_some_and(|it| it.num_xla_modules.is_none()) && profile.metadata.num_devices > 0 {
        let (reason, remedy) = if is_export(trace) {
            (
                "A trace JSON names the modules of ops but not their programs: programs with the same name cannot \
                 be distinguished.",
                "Open the *.xplane.pb of the same run, which numbers them.",
            )
        } else {
            ("The ops of this profile do not name their programs.", "")
        };
        list.add("compilation.num_xla_modules", reason, remedy);
    }
    if profile.io_operations.is_none() {
        let annotate = format!("Wrap the code that produces the next batch in `with {}:`.", words.next_batch_range);
        let (reason, remedy) = if no_host {
            ("The profile contains no host events.", host_remedy.as_str())
        } else {
            ("No span of an input pipeline was found (tf.data, Grain, DataLoader, infeed).", annotate.as_str())
        };
        list.add("io_operations.io_total_time_us", reason, remedy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::{Compilation, Metadata, StepTiming};
    use trace::TraceBuilder;

    fn profile(platform: &str, num_devices: u64) -> UnifiedProfile {
        UnifiedProfile {
            metadata: Metadata {
                platform: platform.to_owned(),
                device_type: platform.to_owned(),
                num_devices,
                ..Metadata::default()
            },
            ..UnifiedProfile::default()
        }
    }

    fn trace(format: SourceFormat) -> Trace {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        b.event(python, "train", 0, 10);
        let mut trace = b.build();
        trace.format = Some(format);
        trace
    }

    fn asked(profile: &UnifiedProfile, format: SourceFormat) -> Vec<NotMeasured> {
        let trace = trace(format);
        not_measured(profile, &trace, &Utilization::default())
    }

    #[test]
    fn every_absent_headline_number_has_a_sentence() {
        let found = asked(&profile("TPU", 1), SourceFormat::ChromeJson);
        let fields: Vec<&str> = found.iter().map(|it| it.field.as_str()).collect();
        for field in [
            "metadata.timestamp",
            "metadata.device_type",
            "parameter_counts.total_params",
            "step_timing.avg_step_time_us",
            "throughput.steps_per_sec",
            "throughput.samples_per_sec",
            "throughput.tokens_per_sec",
            "compute_utilization.compute_util_percent",
            "memory_operations",
            "roofline.mfu_percent",
            "roofline.hfu_percent",
            "compilation.compilation_time_us",
            "io_operations.io_total_time_us",
        ] {
            assert!(fields.contains(&field), "{field}");
        }
        assert!(
            found
                .iter()
                .all(|it| it.reason.ends_with('.') && it.remedy.as_ref().is_none_or(|r| r.ends_with(['.', ':', ')'])))
        );
        let device = found.iter().find(|it| it.field == "metadata.device_type").unwrap();
        assert!(device.remedy.as_deref().is_some_and(|it| it.contains("xplane")));
    }

    #[test]
    fn tokens_name_what_is_missing() {
        let mut profile = profile("GPU", 1);
        profile.step_timing = StepTiming { num_steps: 5, avg_step_time_us: Some(10.0), ..StepTiming::default() };
        profile.throughput.steps_per_sec = Some(1e5);
        profile.throughput.samples_per_sec = Some(1e6);
        profile.model_config.batch_size = Some(10);
        let found = asked(&profile, SourceFormat::XPlane);
        let throughput: Vec<_> = found.iter().filter(|it| it.field.starts_with("throughput")).collect();
        assert_eq!(throughput.len(), 1);
        assert_eq!(throughput[0].reason, "Not in the trace: the sequence length.");
    }

    #[test]
    fn a_measured_number_is_not_listed() {
        let mut profile = profile("CPU", 1);
        profile.metadata.timestamp = Some("2026-01-01T00:00:00Z".to_owned());
        profile.compilation = Some(Compilation { num_xla_modules: Some(1), ..Compilation::default() });
        let found = asked(&profile, SourceFormat::XPlane);
        assert!(!found.iter().any(|it| it.field.starts_with("metadata") || it.field.starts_with("compilation")));
    }
}
