use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// A run on `devices` devices whose step takes `time_us`.
fn subject(name: &str, devices: u64, time_us: f64) -> Subject {
    let profile = json!({
        "metadata": {"platform": "GPU", "device_type": "GPU", "trace_file": name, "framework": "JAX", "num_devices": devices,
            "profiler_version": "1.0.0"},
        "model_config": {}, "throughput": {},
        "step_timing": {"num_steps": 10, "total_time_us": 10.0 * time_us, "avg_step_time_us": time_us, "total_kernels": 1,
            "step_count_source": "step_num"},
        "kernels": {"top_kernels": [], "kernels_by_category": {}}
    });
    Subject { name: name.to_owned(), ..Subject::new(serde_json::from_value(profile).unwrap()) }
}

fn with_batch(mut subject: Subject, batch: u64) -> Subject {
    subject.profile.model_config.batch_size = Some(batch);
    subject
}

/// Adds parts of the step: computation, exposed communication, and idle time with two causes.
fn with_parts(mut subject: Subject, compute: f64, communication: f64, host_bound: f64, other: f64) -> Subject {
    let duration = compute + communication + host_bound + other;
    let none = 0.0;
    let section: Value = json!({
        "window": "steps", "duration_us": duration, "device_busy_us": compute + communication,
        "parts": {"compute_us": compute, "communication_us": communication, "h2d_us": none, "d2h_us": none, "p2p_us": none,
            "d2d_us": none, "data_movement_us": none, "host_bound_us": host_bound, "other_idle_us": other}
    });
    subject.profile.step_breakdown = Some(serde_json::from_value(section).unwrap());
    subject
}

/// A tenth of the work is serial: 1000 us on one device.
fn amdahl() -> Vec<Subject> {
    [1u64, 2, 4, 8].map(|n| subject(&format!("{n} devices"), n, 100.0 + 900.0 / n as f64)).to_vec()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn a_serial_fraction_of_a_tenth_is_found() {
    let subjects = amdahl();
    let scaling = scaling(&subjects, None).unwrap();
    assert_eq!((scaling.mode.label(), scaling.mode_source.label(), scaling.reference), ("strong", "assumed", 0));
    assert!(close(scaling.serial_fraction.unwrap(), 0.1));
    // 1000 / 212.5.
    let last = &scaling.points[3];
    assert!(close(last.speedup, 1000.0 / 212.5) && close(last.efficiency_percent, 100_000.0 / 212.5 / 8.0));
    assert_eq!((last.devices, last.ideal_speedup), (8, 8.0));
    for point in &scaling.points {
        assert!(close(point.amdahl_speedup.unwrap(), point.speedup));
    }
    assert_eq!(
        sentences(&scaling, &subjects),
        [
            "On 8 devices a step is 4.71x faster than on 1: 59 % parallel efficiency.",
            "Amdahl's law fits these times with 10.0 % (95 % interval 10.0 % to 10.0 %) of the step on 1 device that more \
             devices do not shorten: at most 10.0x faster on any number of devices.",
            // 100 + 900 / 16 and 100 + 900 / 32.
            "By Amdahl's law, a step would take 156 µs (156 µs to 156 µs) on 16 and 128 µs (128 µs to 128 µs) on 32, as long as \
             nothing grows with the devices.",
            "Strong scaling was assumed (the same work on more devices): the batch size of 4 of 4 runs is unknown. \
             Specify the batch size, or state the kind of scaling.",
        ]
    );
}

#[test]
fn the_batch_size_gives_the_mode_unless_the_user_does() {
    let of_batches = |batches: [u64; 3], weak| {
        let subjects: Vec<Subject> = batches
            .into_iter()
            .zip([1u64, 2, 4])
            .map(|(batch, n)| with_batch(subject(&n.to_string(), n, 100.0), batch))
            .collect();
        let scaling = scaling(&subjects, weak).unwrap();
        (scaling.mode.label(), scaling.mode_source.label(), scaling.points[2].speedup, scaling.serial_fraction)
    };
    let expected = |mode: &'static str, source: &'static str, speedup, serial| (mode, source, speedup, serial);
    assert_eq!(of_batches([8, 8, 8], None), expected("strong", "batch_size", 1.0, Some(1.0)));
    assert_eq!(of_batches([8, 16, 32], None), expected("weak", "batch_size", 4.0, None));
    assert_eq!(of_batches([8, 16, 24], None), expected("mixed", "batch_size", 3.0, None));
    assert_eq!(of_batches([8, 16, 32], Some(false)), expected("strong", "given", 1.0, Some(1.0)));
    assert_eq!(of_batches([8, 8, 8], Some(true)), expected("weak", "given", 4.0, None));
}

#[test]
fn weak_scaling_in_words() {
    let subjects = [with_batch(subject("a", 2, 100.0), 16), with_batch(subject("b", 8, 125.0), 64)];
    let scaling = scaling(&subjects, None).unwrap();
    assert!(close(scaling.points[1].speedup, 3.2) && close(scaling.points[1].efficiency_percent, 80.0));
    assert_eq!(
        sentences(&scaling, &subjects),
        [
            "On 8 devices a step does 4.00x the work in 1.25x the time that it takes on 2: 80 % parallel efficiency.",
            "Judging by what each doubling adds, a step would take 138 µs on 16 and 150 µs on 32, as long as each \
             further doubling adds as much."
        ]
    );
}

#[test]
fn lost_efficiency_adds_up() {
    let mut subjects = [
        with_parts(subject("one", 1, 1000.0), 950.0, 0.0, 40.0, 10.0),
        with_parts(subject("four", 4, 400.0), 250.0, 84.0, 36.0, 30.0),
    ];
    subjects[1].profile.multi_device =
        serde_json::from_value(json!({"num_devices": 4, "device_stats": [], "busy_imbalance_percent": 7.0})).ok();
    let scaling = scaling(&subjects, Some(false)).unwrap();
    let point = &scaling.points[1];
    // Speed-up 2.5 of 4. Communication is 84 of 400 us. Idle time is 66 of 400 us, of which 50 / 4 come
    // from the reference.
    assert!(close(point.efficiency_percent, 62.5));
    assert!(close(point.exposed_communication_percent.unwrap(), 21.0) && close(point.idle_percent.unwrap(), 16.5));
    assert!(close(point.lost_to_communication_percent.unwrap(), 21.0));
    assert!(close(point.lost_to_idle_percent.unwrap(), 100.0 * (66.0 - 12.5) / 400.0));
    // Computation: 250 instead of 950 / 4.
    assert!(close(point.lost_to_rest_percent.unwrap(), 100.0 * (250.0 - 237.5) / 400.0));
    assert_eq!(
        sentences(&scaling, &subjects)[0],
        "On 4 devices a step is 2.50x faster than on 1: 62 % parallel efficiency; 21 % of the step is exposed communication, \
         16 % of the step is idle time, perfect balance would reduce the busiest device's work by 7 %."
    );
    let reference = &scaling.points[0];
    assert_eq!((reference.speedup, reference.efficiency_percent), (1.0, 100.0));
    assert!(close(reference.lost_to_idle_percent.unwrap(), 0.0));
}

/// Adds ops to the run: name and self time per step per device.
fn with_ops(mut subject: Subject, ops: &[(&str, f64)]) -> Subject {
    let op = |&(name, time): &(&str, f64)| json!({"name": name, "family": "fusion", "self_time_us": time, "occurrences": 1.0});
    let total: f64 = ops.iter().map(|(_, time)| time).sum();
    let section = json!({"device_steps": 10, "op_time_us": total, "num_ops": ops.len(), "families": [],
        "ops": ops.iter().map(op).collect::<Vec<_>>()});
    subject.profile.step_ops = serde_json::from_value(section).unwrap();
    subject
}

#[test]
fn ops_that_do_not_shrink_are_listed() {
    let subjects = [
        with_ops(subject("one", 1, 1000.0), &[("dot", 800.0), ("norm", 120.0), ("copy", 80.0)]),
        with_ops(subject("two", 2, 560.0), &[("dot", 400.0), ("norm", 60.0), ("copy", 80.0)]),
        with_ops(subject("four", 4, 400.0), &[("dot", 200.0), ("norm", 30.1), ("copy", 90.0), ("reduce", 60.0)]),
    ];
    let found = scaling(&subjects, Some(false)).unwrap();
    let listed: Vec<(&str, [f64; 4])> = found
        .excess_ops
        .iter()
        .map(|op| (op.name.as_str(), [op.reference_us, op.ideal_us, op.measured_us, op.excess_us]))
        .collect();
    // A quarter of 80 is 20. The reduction is new. The dot shrinks ideally. An excess of 0.1 us in a step of 400 us is too
    // small to name.
    assert_eq!(listed, [("copy", [80.0, 20.0, 90.0, 70.0]), ("reduce", [0.0, 0.0, 60.0, 60.0])]);
    assert!(found.excess_ops.iter().all(|op| op.run == 2));
    let words = sentences(&found, &subjects);
    assert_eq!(
        words[2],
        "Ops furthest above their ideal time on 4 devices: copy (90.0 µs instead of 20.0 µs), reduce (60.0 µs, new)."
    );
    // For weak scaling, an op ideally takes as long as in the reference.
    let weak = scaling(&subjects, Some(true)).unwrap();
    let listed: Vec<(&str, f64)> = weak.excess_ops.iter().map(|op| (op.name.as_str(), op.excess_us)).collect();
    assert_eq!(listed, [("reduce", 60.0), ("copy", 10.0)]);
    assert_eq!(weak.serial_interval, None);
    assert!(weak.forecast_assumption.unwrap().contains("each further doubling"));
}

/// A step takes 100 us on one device, and each doubling adds 10 us: 110 and 120 us are measured, so 130 and 140 us are expected
/// on 8 and 16 devices.
#[test]
fn weak_scaling_forecasts_the_time_added_by_each_doubling() {
    let runs = [subject("a", 1, 100.0), subject("b", 2, 110.0), subject("c", 4, 120.0)];
    let found = scaling(&runs, Some(true)).unwrap();
    let sizes: Vec<(u64, f64)> = found.forecast.iter().map(|it| (it.devices, it.step_time_us)).collect();
    assert!(sizes[0].0 == 8 && close(sizes[0].1, 130.0) && sizes[1].0 == 16 && close(sizes[1].1, 140.0), "{sizes:?}");
    assert!(close(found.forecast[0].efficiency_percent, 100.0 / 1.3), "{:?}", found.forecast);
    let said = sentences(&found, &runs).join(" ");
    assert!(
        said.contains("Judging by what each doubling adds, a step would take 130 µs (130 µs to 130 µs) on 8"),
        "{said}"
    );
}

#[test]
fn a_forecast_needs_a_law_that_holds() {
    let found = scaling(&amdahl(), None).unwrap();
    let sizes: Vec<(u64, f64)> = found.forecast.iter().map(|it| (it.devices, it.step_time_us)).collect();
    assert!(sizes[0].0 == 16 && close(sizes[0].1, 156.25) && sizes[1].0 == 32 && close(sizes[1].1, 128.125));
    assert!(found.forecast_assumption.unwrap().contains("nothing grows with them"));
    let turning = [subject("a", 1, 100.0), subject("b", 4, 50.0), subject("c", 8, 60.0)];
    let found = scaling(&turning, Some(false)).unwrap();
    assert!(found.serial_fraction.is_some() && found.forecast.is_empty() && found.forecast_assumption.is_none());
}

#[test]
fn equal_parts_are_not_negative_zero() {
    // A third of 0.3 is not 0.1 in binary: the loss is a rounding error.
    let subjects = [
        with_parts(subject("one", 1, 0.3), 0.1, 0.1, 0.1, 0.0),
        with_parts(subject("three", 3, 0.1), 0.1 / 3.0, 0.1 / 3.0, 0.1 / 3.0, 0.0),
    ];
    for point in scaling(&subjects, Some(false)).unwrap().points {
        for lost in [point.lost_to_communication_percent, point.lost_to_idle_percent, point.lost_to_rest_percent] {
            assert!(lost == Some(0.0) && lost.unwrap().is_sign_positive(), "{point:?}");
        }
    }
}

#[test]
fn programs_and_platforms_scale_apart() {
    let mut subjects = Vec::new();
    for (experiment, serial) in [("lcam", 0.1), ("tad", 0.5)] {
        for n in [1u64, 4] {
            let mut subject = subject(&format!("{experiment} {n}"), n, 1000.0 * (serial + (1.0 - serial) / n as f64));
            subject.profile.metadata.experiment_name = Some(experiment.to_owned());
            subjects.push(subject);
        }
    }
    // A program that was measured once does not scale.
    let mut alone = subject("alone", 2, 5.0);
    alone.profile.metadata.experiment_name = Some("other".to_owned());
    subjects.insert(0, alone);
    let both = scaling(&subjects, Some(false)).unwrap();
    let found: Vec<_> = both.series.iter().map(|it| (it.name.as_str(), it.reference)).collect();
    assert_eq!(found, [("lcam", 1), ("tad", 3)]);
    assert!(close(both.series[0].serial_fraction.unwrap(), 0.1) && close(both.series[1].serial_fraction.unwrap(), 0.5));
    assert_eq!((both.reference, both.serial_fraction), (1, both.series[0].serial_fraction));
    assert_eq!(both.points.iter().map(|point| point.run).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(both.points[3].series.as_deref(), Some("tad"));
    assert!(sentences(&both, &subjects)[0].starts_with("lcam: On 4 devices a step is 3.08x faster than on 1"));

    // Experiments that are named after their device counts are one program.
    for (index, subject) in subjects.iter_mut().enumerate() {
        subject.profile.metadata.experiment_name = Some(format!("exp {index}"));
    }
    let one = scaling(&subjects, Some(false)).unwrap();
    assert_eq!((one.series.len(), one.points.len()), (0, 5));
    // A single device of another platform is ignored too.
    let mut tpu = subject("tpu", 8, 1.0);
    tpu.profile.metadata.platform = "TPU".to_owned();
    assert!(scaling(&[subjects[1].clone(), tpu], None).is_none());
}

/// Two methods on one, four and eight GPUs, as a benchmark logs them: the folders name the
/// experiments, the traces do not.
#[test]
fn methods_named_in_paths_scale_separately() {
    let traced = |devices: u64, method: &str, time_us: f64| {
        let file = format!("logs/{devices}gpu_20241201_14302{devices}/{method}_trace/plugins/profile/t/h.xplane.pb");
        subject(&file, devices, time_us)
    };
    let mut subjects: Vec<Subject> = [(1, 680.0, 1000.0), (4, 255.0, 400.0), (8, 170.0, 300.0)]
        .iter()
        .flat_map(|&(n, lcam, tad)| [traced(n, "tad", tad), traced(n, "lcam", lcam)])
        .collect();
    let both = scaling(&subjects, Some(false)).unwrap();
    let found: Vec<_> = both.series.iter().map(|it| (it.name.as_str(), it.reference)).collect();
    assert_eq!(found, [("lcam", 1), ("tad", 0)]);
    // The run on one device is the reference of each method. The methods' efficiencies are not compared.
    let on_one = both.points.iter().filter(|point| point.devices == 1);
    assert!(on_one.clone().count() == 2 && on_one.clone().all(|point| point.efficiency_percent == 100.0));
    assert!(close(both.points[1].efficiency_percent, 100.0 * 680.0 / 255.0 / 4.0));
    assert!(close(both.points[4].efficiency_percent, 100.0 * 1000.0 / 400.0 / 4.0));
    // One method on one device and another on four do not scale.
    assert!(scaling(&[subjects.remove(0), subjects.remove(2)], Some(false)).is_none());
}

#[test]
fn nothing_scales_without_times_or_different_counts() {
    assert_eq!(scaling(&[], None), None);
    assert_eq!(scaling(&[subject("a", 4, 1.0), subject("b", 4, 2.0)], None), None);
    let mut unknown = subject("b", 8, 2.0);
    unknown.profile.step_timing.avg_step_time_us = None;
    assert_eq!(scaling(&[subject("a", 4, 1.0), unknown], None), None);
    assert_eq!(scaling(&[subject("a", 4, 1.0), subject("b", 0, 2.0)], None), None);
}

#[test]
fn a_law_that_does_not_hold_is_not_fitted() {
    let slower = [subject("a", 1, 100.0), subject("b", 4, 130.0)];
    let found = scaling(&slower, Some(false)).unwrap();
    assert_eq!((found.serial_fraction, found.points[1].amdahl_speedup), (None, None));
    assert_eq!(
        sentences(&found, &slower),
        [
            "On 4 devices a step is 1.30x slower than on 1: 19 % parallel efficiency.",
            "More than 1 device make a step longer: 100 µs on 1, 130 µs on 4."
        ]
    );
    // The times differ by less than 1 %. Such times are treated as equal, because the noise of the steps is unknown.
    // The law still does not apply.
    let alike = [subject("a", 1, 100.0), subject("b", 4, 100.5)];
    let words = sentences(&scaling(&alike, Some(false)).unwrap(), &alike);
    assert_eq!(words[1], "More devices make a step longer, which Amdahl's law does not describe.");
    // Beyond four devices the time increases again.
    let turning = [subject("a", 1, 100.0), subject("b", 4, 50.0), subject("c", 8, 60.0)];
    let found = scaling(&turning, Some(false)).unwrap();
    assert_eq!(
        sentences(&found, &turning),
        [
            "On 8 devices a step is 1.67x faster than on 1: 21 % parallel efficiency.",
            "More than 4 devices make a step longer: 50.0 µs on 4, 60.0 µs on 8."
        ]
    );
    // Faster than ideal, for example because of larger caches: nothing is serial.
    let found = scaling(&[subject("a", 1, 100.0), subject("b", 4, 20.0)], Some(false)).unwrap();
    assert_eq!(found.serial_fraction, Some(0.0));
}

proptest! {
    #[test]
    fn the_order_of_the_runs_does_not_matter(
        runs in prop::collection::vec((0u64..6, 1u32..1000, prop::option::of(1u64..4), 0usize..3), 1..9),
        first in 0usize..9,
    ) {
        let subjects: Vec<Subject> = runs.iter().enumerate().map(|(index, &(devices, time, batch, experiment))| {
            let mut subject = subject(&format!("run {index}"), devices, f64::from(time));
            subject.profile.model_config.batch_size = batch;
            subject.profile.metadata.experiment_name = [None, Some("a"), Some("b")][experiment].map(str::to_owned);
            subject
        }).collect();
        let mut turned = subjects.clone();
        turned.rotate_left(first % subjects.len());
        turned.reverse();
        let by_name = |subjects: &[Subject]| scaling(subjects, None).map(|scaling| {
            let name = |run: u32| subjects[run as usize].name.clone();
            let points: Vec<_> = scaling.points.iter().map(|point| (name(point.run), ScalingPoint { run: 0, ..point.clone() })).collect();
            let series: Vec<_> = scaling.series.iter().map(|it| (name(it.reference), it.serial_fraction)).collect();
            let words = sentences(&scaling, subjects);
            (scaling.mode.label().to_owned(), name(scaling.reference), scaling.serial_fraction, points, series, words)
        });
        prop_assert_eq!(by_name(&subjects), by_name(&turned));
    }
}
