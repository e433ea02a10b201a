//! Reads TPU profiles whose events have two times. All numbers must use the chips' own clocks.
//!
//! The expected values come from a separate script. The script parses `host.xplane.pb` and reads the stats
//! `device_offset_ps` and `device_duration_ps` of the events on each line `XLA Ops`, roughly like this:
//!
//! ```text
//! starts = sorted(offset(e) for e in ops if name(e) == "copy-start")      # the first op of each run of jit_f
//! steps = [b - a for a, b in zip(starts, starts[1:])]                     # 99: mean, pstdev
//! total = sum(duration(e) for device in devices for e in ops if name(e) == "copy-done.2")
//! late = [(offset(e), event_start(e) - offset(e)) for e in ops]           # least squares over the ops within 30 us of the line,
//! slope, intercept = fit(late)                                            # repeated 5 times
//! off = sorted(abs(late - slope * offset - intercept) for offset, late in late)
//! ```

use std::sync::Arc;

use crate::support::xprof::{Row, number, open, ours, text};
use crate::support::{decode, samples};
use crossprof::Ps;
use crossprof::metrics::Devices;
use crossprof::metrics::Steps;
use crossprof::trace::{ByLine, ChipClock, PlaneKind, Trace};
use crossprof::{Settings, TableName, UnifiedProfile, WindowChoice};

const FILES: [&str; 2] = ["tpu-v6e-4chip/*.xplane.pb", "tpu-v6e-4chip/*.trace.json.gz"];

/// Settings that measure all work of the devices, like the sums in the script.
fn whole() -> Settings {
    Settings { window: WindowChoice::Active, ..Settings::default() }
}

fn report(path: &str) -> UnifiedProfile {
    open(&samples::real(path)).report(0, &whole()).unwrap()
}

/// Returns the lengths of each device's complete steps, in milliseconds.
fn steps_ms(trace: &Trace) -> Vec<Vec<f64>> {
    let steps = Steps::find(trace, &Devices::new(trace, Arc::new(ByLine::new(trace))));
    let of_device = |row: &Vec<Option<crossprof::metrics::StepWindow>>| {
        let closed = row.iter().flatten().filter(|window| !window.open);
        closed.map(|window| window.interval.length().as_us() / 1e3).collect()
    };
    steps.windows.iter().map(of_device).collect()
}

fn clocks(trace: &Trace) -> Vec<ChipClock> {
    trace
        .planes
        .iter()
        .filter(|plane| matches!(plane.kind, PlaneKind::Device { .. }))
        .map(|plane| plane.clock.unwrap())
        .collect()
}

#[test]
#[ignore = "reads real profiles"]
fn steps_of_four_chips_are_as_even_as_the_chips_ran_them() {
    for file in FILES {
        let steps = steps_ms(&decode(&samples::real(file)));
        assert_eq!(steps.len(), 4);
        let truths = [("784.144", "0.036"), ("784.235", "0.131"), ("784.161", "0.196"), ("784.003", "0.147")];
        for (lengths, truth) in steps.iter().zip(truths) {
            assert_eq!(lengths.len(), 99);
            let mean = lengths.iter().sum::<f64>() / 99.0;
            let deviation = (lengths.iter().map(|it| (it - mean) * (it - mean)).sum::<f64>() / 99.0).sqrt();
            assert_eq!((format!("{mean:.3}"), format!("{deviation:.3}")), (truth.0.to_owned(), truth.1.to_owned()));
        }
    }
}

#[test]
#[ignore = "reads real profiles"]
fn an_op_has_the_same_total_everywhere() {
    for file in FILES {
        let profile = report(file);
        let truth_us = 77_642_772.818_75;
        let mut session = open(&samples::real(file));
        let mut table = |name, key: &str, column: &str| -> f64 {
            let rows: Vec<Row> = ours(&mut session, &whole(), name);
            let of_op = rows.iter().filter(|row| text(row, key) == "copy-done.2");
            of_op.map(|row| number(row, column)).sum()
        };
        let top = profile.kernels.top_kernels.iter().find(|kernel| kernel.name == "copy-done.2").unwrap();
        let section = profile.op_statistics.as_ref().unwrap();
        let op = section.top_ops.iter().find(|op| op.name == "copy-done.2").unwrap();
        let found = [
            top.total_us,
            op.total_time_us,
            op.self_time_us,
            table(TableName::Ops, "hlo_op_name", "total_time_us"),
            table(TableName::Ops, "hlo_op_name", "total_self_time_us"),
            table(TableName::OpTree, "hlo_op_name", "total_self_time_us"),
        ];
        for (place, value) in found.into_iter().enumerate() {
            assert!((value - truth_us).abs() < 1e-3, "{file}, {place}: {value}");
        }
    }
}

#[test]
#[ignore = "reads real profiles"]
fn the_drift_of_event_times_is_measured_and_reported() {
    let trace = decode(&samples::real(FILES[0]));
    // Drift in ppm, and the 95th percentile and maximum of the distance of event times, in milliseconds.
    let truths = [(15.05, 173.0, 197.5), (15.04, 174.1, 197.1), (15.05, 175.4, 197.3), (15.04, 173.5, 198.0)];
    let clocks = clocks(&trace);
    assert_eq!(clocks.len(), 4);
    for (clock, (drift, p95, max)) in clocks.into_iter().zip(truths) {
        assert!((clock.drift_ppm() - drift).abs() < 0.05, "{clock:?}");
        assert!((clock.off_p95.as_us() / 1e3 - p95).abs() < 0.5, "{clock:?}");
        assert!((clock.off_max.as_us() / 1e3 - max).abs() < 0.1, "{clock:?}");
        assert!(clock.uncertainty < Ps::new(20_000_000) && clock.refused == 0, "{clock:?}");
    }
    for file in FILES {
        let warnings = report(file).warnings;
        let warning = warnings.iter().find(|warning| warning.code == "event_times_warped").unwrap();
        assert_eq!(warning.count, Some(6013), "{warning:?}");
        assert!(warning.message.contains("198 ms") && warning.message.contains("4 of 4 device"), "{warning:?}");
    }
}

/// In these two runs, both clocks agree to a nanosecond, so programs start and end at the times of their events.
#[test]
#[ignore = "reads real profiles"]
fn clocks_that_agree_change_nothing() {
    // `ts` and `dur` of the runs of jit_step_fun on both devices, in microseconds.
    let truths = [
        ("tpu-qwen3-runs/run-a.trace.json.gz", [(1_147_285.003, 65_558.339), (1_147_415.874, 65_427.078)]),
        ("tpu-qwen3-runs/run-b.trace.json.gz", [(1_154_164.486, 63_485.505), (1_153_866.937, 63_782.541)]),
    ];
    for (file, programs) in truths {
        let trace = decode(&samples::real(file));
        let is_program = |event: &crossprof::trace::Event| {
            trace.text(event.name).starts_with("jit_step_fun")
                && trace.text(trace.lines[event.line.index()].name) == "XLA Modules"
        };
        let found: Vec<(f64, f64)> =
            trace.events.iter().filter(is_program).map(|event| (event.start.as_us(), event.duration.as_us())).collect();
        assert_eq!(found.len(), 2);
        for (found, truth) in found.iter().zip(programs) {
            assert!(
                (found.0 - truth.0).abs() < 2e-3 && (found.1 - truth.1).abs() < 2e-3,
                "{file}: {found:?} {truth:?}"
            );
        }
        let clocks = clocks(&trace);
        assert_eq!(clocks.len(), 2);
        assert!(clocks.iter().all(|clock| clock.off_max < Ps::new(1_000) && clock.drift == 0 && clock.refused == 0));
        assert!(report(file).warnings.iter().all(|warning| warning.code != "event_times_warped"));
    }
}
