//! Hardware counters.
//!
//! * of an H100, sampled every 500 us (tests/data/jax-h100). The expected values are the sum of the raw samples, and the
//!   minimum number of bytes that the captured programs must move.
//! * of an H200, power and clocks (tests/data/jax-h200). The expected values come from `nvidia-smi`, which ran at the same
//!   time.
//! * of synthetic TPUs (tests/data/tpu-counters). The expected values come from XProf.

use crate::support;

use crossprof::input::XPlaneDecoder;
use crossprof::table::Cell;
use crossprof::{Query, Session, Settings, TableName, WindowChoice};
use serde_json::Value;

#[test]
fn samples_of_counters_are_values_over_time() {
    let path = support::samples::root().join("tests/data/jax-h100/counters.xplane.pb.gz");
    let mut decoder = XPlaneDecoder::new("counters");
    decoder.push(&support::gunzip(&std::fs::read(path).unwrap())).unwrap();
    let trace = decoder.finish().unwrap();
    let sums: Vec<(&str, usize, f64)> = trace
        .counters
        .iter()
        .map(|track| (trace.text(track.name), track.values.len(), track.values.iter().sum::<f64>()))
        .collect();
    // A script that uses JAX's own reader computed these values from the file.
    let expected = [
        ("sm__cycles_active.avg", 47, 8651252.363636363),
        ("sm__inst_executed.sum", 47, 782904475.0),
        ("dram__bytes_read.sum", 47, 5588106496.0),
        ("dram__bytes_write.sum", 47, 4457114880.0),
    ];
    assert_eq!(sums, expected);
    for track in &trace.counters {
        assert!(track.times.is_sorted());
        assert_eq!(trace.text(trace.planes[track.plane.index()].name), "/device:GPU:0");
    }
    let samples = trace.events.iter().filter(|event| trace.text(event.name).contains("__")).count();
    assert_eq!(samples, 0, "samples are no events");
}

/// Opens a fixture in tests/data.
fn open(path: &str) -> Session {
    let path = support::samples::root().join("tests/data").join(path);
    let bytes = support::gunzip(&std::fs::read(path).unwrap());
    let mut session = Session::new();
    let file = session.begin("gpu-host.xplane.pb", Some(bytes.len() as u64));
    session.push(file, &bytes);
    assert_eq!(session.finish(file).error, None);
    session.runs();
    session
}

fn truth(path: &str) -> Value {
    let path = support::samples::root().join("tests/data").join(path);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn is_near(ours: f64, truth: &Value, tolerance: f64) -> bool {
    (ours - truth.as_f64().unwrap()).abs() <= tolerance
}

/// Checks the rates of sampled counters during the active time. The expected values come from a script that uses JAX's
/// own reader. The script spreads each sample over the time since the previous sample, and sums the samples.
#[test]
fn rates_of_sampled_counters_agree_with_a_script() {
    let mut session = open("jax-h100/counters.xplane.pb.gz");
    let settings = Settings { window: WindowChoice::Active, ..Settings::default() };
    let profile = session.report(0, &settings).unwrap();
    let meters = &profile.hardware.as_ref().unwrap().meters;
    let found: Vec<(&str, &str, u64)> =
        meters.iter().map(|it| (it.counter.as_str(), it.unit.as_str(), it.samples)).collect();
    assert_eq!(
        found,
        [
            ("sm__cycles_active.avg", "megahertz", 13),
            ("sm__inst_executed.sum", "instructions_per_second", 13),
            ("dram__bytes_read.sum", "bytes_per_second", 13),
            ("dram__bytes_write.sum", "bytes_per_second", 13),
        ]
    );
    let expected = [1372.179701786798, 123535715415.44919, 894629918645.2207, 687866945704.4617];
    for (meter, expected) in meters.iter().zip(expected) {
        assert!((meter.mean / expected - 1.0).abs() < 1e-9, "{meter:?}");
    }
}

/// Compares the mean power in the window and the clock in each step with the readings of `nvidia-smi`, which ran at the
/// same time.
#[test]
fn the_kits_samples_of_power_and_clocks_agree_with_nvidia_smi() {
    let truth = truth("jax-h200/truth.json");
    let mut session = open("jax-h200/power.xplane.pb.gz");
    let profile = session.report(0, &Settings::default()).unwrap();
    let hardware = profile.hardware.as_ref().unwrap();
    let meter = |name: &str| hardware.meters.iter().find(|it| it.counter == name).unwrap();
    let window = &truth["window"];
    // The kit has no samples for 0.2 s of the first step.
    assert!(is_near(meter("Power (W)").mean, &window["power_w"], 2.0), "{:?}", meter("Power (W)"));
    assert!(is_near(meter("SM clock (MHz)").mean, &window["sm_clock_mhz"], 5.0), "{:?}", meter("SM clock (MHz)"));
    assert!(is_near(meter("Temperature (C)").mean, &window["temperature_c"], 0.3));
    assert_eq!((meter("Power (W)").limit, meter("SM clock (MHz)").limit), (Some(700.0), Some(1980.0)));
    assert_eq!(meter("Clock limit: power cap").mean, 1.0);
    let steps = truth["steps"].as_array().unwrap();
    assert_eq!((profile.steps.len(), steps.len()), (12, 12));
    for (step, expected) in profile.steps.iter().zip(steps).skip(1) {
        let clock = step.clock_percent.unwrap() * 19.8;
        assert!(is_near(clock, &expected["sm_clock_mhz"], 8.0), "step {}: {clock} {expected}", step.index);
    }
}

/// Steps on random numbers take longer than steps on zeros, although both run the same program.
#[test]
fn the_power_limit_explains_the_slow_steps() {
    let truth = truth("jax-h200/truth.json");
    let mut session = open("jax-h200/power.xplane.pb.gz");
    let run = session.report(0, &Settings::default()).unwrap();
    let findings = &run.findings;
    let found = findings.iter().find(|it| it.id == "lowered_clock").unwrap();
    let random = truth["inputs"].as_array().unwrap().iter().filter(|it| *it == "random").count();
    assert_eq!(found.title, format!("{random} of 12 steps are slow because of a low clock"));
    assert!(found.message.contains("power cap"), "{}", found.message);
    assert!(findings.iter().all(|it| it.id != "step_time_variation"), "it has the same cause");
    // Excess of the slow steps over the fast ones, by the host's clock.
    let seconds = |kind: &str| -> Vec<f64> {
        let steps = truth["inputs"].as_array().unwrap().iter().zip(truth["steps"].as_array().unwrap());
        steps.filter(|(input, _)| *input == kind).map(|(_, step)| step["seconds"].as_f64().unwrap()).collect()
    };
    let (slow, fast): (f64, f64) = (seconds("random").iter().sum(), seconds("zeros").iter().sum());
    let lost = 100.0 * (slow - fast * random as f64 / 6.0) / (slow + fast);
    let at_stake = found.time_at_stake_percent.unwrap();
    assert!((0.85 * lost..=lost + 0.2).contains(&at_stake), "{at_stake} of {lost}");
}

/// Compares every number of every unit in XProf's `utilization_viewer` with our table.
#[test]
fn the_use_of_the_units_of_tpus_equals_xprofs() {
    let expected = truth("tpu-counters/xprof.json");
    for (chip, units) in [("v6e", 232), ("v7x", 118)] {
        let mut session = open(&format!("tpu-counters/{chip}.xplane.pb.gz"));
        let run = session.report(0, &Settings::default()).unwrap();
        let ours = &run.hardware.as_ref().unwrap().units;
        assert_eq!(ours.len(), units, "{chip}");
        let rows = expected[chip]["utilization_viewer"]["rows"].as_array().unwrap();
        // XProf writes some names without the space.
        let name = |row: &Value| row[4].as_str().unwrap().replace(":V", ": V");
        for unit in ours {
            // XProf numbers the HBM of both dies 0, although the name has the die.
            let node = if unit.name.starts_with("HBM Rd+Wr") { 0.0 } else { unit.node as f64 };
            let key = (unit.device as f64, unit.sample as f64, node);
            let is_of = |row: &&Value| {
                let number = |at: usize| row[at].as_f64().unwrap();
                (number(1), number(2), number(3)) == key && name(row) == unit.name
            };
            let found = rows.iter().find(is_of).unwrap_or_else(|| panic!("{unit:?}"));
            assert_eq!((unit.achieved, unit.unit.as_str()), (found[5].as_f64().unwrap(), found[7].as_str().unwrap()));
            // XProf converts the cycles of the ICI to time with 1 GHz, and those of the HBM with the clock of the chip.
            let clock_ghz = match (unit.name.starts_with("ICI"), chip) {
                (false, _) => 1.0,
                (true, "v6e") => 1.75,
                (true, _) => 1.9,
            };
            let peak = found[6].as_f64().unwrap() / clock_ghz;
            assert!((unit.peak / peak - 1.0).abs() < 1e-9, "{unit:?} {peak}");
            assert!((unit.use_percent - 100.0 * unit.achieved / unit.peak).abs() < 1e-9);
        }
    }
}

/// Compares every 97th row of XProf's `perf_counters`. XProf shows 0 for values that a file stores as real numbers, as
/// the file of the v7x does.
#[test]
fn the_readings_of_tpus_equal_xprofs() {
    let expected = truth("tpu-counters/xprof.json");
    for (chip, count) in [("v6e", 38), ("v7x", 31)] {
        let mut session = open(&format!("tpu-counters/{chip}.xplane.pb.gz"));
        let table = session.table(0, &Settings::default(), TableName::PerfCounters, "", &Query::default()).unwrap();
        let at = |id: &str| table.columns.iter().position(|column| column.xprof == id).unwrap();
        let of_xprof = &expected[chip]["perf_counters"];
        assert_eq!(table.rows.len() as u64, of_xprof["count"].as_u64().unwrap());
        let rows = of_xprof["rows"].as_array().unwrap();
        for (ours, row) in table.rows.iter().step_by(97).zip(rows) {
            let text = |id: &str| match &ours[at(id)] {
                Cell::Text(text) => text.clone(),
                Cell::Int(number) => number.to_string(),
                other => panic!("{other:?}"),
            };
            assert_eq!(text("Counter").to_lowercase(), row[4].as_str().unwrap());
            let number = |id: &str| text(id).parse::<f64>().unwrap();
            assert_eq!((number("Chip"), number("Sample")), (row[1].as_f64().unwrap(), row[3].as_f64().unwrap()));
            let value = row[5].as_f64().unwrap();
            assert!(number("Value") == value || (chip == "v7x" && value == 0.0), "{row}");
        }
        assert_eq!(rows.len(), count);
    }
}

#[test]
fn a_capture_without_hardware_counters_has_no_section() {
    let mut session = open("jax-h100/loop.xplane.pb.gz");
    let run = session.report(0, &Settings::default()).unwrap();
    assert_eq!(run.hardware, None);
    assert!(run.findings.iter().all(|it| it.id != "lowered_clock"));
}
