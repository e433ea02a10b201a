//! Where the time of steps goes in real profiles: against truths by construction, and against what XProf prints where it is right.

#![allow(clippy::unwrap_used)]

use std::io::Read;
use std::path::{Path, PathBuf};

use crossprof::Ps;
use crossprof::input::{ChromeJsonDecoder, XPlaneDecoder};
use crossprof::metrics::Analysis;
use crossprof::metrics::{Breakdown, HostRole, MeanPart, Run, Settings, StepPart, StepRow, WindowChoice};
use crossprof::trace::Trace;
use serde_json::Value;

/// The file at `path` in the folder of real traces; says so and gives `None` where the folder is absent.
fn read(path: &str) -> Option<Vec<u8>> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/traces");
    let folder = std::env::var_os("CROSSPROF_TRACES").map_or(beside, PathBuf::from);
    let bytes = std::fs::read(folder.join(path)).ok();
    if bytes.is_none() {
        eprintln!("skipped: {path} is not in {}", folder.display());
    }
    bytes
}

fn trace(path: &str) -> Option<Trace> {
    let bytes = read(path)?;
    if path.ends_with(".json.gz") {
        let mut text = Vec::new();
        flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text).unwrap();
        let mut decoder = ChromeJsonDecoder::new(path);
        decoder.push(&text).unwrap();
        return Some(decoder.finish().unwrap());
    }
    let mut decoder = XPlaneDecoder::new(path);
    decoder.push(&bytes).unwrap();
    Some(decoder.finish().unwrap())
}

fn analysis(path: &str) -> Option<Analysis> {
    analysis_of(path, WindowChoice::Main)
}

fn analysis_of(path: &str, window: WindowChoice) -> Option<Analysis> {
    let run = Run { trace: trace(path)?, ..Run::default() };
    Some(Analysis::new(&run, &Settings { window, ..Settings::default() }))
}

/// Parts that occur, in microseconds.
fn parts(row: &StepRow) -> Vec<(StepPart, f64)> {
    let all = StepPart::ALL.into_iter().map(|part| (part, row.parts.get(part).as_us()));
    all.filter(|(_, time)| *time != 0.0).collect()
}

/// Everything that must hold of any breakdown.
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

/// Its truth is known: 240 us of kernels (XProf counts the 90 us of `Memcpy*` as compute too), 35 us between ops that were all launched
/// in advance, and 575 us until the host launches a step's first kernel, of which the annotation of that step covers 100.
#[test]
fn the_synthetic_steps_have_their_stated_parts() {
    let Some(analysis) = analysis("synth-gpu-7steps/vm.xplane.pb") else { return };
    let found = &analysis.step_breakdown;
    check(found);
    assert_eq!(found.rows.len(), 7);
    let work = [
        (StepPart::Compute, 100.0 + 80.0 + 60.0),
        (StepPart::Communication, 50.0),
        (StepPart::HostToDevice, 40.0 + 10.0),
        (StepPart::DeviceToHost, 30.0),
        (StepPart::DeviceToDevice, 20.0),
    ];
    for row in &found.rows {
        let last = row.step == Some(6);
        let waits = [(StepPart::HostBound, if last { 100.0 } else { 575.0 }), (StepPart::KernelWait, 35.0)];
        let expected: Vec<_> = work.into_iter().chain(waits).collect();
        assert_eq!(parts(row), expected);
        assert_eq!(row.duration.as_us(), if last { 525.0 } else { 1000.0 });
        assert_eq!((row.parts.busy().as_us(), row.num_ops, row.partial, row.counted), (390.0, 8, last, !last));
        assert_eq!((row.overlap.communication.as_us(), row.overlap.hidden_communication), (50.0, Ps::ZERO));
        assert_eq!((row.overlap.transfer.as_us(), row.overlap.hidden_transfer), (100.0, Ps::ZERO));
    }
    let mean = found.mean.as_ref().unwrap();
    assert_eq!((mean.num_steps, mean.duration_us, mean.num_ops), (6, 1000.0, 8.0));
    assert_eq!((mean.part_us(StepPart::Compute), mean.part_us(StepPart::HostToDevice)), (240.0, 50.0));
    assert_eq!((mean.communication_overlap_percent(), found.concurrency), (Some(0.0), Some(1.0)));
    // The host annotates 900 of 1000 us and launches 8 x 5 of them.
    let all = analysis_of("synth-gpu-7steps/vm.xplane.pb", WindowChoice::All).unwrap();
    let threads = all.step_breakdown.host_threads.as_ref().unwrap();
    let role = |wanted: HostRole| threads.roles.iter().find(|(role, _)| *role == wanted).map(|(_, time)| time.as_us());
    assert_eq!((role(HostRole::Launch), role(HostRole::Python)), (Some(7.0 * 40.0), Some(7.0 * 860.0)));
    assert_eq!((threads.busy.as_us(), threads.idle.as_us(), threads.window.as_us()), (6300.0, 600.0, 6900.0));
}

/// The text of XProf's `property` of the first overview table that has it.
fn property(overview: &Value, name: &str) -> Option<String> {
    let tables = overview.as_array()?.iter();
    tables.filter_map(|table| table.get("p")?.get(name)?.as_str()).map(str::to_owned).next()
}

fn overview(folder: &str) -> Option<Value> {
    Some(serde_json::from_slice(&read(&format!("{folder}/xprof/overview_page.json"))?).unwrap())
}

/// XProf's step table of a GPU is wrong where it has copies; what it says of collectives is right.
#[test]
fn of_the_synthetic_steps_xprof_knows_the_collectives_only() {
    let (Some(analysis), Some(overview)) = (analysis("synth-gpu-7steps/vm.xplane.pb"), overview("synth-gpu-7steps"))
    else {
        return;
    };
    let table = overview.as_array().unwrap().iter().find(|table| {
        let columns = table["cols"].as_array();
        columns.is_some_and(|columns| columns.iter().any(|column| column["id"] == "deviceCollectivesTimeMs"))
    });
    let table = table.unwrap();
    let column = |id: &str| table["cols"].as_array().unwrap().iter().position(|column| column["id"] == id).unwrap();
    let mean = analysis.step_breakdown.mean.as_ref().unwrap();
    let rows = table["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 5);
    for row in rows {
        let value = |id: &str| -> f64 {
            let cell = &row["c"][column(id)]["v"];
            cell.as_f64().or_else(|| cell.as_str()?.parse().ok()).unwrap()
        };
        assert!((value("deviceCollectivesTimeMs") * 1e3 - mean.part_us(StepPart::Communication)).abs() < 1e-6);
        // 240 of kernels and the 90 of `Memcpy*`: ours has copies as copies.
        let copies = ["h2d", "d2h", "d2d"].len() as f64 * 30.0;
        assert!((value("deviceComputeTimeMs") * 1e3 - (mean.part_us(StepPart::Compute) + copies)).abs() < 1e-6);
        // First kernel's start to last kernel's end: ours lasts until the next step starts.
        assert!((value("stepTimeMs") * 1e3 - 425.0).abs() < 1e-6);
        assert_eq!(value("kernelLaunchTimeMs"), 0.0);
    }
    println!(
        "{} XProf step rows: collectives equal; compute, copies, launch and step time differ on purpose",
        rows.len()
    );
}

/// Sums of a device's rows over all steps, in milliseconds.
fn total_ms(breakdown: &Breakdown, device: u32, part: StepPart) -> f64 {
    breakdown.rows.iter().filter(|row| row.device == device).map(|row| row.parts.get(part)).sum::<Ps>().as_us() / 1e3
}

#[test]
fn the_duty_cycle_of_a_tpu_is_xprofs() {
    let analysis = analysis_of("tpu-v6e-4chip/host.xplane.pb", WindowChoice::Active);
    let (Some(analysis), Some(overview)) = (analysis, overview("tpu-v6e-4chip")) else { return };
    let found = &analysis.step_breakdown;
    check(found);
    let duty = found.duty_cycle.unwrap();
    let printed = |value: Option<f64>| format!("{:.1}%", value.unwrap());
    assert_eq!(Some(printed(duty.percent())), property(&overview, "device_duty_cycle_percent"));
    assert_eq!(Some(printed(duty.idle_percent())), property(&overview, "device_idle_time_percent"));
    // XProf prints this one with six digits, and measures it by event times, which gain 1.5 in 100,000 on the chips' clocks.
    let idle: f64 = property(&overview, "idle_time_high_confidence_ps").unwrap().parse().unwrap();
    assert!(((duty.span - duty.busy).0 as f64 / idle - 1.0).abs() < 2e-5, "{idle} {duty:?}");
}

/// 304 s of `copy-done` wait for arrays that live in the host's memory. The copies of each step go both ways, 1 us of the rest is
/// between ops of one program, and only the first programs were launched late.
#[test]
fn steps_of_a_tpu_that_offloads_are_copies_to_and_from_the_host() {
    let Some(analysis) = analysis("tpu-v6e-4chip/host.xplane.pb") else { return };
    let found = &analysis.step_breakdown;
    assert!(found.has_steps);
    assert_eq!(found.rows.len(), 400);
    let ms = |part| (0..4).map(|device| total_ms(found, device, part)).sum::<f64>();
    // 304,033.212 ms of copy-done and 9,619.894 ms of loop fusions by the chips' clocks (device_clocks.rs); both ran in steps only.
    let copies = ms(StepPart::HostToDevice) + ms(StepPart::DeviceToHost);
    assert!((copies / 304_033.212 - 1.0).abs() < 1e-6, "{copies}");
    assert!((ms(StepPart::Compute) / 9_619.894 - 1.0).abs() < 1e-6, "{}", ms(StepPart::Compute));
    // No collective and no infeed is inside the steps; the marks of a program that need not wait last a picosecond.
    assert_eq!((ms(StepPart::Communication), ms(StepPart::InfeedOutfeed)), (0.0, 0.0));
    let idle: f64 = StepPart::ALL.into_iter().filter(|part| part.is_idle()).map(ms).sum();
    assert!(idle < 1.0, "{idle}");
}

/// Over the whole run, the three `psum` programs waited at a barrier for the slowest chip: 24.6, 54.5, 341.0 and 44.8 ms by the marks of
/// the chips themselves.
#[test]
fn waits_for_other_chips_are_barriers() {
    let Some(trace) = trace("tpu-v6e-4chip/host.xplane.pb") else { return };
    let run = Run { trace, ..Run::default() };
    // With a count that the trace contradicts, no step is measured but the window.
    let settings = Settings { num_steps: Some(1), window: WindowChoice::Active, ..Settings::default() };
    let analysis = Analysis::new(&run, &settings);
    let found = &analysis.step_breakdown;
    check(found);
    assert!(!found.has_steps);
    for (device, expected) in (0u32..).zip([24.6, 54.5, 341.0, 44.8]) {
        // What lies before a chip's first op is outside its active span.
        let barrier = total_ms(found, device, StepPart::Barrier);
        assert!(barrier <= expected + 0.05, "{device}: {barrier}");
        assert!(
            total_ms(found, device, StepPart::HostBound) + total_ms(found, device, StepPart::Compile) > 5_000.0,
            "{device}"
        );
    }
}

/// Parts of every trace are exact, and what keeps its devices idle is what can be seen in it: the DataLoader of the H100 takes 619 ms
/// beside 543 ms of kernels; the others launch small programs one by one; `None` where nothing was looked for.
#[test]
fn parts_of_every_trace_add_up() {
    for (path, cause) in [
        ("mi300x-8gpu-conv/tw003.xplane.pb", Some(StepPart::HostBound)),
        ("mi300x-8gpu-conv/tw003.trace.json.gz", Some(StepPart::HostBound)),
        ("mi300x-elementwise/tw003.xplane.pb", Some(StepPart::HostBound)),
        ("gfx950-te-attention/934987a2fc2f.xplane.pb", Some(StepPart::HostBound)),
        ("gtx1080ti-2gpu/cyclops.xplane.pb", None),
        ("gtx1080ti-2gpu/cyclops.trace.json.gz", None),
        ("pascal-tf-laptop/LAPTOP.xplane.pb", Some(StepPart::HostBound)),
        ("tpu-qwen3-runs/run-a.trace.json.gz", Some(StepPart::Barrier)),
        ("tpu-v6e-4chip/host.trace.json.gz", None),
        ("kineto/h100-owlv2.json.gz", Some(StepPart::InputBound)),
        ("kineto/rank-0.json.gz", Some(StepPart::HostBound)),
    ] {
        let Some(analysis) = analysis(path) else { continue };
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

/// The events of a step are the step: idle time by its causes exactly, and work where nothing runs beside it.
#[test]
fn the_events_of_a_step_add_up_to_its_parts() {
    for (path, beside) in [
        ("synth-gpu-7steps/vm.xplane.pb", false),
        ("tpu-v6e-4chip/host.xplane.pb", false),
        ("tpu-qwen3-runs/run-a.trace.json.gz", false),
        ("mi300x-8gpu-conv/tw003.xplane.pb", true),
        ("gfx950-te-attention/934987a2fc2f.xplane.pb", true),
    ] {
        let Some(trace) = trace(path) else { return };
        let run = Run { trace, ..Run::default() };
        let analysis = Analysis::new(&run, &Settings::default());
        let breakdown = &analysis.step_breakdown;
        let events =
            breakdown.events(&run.trace, &analysis.captured, &analysis.hosts, &analysis.calls, &|_| true, usize::MAX);
        assert!(events.is_sorted_by_key(|event| event.start), "{path}");
        for (row, at) in breakdown.rows.iter().zip(0u32..) {
            for part in StepPart::ALL {
                let of_part = events.iter().filter(|event| event.row == at && event.part == part);
                let (time, told): (Ps, Ps) = (of_part.map(|event| event.time).sum(), row.parts.get(part));
                let is_exact = part.is_idle() || !beside;
                assert!(
                    if is_exact { time == told } else { time >= told },
                    "{path}, {row:?}, {part:?}: {time:?} {told:?}"
                );
            }
        }
        // Some of the steps, and no more than asked.
        let first = breakdown.events(
            &run.trace,
            &analysis.captured,
            &analysis.hosts,
            &analysis.calls,
            &|row| row.step.is_none_or(|step| step == 0),
            10,
        );
        assert!(!first.is_empty() && first.len() <= analysis.devices.used.len() * 10 * (1 + StepPart::COUNT), "{path}");
    }
}
