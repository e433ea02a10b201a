//! Causes in comparisons. Each trace contains a known difference, and the comparison must name its cause first, with its
//! scope.
//!
//! The traces are Chrome JSON of one GPU whose host launches eight kernels per step. Each step has its own noise, and
//! each kernel has a little additional noise.

use crate::support;
use crate::support::chrome::ChromeTrace;
use crossprof::compare::{Comparison, Options, Subject, compare};

const OPS: [(&str, &str, f64); 8] = [
    ("gemm_fusion_dot.1", "layer_0/attn/dot_general", 2000.0),
    ("custom-call.2", "layer_0/attn/fmha", 1600.0),
    ("loop_add_fusion.1", "layer_0/attn/add", 300.0),
    ("gemm_fusion_dot.2", "layer_0/mlp/dot_general", 2500.0),
    ("loop_gelu_fusion.1", "layer_0/mlp/gelu", 400.0),
    ("gemm_fusion_dot.3", "layer_0/mlp/dot_general", 2400.0),
    ("input_reduce_fusion.1", "loss/reduce", 250.0),
    ("loop_multiply_fusion.9", "opt/mul", 350.0),
];

const STEPS: usize = 20;

/// The known difference of a capture.
#[derive(Clone, Default)]
struct Change {
    /// Names of ops, each with the factor by which the op takes longer.
    slower: Vec<(&'static str, f64)>,
    /// Ops that replace the ops in [`OPS`].
    ops: Option<Vec<(&'static str, &'static str, f64)>>,
    /// Name and length of a host range before the first launch of each step.
    host: Option<(&'static str, f64)>,
    /// Applies the change only to every nth step.
    every: usize,
}

/// Pseudo-random numbers from 0 to 1 that are the same in each run of the test (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns an approximately normal number: the sum of twelve numbers minus the mean of this sum.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

fn capture(seed: u64, change: &Change) -> Subject {
    let mut random = Random(seed);
    let mut json = ChromeTrace::new();
    json.process(1, "/device:GPU:0");
    json.thread(1, 13, "Stream #13(Compute)");
    json.process(701, "/host:CPU");
    json.thread(701, 4001, "python");
    let ps = |us: f64| (us * 1e6) as u64;
    let ops = change.ops.clone().unwrap_or_else(|| OPS.to_vec());
    let (mut now, mut launch) = (1000.0, 0);
    for step in 0..STEPS {
        let speed = 1.0 + 0.005 * random.normal();
        let begin = now;
        now += 20.0;
        if let Some((range, us)) = change.host.filter(|_| change.every == 0 || step % change.every == 2) {
            json.event((701, 4001), range, ps(now), ps(us), &[]);
            now += us;
        }
        let mut device = now + 30.0;
        for &(op, scope, us) in &ops {
            launch += 1;
            let id = launch.to_string();
            json.event((701, 4001), "cuLaunchKernel", ps(now), ps(3.0), &[("correlation_id", &id)]);
            now += 4.0;
            let slower = change.slower.iter().find(|(name, _)| *name == op || *name == "*").map_or(1.0, |(_, it)| *it);
            let us = us * speed * slower * (1.0 + 0.002 * random.normal());
            let path = format!("jit(train_step)/{scope}");
            let args = [
                ("correlation_id", id.as_str()),
                ("hlo_module", "jit_train_step"),
                ("hlo_op", op),
                ("tf_op", path.as_str()),
            ];
            json.event((1, 13), &op.replace('.', "_"), ps(device), ps(us), &args);
            device += us + 1.5;
        }
        now = device + 20.0;
        json.event((701, 4001), "train", ps(begin), ps(now - begin - 1.0), &[("step_num", &step.to_string())]);
    }
    let name = if seed == 11 { "main" } else { "new" };
    let (result, mut profiles) = support::load(&format!("{name}.trace.json"), json.finish().as_bytes());
    assert_eq!(result.error, None);
    Subject { name: name.to_owned(), ..Subject::new(profiles.remove(0)) }
}

fn against_main(change: &Change) -> Comparison {
    compare(&[capture(11, &Change::default()), capture(22, change)], &Options::default())
}

fn is_said(found: &Comparison, words: &[&str]) {
    let told = found.summary.join(" ");
    assert!(words.iter().all(|word| told.contains(word)), "{words:?} in {told}");
}

fn near(value: f64, truth: f64, by: f64) {
    assert!((value - truth).abs() <= by, "{value} is not {truth}");
}

#[test]
fn equal_captures_have_no_cause() {
    let found = against_main(&Change::default());
    assert!(found.causes.is_empty(), "{:?}", found.causes);
}

#[test]
fn a_slower_op_is_named_first_with_its_scope() {
    let found = against_main(&Change { slower: vec![("custom-call.2", 1.3)], ..Change::default() });
    let first = &found.causes[0];
    assert_eq!((first.name.as_str(), first.scope.as_deref()), ("custom-call.2", Some("layer_0/attn")));
    near(first.delta_us_per_step, 480.0, 25.0);
    is_said(&found, &["custom-call.2 (attention, layer_0/attn) is 1.30x slower"]);
    near(found.step_time[0].explained_percent.unwrap(), 100.0, 10.0);
}

#[test]
fn an_op_that_is_within_its_noise_is_no_cause() {
    let found = against_main(&Change { slower: vec![("custom-call.2", 1.3)], ..Change::default() });
    // All ops vary by half a percent with their step. Over 20 steps, this noise adds up to a millisecond that belongs
    // to no op.
    let named: Vec<&str> = found.causes.iter().map(|cause| cause.name.as_str()).collect();
    assert!(!named.iter().any(|name| name.starts_with("gemm") || name.starts_with("loop")), "{named:?}");
}

#[test]
fn an_op_of_another_scope_is_new_whatever_its_name() {
    let mut ops = OPS.to_vec();
    // The next build renumbers its products: dot.2 becomes dot.4, and the new op is called dot.2.
    ops[3].0 = "gemm_fusion_dot.4";
    ops.push(("gemm_fusion_dot.2", "layer_0/extra/dot_general", 500.0));
    let found = against_main(&Change { ops: Some(ops), ..Change::default() });
    let first = &found.causes[0];
    assert_eq!((first.name.as_str(), first.scope.as_deref()), ("gemm_fusion_dot.2", Some("layer_0/extra")));
    near(first.delta_us_per_step, 500.0, 20.0);
    is_said(&found, &["gemm_fusion_dot.2 (matmul, layer_0/extra) runs in new only"]);
}

#[test]
fn a_scope_that_is_rewritten_is_one_cause() {
    let mut ops = OPS.to_vec();
    ops[1] = ("quantized_matmul.1", "layer_0/attn/quantized_matmul", 700.0);
    ops.push(("loop_exponential_fusion.1", "layer_0/attn/exp", 300.0));
    let found = against_main(&Change { ops: Some(ops), ..Change::default() });
    near(found.causes[0].delta_us_per_step, -600.0, 25.0);
    is_said(&found, &["layer_0/attn was rewritten: quantized_matmul.1 (2 ops) in place of custom-call.2"]);
}

#[test]
fn ops_that_all_change_alike_are_one_cause() {
    let found = against_main(&Change { slower: vec![("*", 1.05)], ..Change::default() });
    assert_eq!((found.causes.len(), found.causes[0].kind.label()), (1, "uniform"));
}

#[test]
fn ops_of_a_scope_that_change_equally_are_reported_together() {
    const SMALL: [(&str, &str, f64); 12] = [
        ("add.1", "layer_0/norm/add", 50.0),
        ("add.2", "layer_0/norm/sub", 50.0),
        ("add.3", "layer_0/norm/mul", 50.0),
        ("add.4", "layer_0/norm/div", 50.0),
        ("add.5", "layer_0/norm/exp", 50.0),
        ("add.6", "layer_0/norm/log", 50.0),
        ("add.7", "layer_1/norm/add", 50.0),
        ("add.8", "layer_1/norm/sub", 50.0),
        ("add.9", "layer_1/norm/mul", 50.0),
        ("add.10", "layer_1/norm/div", 50.0),
        ("add.11", "layer_1/norm/exp", 50.0),
        ("add.12", "layer_1/norm/log", 50.0),
    ];
    let ops: Vec<_> = OPS.iter().chain(&SMALL).copied().collect();
    let with = |factor: f64| Change {
        ops: Some(ops.clone()),
        slower: SMALL.iter().map(|(name, ..)| (*name, factor)).collect(),
        ..Change::default()
    };
    let found = compare(&[capture(11, &with(1.0)), capture(22, &with(1.6))], &Options::default());
    let first = &found.causes[0];
    assert_eq!((first.kind.label(), first.name.as_str()), ("scope", "layer_*/norm"));
    near(first.delta_us_per_step, 360.0, 20.0);
}

#[test]
fn a_different_compiler_is_reported_below_the_times() {
    let built_by = |seed: u64, change: &Change, version: &str| {
        let mut subject = capture(seed, change);
        subject.profile.metadata.environment.insert("jaxlib_version".to_owned(), version.to_owned());
        subject
    };
    let slower = Change { slower: vec![("custom-call.2", 1.3)], ..Change::default() };
    let main = built_by(11, &Change::default(), "0.7.1");
    let found = compare(&[main.clone(), built_by(22, &slower, "0.8.0")], &Options::default());
    let last = found.causes.last().unwrap();
    assert_eq!((last.kind.label(), last.name.as_str()), ("condition", "compiler"));
    assert!(last.text.contains("jaxlib_version 0.8.0 instead of jaxlib_version 0.7.1"), "{}", last.text);
    assert_eq!(found.causes[0].name, "custom-call.2");
    // Without a difference there is no cause.
    assert!(compare(&[main, built_by(22, &Change::default(), "0.8.0")], &Options::default()).causes.is_empty());
}

#[test]
fn the_host_is_named_with_the_range_that_it_is_in() {
    let found = against_main(&Change { host: Some(("load_batch", 500.0)), ..Change::default() });
    assert_eq!(found.causes[0].kind.label(), "part");
    near(found.causes[0].delta_us_per_step, 500.0, 40.0);
    is_said(&found, &["the host is in load_batch for more of the time"]);
}

#[test]
fn stalls_are_named_with_the_range_that_the_host_is_in() {
    let found = against_main(&Change { host: Some(("save_checkpoint", 5000.0)), every: 9, ..Change::default() });
    assert!(found.causes.is_empty(), "{:?}", found.causes);
    assert!(found.summary[0].starts_with("Over the whole capture, "), "{:?}", found.summary);
    is_said(&found, &["2 stalls of 4.9", " each (in save_checkpoint; idle: waiting for launch)"]);
}
