//! What every comparison must hold, for profiles made up at random.

use proptest::prelude::*;

use super::*;
use crate::report::{
    ComputeUtilization, Metadata, StepBreakdown, StepFamily, StepOp, StepOps, StepParts, StepTiming, Throughput,
};

fn subject(name: &str, platform: &str, step_us: f64, stddev: f64, steps: u64, parts: [f64; 3]) -> Subject {
    let [compute_us, communication_us, host_bound_us] = parts;
    let profile = UnifiedProfile {
        metadata: Metadata {
            platform: platform.to_owned(),
            device_type: format!("{platform} x"),
            framework: "JAX".to_owned(),
            num_devices: 2,
            schema_version: Some("1.1.0".to_owned()),
            ..Metadata::default()
        },
        step_timing: StepTiming {
            num_steps: steps,
            avg_step_time_us: Some(step_us),
            num_steps_counted: Some(steps),
            stddev_step_time_us: (steps > 1).then_some(stddev),
            ..StepTiming::default()
        },
        throughput: Throughput { steps_per_sec: Some(1e6 / step_us), ..Throughput::default() },
        compute_utilization: Some(ComputeUtilization {
            compute_util_percent: 100.0 * (compute_us + communication_us) / step_us,
            kernel_time_us: compute_us + communication_us,
            overhead_time_us: step_us - compute_us - communication_us,
            ..ComputeUtilization::default()
        }),
        step_breakdown: Some(StepBreakdown {
            duration_us: compute_us + communication_us + host_bound_us,
            parts: StepParts {
                compute_us,
                communication_us,
                host_bound_us: Some(host_bound_us),
                ..StepParts::default()
            },
            ..StepBreakdown::default()
        }),
        step_ops: Some(StepOps {
            device_steps: 2 * steps,
            op_time_us: compute_us,
            num_ops: 1,
            families: vec![StepFamily { family: "matmul".to_owned(), self_time_us: compute_us, occurrences: 1.0 }],
            ops: vec![StepOp {
                name: "dot.1".to_owned(),
                family: "matmul".to_owned(),
                fingerprint: Some("1".to_owned()),
                self_time_us: compute_us,
                occurrences: 1.0,
                ..StepOp::default()
            }],
            kernels: Vec::new(),
        }),
        ..UnifiedProfile::default()
    };
    Subject { name: name.to_owned(), profile, watts_per_device: None, dollars_per_device_hour: None }
}

fn metric<'c>(comparison: &'c Comparison, path: &str) -> &'c ComparedMetric {
    comparison.metrics.iter().find(|it| it.metric == path).unwrap()
}

#[test]
fn twice_as_fast_is_two_times_faster_for_the_fast_one() {
    let gpu = subject("g", "GPU", 100_000.0, 0.0, 1, [100_000.0, 0.0, 0.0]);
    let tpu = subject("t", "TPU", 200_000.0, 0.0, 1, [200_000.0, 0.0, 0.0]);
    let found = compare(&[gpu.clone(), tpu.clone()], &Options { baseline: 1, ..Options::default() });
    let speed = metric(&found, "throughput.steps_per_sec");
    assert_eq!((speed.ratios[0], speed.winner), (Some(2.0), Some(0)));
    assert_eq!(metric(&found, "step_timing.avg_step_time_us").ratios[0], Some(2.0));
    assert!(found.summary[0].starts_with("g (GPU x) is 2.00x faster than t (TPU x)"), "{:?}", found.summary);
    let found = compare(&[gpu, tpu], &Options::default());
    assert!(found.summary[0].starts_with("t (TPU x) is 2.00x slower than g (GPU x)"), "{:?}", found.summary);
    assert_eq!(found.kind, "across_platforms");
}

#[test]
fn a_number_of_unequal_work_has_no_winner() {
    let mut a = subject("a", "TPU", 100.0, 0.0, 5, [100.0, 0.0, 0.0]);
    let mut b = subject("b", "TPU", 50.0, 0.0, 5, [50.0, 0.0, 0.0]);
    (a.profile.model_config.batch_size, b.profile.model_config.batch_size) = (Some(16), Some(8));
    let found = compare(&[a, b], &Options::default());
    let step = metric(&found, "step_timing.avg_step_time_us");
    assert_eq!((step.winner, step.comparable, step.ratios[1]), (None, false, Some(2.0)));
    assert!(step.spoiled_by.contains(&"batch_size".to_owned()));
    assert!(found.summary[0].contains("do not do the same work: batch size differs"), "{}", found.summary[0]);
}

#[test]
fn unknown_is_never_the_same() {
    let a = subject("a", "TPU", 100.0, 0.0, 5, [100.0, 0.0, 0.0]);
    let found = compare(&[a.clone(), a], &Options::default());
    for check in ["batch_size", "seq_length", "model_dimensions", "data_type", "warm_up"] {
        assert_eq!(found.fairness.iter().find(|it| it.check == check).unwrap().status, "unknown", "{check}");
    }
    assert_eq!(found.runs[1].name, "a (2)");
}

#[test]
fn power_and_price_give_efficiency() {
    let mut a = subject("a", "GPU", 1000.0, 0.0, 5, [1000.0, 0.0, 0.0]);
    let mut b = subject("b", "GPU", 500.0, 0.0, 5, [500.0, 0.0, 0.0]);
    (a.watts_per_device, b.watts_per_device) = (Some(100.0), Some(400.0));
    let found = compare(&[a, b], &Options::default());
    // 1000 steps a second on 2 devices of 100 W: 5 a joule; 2000 on 800 W: 2.5.
    let joule = metric(&found, "efficiency.steps_per_joule");
    assert_eq!((joule.values.clone(), joule.winner), (vec![Some(5.0), Some(2.5)], Some(0)));
}

prop_compose! {
    fn any_subject()(
        platform in prop::sample::select(vec!["TPU", "GPU"]),
        compute in 0.001f64..1e7,
        communication in 0.0f64..1e6,
        idle in 0.0f64..1e6,
        stddev in 0.0f64..1e5,
        steps in 1u64..50,
    ) -> Subject {
        subject("run", platform, compute + communication + idle, stddev, steps, [compute, communication, idle])
    }
}

proptest! {
    #[test]
    fn a_run_against_itself_differs_in_nothing(a in any_subject()) {
        let found = compare(&[a.clone(), a], &Options::default());
        prop_assert_eq!(&found.step_time[0].verdict, "equal");
        prop_assert!(found.metrics.iter().all(|it| it.winner.is_none()));
        prop_assert!(found.metrics.iter().flat_map(|it| it.ratios.iter().flatten()).all(|ratio| *ratio == 1.0));
        prop_assert!(found.waterfall.iter().all(|it| it.delta_us_per_step == 0.0));
        prop_assert!(found.causes.is_empty());
        prop_assert!(found.fairness.iter().all(|it| it.status != "differs"));
    }

    #[test]
    fn the_waterfall_adds_up(a in any_subject(), b in any_subject()) {
        let found = compare(&[a, b], &Options::default());
        let ps = |us: f64| (us * 1e6).round() as i64;
        let sum: i64 = found.waterfall.iter().map(|it| ps(it.delta_us_per_step)).sum();
        prop_assert_eq!(sum, ps(found.step_time[0].delta_us.unwrap()));
    }

    #[test]
    fn a_swap_inverts_ratios_and_keeps_winners(a in any_subject(), b in any_subject()) {
        let straight = compare(&[a.clone(), b.clone()], &Options::default());
        let swapped = compare(&[b, a], &Options::default());
        for (one, other) in straight.metrics.iter().zip(&swapped.metrics) {
            prop_assert_eq!(&one.metric, &other.metric);
            prop_assert_eq!(one.winner.map(|winner| 1 - winner), other.winner);
            if let (Some(ratio), Some(inverse)) = (one.ratios[1], other.ratios[1]) {
                prop_assert!((ratio * inverse - 1.0).abs() < 1e-12);
            }
        }
        for (one, other) in straight.waterfall.iter().zip(&swapped.waterfall) {
            prop_assert_eq!(&one.part, &other.part);
            prop_assert_eq!(one.delta_us_per_step, -other.delta_us_per_step);
        }
    }
}
