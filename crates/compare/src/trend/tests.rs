use serde_json::json;

use super::*;

/// A run captured on four devices with ten steps of about `time_us` each.
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

/// Creates ten runs. From the seventh run on, a step takes a fifth longer.
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
    // Medians of 99.8, 99.9, 99.9, 100, 100.1, 100.3 and of 119.8, 119.9, 120.1, 120.2.
    let said = "From training step 700 on, a step takes 120 ms instead of 99.9 ms (+20.1 %, +20.0 ms; medians of 4 \
                runs after the change and 6 runs before).";
    assert_eq!((change.runs, change.changes.len()), ([6, 4], 0));
    assert!((change.medians_us[0] - 99.95e3).abs() < 1e-6 && (change.medians_us[1] - 120e3).abs() < 1e-6);
    assert_eq!(sentences(&found, &subjects), [said]);
    // t(9) = 2.262, with a standard deviation of 1.001 ms over ten steps.
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
          99.8 ms to 100 ms; no run differs."
        ]
    );
}

#[test]
fn a_drift_is_distinguished_from_a_jump() {
    // 0.5 ms more per run, starting at 100 ms, with a deviation from the line of less than a tenth of
    // that.
    let beside = [0.03, -0.02, 0.01, -0.04, 0.02, 0.02, -0.01, -0.01];
    let time = |run: usize| 1e3 * (100.0 + 0.5 * run as f64 + beside[run]);
    let subjects: Vec<Subject> = (0..8)
        .map(|run| {
            let mut subject = subject(&format!("step_{}", 10 * (run + 1)), time(run));
            // The steps within each run agree, so the noise comes from the runs.
            subject.profile.step_timing.stddev_step_time_us = Some(1.0);
            subject
        })
        .collect();
    let found = trend(&subjects).unwrap();
    assert_eq!((found.change_points.len(), found.outliers.len()), (0, 0));
    let drift = found.drift.clone().unwrap();
    // The deviations themselves have a slope: the sum of (run - 3.5) times the deviation, divided by 42, is -0.0245 / 42.
    let slope: f64 = (0..8).map(|run| (run as f64 - 3.5) * beside[run]).sum::<f64>() / 42.0;
    assert!((drift.slope_us - 1e3 * (0.5 + slope)).abs() < 1e-6, "{drift:?}");
    assert!((drift.last_us - drift.first_us - 7.0 * drift.slope_us).abs() < 1e-6);
    assert_eq!(
        sentences(&found, &subjects),
        [
            "From training step 10 to 80 the step time drifts by +0.50 % per run (± 0.01), from 100 ms to 103 ms, and no single \
          run causes the change."
        ]
    );
}

#[test]
fn an_outlier_is_named_and_belongs_to_no_level() {
    let mut subjects = series();
    subjects[2] = subject("step_00000300", 150e3);
    let found = trend(&subjects).unwrap();
    let [apart] = found.outliers.as_slice() else { panic!("{:?}", found.outliers) };
    // Median of 100.1 and 99.8 before it, and 99.9, 100.0 and 99.9 after it.
    assert_eq!((apart.run, apart.neighbours_us), (2, 99.9e3));
    let texts = sentences(&found, &subjects);
    assert_eq!(
        texts[1],
        "The run at training step 300 is an outlier: a step takes 150 ms, against 99.9 ms in the neighbouring runs \
         (+50.2 %)."
    );
    let [change] = found.change_points.as_slice() else { panic!("{:?}", found.change_points) };
    assert_eq!((change.run, change.runs), (6, [5, 4]));
    assert!((change.before_us - 99.94e3).abs() < 1e-6, "without the run apart: {change:?}");
    // Without a change, the level is the mean of the other runs.
    let texts = sentences(&trend(&subjects[..6]).unwrap(), &subjects[..6]);
    assert!(
        texts[1].ends_with("of its 5 runs: 99.9 ms on average, 99.8 ms to 100 ms; no other run differs."),
        "{texts:?}"
    );
}

/// Adds ops and parts of the step to the run.
fn with_ops(mut subject: Subject, ops: &[(&str, f64)], parts: [f64; 2]) -> Subject {
    let op = |&(name, time): &(&str, f64)| json!({"name": name, "family": "fusion", "self_time_us": time, "occurrences": 1.0});
    let total: f64 = ops.iter().map(|(_, time)| time).sum();
    subject.profile.step_ops =
        serde_json::from_value(json!({"device_steps": 10, "op_time_us": total, "num_ops": ops.len(),
        "families": [], "ops": ops.iter().map(op).collect::<Vec<_>>()}))
        .unwrap();
    let [compute, idle] = parts;
    subject.profile.step_breakdown = serde_json::from_value(json!({"window": "steps", "duration_us": compute + idle,
        "device_busy_us": compute, "parts": {"compute_us": compute, "communication_us": 0.0, "h2d_us": 0.0, "d2h_us": 0.0,
            "p2p_us": 0.0, "d2d_us": 0.0, "data_movement_us": 0.0, "other_idle_us": idle}}))
    .unwrap();
    subject
}

#[test]
fn a_change_point_names_the_changed_parts() {
    let subjects: Vec<Subject> = series()
        .into_iter()
        .enumerate()
        .map(|(run, subject)| match run {
            0..6 => with_ops(subject, &[("dot", 60e3), ("copy", 30e3), ("tanh", 5e3)], [95e3, 5e3]),
            _ => with_ops(subject, &[("dot", 72e3), ("copy", 36e3), ("tanh", 4e3), ("sort", 2e3)], [114e3, 6e3]),
        })
        .collect();
    let found = trend(&subjects).unwrap();
    let change = &found.change_points[0];
    let named: Vec<(&str, bool, f64)> =
        change.changes.iter().map(|it| (it.name.as_str(), it.is_op, it.after_us - it.before_us)).collect();
    // Each makes up a tenth of the change. A part that became shorter does not explain a longer step.
    assert_eq!(named[..], [("Compute", false, 19e3), ("dot", true, 12e3), ("copy", true, 6e3), ("sort", true, 2e3)]);
    assert!(
        change.text.ends_with(" Parts that change most: Compute +19.0 ms. Ops that change most: dot +12.0 ms, copy +6.00 ms, sort +2.00 ms."),
        "{}",
        change.text
    );
}

#[test]
fn a_change_at_the_last_run_is_marked_as_uncertain() {
    let subjects = &series()[..7];
    let found = trend(subjects).unwrap();
    assert_eq!(
        sentences(&found, subjects),
        ["From training step 700 on, a step takes 120 ms instead of 99.9 ms (+20.3 %, +20.3 ms; medians of 1 run \
          after the change and 6 runs before) (this is the last run, so the change may not last)."]
    );
}

#[test]
fn folders_and_timestamps_also_give_the_order() {
    let mut subjects = series();
    for (run, subject) in subjects.iter_mut().enumerate() {
        subject.name = format!("2026_01_05_10_00_{run:02}");
        subject.profile.metadata.timestamp = Some(format!("2026-01-05T10:00:{:02}", 20 - run));
        subject.profile.metadata.trace_file = format!("logs/step_{run}/plugins/profile/r/h.xplane.pb");
    }
    assert_eq!(trend(&subjects).unwrap().points[0].label, "0");
    // Two runs at the same training step: only their times distinguish them.
    subjects[3].profile.metadata.trace_file = "logs/step_1/plugins/profile/r/h.xplane.pb".to_owned();
    let found = trend(&subjects).unwrap();
    assert_eq!((found.ordered_by.label(), found.points[0].run), ("timestamp", 9));
    assert_eq!(found.points[0].label, "2026-01-05T10:00:11");
    assert_eq!(found.change_points[0].run, 5);
    let change = &found.change_points[0];
    assert!(change.text.starts_with("From 2026-01-05T10:00:15 on, a step takes "), "{}", change.text);
    assert!(change.after_us < 0.84 * change.before_us);
    // Another time zone, another device count, or an unknown time: no order.
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
        ["The runs have an order in time, but only 2 of 4 have a known step time: no trend is shown."]
    );
}

#[test]
fn only_a_few_of_many_runs_are_compared_in_detail() {
    let point = |run: u32| crate::TrendPoint { run, ..crate::TrendPoint::default() };
    let trend = Trend {
        points: (0..2000).rev().map(point).collect(),
        change_points: vec![crate::ChangePoint { run: 700, ..crate::ChangePoint::default() }],
        ..Trend::default()
    };
    let many = crate::Comparison {
        runs: vec![crate::ComparedRun::default(); 2000],
        baseline: 3,
        trend: Some(trend),
        ..crate::Comparison::default()
    };
    assert_eq!(many.detailed().into_iter().collect::<Vec<_>>(), [0, 3, 700, 1999]);
    let few = crate::Comparison { runs: vec![crate::ComparedRun::default(); 16], ..crate::Comparison::default() };
    assert_eq!(few.detailed().len(), 16);
}
