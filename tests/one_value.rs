//! Checks that a quantity has the same value wherever it is shown. The tests cover self times if kernels on a stream
//! overlap, waits and idle time, judgements of the same number, and a capture that is compared with itself.

use crate::support;
use std::collections::BTreeMap;

use crate::support::chrome::ChromeTrace;
use crate::support::{gpu, samples, tpu};
use crossprof::compare::{CauseKind, ChangeKind, Comparison, MatchedBy, MetricVerdict, Options, Subject, compare};
use crossprof::{Cell, Query, Session, Settings, TableName, UnifiedProfile};

const US: u64 = 1_000_000;

fn near(what: &str, value: f64, truth: f64) {
    assert!((value - truth).abs() < 1e-6 * truth.abs().max(1.0), "{what}: {value} is not {truth}");
}

/// Builds steps of 1,000 us on one GPU, with an annotation and a launch of each kernel on the host. A kernel has a name,
/// stream, start within the step, and length in microseconds.
fn steps_of(kernels: &[(&str, u32, u64, u64)], steps: u64) -> String {
    let mut json = ChromeTrace::new();
    json.process(1, "/device:GPU:0");
    json.process(701, "/host:CPU");
    json.thread(701, 4001, "python");
    for stream in [13, 14] {
        json.thread(1, stream, &format!("Stream #{stream}(Compute)"));
    }
    let mut correlation = 0;
    for step in 0..=steps {
        let start = (1 + step) * 1000 * US;
        json.event((701, 4001), "train", start, 900 * US, &[("step_num", &step.to_string())]);
        for &(name, stream, at, length) in kernels {
            correlation += 1;
            let id = correlation.to_string();
            json.event((701, 4001), "cuLaunchKernel", start + at * US, US / 2, &[("correlation_id", &id)]);
            let op = format!("{name}.1");
            let path = format!("jit(step)/{name}/dot_general");
            let args = [
                ("correlation_id", id.as_str()),
                ("hlo_module", "jit_step"),
                ("hlo_op", &op),
                ("tf_op", path.as_str()),
            ];
            json.event((1, stream), name, start + (at + 1) * US, length * US, &args);
        }
    }
    json.finish()
}

/// Returns the sum of a column over the rows of an op, because a table may list an op several times.
fn column(session: &mut Session, table: TableName, variant: &str, name: &str, value: &str) -> BTreeMap<String, f64> {
    let found = session.table(0, &Settings::default(), table, variant, &Query::default()).unwrap();
    let at = |key: &str| found.columns.iter().position(|it| it.key == key).unwrap_or_else(|| panic!("{table:?} {key}"));
    let (name, value) = (at(name), at(value));
    let mut sums = BTreeMap::new();
    for row in &found.rows {
        let (Cell::Text(name), Cell::Float(value)) = (&row[name], &row[value]) else { continue };
        *sums.entry(name.trim_end_matches(".1").to_owned()).or_insert(0.0) += value;
    }
    sums
}

/// Requires that every table and section with self times of `kernels` shows the `truth` for each name, per step in 5 counted
/// steps.
fn self_times_are(kernels: &[(&str, u32, u64, u64)], truth: &[(&str, f64)]) {
    const STEPS: u64 = 5;
    let mut session = support::open("overlap.trace.json", steps_of(kernels, STEPS).as_bytes());
    let profile = session.report(0, &Settings::default()).unwrap();
    let step_ops = profile.step_ops.as_ref().unwrap();
    assert_eq!((profile.step_timing.num_steps_counted, step_ops.device_steps), (Some(STEPS), STEPS), "{profile:#?}");
    let steps = STEPS as f64;
    let all: f64 = truth.iter().map(|(_, us)| us * steps).sum();
    let ops = profile.op_statistics.as_ref().unwrap();
    near("op_time_us", ops.op_time_us, all);
    near("step_ops.op_time_us", step_ops.op_time_us * steps, all);
    near("families", step_ops.families.iter().map(|it| it.self_time_us * steps).sum(), all);
    near("categories", profile.kernels.kernels_by_category.values().map(|it| it.time_us).sum(), all);
    near("concurrency", profile.step_breakdown.as_ref().unwrap().stream_concurrency.unwrap() * busy(&profile), all);
    let tables = [
        (TableName::Ops, "hlo_op_name", "total_self_time_us"),
        (TableName::FrameworkOps, "operation", "total_self_time_us"),
        (TableName::Roofline, "operation", "total_self_time_us"),
    ];
    let shown: Vec<(&str, BTreeMap<String, f64>)> =
        tables.into_iter().map(|(table, name, value)| (value, column(&mut session, table, "", name, value))).collect();
    for &(name, us) in truth {
        let us = us * steps;
        let of_op = ops.top_ops.iter().find(|it| it.name == format!("{name}.1")).unwrap();
        near(name, of_op.self_time_us, us);
        near(name, profile.kernels.top_kernels.iter().find(|it| it.name == name).unwrap().total_us, us);
        near(name, step_ops.ops.iter().find(|it| it.name == format!("{name}.1")).unwrap().self_time_us * steps, us);
        near(name, step_ops.kernels.iter().find(|it| it.name == name).unwrap().time_us * steps, us);
        for (table, (_, values)) in tables.iter().zip(&shown) {
            let found: Vec<f64> = values.iter().filter(|(of, _)| of.contains(name)).map(|(_, us)| *us).collect();
            assert_eq!(found.len(), 1, "{name} in {:?}: {values:?}", table.0);
            near(&format!("{name} in {:?}", table.0), found[0], us);
        }
        // All steps take the same time.
        near(name, step_ops.ops.iter().find(|it| it.name == format!("{name}.1")).unwrap().stddev_us.unwrap(), 0.0);
    }
    // The duration of a kernel is a different quantity, with its own name.
    for &(name, _, _, length) in kernels {
        let total = ops.top_ops.iter().find(|it| it.name == format!("{name}.1")).unwrap().total_time_us;
        near(name, total, length as f64 * steps);
    }
}

fn busy(profile: &UnifiedProfile) -> f64 {
    profile.multi_device.as_ref().unwrap().device_stats.iter().map(|it| it.actual_busy_time_us).sum()
}

/// A kernel starts before the previous kernel on the stream has ended.
///
/// ```text
/// us       0         90  100       150   200
/// gemm     [-------------)                      self 90
/// norm               [-------------)            self 60
/// adam                             [-----)      self 50
/// other       [----)                            another stream: 40
/// ```
#[test]
fn self_times_of_kernels_that_overlap_are_the_same_everywhere() {
    let kernels = [("gemm", 13, 0, 100), ("norm", 13, 90, 60), ("adam", 13, 150, 50), ("other", 14, 20, 40)];
    self_times_are(&kernels, &[("gemm", 90.0), ("norm", 60.0), ("adam", 50.0), ("other", 40.0)]);
}

/// One kernel covers three other kernels on its stream. A real stream cannot run kernels in this way, but each instant
/// must still be counted only once.
#[test]
fn self_times_of_a_kernel_over_others_add_up_to_the_busy_time() {
    let kernels = [("whole", 13, 0, 500), ("first", 13, 100, 50), ("second", 13, 200, 100), ("last", 13, 490, 30)];
    self_times_are(&kernels, &[("whole", 340.0), ("first", 50.0), ("second", 100.0), ("last", 30.0)]);
}

/// Some kernels start at the same time, and one kernel ends at the same time as another.
#[test]
fn self_times_of_kernels_that_start_together_count_once() {
    let kernels = [("long", 13, 0, 200), ("short", 13, 0, 50), ("inner", 13, 150, 50)];
    self_times_are(&kernels, &[("long", 100.0), ("short", 50.0), ("inner", 50.0)]);
}

/// Returns all differences between two runs. The list is empty if both are the same capture.
fn differences(found: &Comparison) -> Vec<String> {
    let mut told = Vec::new();
    for change in &found.step_time {
        if change.delta_us.unwrap_or(0.0) != 0.0 || change.typical_delta_us.unwrap_or(0.0) != 0.0 {
            told.push(format!("{change:?}"));
        }
    }
    let is_change = |it: &&crossprof::compare::Change| {
        it.change != ChangeKind::Same
            || it.recompiled
            || it.delta_us_per_step != 0.0
            || it.matched_by == MatchedBy::None
    };
    let changes = found.ops.iter().chain(&found.kernels).chain(&found.categories).filter(is_change);
    told.extend(changes.map(|it| format!("{it:?}")));
    told.extend(found.waterfall.iter().filter(|it| it.delta_us_per_step != 0.0).map(|it| format!("{it:?}")));
    told.extend(found.causes.iter().map(|it| it.text.clone()));
    told.extend(found.matching.iter().filter(|it| it.unmatched_us != [0.0, 0.0]).map(|it| format!("{it:?}")));
    let differ = |values: &[Option<String>]| values.windows(2).any(|pair| pair[0] != pair[1]);
    told.extend(found.fairness.iter().filter(|it| differ(&it.values)).map(|it| format!("{it:?}")));
    for metric in found.metrics.iter().chain(&found.platform_metrics) {
        if metric.values.windows(2).any(|pair| pair[0] != pair[1])
            || metric.verdicts.iter().flatten().any(|it| *it != MetricVerdict::Equal)
        {
            told.push(format!("{metric:?}"));
        }
    }
    if let Some(memory) = &found.memory {
        told.extend(memory.buffers.iter().map(|it| format!("{it:?}")));
        told.extend(memory.classes.iter().filter(|it| it.bytes[0] != it.bytes[1]).map(|it| format!("{it:?}")));
        let sum: u64 = memory.classes.iter().map(|it| it.bytes[0]).sum();
        // The peak equals the sum of the memory in use at the peak.
        if !memory.classes.is_empty() && Some(sum) != memory.peak_bytes[0] {
            told.push(format!("{sum} bytes of {:?}", memory.peak_bytes));
        }
    }
    told
}

fn with_itself(profile: &UnifiedProfile) -> Comparison {
    compare(&[Subject::new(profile.clone()), Subject::new(profile.clone())], &Options::default())
}

/// Checks that a capture equals itself, even after it was written to a file and read back.
fn same_as_itself(what: &str, profile: &UnifiedProfile) {
    assert_eq!(differences(&with_itself(profile)), Vec::<String>::new(), "{what}");
    let text = crossprof::export::json::profile(profile);
    let (result, mut again) = support::load("exported.json", text.as_bytes());
    assert_eq!(result.error, None, "{what}");
    let pair = [Subject::new(profile.clone()), Subject::new(again.remove(0))];
    assert_eq!(differences(&compare(&pair, &Options::default())), Vec::<String>::new(), "{what}, exported");
}

#[test]
fn a_capture_compared_with_itself_differs_in_nothing() {
    let made = [gpu::trace().0, tpu::trace().0, steps_of(&[("a", 13, 0, 100), ("b", 13, 90, 60)], 4)];
    for text in made {
        let (_, profiles) = support::load("made.trace.json", text.as_bytes());
        same_as_itself("made", &profiles[0]);
    }
    let mut with_memory = 0;
    for path in samples::own() {
        let (_, profiles) = support::load(&path.to_string_lossy(), &std::fs::read(&path).unwrap());
        for profile in &profiles {
            same_as_itself(&path.display().to_string(), profile);
            with_memory += usize::from(profile.memory.as_ref().is_some_and(|it| !it.devices.is_empty()));
        }
    }
    assert!(with_memory >= 3, "{with_memory} captures know their memory");
}

#[test]
#[ignore = "reads real profiles"]
fn a_real_capture_compared_with_itself_differs_in_nothing() {
    let mut compared = 0;
    for path in samples::files(&samples::traces(), &[".xplane.pb", ".json.gz", ".json", ".prof"]) {
        let (_, profiles) = support::load(&path.to_string_lossy(), &std::fs::read(&path).unwrap());
        for profile in &profiles {
            same_as_itself(&path.display().to_string(), profile);
            compared += 1;
        }
    }
    assert!(compared >= 20, "{compared}");
}

/// Returns the examples of the page: training runs on 4 TPUs and on 2 GPUs, with 8 or 9 steps. The expected values come
/// from a script that summed the times in the trace files.
fn examples() -> [UnifiedProfile; 2] {
    ["tpu-training", "gpu-training"].map(|name| {
        let path = samples::root().join(format!("www/assets/examples/{name}.trace.json.gz"));
        support::load(&path.to_string_lossy(), &std::fs::read(&path).unwrap()).1.remove(0)
    })
}

#[test]
fn matrix_products_of_two_platforms_are_one_class() {
    let [tpu, gpu] = examples();
    for (base, run) in [(&tpu, &gpu), (&gpu, &tpu)] {
        let found = compare(&[Subject::new(base.clone()), Subject::new(run.clone())], &Options::default());
        let class = |name: &str| found.categories.iter().find(|it| it.name == name);
        let matmul = class("matmul").unwrap();
        assert!(matmul.time_us.iter().all(|us| *us > 8_000.0), "{matmul:?}");
        // The number of ops on each platform is not meaningful.
        assert!(matches!(matmul.change, ChangeKind::Slower | ChangeKind::Faster), "{matmul:?}");
        assert!(class("convolution").is_none(), "{:?}", found.categories);
        // Their names cannot be compared, so phases replace ops.
        assert!(found.ops.is_empty(), "{:?}", found.ops);
        let phase = found.phases.iter().find(|it| it.phase == "matmul").unwrap();
        assert!(phase.run_us > 8_000.0 && phase.baseline_us > 8_000.0, "{phase:?}");
        // The GPU trace has no framework paths, so a scope without time in it means nothing.
        assert!(found.causes.iter().all(|it| it.kind != CauseKind::Scope), "{:?}", found.causes);
    }
}

#[test]
fn one_step_time_is_in_headline_and_waterfall() {
    let [tpu, gpu] = examples();
    let found = compare(&[Subject::new(tpu), Subject::new(gpu)], &Options::default());
    let change = &found.step_time[0];
    let sum = |side: fn(&crossprof::compare::PartChange) -> f64| found.waterfall.iter().map(side).sum::<f64>();
    near("run", sum(|part| part.run_us), change.typical_us.unwrap());
    near("baseline", sum(|part| part.baseline_us), change.baseline_typical_us.unwrap());
    near("difference", sum(|part| part.delta_us_per_step), change.typical_delta_us.unwrap());
    let rest = found.waterfall.iter().find(|part| part.part == "not_attributed");
    assert!(rest.is_none_or(|rest| rest.delta_us_per_step.abs() < 1.0), "{rest:?}");
    // Every percentage names its whole, and the whole is visible.
    let difference = format!("of the {} between the typical steps", base_time(change.typical_delta_us.unwrap().abs()));
    let shares: Vec<&String> = found.summary.iter().filter(|it| it.contains("That is ")).collect();
    assert!(!shares.is_empty() && shares.iter().all(|it| it.contains(&difference)), "{:#?}", found.summary);
    assert!(found.summary[0].contains(&base_time(change.typical_us.unwrap())), "{}", found.summary[0]);
}

fn base_time(us: f64) -> String {
    format!("{:.1} ms", us / 1e3)
}

/// Builds two GPUs. The second GPU runs only 4 of the 8 counted steps. Steps that run on both GPUs are longer than
/// steps that run only on the first GPU.
fn uneven() -> String {
    let mut json = ChromeTrace::new();
    for device in 1..=2 {
        json.process(device, &format!("/device:GPU:{}", device - 1));
        json.thread(device, 13, "Stream #13(Compute)");
    }
    json.process(701, "/host:CPU");
    json.thread(701, 4001, "python");
    let (mut now, mut correlation) = (1000 * US, 0);
    for step in 0..9 {
        let length = (3500 + 80 * step) * US;
        json.event((701, 4001), "train", now, length - 50 * US, &[("step_num", &step.to_string())]);
        for device in 1..=2 {
            if device == 2 && (4..8).contains(&step) {
                continue;
            }
            for kernel in 0..12 {
                correlation += 1;
                let id = correlation.to_string();
                let start = now + (200 + 280 * kernel) * US;
                json.event((701, 4001), "cuLaunchKernel", start - 10 * US, 3 * US, &[("correlation_id", &id)]);
                let args = [("correlation_id", id.as_str()), ("hlo_module", "jit_f"), ("hlo_op", "dot.1")];
                json.event((device, 13), "gemm", start, u64::from(device) * 30 * US, &args);
            }
        }
        now += length;
    }
    json.finish()
}

#[test]
fn devices_wait_no_longer_than_they_are_idle() {
    let (_, profiles) = support::load("uneven.trace.json", uneven().as_bytes());
    let profile = &profiles[0];
    let usage = profile.compute_utilization.as_ref().unwrap();
    let breakdown = profile.step_breakdown.as_ref().unwrap();
    near("step", breakdown.duration_us, usage.kernel_time_us + usage.overhead_time_us);
    near("busy", breakdown.device_busy_us, usage.kernel_time_us);
    near("idle", breakdown.parts.idle_us(), usage.overhead_time_us);
    near("gaps", profile.timeline_analysis.as_ref().unwrap().gaps.gap_time_percent, 100.0 - usage.compute_util_percent);
    let wait = profile.findings.iter().find(|it| it.id == "host_overhead").unwrap();
    let share = wait.evidence.iter().find(|it| it.name == "host_bound_percent").unwrap().value;
    let waits = share / 100.0 * (usage.kernel_time_us + usage.overhead_time_us);
    assert!(waits <= usage.overhead_time_us + 1e-6, "{waits} of {}", usage.overhead_time_us);
}

/// The second GPU ran only in a step that is not counted. Therefore, neither the busy share of the second GPU nor the
/// absence of gaps on it is known.
#[test]
fn a_device_without_a_counted_step_has_no_busy_share() {
    let text = uneven();
    let settings = Settings { window: "steps:4-7".parse().unwrap(), ..Settings::default() };
    let (_, profiles) = support::load_with("uneven.trace.json", text.as_bytes(), &settings);
    let devices = &profiles[0].multi_device.as_ref().unwrap().device_stats;
    assert_eq!(devices.len(), 2);
    assert!(devices[0].utilization_percent.is_some_and(|share| share > 0.0) && devices[0].gaps.is_some());
    assert_eq!((devices[1].total_time_us, devices[1].utilization_percent, &devices[1].gaps), (0.0, None, &None));
}

/// Builds steps with kernels of `us` each, and a gap of 60 us after each kernel: the device is busy for less than 80 % of
/// the time.
fn mean_kernel(us: u64) -> (Session, UnifiedProfile) {
    let names: Vec<String> = (0..5).map(|at| format!("kernel{at}")).collect();
    let kernels: Vec<(&str, u32, u64, u64)> =
        names.iter().zip(0..).map(|(name, at)| (name.as_str(), 13, at * (us + 60), us)).collect();
    let mut session = support::open("mean.trace.json", steps_of(&kernels, 6).as_bytes());
    let profile = session.report(0, &Settings::default()).unwrap();
    (session, profile)
}

/// A mean kernel of 119 us is not a finding, so it gives no warning in the headlines and the checklist. A mean of 80 us
/// is noted in the finding, the headlines and the checklist.
#[test]
fn one_limit_judges_the_mean_kernel() {
    for (us, is_short) in [(119, false), (101, false), (80, true), (30, true)] {
        let (mut session, profile) = mean_kernel(us);
        assert!(profile.compute_utilization.as_ref().unwrap().compute_util_percent < 80.0);
        let rule = profile.findings.iter().any(|it| {
            ["short_mean_kernel", "many_small_kernels", "low_device_utilization", "host_overhead"]
                .contains(&it.id.as_str())
                && it.evidence.iter().any(|it| it.name == "mean_kernel_us")
        });
        let checklist = session.table(0, &Settings::default(), TableName::Checklist, "", &Query::default()).unwrap();
        let at = |key: &str| checklist.columns.iter().position(|it| it.key == key).unwrap();
        let row = checklist.rows.iter().find(|row| row[at("id")] == Cell::Text("kernel_duration".to_owned())).unwrap();
        let judged = match &row[at("judgement")] {
            Cell::Text(word) => word.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(judged != "good", is_short, "{us} us: {judged}");
        assert!(!rule || is_short, "{us} us: {:?}", profile.findings);
    }
}
