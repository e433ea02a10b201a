//! Builds the report from the measurements. Findings are added later.

use crate::analysis::{Analysis, DocumentParts};
use crate::device::{gaps, hardware, other_devices, utilization};
use crate::host::{goodput, host_activity, input_pipeline, io, launches};
use crate::op::layers::{LayerGrouping, Layers};
use crate::op::{collectives, experts, kernel_stats, kernels, layers, megascale, ops, roofline, transfers};
use crate::profile::{framework, metadata, missing, not_measured};
use crate::program::{compilation, freezing, parameters, programs};
use crate::step::{serving, step_breakdown, step_ops, throughput, window};
use base::sort;
use report::UnifiedProfile;
use run::{Run, Settings};

pub(crate) fn document(run: &Run, settings: &Settings, found: &Analysis, rest: DocumentParts<'_>) -> UnifiedProfile {
    let DocumentParts { modules, tallies, steps, warnings, choice, cut, device, pipeline } = rest;
    let (whole, trace) = (&run.trace, found.trace(run));
    let model_config = run.model.overridden_by(&settings.model);
    let all_devices = found.steps.relation.filter(|_| !steps.rows.is_empty()).and_then(|it| it.steps_per_sec());
    let num_devices = found.devices.used.len() as u64;
    let ran = sort::set(found.ops.rows.iter().filter_map(|op| op.program_id));
    let layer_freezing = freezing::layer_freezing(modules, &ran);
    let devices = &found.devices;
    let mut profile = UnifiedProfile {
        metadata: metadata::metadata(run, &found.captured, framework::framework(trace, &found.ops, modules), device),
        parameter_counts: parameters::with_program(
            parameters::parameter_counts(&model_config),
            layer_freezing.as_ref(),
        ),
        layer_freezing,
        throughput: throughput::throughput(&steps.timing, &model_config, num_devices, all_devices),
        model_config,
        window: window::section(&found.window, choice, &found.captured),
        compute_utilization: utilization::compute_utilization(trace, devices, &found.window),
        kernels: kernels::kernels(trace, &tallies),
        memory_operations: transfers::memory_operations(trace, devices),
        multi_device: utilization::multi_device(run, found, cut.is_some()),
        timeline_analysis: gaps::timeline_analysis(trace, devices),
        compilation: compilation::compilation(whole, &found.captured),
        io_operations: io::io_operations(whole, &found.captured, found.window.of_hosts(&found.captured)),
        serving: serving::section(
            &steps.rows,
            &found.step_breakdown.pass_gaps(whole, &found.captured, &found.hosts, &found.calls, &found.steps),
            found.steps.launches_graphs,
        ),
        input_pipeline: found.input_pipeline.as_ref().map(|it| input_pipeline::section(whole, it)),
        step_timing: steps.timing,
        steps: steps.rows,
        step_breakdown: step_breakdown::section(whole, &found.step_breakdown, &found.captured, devices, &found.window),
        kernel_statistics: kernel_stats::section(trace, &found.kernel_stats),
        memory: found.memory.section(),
        launches: launches::section(trace, devices, &found.launches),
        roofline: roofline::section(&found.roofline, found.window.kind),
        op_statistics: ops::section(trace, &found.ops, &|op| found.roofline.bound_label(op)),
        layers: layers::section(
            &found.ops,
            // The section does not contain the limiting resources.
            &Layers::new(trace, &found.ops, &found.collectives, LayerGrouping::Layer, &|_| None),
        ),
        step_ops: step_ops::section(
            trace,
            devices,
            &tallies,
            &found.ops,
            &found.collectives,
            &found.step_breakdown,
            &found.window,
        ),
        programs: programs::section(trace, &found.ops, modules, found.window.device_steps),
        communication: collectives::section(trace, devices, &found.collectives),
        megascale: megascale::section(whole, &found.captured, modules),
        pipeline: pipeline.filter(|_| missing::has_common_clock(whole, devices)),
        experts: experts::section(trace, devices, &found.ops, &found.collectives, found.window.num_steps),
        goodput: goodput::section(whole, &found.captured, &found.hosts, &found.steps, settings.dollars_per_device_hour),
        findings: Vec::new(),
        host_activity: host_activity::host_activity(trace, devices, found.step_breakdown.host_threads.as_ref()),
        tracing: run.tracing.clone(),
        hardware: hardware::section(whole, devices),
        other_devices: other_devices::other_devices(trace, devices),
        warnings,
        not_measured: Vec::new(),
        provenance: run.files.iter().chain(&settings.model_files).cloned().collect(),
    };
    hardware::set_clocks(whole, &found.captured, &mut profile.steps);
    if !missing::has_common_clock(whole, devices) {
        profile.step_timing.step_start_skew_us = None;
        profile.multi_device.iter_mut().for_each(|devices| devices.start_skew_us = None);
    }
    profile.not_measured = not_measured::not_measured(&profile, trace, &found.roofline.utilization);
    profile.not_measured.extend(crate::program::memory_use::not_measured(&profile, run));
    profile
}
