use serde_json::json;

use super::*;

/// A run captured on four devices whose ten steps take `time_us` each, about.
fn subject(name: &str, time_us: f64) -> Subject {
    let profile = json!({
        "metadata": {"platform": "TPU", "device_type": "TPU", "trace_file": "", "framework": "JAX", "num_devices": 4,
            "profiler_version": "1.0.0"},
        "model_config": {}, "throughput": {},
        "step_timing": {"num_steps": 10, "total_time_us": 10.0 * time_us, "avg_step_time_us": time_us, "total_kernels": 1,
            "step_count_source": "step_num", "num_steps_counted": 10, "stddev_step_time_us": time_us / 100.0},
        "kernels": {"top_kernels": [], "kernels_by_category": {}}
    });
    Subject { name: name.to_owned(), ..Subject::new(serde_json::from_value(profile).unwrap()) }
}

/// Ten runs; from the seventh on a step takes a fifth longer.
fn series() -> Vec<Subject> {
    let times = [100.1e3, 99.8e3, 100.3e3, 99.9e3, 100.0e3, 99.9e3, 120.2e3, 119.8e3, 120.1e3, 119.9e3];
    let name = |run: usize| format!("step_{:08}", 100 * (run + 1));
    times.iter().enumerate().map(|(run, &time)| subject(&name(run), time)).collect()
}

#[test]
fn a_change_at_the_seventh_run_is_found_in_any_order() {
    let mut subjects = series();
    let found = trend(&subjects).unwrap();
    assert_eq!(found.ordered_by.label(), "training_step");
    let labels: Vec<&str> = found.points.iter().map(|point| point.label.as_str()).collect();
    assert_eq!(labels, ["100", "200", "300", "400", "500", "600", "700", "800", "900", "1000"]);
    let [change] = found.change_points.as_slice() else { panic!("{:?}", found.change_points) };
    assert_eq!((change.run, change.after_us), (6, 120e3));
    assert!((change.before_us - 100e3).abs() < 1e-6);
    let said = "From training step 700 on a step takes 120 ms instead of 100 ms (+20.0 %).";
    assert_eq!(sentences(&found, &subjects), [said]);
    // t(9) = 2.262; a standard deviation of 1.001 ms of ten steps.
    let margin = found.points[0].margin_us.unwrap();
    assert!((margin - 2.262 * 1001.0 / 10f64.sqrt()).abs() < 1e-6, "{margin}");

    subjects.reverse();
    let turned = trend(&subjects).unwrap();
    assert_eq!(turned.change_points[0].run, 3);
    assert_eq!(sentences(&turned, &subjects), [said]);
    let times = |trend: &Trend| trend.points.iter().map(|point| point.step_time_us).collect::<Vec<_>>();
    assert_eq!(times(&turned), times(&found));
}

#[test]
fn noise_only_is_no_change() {
    let subjects = &series()[..6];
    let found = trend(subjects).unwrap();
    assert_eq!(found.change_points, []);
    assert_eq!(
        sentences(&found, subjects),
        [
            "From training step 100 to 600 the step time does not change beyond the noise of its 6 runs: 100 ms on average, \
          99.8 ms to 100 ms."
        ]
    );
}

#[test]
fn the_last_run_alone_is_said_to_be() {
    let subjects = &series()[..7];
    let found = trend(subjects).unwrap();
    assert_eq!(
        sentences(&found, subjects),
        [
            "From training step 700 on a step takes 120 ms instead of 100 ms (+20.2 %) (the last run: whether it stays so is not \
          known)."
        ]
    );
}

#[test]
fn folders_and_timestamps_tell_the_order_too() {
    let mut subjects = series();
    for (run, subject) in subjects.iter_mut().enumerate() {
        subject.name = format!("2026_01_05_10_00_{run:02}");
        subject.profile.metadata.timestamp = Some(format!("2026-01-05T10:00:{:02}", 20 - run));
        subject.profile.metadata.trace_file = format!("logs/step_{run}/plugins/profile/r/h.xplane.pb");
    }
    assert_eq!(trend(&subjects).unwrap().points[0].label, "0");
    // Two runs of one training step: only their times tell them apart.
    subjects[3].profile.metadata.trace_file = "logs/step_1/plugins/profile/r/h.xplane.pb".to_owned();
    let found = trend(&subjects).unwrap();
    assert_eq!((found.ordered_by.label(), found.points[0].run), ("timestamp", 9));
    assert_eq!(found.points[0].label, "2026-01-05T10:00:11");
    assert_eq!(found.change_points[0].run, 5);
    assert!(
        found.change_points[0]
            .text
            .starts_with("From 2026-01-05T10:00:15 on a step takes 100 ms instead of 120 ms (-16.7 %)")
    );
    // Another zone, another device count, an unknown time: no order.
    let without = |change: &dyn Fn(&mut Subject)| {
        let mut subjects = subjects.clone();
        change(&mut subjects[2]);
        trend(&subjects)
    };
    assert_eq!(without(&|it| it.profile.metadata.timestamp = Some("2026-01-05T10:00:18Z".to_owned())), None);
    assert_eq!(without(&|it| it.profile.metadata.timestamp = None), None);
    assert_eq!(without(&|it| it.profile.metadata.num_devices = 8), None);
    assert_eq!(without(&|it| it.profile.metadata.timestamp = Some("2026-01-05T10:00:20".to_owned())), None);
}

#[test]
fn a_trend_needs_three_runs_and_three_times() {
    let mut subjects = series();
    assert_eq!(trend(&subjects[..2]), None);
    subjects.truncate(4);
    for subject in &mut subjects[..2] {
        subject.profile.step_timing.avg_step_time_us = None;
    }
    let found = trend(&subjects).unwrap();
    assert_eq!((found.points.len(), found.points[0].step_time_us), (4, None));
    assert_eq!(
        sentences(&found, &subjects),
        ["The runs have an order in time, but only 2 of 4 have a known step time: no trend can be told."]
    );
}
