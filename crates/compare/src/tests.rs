//! Properties that every comparison must have, for random synthetic profiles.

use proptest::prelude::*;

use super::*;
use report::{
    ComputeUtilization, Metadata, StepBreakdown, StepFamily, StepOp, StepOps, StepParts, StepTiming, Throughput,
    UnifiedProfile,
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
            ..StepOps::default()
        }),
        ..UnifiedProfile::default()
    };
    Subject { name: name.to_owned(), ..Subject::new(profile) }
}

/// Two identical captures of a subject.
fn twice(subject: &Subject) -> Subject {
    let Subject { watts_per_device, dollars_per_device_hour, .. } = *subject;
    let group = Subject::of_captures(&subject.name, vec![subject.profile.clone(), subject.profile.clone()]).unwrap();
    Subject { watts_per_device, dollars_per_device_hour, ..group }
}

fn metric<'c>(comparison: &'c Comparison, path: &str) -> &'c ComparedMetric {
    comparison.metrics.iter().find(|it| it.metric == path).unwrap()
}

#[test]
fn twice_as_fast_is_two_times_faster_for_the_fast_one() {
    let mut gpu = subject("g", "GPU", 100_000.0, 0.0, 1, [100_000.0, 0.0, 0.0]);
    let mut tpu = subject("t", "TPU", 200_000.0, 0.0, 1, [200_000.0, 0.0, 0.0]);
    for run in [&mut gpu, &mut tpu] {
        run.profile.model_config.batch_size = Some(8);
    }
    let found = compare(&[gpu.clone(), tpu.clone()], &Options { baseline: 1, ..Options::default() });
    let speed = metric(&found, "throughput.steps_per_sec");
    // One capture per side cannot prove that the programs differ.
    assert_eq!((speed.ratios[0], speed.winner), (Some(2.0), None));
    let groups = compare(&[twice(&gpu), twice(&tpu)], &Options { baseline: 1, ..Options::default() });
    assert_eq!(metric(&groups, "throughput.steps_per_sec").winner, Some(0));
    assert_eq!(metric(&found, "step_time.typical_us").ratios[0], Some(2.0));
    assert!(found.summary[0].starts_with("g (GPU x) is 2.00x faster than t (TPU x)"), "{:?}", found.summary);
    let found = compare(&[gpu, tpu], &Options::default());
    assert!(found.summary[0].starts_with("t (TPU x) is 2.00x slower than g (GPU x)"), "{:?}", found.summary);
    assert_eq!(found.kind, ComparisonKind::AcrossPlatforms);
}

/// Without steps, numbers cover the whole window, and no title says "per step".
#[test]
fn without_steps_nothing_is_per_step() {
    let without = |name: &str| {
        let mut run = subject(name, "GPU", 100_000.0, 0.0, 1, [60_000.0, 0.0, 40_000.0]);
        run.profile.step_timing = StepTiming::default();
        run
    };
    let titles = |runs: &[Subject]| -> Vec<String> {
        compare(runs, &Options::default()).metrics.into_iter().map(|metric| metric.title).collect()
    };
    let found = titles(&[without("a"), without("b")]);
    assert!(found.iter().any(|title| title == "Idle time"), "{found:?}");
    assert!(found.iter().all(|title| !title.contains("per step")), "{found:?}");
    let run = subject("a", "GPU", 100_000.0, 0.0, 1, [60_000.0, 0.0, 40_000.0]);
    assert!(titles(&[run.clone(), run]).iter().any(|title| title == "Idle time per step"));
}

#[test]
fn a_number_of_unequal_work_has_no_winner() {
    let mut a = subject("a", "TPU", 100.0, 0.0, 5, [100.0, 0.0, 0.0]);
    let mut b = subject("b", "TPU", 50.0, 0.0, 5, [50.0, 0.0, 0.0]);
    (a.profile.model_config.batch_size, b.profile.model_config.batch_size) = (Some(16), Some(8));
    let found = compare(&[a, b], &Options::default());
    let step = metric(&found, "step_time.typical_us");
    assert_eq!((step.winner, step.comparable, step.ratios[1]), (None, false, Some(2.0)));
    assert!(step.spoiled_by.contains(&"batch_size".to_owned()));
    assert!(found.summary[0].contains("do not do the same work (they differ in batch size)"), "{}", found.summary[0]);
}

#[test]
fn unknown_is_never_the_same() {
    let a = subject("a", "TPU", 100.0, 0.0, 5, [100.0, 0.0, 0.0]);
    let found = compare(&[a.clone(), a], &Options::default());
    for check in ["batch_size", "seq_length", "model_dimensions", "data_type", "warm_up"] {
        assert_eq!(
            found.fairness.iter().find(|it| it.check == check).unwrap().status,
            FairnessStatus::Unknown,
            "{check}"
        );
    }
    assert_eq!(found.runs[1].name, "a (2)");
}

#[test]
fn power_and_price_give_efficiency() {
    let mut a = subject("a", "GPU", 1000.0, 0.0, 5, [1000.0, 0.0, 0.0]);
    let mut b = subject("b", "GPU", 500.0, 0.0, 5, [500.0, 0.0, 0.0]);
    (a.watts_per_device, b.watts_per_device) = (Some(100.0), Some(400.0));
    let found = compare(&[twice(&a), twice(&b)], &Options::default());
    // 1000 steps per second on 2 devices of 100 W: 5 per joule. 2000 on 800 W: 2.5 per joule.
    let joule = metric(&found, "efficiency.steps_per_joule");
    assert_eq!((joule.values.clone(), joule.winner), (vec![Some(5.0), Some(2.5)], Some(0)));
}

#[test]
fn verdicts_are_of_each_run_and_say_what_is_noise() {
    let a = subject("a", "TPU", 1000.0, 5.0, 20, [1000.0, 0.0, 0.0]);
    let b = subject("b", "TPU", 1001.0, 5.0, 20, [1001.0, 0.0, 0.0]);
    let c = subject("c", "TPU", 2000.0, 5.0, 20, [1000.0, 1000.0, 0.0]);
    let found = compare(&[a.clone(), b, c, a], &Options::default());
    let verdicts = |path: &str| {
        metric(&found, path).verdicts.iter().map(|it| it.map_or("", MetricVerdict::label)).collect::<Vec<_>>()
    };
    assert_eq!(verdicts("step_time.typical_us"), ["", "within_noise", "worse", "equal"]);
    assert_eq!(verdicts("throughput.steps_per_sec"), ["", "within_noise", "worse", "equal"]);
    // Zero against zero is equal. A value above zero against zero has no ratio, but is still worse.
    let communication = metric(&found, "step_breakdown.parts.communication_us");
    assert_eq!(communication.ratios, [Some(1.0), Some(1.0), None, Some(1.0)]);
    assert_eq!(verdicts("step_breakdown.parts.communication_us"), ["", "equal", "worse", "equal"]);
}

#[test]
fn equal_steps_at_half_the_price_are_twice_the_work_a_dollar() {
    let mut a = subject("a", "GPU", 1000.0, 5.0, 20, [1000.0, 0.0, 0.0]);
    let mut b = a.clone();
    (a.dollars_per_device_hour, b.dollars_per_device_hour) = (Some(4.0), Some(2.0));
    let found = compare(&[twice(&a), twice(&b)], &Options::default());
    let dollar = metric(&found, "efficiency.steps_per_dollar");
    assert_eq!(
        (dollar.ratios[1], dollar.winner, dollar.verdicts[1]),
        (Some(2.0), Some(1), Some(MetricVerdict::Better))
    );
    assert_eq!(metric(&found, "step_time.typical_us").winner, None);
}

fn op(name: &str, family: &str, time_us: f64) -> StepOp {
    StepOp { name: name.into(), family: family.into(), self_time_us: time_us, occurrences: 1.0, ..StepOp::default() }
}

/// A step whose ops are `listed`, plus `small_us` of reductions.
fn with_ops(mut subject: Subject, listed: Vec<StepOp>, small_us: f64) -> Subject {
    let of = |family: &str| listed.iter().filter(|op| op.family == family).map(|op| op.self_time_us).sum::<f64>();
    let family = |family: &str, time_us: f64, occurrences| StepFamily {
        family: family.into(),
        self_time_us: time_us,
        occurrences,
    };
    let families = vec![family("matmul", of("matmul"), 1.0), family("reduction", small_us, 64.0)];
    let op_time_us = of("matmul") + small_us;
    let num_ops = listed.len() as u64 + 64;
    subject.profile.step_ops =
        Some(StepOps { device_steps: 1, op_time_us, num_ops, families, ops: listed, ..StepOps::default() });
    subject
}

#[test]
fn ops_too_small_to_list_are_a_cause_by_class() {
    let a = with_ops(subject("a", "TPU", 100.0, 0.0, 5, [100.0, 0.0, 0.0]), vec![op("dot", "matmul", 60.0)], 40.0);
    let b = with_ops(subject("b", "TPU", 130.0, 0.0, 5, [130.0, 0.0, 0.0]), vec![op("dot", "matmul", 61.0)], 69.0);
    let found = compare(&[a, b], &Options::default());
    let causes: Vec<(&str, &str, f64)> =
        found.causes.iter().map(|it| (it.kind.label(), it.name.as_str(), it.delta_us_per_step)).collect();
    assert_eq!(causes, [("class", "reduction", 29.0), ("op", "dot", 1.0)]);
    assert!(found.summary[1].starts_with("Small reduction ops"), "{:?}", found.summary);
}

#[test]
fn programs_without_a_common_op_do_not_scale() {
    let mut a = subject("a", "TPU", 100.0, 0.0, 5, [100.0, 0.0, 0.0]);
    a.profile.metadata.num_devices = 1;
    let b = subject("b", "TPU", 50.0, 0.0, 5, [50.0, 0.0, 0.0]);
    let of = |ours: &str, theirs: &str| {
        let pair = [
            with_ops(a.clone(), vec![op(ours, "matmul", 60.0)], 0.0),
            with_ops(b.clone(), vec![op(theirs, "matmul", 30.0)], 0.0),
        ];
        compare(&pair, &Options::default())
    };
    assert_eq!(of("dot", "dot").kind, ComparisonKind::Scaling);
    let strangers = of("dot", "gemm");
    assert_eq!((strangers.kind.label(), &strangers.scaling), ("same_platform", &None));
    assert!(strangers.summary[0].contains("differ in all ops"), "{:?}", strangers.summary);
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
        prop_assert_eq!(found.step_time[0].verdict, StepTimeVerdict::Equal);
        prop_assert!(found.metrics.iter().all(|it| it.winner.is_none()));
        prop_assert!(found.metrics.iter().flat_map(|it| it.ratios.iter().flatten()).all(|ratio| *ratio == 1.0));
        prop_assert!(found.waterfall.iter().all(|it| it.delta_us_per_step == 0.0));
        prop_assert!(found.causes.is_empty());
        prop_assert!(found.metrics.iter().flat_map(|it| it.verdicts.iter().flatten()).all(|verdict| *verdict == MetricVerdict::Equal));
        prop_assert!(found.fairness.iter().all(|it| it.status != FairnessStatus::Differs));
    }

    #[test]
    fn the_waterfall_adds_up(a in any_subject(), b in any_subject()) {
        let found = compare(&[a, b], &Options::default());
        let ps = |us: f64| (us * 1e6).round() as i64;
        let sum: i64 = found.waterfall.iter().map(|it| ps(it.delta_us_per_step)).sum();
        let change = &found.step_time[0];
        prop_assert_eq!(sum, ps(change.typical_us.unwrap()) - ps(change.baseline_typical_us.unwrap()));
    }

    #[test]
    fn a_swap_inverts_ratios_and_keeps_winners(a in any_subject(), b in any_subject()) {
        let straight = compare(&[a.clone(), b.clone()], &Options::default());
        let swapped = compare(&[b, a], &Options::default());
        for (one, other) in straight.metrics.iter().zip(&swapped.metrics) {
            prop_assert_eq!(&one.metric, &other.metric);
            prop_assert_eq!(one.winner.map(|winner| 1 - winner), other.winner);
            let inverse = |verdict| match verdict {
                MetricVerdict::Better => MetricVerdict::Worse,
                MetricVerdict::Worse => MetricVerdict::Better,
                verdict => verdict,
            };
            prop_assert_eq!(one.verdicts[1].map(inverse), other.verdicts[1]);
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

/// In the three captures of each run, one op takes 100, 110 and 90, or 101, 111 and 91. This difference is below the
/// variation among the captures. The other op is slower in each capture.
#[test]
fn an_op_is_a_cause_only_beyond_the_variation_of_captures() {
    let side = |name: &str, dot: [f64; 3], copy: [f64; 3]| {
        let captures = dot.into_iter().zip(copy).map(|(dot, copy)| {
            let op = |name: &str, self_time_us: f64| StepOp {
                name: name.to_owned(),
                family: "matmul".to_owned(),
                self_time_us,
                occurrences: 1.0,
                ..StepOp::default()
            };
            let parts = [1000.0 + dot + copy, 0.0, 0.0];
            let one = subject(name, "GPU", parts[0], 0.01, 20, parts);
            with_ops(one, vec![op("dot", dot), op("copy", copy)], 0.0).profile
        });
        Subject::of_captures(name, captures.collect()).unwrap()
    };
    let main = side("main", [100.0, 110.0, 90.0], [50.0, 50.1, 49.9]);
    let new = side("new", [101.0, 111.0, 91.0], [150.0, 150.1, 149.9]);
    let found = compare(&[main, new], &Options::default());
    assert_eq!(
        (found.step_time[0].verdict, found.step_time[0].basis),
        (StepTimeVerdict::Slower, ComparisonBasis::Captures)
    );
    let op = |name: &str| found.ops.iter().find(|op| op.name == name).unwrap();
    // scipy.stats.t.ppf(0.9995, 4) * sqrt(100 * 2 / 3)
    assert!((op("dot").margin_us.unwrap() - 8.610 * 8.165).abs() < 0.1, "{:?}", op("dot"));
    assert!(op("copy").margin_us.unwrap() < 1.0);
    let causes: Vec<&str> =
        found.causes.iter().filter(|it| it.kind == CauseKind::Op).map(|it| it.name.as_str()).collect();
    assert_eq!(causes, ["copy"]);
}

/// The known work decides which run may be faster. Each case compares steps of 200 us with steps of 100 us.
#[test]
fn no_run_is_faster_if_the_work_differs_or_is_unknown() {
    let a = with_ops(subject("a", "GPU", 100.0, 0.1, 20, [100.0, 0.0, 0.0]), vec![op("dot", "matmul", 90.0)], 0.0);
    let b = with_ops(subject("b", "GPU", 200.0, 0.1, 20, [200.0, 0.0, 0.0]), vec![op("dot", "matmul", 180.0)], 0.0);
    let found = |a: &Subject, b: &Subject| compare(&[twice(a), twice(b)], &Options::default());
    let winner = |found: &Comparison| metric(found, "step_time.typical_us").winner;
    let said = |found: &Comparison| (found.step_time[0].work.label(), found.step_time[0].work_evidence.join(" "));
    // Both runs execute the same ops, the same number of times.
    let same = found(&a, &b);
    assert_eq!((said(&same), winner(&same)), (("same", "ops".to_owned()), Some(0)));
    assert!(same.summary[0].starts_with("b is 2.00x slower than a"), "{:?}", same.summary);
    // One run has one more op, and nothing else is known: times and causes are shown without a winner.
    let mut more = b.clone();
    more.profile.step_ops.as_mut().unwrap().ops.push(op("gemm", "matmul", 20.0));
    let unknown = found(&a, &more);
    assert_eq!((said(&unknown), winner(&unknown)), (("unknown", String::new()), None));
    assert_eq!(metric(&unknown, "step_time.typical_us").verdicts, [None, None]);
    assert_eq!((unknown.step_time[0].verdict, unknown.causes.is_empty()), (StepTimeVerdict::Slower, false));
    assert!(
        unknown.summary[0].starts_with("crossprof cannot tell whether b and a do the same work:"),
        "{:?}",
        unknown.summary
    );
    assert!(unknown.answer.caveats[0].contains("Specify the batch size of both"), "{:?}", unknown.summary);
    // The batch sizes of both show that the work is the same.
    let (mut ours, mut theirs) = (a.clone(), more.clone());
    for run in [&mut ours, &mut theirs] {
        run.profile.model_config.batch_size = Some(8);
    }
    let given = found(&ours, &theirs);
    assert_eq!((said(&given), winner(&given)), (("same", "batch_size".to_owned()), Some(0)));
    // Without a common op, the programs differ, and both are shown without a winner.
    let other = with_ops(b.clone(), vec![op("gemm", "matmul", 180.0)], 0.0);
    let differs = found(&a, &other);
    assert_eq!((said(&differs), winner(&differs)), (("differs", "ops".to_owned()), None));
    assert!(differs.summary[0].contains("neither is faster"), "{:?}", differs.summary);
    assert!(differs.causes.is_empty() && differs.ops.is_empty() && differs.categories.is_empty());
    assert!(differs.metrics.iter().all(|it| it.ratios[1].is_none() && it.differences[1].is_none()));
}

/// Expressions contain shapes, so ops with the same name but different expressions are not evidence.
#[test]
fn ops_of_one_path_with_other_shapes_are_not_the_same_work() {
    let with = |name: &str, step_us: f64, fingerprint: &str| {
        let path = Some("jit(f)/dot".to_owned());
        let dot =
            StepOp { framework_op: path, fingerprint: Some(fingerprint.to_owned()), ..op("dot.1", "matmul", step_us) };
        with_ops(subject(name, "TPU", step_us, 0.1, 20, [step_us, 0.0, 0.0]), vec![dot], 0.0)
    };
    let work =
        |a: &str, b: &str| compare(&[with("a", 100.0, a), with("b", 200.0, b)], &Options::default()).step_time[0].work;
    assert_eq!((work("1", "1"), work("1", "2")), (FairnessStatus::Same, FairnessStatus::Unknown));
}

/// Different parameters mean different work, even if everything else is the same. The same parameters mean the same
/// work, even if the compiler's output differs.
#[test]
fn parameters_identify_the_work() {
    let with = |name: &str, step_us: f64, fingerprint: &str, shape: &str| {
        let mut run = subject(name, "TPU", step_us, 0.1, 20, [step_us, 0.0, 0.0]);
        run.profile.programs = vec![report::Program {
            name: "jit_step".to_owned(),
            fingerprint: fingerprint.to_owned(),
            parameter_fingerprint: shape.to_owned(),
            parameters: vec![report::ProgramParameters { shape: shape.to_owned(), count: 1, bytes: 8 }],
            ..report::Program::default()
        }];
        run
    };
    let a = with("a", 100.0, "1", "bf16[8,4]");
    let same = compare(&[a.clone(), with("b", 200.0, "2", "bf16[8,4]")], &Options::default());
    assert_eq!(
        (same.step_time[0].work, same.step_time[0].work_evidence[0].as_str()),
        (FairnessStatus::Same, "parameter_shapes")
    );
    assert!(!same.summary.last().unwrap().contains("differ: program"), "{:?}", same.summary);
    let other = compare(&[a, with("b", 200.0, "2", "s8[8,4]")], &Options::default());
    assert_eq!(other.step_time[0].work, FairnessStatus::Differs);
    assert!(other.summary[0].contains("(they differ in types and shapes of parameters)"), "{:?}", other.summary);
}

/// A run of `batch` samples of 10 tokens per step.
fn with_batch(mut run: Subject, batch: u64) -> Subject {
    let model = &mut run.profile.model_config;
    (model.batch_size, model.seq_length) = (Some(batch), Some(10));
    let step_us = run.profile.step_timing.avg_step_time_us.unwrap();
    let throughput = &mut run.profile.throughput;
    throughput.samples_per_sec = Some(batch as f64 * 1e6 / step_us);
    throughput.tokens_per_sec = Some(10.0 * batch as f64 * 1e6 / step_us);
    run
}

/// Twice the batch in 1.5 times the step time gives 1.33 times the tokens per second. The parts of a token add up to the time
/// of a token.
#[test]
fn steps_with_different_batches_are_compared_by_token() {
    let a = with_batch(subject("a", "TPU", 1000.0, 0.1, 20, [800.0, 0.0, 200.0]), 10);
    let b = with_batch(subject("b", "TPU", 1500.0, 0.1, 20, [1300.0, 0.0, 200.0]), 20);
    let found = compare(&[twice(&a), twice(&b)], &Options::default());
    let rate = &found.rates[0];
    assert_eq!((rate.unit, rate.per_step.map(f64::round)), (WorkUnit::Token, [200.0, 100.0]));
    let [ours, theirs] = rate.measures[0].values;
    assert!((ours - 200.0 / 1500e-6).abs() < 1e-3 && (theirs - 1e5).abs() < 1e-3, "{rate:?}");
    assert_eq!((rate.measures.len(), rate.measures[0].verdict), (1, StepTimeVerdict::Faster));
    assert!(
        plain(&found.summary[0]).starts_with("b is 1.33x faster than a per token: 133 333 against 100 000 tokens/s"),
        "{:?}",
        found.summary
    );
    assert!(found.summary[0].contains("a step has 200 tokens against 100"), "{:?}", found.summary);
    assert_eq!(metric(&found, "step_time.typical_us").winner, None);
    assert_eq!(metric(&found, "throughput.tokens_per_sec").winner, Some(1));
    // 6.5 us of computation per token instead of 8, and 1 us of waiting instead of 2.
    let parts: Vec<(WorkUnit, f64, f64)> =
        found.waterfall.iter().map(|it| (it.per, it.baseline_us, it.run_us)).collect();
    assert_eq!(parts, [(WorkUnit::Token, 8.0, 6.5), (WorkUnit::Token, 2.0, 1.0)]);
    let delta: f64 = found.waterfall.iter().map(|it| it.delta_us_per_step).sum();
    assert!((delta - (7.5 - 10.0)).abs() < 1e-9);
    assert_eq!(found.summary[1], "Compute: 6.50 µs per token instead of 8.00 µs.");
    assert!(found.causes.is_empty());
}

/// If a run is faster but more expensive, the sentence contains both facts.
#[test]
fn a_different_winner_by_price_or_device_is_mentioned() {
    let mut a = with_batch(subject("a", "GPU", 1000.0, 0.1, 20, [1000.0, 0.0, 0.0]), 10);
    let mut b = with_batch(subject("b", "GPU", 500.0, 0.1, 20, [500.0, 0.0, 0.0]), 10);
    (a.dollars_per_device_hour, b.dollars_per_device_hour) = (Some(1.0), Some(4.0));
    (a.watts_per_device, b.watts_per_device) = (Some(400.0), Some(400.0));
    let said = compare(&[a.clone(), b.clone()], &Options::default()).summary[0].clone();
    assert!(said.starts_with("b is 2.00x faster than a per token:"), "{said}");
    assert!(said.contains("; but per dollar a does 2.00x the tokens of b"), "{said}");
    assert!(said.contains("; per joule b does 2.00x the tokens of a"), "{said}");
    // 10 samples take 500 us on two devices of 4 dollars per hour and 400 W each.
    let costs = compare(&[a.clone(), b.clone()], &Options::default()).costs;
    let told: Vec<_> = costs.iter().map(|it| (it.title.as_str(), it.unit.as_str(), it.values[1].unwrap())).collect();
    let [(first, "$", dollars), (second, "Wh", energy)] = told[..] else { panic!("{told:?}") };
    assert_eq!([first, second], ["Cost per million tokens", "Energy per million tokens"]);
    let tokens_per_second = 1e6 / 500.0 * 100.0;
    assert!((dollars / (1e6 / tokens_per_second * 2.0 * 4.0 / 3600.0) - 1.0).abs() < 1e-9, "{dollars}");
    assert!((energy / (1e6 / tokens_per_second * 2.0 * 400.0 / 3600.0) - 1.0).abs() < 1e-9, "{energy}");
    // Twice the speed on twice the devices does not mean a faster device.
    b.profile.metadata.num_devices = 4;
    let said = compare(&[a, b], &Options::default()).summary.join(" ");
    assert!(plain(&said).contains("; per device both do the same number of tokens: 50 000 and 50 000"), "{said}");
    // If only steps are known, the costs are per step.
    let mut a = subject("a", "GPU", 1000.0, 0.1, 20, [1000.0, 0.0, 0.0]);
    let mut b = subject("b", "GPU", 500.0, 0.1, 20, [500.0, 0.0, 0.0]);
    (a.dollars_per_device_hour, b.dollars_per_device_hour) = (Some(1.0), Some(4.0));
    (a.profile.model_config.batch_size, b.profile.model_config.batch_size) = (None, None);
    let said = compare(&[a, b], &Options::default()).summary[0].clone();
    assert!(
        said.starts_with("It is not known") || said.contains("but per dollar a does 2.00x the steps of b"),
        "{said}"
    );
}

/// Replaces narrow spaces in numbers by plain ones.
fn plain(sentence: &str) -> String {
    sentence.replace('\u{202f}', " ")
}
