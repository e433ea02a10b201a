//! Compares XProf's `overview_page` with the unified profile, figure by figure, for every trace that has this XProf
//! output.
//!
//! crossprof has no counterpart for the percentage of framework ops, eager execution, inference latency, and the idle
//! time of "host ops" (JAX programs have no host ops). XProf's printed numbers are compared with our numbers, rounded
//! to the same number of digits.

use crate::support;
use crate::support::xprof::{
    ABSENT, Comparison, Row, close, folders, number, number_of, ours, output, read, rows, text,
};
use crossprof::report::{Roofline, StepBreakdown};
use crossprof::{Session, TableName, UnifiedProfile};
use serde_json::Value;

const NO_COUNTER: &str = "XProf prints 0.0 % of what the profile has no counter for: absent here";
const NO_LIMIT: &str = "XProf's open version never fills it in: here it comes from the roofline";
const NO_STEPS: &str =
    "XProf finds no steps: here runs of the module that takes most time are steps, or they are unknown, never 0";
const EXTENT: &str =
    "XProf's step is first kernel to last kernel: here it lasts until the next step starts, input stalls included";
const COPIES: &str = "XProf takes JAX's `Memcpy*` for compute: here they are copies by direction";
const BF16: &str = "XProf takes bf16 for 32 bits, and counts copies";
const FRAMEWORK: &str = "the same difference as in framework_op_stats, which is compared and explained there";
const PRODUCT: &str = "XProf names the generation: here it is the product, where the profile names it";
const VISIBLE: &str =
    "XProf counts the devices that the profile lists: here those that ran something, others as visible";

/// Returns the property from the first table of the page that has it.
fn property<'v>(page: &'v Value, key: &str) -> Option<&'v Value> {
    page.as_array()?.iter().find_map(|table| table.get("p")?.get(key))
}

/// Parses a printed number (`86.5%`, `0.42`).
fn printed(page: &Value, key: &str) -> Option<f64> {
    property(page, key)?.as_str()?.trim_end_matches('%').parse().ok()
}

/// Rounds one of our numbers to `decimals`, like XProf.
fn rounded(value: f64, decimals: usize) -> f64 {
    format!("{value:.decimals$}").parse().unwrap()
}

#[test]
#[ignore = "reads real profiles"]
fn overview_page() {
    let folders = folders("overview_page");
    assert_eq!(folders.len(), 6);
    for folder in folders {
        let (mut session, page) = read(&folder, "overview_page");
        let profile = session.report(0, &support::xprof::active()).unwrap();
        let mut comparison = Comparison::new(format!("overview_page of {folder}"));
        environment(&page, &profile, &mut comparison);
        utilization(&page, &profile, &mut comparison);
        steps(&page, &profile, &mut comparison);
        precision(&page, &profile, &mut comparison);
        top_ops(&folder, &page, &mut session, &mut comparison);
        assert!(comparison.equal > 5, "{folder}");
        comparison.print();
    }
}

fn environment(page: &Value, profile: &UnifiedProfile, comparison: &mut Comparison) {
    let metadata = &profile.metadata;
    let cores = number_of(property(page, "device_core_count").unwrap());
    let visible = metadata.num_devices_visible.unwrap_or(metadata.num_devices);
    comparison.number("device_core_count", cores, metadata.num_devices as f64, &[(VISIBLE, visible as f64 == cores)]);
    comparison.number("host_count", number_of(property(page, "host_count").unwrap()), 1.0, &[]);
    let device = property(page, "device_type").unwrap().as_str().unwrap().replace(" - ", " ");
    let same = |name: &str| name.to_lowercase().starts_with(&device.trim_end_matches(')').to_lowercase());
    let ours = if same(&metadata.device_type) { &device } else { &metadata.device_type };
    comparison.text("device_type", &device, ours, &[(PRODUCT, device.starts_with("Nvidia GPU"))]);
}

/// Compares duty cycle, idle time, matrix units and memory.
fn utilization(page: &Value, profile: &UnifiedProfile, comparison: &mut Comparison) {
    let breakdown = profile.step_breakdown.as_ref().unwrap();
    let duty = breakdown.duty_cycle_percent;
    let idle = profile.op_statistics.as_ref().and_then(|ops| ops.idle_percent);
    for (key, ours) in [
        ("device_duty_cycle_percent", duty),
        ("device_duty_cycle_high_confidence_percent", duty),
        ("device_idle_time_percent", breakdown.chip_idle_percent),
        ("device_idle_time_percent", idle),
    ] {
        if let Some(theirs) = printed(page, key) {
            comparison.number(key, theirs, rounded(ours.unwrap(), 1), &[]);
        }
    }
    let roofline = profile.roofline.as_ref();
    let counter = |value: fn(&Roofline) -> Option<f64>| roofline.and_then(value).map_or(ABSENT, |it| rounded(it, 1));
    for (key, ours) in [
        ("mxu_utilization_percent", counter(|it| it.matrix_unit_utilization_percent)),
        ("hbm_utilization_percent", counter(|it| it.hbm_utilization_percent)),
    ] {
        let theirs = printed(page, key).unwrap();
        comparison.number(key, theirs, ours, &[(NO_COUNTER, theirs == 0.0 && ours.is_nan())]);
    }
    let program = roofline.and_then(|roofline| roofline.program.as_ref());
    for (key, ours) in [
        (
            "flop_rate_utilization_relative_to_roofline",
            program.and_then(|it| Some(100.0 * it.gflops? / it.peak_gflops?)),
        ),
        ("memory_bw_utilization_relative_to_hw_limit", program.and_then(|it| it.roofline_efficiency_percent)),
    ] {
        if let (Some(theirs), Some(ours)) = (printed(page, key), ours) {
            comparison.number(key, theirs, rounded(ours, 1), &[(NO_LIMIT, theirs == 0.0)]);
        }
    }
}

/// Compares the statistics of the step time and the parts of a step, then every step of XProf's table.
fn steps(page: &Value, profile: &UnifiedProfile, comparison: &mut Comparison) {
    let timing = &profile.step_timing;
    let table = rows(&page[1]);
    let is_gpu = property(page, "hardware_type").unwrap() == "GPU";
    let decimals = if is_gpu { 1 } else { 2 };
    let ms = |us: f64| rounded(us / 1e3, decimals);
    let none = table.is_empty();
    for (key, ours) in [
        ("steptime_ms_average", timing.avg_step_time_us),
        ("steptime_ms_minimum", timing.min_step_time_us),
        ("steptime_ms_maximum", timing.max_step_time_us),
        ("steptime_ms_standard_deviation", timing.stddev_step_time_us),
    ] {
        let (theirs, ours) = (printed(page, key).unwrap(), ours.map_or(ABSENT, ms));
        comparison.number(key, theirs, ours, &[(NO_STEPS, none && theirs == 0.0), (EXTENT, is_gpu && theirs < ours)]);
    }
    if !is_gpu || none {
        return;
    }
    let breakdown = profile.step_breakdown.as_ref().unwrap();
    let collectives = printed(page, "device_collectives_time_ms_avg").unwrap();
    comparison.number("device_collectives_time_ms_avg", collectives, ms(breakdown.parts.communication_us), &[]);
    for theirs in &table {
        comparison.rows += 1;
        step(theirs, breakdown, comparison);
    }
}

/// Compares one of XProf's steps on a GPU. XProf's compute includes copies whose names it does not recognise, so only the
/// totals must be equal.
fn step(theirs: &Row, breakdown: &StepBreakdown, comparison: &mut Comparison) {
    let parts = &breakdown.parts;
    let us = |key: &str| 1e3 * number(theirs, key);
    let name = text(theirs, "stepnum");
    comparison.number(&format!("step {name}: collectives"), us("deviceCollectivesTimeMs"), parts.communication_us, &[]);
    let copies = parts.h2d_us + parts.d2h_us + parts.d2d_us + parts.p2p_us + parts.data_movement_us;
    let (compute, input) = (us("deviceComputeTimeMs"), us("infeedTimeMs"));
    let (d2d, output) = (us("deviceToDeviceTimeMs"), us("outfeedTimeMs"));
    // Together, these are the device's busy time.
    let all = compute + input + d2d + output;
    comparison.number(&format!("step {name}: compute and copies"), all, parts.compute_us + copies, &[]);
    for (key, theirs, ours) in [
        ("compute", compute, parts.compute_us),
        ("input", input, parts.h2d_us),
        ("output", output, parts.d2h_us),
        ("device to device", d2d, parts.d2d_us + parts.p2p_us),
    ] {
        comparison.number(&format!("step {name}: {key}"), theirs, ours, &[(COPIES, true)]);
    }
    let length = us("stepTimeMs");
    let idle = length - breakdown.device_busy_us;
    comparison.number(&format!("step {name}: others"), us("otherTimeMs"), idle, &[]);
    comparison.number(
        &format!("step {name}: length"),
        length,
        breakdown.duration_us,
        &[(EXTENT, length < breakdown.duration_us)],
    );
}

/// Compares the percentage of the compute time that uses 16-bit types.
fn precision(page: &Value, profile: &UnifiedProfile, comparison: &mut Comparison) {
    let Some(theirs) = printed(page, "device_compute_16bit_percent") else { return };
    let types = &profile.kernel_statistics.as_ref().unwrap().data_types;
    let percent = |wanted: &dyn Fn(&str) -> bool| -> f64 {
        types.iter().filter(|it| wanted(&it.data_type)).map(|it| it.percent).sum()
    };
    let ours = percent(&|name| ["f16", "bf16"].contains(&name));
    let without_steps = rows(&page[1]).is_empty();
    comparison.number(
        "device_compute_16bit_percent",
        theirs,
        rounded(ours, 1),
        &[(NO_STEPS, without_steps && theirs == 0.0), (BF16, percent(&|name| name == "bf16") > 0.0)],
    );
    assert!(close(percent(&|_| true), 100.0));
}

/// Compares the ten top ops. XProf takes these ops from framework_op_stats, without idle time.
fn top_ops(folder: &str, page: &Value, session: &mut Session, comparison: &mut Comparison) {
    let ours = ours(session, &support::xprof::active(), TableName::FrameworkOps);
    let kernels = support::xprof::ours(session, &support::xprof::active(), TableName::Kernels);
    let top = rows(&page[0]);
    // The list of top ops is empty if framework_op_stats is empty.
    let statistics = if top.is_empty() { Vec::new() } else { rows(&output(folder, "framework_op_stats")[1]) };
    let is_tpu = folder.starts_with("tpu");
    let mut cumulative = 0.0;
    for theirs in top {
        let name = text(&theirs, "operation");
        comparison.rows += 1;
        // The page repeats framework_op_stats, whose rows another test compares.
        let same = statistics.iter().find(|row| text(row, "operation") == name).unwrap();
        let share = number(&theirs, "selfTimePercent");
        assert!(close(share, number(same, "device_total_self_time_percent")), "{folder}: {name}");
        assert!(close(number(&theirs, "flopRate"), number(same, "measured_flop_rate")), "{folder}: {name}");
        let row = ours.iter().find(|row| text(row, "operation") == name);
        let differs = [(FRAMEWORK, !is_tpu)];
        let field = |key: &str| row.map_or(ABSENT, |row| number(row, key));
        comparison.number(&format!("{name}: share"), 100.0 * share, field("busy_self_time_percent"), &differs);
        cumulative += share;
        assert!(close(number(&theirs, "cumulativeTimePercent"), cumulative), "{folder}: {name}");
        comparison.number(
            &format!("{name}: flopRate"),
            number(&theirs, "flopRate"),
            field("measured_flop_rate_gflops"),
            &differs,
        );
        let kind = row.map_or("", |row| text(row, "type"));
        comparison.text(&format!("{name}: category"), text(&theirs, "category"), kind, &differs);
        if theirs.contains_key("tcUtilization") {
            let of = kernels.iter().filter(|kernel| text(kernel, "op_name").trim_end_matches(':') == name);
            for (key, our_key) in
                [("tcEligibility", "is_op_tensor_core_eligible"), ("tcUtilization", "is_kernel_using_tensor_core")]
            {
                let found = of.clone().any(|kernel| kernel[our_key] == true);
                comparison.text(&format!("{name}: {key}"), &theirs[key].to_string(), &found.to_string(), &differs);
            }
        }
    }
}
