//! Compares the breakdown of steps in real profiles with facts that are known by construction and, if XProf is correct,
//! with XProf.

use crate::support::xprof::output;
use crate::support::{decode, decode_json, samples, seven_steps};
use crossprof::Ps;
use crossprof::metrics::{Analysis, Breakdown, MeanPart, StepPart, StepRow, analyse};
use crossprof::run::{Run, Settings, WindowChoice};

fn analysis(path: &str) -> Analysis {
    analysis_of(path, WindowChoice::Main)
}

fn analysis_of(path: &str, window: WindowChoice) -> Analysis {
    let run = Run { trace: decode(&samples::real(path)), ..Run::default() };
    analyse(&run, &Settings { window, ..Settings::default() }).analysis
}

/// Checks the properties that every breakdown must have.
fn check(breakdown: &Breakdown) {
    for row in &breakdown.rows {
        assert_eq!(row.parts.total(), row.duration, "{row:?}");
        assert!(StepPart::ALL.into_iter().all(|part| row.parts.get(part) >= Ps::ZERO), "{row:?}");
    }
    for mean in breakdown.mean.iter().chain(breakdown.mean_of_device.iter().flatten()) {
        let total: f64 = mean.parts_us.iter().sum();
        assert!((total - mean.duration_us).abs() <= 1e-9 * mean.duration_us, "{mean:?}");
    }
}

/// Returns the sum of a part in a device's rows over all steps, in milliseconds.
fn total_ms(breakdown: &Breakdown, device: u32, part: StepPart) -> f64 {
    breakdown.rows.iter().filter(|row| row.device == device).map(|row| row.parts.get(part)).sum::<Ps>().as_us() / 1e3
}

/// xprof_overview.rs compares the one-digit numbers that XProf prints. The output that this test reads has six digits,
/// and uses event times. The clock of event times runs fast by 1.5 in 100,000 compared with the chips' clocks.
#[test]
#[ignore = "reads real profiles"]
fn the_idle_time_of_a_tpu_is_xprofs() {
    let overview = output("tpu-v6e-4chip", "overview_page");
    let duty = analysis_of("tpu-v6e-4chip/*.xplane.pb", WindowChoice::Active).step_breakdown.duty_cycle.unwrap();
    let mut tables = overview.as_array().unwrap().iter();
    let idle = tables.find_map(|table| table.get("p")?.get("idle_time_high_confidence_ps")?.as_str()).unwrap();
    let idle: f64 = idle.parse().unwrap();
    assert!(((duty.span - duty.busy).as_ps() as f64 / idle - 1.0).abs() < 2e-5, "{idle} {duty:?}");
}

/// `copy-done` ops wait for arrays in host memory for 304 s. The copies of each step go in both directions. Of the
/// remaining idle time, 1 us is between ops of one program. Only the first programs were launched late.
#[test]
#[ignore = "reads real profiles"]
fn steps_of_a_tpu_that_offloads_are_copies_to_and_from_the_host() {
    let analysis = analysis("tpu-v6e-4chip/*.xplane.pb");
    let found = &analysis.step_breakdown;
    assert!(found.has_steps);
    assert_eq!(found.rows.len(), 400);
    let ms = |part| (0..4).map(|device| total_ms(found, device, part)).sum::<f64>();
    // 304,033.212 ms of copy-done and 9,619.894 ms of loop fusions on the chips' clocks (device_clocks.rs). Both ran only
    // in steps.
    let copies = ms(StepPart::HostToDevice) + ms(StepPart::DeviceToHost);
    assert!((copies / 304_033.212 - 1.0).abs() < 1e-6, "{copies}");
    assert!((ms(StepPart::Compute) / 9_619.894 - 1.0).abs() < 1e-6, "{}", ms(StepPart::Compute));
    // No collective and no infeed is inside the steps. If a program does not have to wait, its marks last a picosecond.
    assert_eq!((ms(StepPart::Communication), ms(StepPart::InfeedOutfeed)), (0.0, 0.0));
    let idle: f64 = StepPart::ALL.into_iter().filter(|part| part.is_idle()).map(ms).sum();
    assert!(idle < 1.0, "{idle}");
}

/// Over the whole run, the three `psum` programs waited at a barrier for the slowest chip. According to the marks of
/// the four chips, they waited for 24.6, 54.5, 341.0 and 44.8 ms.
#[test]
#[ignore = "reads real profiles"]
fn waits_for_other_chips_are_barriers() {
    let trace = decode(&samples::real("tpu-v6e-4chip/*.xplane.pb"));
    let run = Run { trace, ..Run::default() };
    // If the trace contradicts the given number of steps, only the window is measured and no step.
    let settings = Settings { num_steps: Some(1), window: WindowChoice::Active, ..Settings::default() };
    let analysis = analyse(&run, &settings).analysis;
    let found = &analysis.step_breakdown;
    check(found);
    assert!(!found.has_steps);
    for (device, expected) in (0u32..).zip([24.6, 54.5, 341.0, 44.8]) {
        // Time before a chip's first op is outside its active span.
        let barrier = total_ms(found, device, StepPart::Barrier);
        assert!(barrier <= expected + 0.05, "{device}: {barrier}");
        assert!(
            total_ms(found, device, StepPart::HostBound) + total_ms(found, device, StepPart::Compile) > 5_000.0,
            "{device}"
        );
    }
}

/// The parts of every trace are exact, and the reported cause of idle time is the cause that is visible in the trace.
/// The H100's DataLoader takes 619 ms, and its kernels take 543 ms. The programs of the other captures launch small
/// programs individually. The cause is `None` if the trace shows no main cause.
#[test]
#[ignore = "reads real profiles"]
fn parts_of_every_trace_add_up() {
    for (path, cause) in [
        ("mi300x-8gpu-conv/*.xplane.pb", Some(StepPart::HostBound)),
        ("mi300x-8gpu-conv/*.trace.json.gz", Some(StepPart::HostBound)),
        ("mi300x-elementwise/*.xplane.pb", Some(StepPart::HostBound)),
        ("gfx950-te-attention/*.xplane.pb", Some(StepPart::HostBound)),
        ("gtx1080ti-2gpu/*.xplane.pb", None),
        ("gtx1080ti-2gpu/*.trace.json.gz", None),
        ("pascal-tf-laptop/*.xplane.pb", Some(StepPart::HostBound)),
        ("tpu-qwen3-runs/run-a.trace.json.gz", Some(StepPart::Barrier)),
        ("tpu-v6e-4chip/*.trace.json.gz", None),
        ("kineto/h100-owlv2.json.gz", Some(StepPart::InputBound)),
        // Four kernels were launched late and then delayed by other streams for 64.5 ms. One of them was delayed for 56.2
        // ms.
        ("kineto/rank-0.json.gz", Some(StepPart::OtherIdle)),
    ] {
        let analysis = analysis(path);
        let found = &analysis.step_breakdown;
        check(found);
        let mean = found.mean.as_ref().unwrap();
        let shown: Vec<String> =
            StepPart::ALL.iter().filter(|&&part| mean.part_us(part) > 0.0).map(|&part| show(mean, part)).collect();
        println!("{path}: {} us; {}", mean.duration_us, shown.join(", "));
        assert!(cause.is_none() || mean.biggest_idle_cause() == cause, "{path}");
    }
}

fn show(mean: &MeanPart, part: StepPart) -> String {
    format!("{} {:.1} %", part.label(), mean.percent(part).unwrap_or_default())
}

/// In the project's own profiles, the parts of every step are exact, and the events of a step add up to the step.
#[test]
fn steps_of_our_own_profiles_add_up() {
    let mut rows = 0;
    let generated = decode_json(seven_steps::trace().as_bytes());
    for trace in samples::own().iter().map(|path| decode(path)).chain([generated]) {
        let run = Run { trace, ..Run::default() };
        let analysis = analyse(&run, &Settings::default()).analysis;
        check(&analysis.step_breakdown);
        rows += analysis.step_breakdown.rows.len();
        // In these profiles, several streams of a device run in parallel.
        events_add_up(&run, &analysis, true);
    }
    assert!(rows > 100, "{rows}");
}

#[test]
#[ignore = "reads real profiles"]
fn the_events_of_a_step_add_up_to_its_parts() {
    for (path, beside) in [
        ("synth-gpu-7steps/*.xplane.pb", false),
        ("tpu-v6e-4chip/*.xplane.pb", false),
        ("tpu-qwen3-runs/run-a.trace.json.gz", false),
        ("mi300x-8gpu-conv/*.xplane.pb", true),
        ("gfx950-te-attention/*.xplane.pb", true),
    ] {
        let run = Run { trace: decode(&samples::real(path)), ..Run::default() };
        let analysis = analyse(&run, &Settings::default()).analysis;
        assert!(!analysis.step_breakdown.rows.is_empty(), "{path}");
        events_add_up(&run, &analysis, beside);
    }
}

/// Checks that the events of a step add up to the step. The causes must add up exactly to the idle time. The ops must
/// add up to the work, unless some ops run in parallel.
fn events_add_up(run: &Run, analysis: &Analysis, beside: bool) {
    let breakdown = &analysis.step_breakdown;
    let events_of = |of: &dyn Fn(&StepRow) -> bool, most: usize| {
        breakdown.events(&run.trace, &analysis.captured, &analysis.hosts, &analysis.calls, of, most)
    };
    let events = events_of(&|_| true, usize::MAX);
    assert!(events.is_sorted_by_key(|event| event.start));
    for (row, at) in breakdown.rows.iter().zip(0u32..) {
        for part in StepPart::ALL {
            let of_part = events.iter().filter(|event| event.row == at && event.part == part);
            let (time, told): (Ps, Ps) = (of_part.map(|event| event.time).sum(), row.parts.get(part));
            let is_exact = part.is_idle() || !beside;
            assert!(if is_exact { time == told } else { time >= told }, "{row:?}, {part:?}: {time:?} {told:?}");
        }
    }
    // Returns only some of the steps, and no more than requested.
    let first = events_of(&|row| row.step.is_none_or(|step| step == 0), 10);
    assert_eq!(first.is_empty(), breakdown.rows.is_empty());
    assert!(first.len() <= analysis.devices.used.len() * 10 * (1 + StepPart::COUNT));
}
