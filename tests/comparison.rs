//! Compares runs whose difference is known. The comparison must name the cause first, and its parts must add up.

use crate::support;
use crate::support::chrome::ChromeTrace;
use crate::support::samples;
use crossprof::UnifiedProfile;
use crossprof::compare::{
    CauseKind, Comparison, ComparisonKind, FairnessStatus, MatchedBy, Options, StepTimeVerdict, Subject, compare,
};

const US: u64 = 1_000_000;

/// A training job on two GPUs, with two streams per GPU:
///
/// ```text
/// compute     [matmul 300][norm 100]........[update 80]   gap 20
/// collective      [all-reduce, from 350 on, 120)          hidden by norm for 50 us of 120
/// ```
#[derive(Clone, Copy)]
struct Job {
    steps: u64,
    matmul_us: u64,
    norm_us: u64,
    all_reduce_us: u64,
    /// Additional time of the matmul on the second device.
    behind_us: u64,
    gap_us: u64,
    /// Number in the names of the ops. Each build changes it.
    number: u32,
}

const JOB: Job =
    Job { steps: 8, matmul_us: 300, norm_us: 100, all_reduce_us: 120, behind_us: 0, gap_us: 20, number: 1 };

impl Job {
    fn trace(self) -> String {
        let mut json = ChromeTrace::new();
        json.process(701, "/host:CPU");
        json.thread(701, 4001, "python");
        for device in 1..=2 {
            json.process(device, &format!("/device:GPU:{}", device - 1));
            json.thread(device, 13, "Stream #13(Compute)");
            json.thread(device, 22, "Stream #22(Compute)");
        }
        let mut now = 1000 * US;
        for step in 0..self.steps {
            json.event((701, 4001), "train", now, 50 * US, &[("step_num", &step.to_string())]);
            // The collective ends on both devices after the slower device has arrived.
            let joined = now + (self.matmul_us + self.behind_us + 50) * US;
            let mut end = 0;
            for device in 1..=2 {
                let behind = if device == 2 { self.behind_us } else { 0 };
                let mut kernel = |stream: u32, name: &str, start: u64, us: u64| {
                    let op = if stream == 22 { "all-reduce" } else { name };
                    let op = format!("{op}.{}", self.number);
                    let path = format!("jit(train)/layer_0/{name}");
                    let args = [("hlo_module", "jit_train"), ("hlo_op", op.as_str()), ("tf_op", path.as_str())];
                    json.event((device, stream), name, start, us * US, &args);
                    start + us * US
                };
                let matmul = kernel(13, "gemm_fusion_dot", now, self.matmul_us + behind);
                let norm = kernel(13, "loop_norm_fusion", matmul, self.norm_us);
                let start = matmul + 50 * US;
                let reduced = joined + self.all_reduce_us * US;
                kernel(22, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", start, (reduced - start) / US);
                end = kernel(13, "loop_update_fusion", reduced.max(norm), 80);
            }
            now = end + self.gap_us * US;
        }
        // The start of an additional step ends the last step. The additional step is cut off.
        json.event((701, 4001), "train", now, 50 * US, &[("step_num", &self.steps.to_string())]);
        for device in 1..=2 {
            json.event((device, 13), "gemm_fusion_dot", now, US, &[("hlo_module", "jit_train")]);
        }
        json.finish()
    }

    fn subject(self, name: &str) -> Subject {
        let (result, mut profiles) = support::load(&format!("{name}.trace.json"), self.trace().as_bytes());
        assert_eq!(result.error, None);
        Subject { name: name.to_owned(), ..Subject::new(profiles.remove(0)) }
    }
}

/// Compares both runs, and checks that the parts add up to the difference.
fn compared(base: Job, run: Job) -> Comparison {
    let found = compare(&[base.subject("base"), run.subject("run")], &Options::default());
    adds_up(&found);
    println!("{:#?}", found.summary);
    found
}

fn adds_up(found: &Comparison) {
    let ps = |us: f64| (us * 1e6).round() as i64;
    for change in &found.step_time {
        let parts = found.waterfall.iter().filter(|part| part.run == change.run);
        let sum: i64 = parts.map(|part| ps(part.delta_us_per_step)).sum();
        let steps = [change.typical_us, change.baseline_typical_us].map(|us| ps(us.unwrap()));
        assert_eq!(sum, steps[0] - steps[1], "{:?}", found.waterfall);
    }
}

fn near(value: f64, truth: f64) {
    assert!((value - truth).abs() < 1e-6 * truth.abs().max(1.0), "{value} is not {truth}");
}

#[test]
fn an_op_twice_as_slow_is_named_first() {
    let found = compared(JOB, Job { matmul_us: 600, ..JOB });
    near(found.step_time[0].baseline_us.unwrap(), 570.0);
    near(found.step_time[0].delta_us.unwrap(), 300.0);
    assert_eq!(found.step_time[0].verdict, StepTimeVerdict::Slower);
    let cause = &found.causes[0];
    assert!(cause.name.starts_with("gemm_fusion_dot"), "{cause:?}");
    near(cause.delta_us_per_step, 300.0);
    near(cause.percent_of_difference.unwrap(), 100.0);
    assert!(found.summary[0].contains("1.53x slower"), "{}", found.summary[0]);
    assert!(found.summary[1].contains("2.00x slower"), "{}", found.summary[1]);
    let compute = found.waterfall.iter().find(|part| part.part == "compute").unwrap();
    near(compute.delta_us_per_step, 300.0);
    assert_eq!((found.ops[0].change.label(), found.ops[0].matched_by.label()), ("slower", "name"));
    assert_eq!(found.kernels[0].name, "gemm_fusion_dot");
}

#[test]
fn a_collective_that_is_hidden_less_is_named_first() {
    let found = compared(JOB, Job { all_reduce_us: 180, ..JOB });
    near(found.step_time[0].delta_us.unwrap(), 60.0);
    let cause = &found.causes[0];
    assert_eq!(cause.kind, CauseKind::Communication, "{:?}", found.causes);
    near(cause.delta_us_per_step, 60.0);
    let part = found.waterfall.iter().find(|part| part.part == "communication").unwrap();
    near(part.delta_us_per_step, 60.0);
    assert!(found.summary[1].contains("exposed"), "{}", found.summary[1]);
}

#[test]
fn a_device_that_falls_behind_is_named_first() {
    let found = compared(JOB, Job { behind_us: 150, ..JOB });
    near(found.step_time[0].delta_us.unwrap(), 150.0);
    assert_eq!(found.causes[0].kind, CauseKind::Straggler, "{:?}", found.causes);
    assert!(found.causes[0].name.contains("GPU:1"), "{:?}", found.causes[0]);
    assert!(found.summary[1].contains("GPU:1"), "{}", found.summary[1]);
    // In the opposite direction, the same device is the cause of the gain.
    let back = compare(&[Job { behind_us: 150, ..JOB }.subject("run"), JOB.subject("base")], &Options::default());
    assert_eq!(back.causes[0].kind, CauseKind::Straggler, "{:?}", back.causes);
    near(back.causes[0].delta_us_per_step, -found.causes[0].delta_us_per_step);
}

#[test]
fn more_steps_of_the_same_length_are_no_difference() {
    let found = compared(JOB, Job { steps: 9, ..JOB });
    assert!(
        matches!(found.step_time[0].verdict, StepTimeVerdict::Equal | StepTimeVerdict::WithinNoise),
        "{:?}",
        found.step_time
    );
    assert!(found.metrics.iter().all(|metric| metric.winner.is_none()), "{:?}", found.metrics);
    let steps = found.fairness.iter().find(|check| check.check == "step_count").unwrap();
    assert_eq!(steps.status, FairnessStatus::Differs);
    assert!(found.summary[1].contains("steps ("), "{:?}", found.summary);
}

#[test]
fn late_launches_are_idle_time() {
    let found = compared(JOB, Job { gap_us: 70, ..JOB });
    near(found.step_time[0].delta_us.unwrap(), 50.0);
    assert_eq!(
        (found.causes[0].kind.label(), found.causes[0].name.as_str()),
        ("part", "other_idle"),
        "{:?}",
        found.causes
    );
}

#[test]
fn another_numbering_changes_nothing() {
    let found = compared(JOB, Job { number: 40, ..JOB });
    assert_eq!(found.step_time[0].verdict, StepTimeVerdict::Equal);
    assert_eq!(found.matching[0].unmatched_us, [0.0, 0.0]);
    assert!(found.causes.is_empty());
}

#[test]
fn an_exported_profile_compares_like_its_trace() {
    let (base, run) = (JOB.subject("base"), Job { matmul_us: 450, ..JOB }.subject("run"));
    let again = |subject: &Subject| {
        let text = crossprof::export::json::profile(&subject.profile);
        let (result, mut profiles) = support::load("exported.json", text.as_bytes());
        assert_eq!(result.error, None);
        Subject { name: subject.name.clone(), ..Subject::new(profiles.remove(0)) }
    };
    let straight = compare(&[base.clone(), run.clone()], &Options::default());
    let through_files = compare(&[again(&base), again(&run)], &Options::default());
    assert_eq!(straight, through_files);
}

/// Returns the profile in the format of version 1.0.0, with only the sections of that version's schema.
fn historical(profile: &UnifiedProfile) -> UnifiedProfile {
    let mut value = serde_json::to_value(profile).unwrap();
    let sections = value.as_object_mut().unwrap();
    for added in [
        "step_ops",
        "step_breakdown",
        "op_statistics",
        "communication",
        "findings",
        "roofline",
        "kernel_statistics",
        "launches",
        "warnings",
        "not_measured",
        "provenance",
        "steps",
    ] {
        sections.remove(added);
    }
    let metadata = sections["metadata"].as_object_mut().unwrap();
    metadata.retain(|key, _| {
        ["timestamp", "platform", "device_type", "trace_file", "framework", "num_devices", "profiler_version"]
            .contains(&key.as_str())
    });
    let text = value.to_string();
    let (result, mut profiles) = support::load("historical.json", text.as_bytes());
    assert_eq!(result.error, None);
    profiles.remove(0)
}

#[test]
fn historical_profiles_give_the_same_scores() {
    let (base, run) = (JOB.subject("base"), Job { matmul_us: 600, ..JOB }.subject("run"));
    let old = |it: &Subject| Subject { name: it.name.clone(), ..Subject::new(historical(&it.profile)) };
    let now = compare(&[base.clone(), run.clone()], &Options::default());
    let then = compare(&[old(&base), old(&run)], &Options::default());
    adds_up(&then);
    assert_eq!(then.step_time[0].delta_us, now.step_time[0].delta_us);
    let mut same = 0;
    for metric in &then.metrics {
        let other = now.metrics.iter().find(|it| it.metric == metric.metric).unwrap();
        assert_eq!((&metric.values, &metric.ratios, metric.winner), (&other.values, &other.ratios, other.winner));
        same += 1;
    }
    assert!(same >= 4, "only {same} metrics were compared");
    // The old profile lists kernels of the whole capture, which still identify the slow one.
    assert!(then.causes[0].name.starts_with("gemm_fusion_dot"), "{:?}", then.causes);
}

fn real(path: &str) -> Subject {
    let (result, mut profiles) = support::load(path, &samples::real_bytes(path));
    assert_eq!(result.error, None);
    let name = path.rsplit('/').next().unwrap().split('.').next().unwrap();
    Subject { name: name.to_owned(), ..Subject::new(profiles.remove(0)) }
}

#[test]
#[ignore = "reads real profiles"]
fn the_all_to_alls_of_one_serving_run_are_among_the_first_three_lines() {
    let [a, b] = ["run-a", "run-b"].map(|run| real(&format!("tpu-qwen3-runs/{run}.trace.json.gz")));
    for subjects in [[a.clone(), b.clone()], [b, a]] {
        let found = compare(&subjects, &Options::default());
        adds_up(&found);
        println!("{:#?}", found.summary);
        let said = "run-a runs 256 all-to-all, run-b none";
        assert!(found.summary.iter().take(3).any(|line| line.contains(said)), "{:#?}", found.summary);
    }
}

#[test]
fn platforms_are_compared_by_scope_and_class() {
    let (base, mut run) = (JOB.subject("gpu"), Job { matmul_us: 600, ..JOB }.subject("tpu"));
    run.profile.metadata.platform = "TPU".to_owned();
    let found = compare(&[base, run], &Options::default());
    adds_up(&found);
    assert!(!found.ops.is_empty() && found.kernels.is_empty());
    assert!(
        found.ops.iter().all(|op| matches!(op.matched_by, MatchedBy::FrameworkPath | MatchedBy::Class)),
        "{:#?}",
        found.ops
    );
    assert_eq!(found.ops[0].framework_op.as_deref(), Some("jit(train)/layer_0/gemm_fusion_dot"));
}

#[test]
#[ignore = "reads real profiles"]
fn runs_with_and_without_steps_are_not_compared() {
    let (tpu, gpu) = (real("tpu-v6e-4chip/*.xplane.pb"), real("gtx1080ti-2gpu/*.xplane.pb"));
    let found = compare(&[tpu, gpu], &Options::default());
    println!("{:#?}", found.summary);
    assert_eq!(found.kind, ComparisonKind::AcrossPlatforms);
    assert!(found.platform_metrics.iter().all(|metric| metric.winner.is_none()));
    // Only one run has steps, so nothing about steps is compared.
    assert!(found.summary[0].contains("cannot be compared"), "{:?}", found.summary);
    assert!(found.waterfall.is_empty() && found.causes.is_empty() && found.ops.is_empty() && found.kernels.is_empty());
    assert!(found.metrics.iter().any(|metric| metric.metric == "compute_utilization.compute_util_percent"));
}

/// For pairs of real captures, checks the verdict on whether their steps do the same work, and the evidence for that
/// verdict.
#[test]
#[ignore = "reads real profiles"]
fn equal_and_different_work_of_real_captures_is_detected() {
    let paths = |name: &str, json: &str| [format!("{name}/*.xplane.pb"), format!("{name}/{json}")];
    let [tpu, tpu_json] = paths("tpu-v6e-4chip", "host.trace.json.gz");
    let pairs = [
        // The first pair is the same capture with HLO and with expressions only. The second is a capture and itself.
        ([tpu.as_str(), tpu_json.as_str()], FairnessStatus::Same, "ops"),
        ([tpu.as_str(), tpu.as_str()], FairnessStatus::Same, "program"),
        (
            ["gfx950-te-attention/*.xplane.pb", "mi300x-elementwise/*.xplane.pb"],
            FairnessStatus::Differs,
            "parameter_shapes",
        ),
        (
            ["mi300x-elementwise/*.xplane.pb", "mi300x-8gpu-conv/*.xplane.pb"],
            FairnessStatus::Differs,
            "parameter_shapes",
        ),
        ([tpu.as_str(), "gfx950-te-attention/*.xplane.pb"], FairnessStatus::Differs, "parameter_shapes"),
        // The runs have different collectives, and no batch size is known.
        (["tpu-qwen3-runs/run-a.trace.json.gz", "tpu-qwen3-runs/run-b.trace.json.gz"], FairnessStatus::Unknown, ""),
        (["kineto/rank-0.json.gz", "kineto/rank-1.json.gz"], FairnessStatus::Unknown, ""),
    ];
    for (pair, work, evidence) in pairs {
        let found = compare(&pair.map(real), &Options::default());
        println!("{pair:?} {:#?}", found.summary);
        let change = &found.step_time[0];
        assert_eq!(change.work, work, "{pair:?}");
        assert!(evidence.is_empty() || change.work_evidence.iter().any(|it| it == evidence), "{pair:?} {change:?}");
        let is_winner_named =
            found.summary.iter().any(|line| line.contains("faster than") || line.contains("slower than"));
        assert!(work == FairnessStatus::Same || !is_winner_named, "{:?}", found.summary);
        assert_eq!(
            work == FairnessStatus::Differs,
            found.summary[0].contains("neither is faster"),
            "{:?}",
            found.summary
        );
    }
}
