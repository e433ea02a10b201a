//! Compares arrivals at collectives, scores of devices, hosts, and places of chips with numbers that a script computed
//! from the events in the files. The script shares no code with crossprof.

use crate::support;
use crate::support::tpu;

use crossprof::report::{DeviceArrivals, DeviceStats, FindingSeverity};
use crossprof::table::{Cell, Table};
use crossprof::{Query, Session, TableName, UnifiedProfile};

fn devices(profile: &UnifiedProfile) -> &[DeviceStats] {
    &profile.multi_device.as_ref().unwrap().device_stats
}

fn arrivals(device: &DeviceStats) -> &DeviceArrivals {
    device.arrivals.as_ref().unwrap()
}

fn near(value: f64, truth: f64) {
    assert!((value - truth).abs() < 2e-3, "{value} is not {truth}");
}

fn number(table: &Table, row: usize, key: &str) -> f64 {
    match &table.rows[row][table.columns.iter().position(|column| column.key == key).unwrap()] {
        Cell::Float(value) => *value,
        Cell::Int(value) => *value as f64,
        other => panic!("{key}: {other:?}"),
    }
}

/// In all 48 all-reduces of the example, the last chip arrives last. For each all-reduce, the script subtracted the
/// shortest of the four durations from the other three durations. It also computed the difference between the
/// second-shortest and the shortest.
#[test]
fn the_last_chip_of_the_example_arrives_last_everywhere() {
    let mut session = support::open("example.trace.json", tpu::trace().0.as_bytes());
    let settings = support::xprof::active();
    let profile = session.report(0, &settings).unwrap();
    let all = devices(&profile);
    let counts: Vec<(u64, u64)> = all.iter().map(|device| (arrivals(device).compared, arrivals(device).last)).collect();
    assert_eq!(counts, [(48, 0), (48, 0), (48, 0), (48, 48)]);
    for (device, waited) in all.iter().zip([7594.498, 7801.96, 7471.242, 0.0]) {
        near(arrivals(device).wait_time_us, waited);
        assert_eq!(arrivals(device).fair_percent, 25.0);
    }
    near(arrivals(&all[3]).caused_wait_us, 22_867.7);
    near(arrivals(&all[3]).delay_us, 6947.263);
    // Every op of the last chip takes 4 % longer.
    assert_eq!(arrivals(&all[3]).late_cause.as_deref(), Some("throttling"));
    assert!(all.iter().take(3).all(|device| arrivals(device).late_cause.is_none()));
    // In step 2, the others wait for the last chip for 119 to 498 us at most.
    let runs = session.table(0, &settings, TableName::Arrivals, "run", &Query::default()).unwrap();
    assert_eq!(runs.rows.len(), 48);
    let of_step = (0..48).filter(|&row| number(&runs, row, "step") == 2.0);
    let waits: Vec<f64> = of_step.map(|row| number(&runs, row, "max_wait_us").round()).collect();
    assert_eq!((waits.len(), waits.iter().copied().fold(f64::MAX, f64::min), waits[0]), (6, 119.0, 498.0));
    let ops = session.table(0, &settings, TableName::Arrivals, "", &Query::default()).unwrap();
    assert_eq!(ops.rows.len(), 6);
    near((0..6).map(|row| number(&ops, row, "wait_time_us")).sum(), 22_867.7);
}

/// The generator of the example makes all ops of the last chip 4 % longer.
#[test]
fn the_last_chip_of_the_example_is_a_finding_with_its_cause() {
    let profile = support::load("example.trace.json", tpu::trace().0.as_bytes()).1.remove(0);
    let finding = profile.findings.iter().find(|finding| finding.id == "straggler_device").unwrap();
    assert_eq!(finding.severity, FindingSeverity::Note);
    assert!(finding.title.ends_with("/device:TPU:3"), "{}", finding.title);
    assert!(finding.message.contains("in 36 of its 36 collectives"), "{}", finding.message);
    assert!(finding.message.contains("slower by the same ratio"), "{}", finding.message);
    let scores: Vec<f64> =
        devices(&profile).iter().map(|device| device.steps.as_ref().unwrap().relative_score_percent.unwrap()).collect();
    assert!(scores[..3].iter().all(|score| *score > 99.0) && (95.0..97.5).contains(&scores[3]), "{scores:?}");
    let host = &profile.multi_device.as_ref().unwrap().hosts[0];
    assert_eq!((host.num_devices, host.num_steps, host.slowest_step), (4, Some(6), Some(7)));
    // These numbers are means over the same steps and devices as in the breakdown.
    let breakdown = profile.step_breakdown.as_ref().unwrap();
    near(host.step_time_us.unwrap(), breakdown.duration_us);
    near(host.parts.as_ref().unwrap().idle_us(), breakdown.parts.idle_us());
}

/// The groups of the all-reduces are {0,4},{1,5},{2,6},{3,7}, and the file contains only chips 4 to 7.
#[test]
#[ignore = "reads real profiles"]
fn chips_have_the_places_that_the_file_records_and_partners_on_other_hosts_are_not_compared() {
    let mut session: Session = support::xprof::open(&support::samples::real("tpu-v6e-4chip/*.xplane.pb"));
    let profile = session.report(0, &support::xprof::active()).unwrap();
    let places: Vec<_> = devices(&profile)
        .iter()
        .map(|device| device.place.as_ref().map(|place| (place.local_chip, place.core, place.global_chip)).unwrap())
        .collect();
    assert_eq!(places, [(0, 4), (1, 5), (2, 6), (3, 7)].map(|(local, chip)| (Some(local), Some(0), Some(chip))));
    assert!(devices(&profile).iter().all(|device| device.arrivals.is_none()));
    let runs = session.table(0, &support::xprof::active(), TableName::Arrivals, "run", &Query::default()).unwrap();
    assert!(runs.rows.is_empty());
}

/// The file contains no collective, because each GPU runs the program alone.
#[test]
#[ignore = "reads real profiles"]
fn devices_that_do_not_communicate_have_no_arrivals() {
    let mut session = support::xprof::open(&support::samples::real("mi300x-8gpu-conv/*.xplane.pb"));
    let profile = session.report(0, &support::xprof::active()).unwrap();
    assert_eq!(devices(&profile).len(), 8);
    let is_compared = |device: &DeviceStats| {
        let score = device.steps.as_ref().and_then(|steps| steps.relative_score_percent);
        device.arrivals.is_some() || score.is_some() || device.place.is_some()
    };
    assert!(!devices(&profile).iter().any(is_compared));
}
