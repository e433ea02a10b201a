//! Tests forward passes of inference engines in captures of JAX on the CPU (tests/data/serving). The expected values
//! come from the recording script: the phase and batch of each pass, and the time of the pass on the script's own
//! clock.

use crate::support::{samples, xprof};

use crossprof::{Session, Settings, TableName};
use serde_json::Value;

struct Pass {
    phase: &'static str,
    requests: u64,
    prompt_tokens: u64,
    decoded_tokens: u64,
    time_us: f64,
}

fn truth(case: &str) -> Vec<Pass> {
    let path = samples::root().join(format!("tests/data/serving/{case}.truth.json"));
    let truth: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let pass = |it: &Value| {
        let [prefills, prompt_tokens, decodes] =
            ["prefill_requests", "prefill_tokens", "decode_requests"].map(|key| it[key].as_u64().unwrap());
        let phase = match (prefills > 0, decodes > 0) {
            (true, false) if case != "tpu" => "prefill",
            (false, true) => "decode",
            // The names of tpu-inference do not separate prompts from next tokens.
            _ => "mixed",
        };
        let time_us = it["time_us"].as_f64().unwrap();
        Pass { phase, requests: prefills + decodes, prompt_tokens, decoded_tokens: decodes, time_us }
    };
    truth["passes"].as_array().unwrap().iter().map(pass).collect()
}

/// Returns the numbers that the script chose (graphs.truth.json).
fn chosen() -> Value {
    let path = samples::root().join("tests/data/serving/graphs.truth.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn open(case: &str) -> Session {
    xprof::open(&samples::root().join(format!("tests/data/serving/{case}.xplane.pb.gz")))
}

/// Returns the median of an odd number of values.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn every_pass_is_a_step_with_its_batch_and_time() {
    for case in ["vllm", "sglang", "tpu"] {
        let steps = xprof::ours(&mut open(case), &Settings::default(), TableName::Steps);
        let truth = truth(case);
        assert_eq!(steps.len(), truth.len(), "{case}");
        for (step, pass) in steps.iter().zip(&truth) {
            assert_eq!(xprof::text(step, "phase"), pass.phase, "{case}");
            assert_eq!(xprof::number(step, "requests"), pass.requests as f64, "{case}");
            let tokens = (pass.prompt_tokens + pass.decoded_tokens) as f64;
            assert_eq!(xprof::number(step, "tokens"), tokens, "{case}");
            if pass.phase != "mixed" || case != "tpu" {
                assert_eq!(xprof::number(step, "prefill_tokens"), pass.prompt_tokens as f64, "{case}");
                assert_eq!(xprof::number(step, "decode_tokens"), pass.decoded_tokens as f64, "{case}");
            }
        }
        // The end of the last step is unknown.
        let times = steps.iter().zip(&truth).take(truth.len() - 1);
        for (step, pass) in times {
            let ours = xprof::number(step, "duration_us");
            assert!((ours - pass.time_us).abs() < 60.0 + 0.01 * pass.time_us, "{case}: {ours} and {}", pass.time_us);
        }
    }
}

#[test]
fn rates_and_token_times_are_those_of_the_script() {
    for case in ["vllm", "sglang"] {
        let mut session = open(case);
        let report = session.report(0, &Settings::default()).unwrap();
        let serving = report.serving.as_ref().unwrap();
        let truth = truth(case);
        // The last pass is not included, because its end is unknown.
        let counted = &truth[..truth.len() - 1];
        let time_us: f64 = counted.iter().map(|pass| pass.time_us).sum();
        let decoded: u64 = counted.iter().map(|pass| pass.decoded_tokens).sum();
        let prompts: u64 = counted.iter().map(|pass| pass.prompt_tokens).sum();
        assert!(xprof::within(decoded as f64 * 1e6 / time_us, serving.decode_tokens_per_sec.unwrap(), 0.01), "{case}");
        assert!(xprof::within(prompts as f64 * 1e6 / time_us, serving.prefill_tokens_per_sec.unwrap(), 0.01), "{case}");
        assert_eq!(serving.max_requests, Some(8));

        // Each token arrives at the end of the pass that decodes it. The interval includes all passes since the previous
        // decoding pass.
        let (mut intervals, mut since, mut has_prompt) = (Vec::new(), None, false);
        for pass in counted {
            since = since.map(|us: f64| us + pass.time_us);
            has_prompt |= pass.prompt_tokens > 0;
            if pass.decoded_tokens > 0 {
                intervals.extend(since.map(|us| (us, has_prompt)));
                (since, has_prompt) = (Some(0.0), false);
            }
        }
        let longest = intervals.iter().map(|it| it.0).fold(0.0, f64::max);
        assert!(xprof::within(longest, serving.max_token_interval_us.unwrap(), 0.02), "{case}");
        let usual: Vec<f64> = intervals.iter().filter(|it| !it.1).map(|it| it.0).collect();
        let usual = median(usual[..usual.len() - usual.len().is_multiple_of(2) as usize].to_vec());
        let whole: f64 = intervals.iter().map(|it| it.0).sum();
        let delay: f64 = intervals.iter().filter(|it| it.1).map(|it| it.0 - usual).sum();
        let ours = serving.prompt_delay_percent.unwrap();
        assert!((100.0 * delay / whole - ours).abs() < 1.0, "{case}: {ours}");

        // From the first pass with eight requests that decodes to the last one.
        let steady = serving.steady.as_ref().unwrap();
        let is_full = |pass: &Pass| pass.decoded_tokens > 0 && pass.requests == 8;
        let first = truth.iter().position(is_full).unwrap() as u64;
        let last = truth.iter().rposition(is_full).unwrap() as u64;
        assert_eq!((steady.first_step, steady.last_step), (first, last), "{case}");
    }
}

#[test]
fn prompts_and_not_slow_ops_explain_long_passes() {
    let mut session = open("vllm");
    let report = session.report(0, &Settings::default()).unwrap();
    let found = |id: &str| report.findings.iter().find(|finding| finding.id == id);
    let delayed = found("delayed_tokens").expect("prompts delay the next tokens");
    assert!(delayed.title.contains("Prompts delay the next tokens by up to"), "{}", delayed.title);
    // The annotation of a pass is not a cause.
    for finding in &report.findings {
        assert!(!finding.message.contains("execute_context_"), "{}", finding.message);
    }
    if let Some(varies) = found("step_time_variation") {
        assert!(!varies.message.contains("ynn_fusion"), "{}", varies.message);
    }
}

#[test]
fn programs_named_after_the_phases_are_passes() {
    let steps = xprof::ours(&mut open("names"), &Settings::default(), TableName::Steps);
    // A mixed pass calls `prefill`, then `decode`.
    let phases: Vec<&str> = truth("names")
        .iter()
        .flat_map(|pass| match pass.phase {
            "mixed" => vec!["prefill", "decode"],
            phase => vec![phase],
        })
        .collect();
    assert_eq!(steps.iter().map(|step| xprof::text(step, "phase")).collect::<Vec<_>>(), phases);
    assert!(steps.iter().all(|step| step["requests"].is_null()));
}

#[test]
fn annotated_steps_with_several_passes_stay_the_steps() {
    let mut session = open("train");
    let report = session.report(0, &Settings::default()).unwrap();
    assert_eq!((report.steps.len(), report.step_timing.step_count_source.as_str()), (12, "step_num"));
    assert_eq!(report.serving, None);
}

#[test]
fn captures_are_compared_by_the_passes_that_decode() {
    use crossprof::compare::{Options, Subject, compare};
    let subject = |case: &str| Subject::new(open(case).report(0, &Settings::default()).unwrap());
    let comparison = compare(&[subject("vllm"), subject("sglang")], &Options::default());
    for (time, case) in comparison.capture_time.iter().zip(["vllm", "sglang"]) {
        let truth = truth(case);
        let decoding: Vec<f64> =
            truth[..truth.len() - 1].iter().filter(|it| it.phase == "decode").map(|it| it.time_us).collect();
        let mean = decoding.iter().sum::<f64>() / decoding.len() as f64;
        assert_eq!(time.steps, decoding.len() as u64, "{case}");
        assert!(xprof::within(mean, time.us_per_step, 0.02), "{case}: {mean} and {}", time.us_per_step);
        // A prompt is not a stall.
        assert!(time.losses.iter().all(|loss| loss.longest_us < 4_000.0), "{case}: {:?}", time.losses);
    }
}

/// Opens the synthetic capture whose decode passes launch graphs.
fn with_graphs() -> Session {
    xprof::open(&samples::root().join("tests/data/serving/graphs.trace.json.gz"))
}

#[test]
fn gaps_between_decode_passes_are_those_of_the_script() {
    let (mut session, truth) = (with_graphs(), chosen());
    let phases = xprof::ours(&mut session, &Settings::default(), TableName::Serving);
    let [prefill, decode] = phases.as_slice() else { panic!("{phases:?}") };
    for column in ["median_gap_us", "p95_gap_us", "max_gap_us", "gap_percent"] {
        let (ours, expected) = (xprof::number(decode, column), truth[column].as_f64().unwrap());
        assert!(xprof::within(expected, ours, 1e-5), "{column}: {ours} and {expected}");
    }
    assert_eq!(xprof::text(decode, "gap_cause"), "host_bound");
    let host = truth["host_bound_percent"].as_f64().unwrap();
    assert!(xprof::within(host, xprof::number(decode, "gap_cause_percent"), 1e-5), "{host}");
    // No two prefills are consecutive.
    assert!(prefill["median_gap_us"].is_null() && prefill["gap_cause"].is_null());
}

#[test]
fn gaps_on_the_cpu_contain_the_pause_of_the_script() {
    for case in ["vllm", "sglang"] {
        let phases = xprof::ours(&mut open(case), &Settings::default(), TableName::Serving);
        let decode = phases.iter().find(|phase| xprof::text(phase, "phase") == "decode").unwrap();
        // The script pauses for 300 us between passes.
        let [median, percent] = ["median_gap_us", "gap_percent"].map(|column| xprof::number(decode, column));
        let pass_us = xprof::number(decode, "avg_time_us");
        assert!(median > 300.0 && median < pass_us, "{case}: {median} of {pass_us}");
        assert!(percent > 100.0 * 300.0 / pass_us * 0.9 && percent < 100.0, "{case}: {percent}");
        assert!(decode["graph_launches"].is_null(), "a CPU launches nothing");
    }
}

#[test]
fn graph_launches_of_each_pass_are_those_of_the_script() {
    let (mut session, truth) = (with_graphs(), chosen());
    let steps = xprof::ours(&mut session, &Settings::default(), TableName::Steps);
    let passes = truth["passes"].as_array().unwrap();
    assert_eq!(steps.len(), passes.len());
    for (step, pass) in steps.iter().zip(passes) {
        assert_eq!(xprof::text(step, "phase"), pass["phase"].as_str().unwrap());
        let [launches, kernels] = ["graph_launches", "graph_kernels"].map(|column| xprof::number(step, column));
        assert_eq!((Some(launches), Some(kernels)), (pass["graph_launches"].as_f64(), pass["graph_kernels"].as_f64()));
        assert_eq!(Some(xprof::number(step, "num_kernels") - kernels), pass["single_kernels"].as_f64());
    }
    let phases = xprof::ours(&mut session, &Settings::default(), TableName::Serving);
    for column in ["graph_launches", "graph_kernels", "single_kernels"] {
        let expected = truth[column].as_f64().unwrap();
        assert!(xprof::within(expected, xprof::number(&phases[1], column), 1e-12), "{column}");
    }
}

/// The expected numbers were counted in the raw events: launches with `GraphLaunch` in their name, and ops with the same
/// correlation id.
#[test]
fn steps_on_a_gpu_have_their_graph_launches() {
    let cases =
        [("graphs_on", Some((1.0, 114.0)), 115.0), ("conv", Some((4.0, 29.0)), 53.0), ("graphs_off", None, 115.0)];
    for (case, graphs, ops) in cases {
        let path = samples::root().join(format!("tests/data/jax-h100/{case}.xplane.pb.gz"));
        let steps = xprof::ours(&mut xprof::open(&path), &Settings::default(), TableName::Steps);
        assert_eq!(steps.len(), 6, "{case}");
        for step in &steps {
            assert_eq!(xprof::number(step, "num_kernels"), ops, "{case}");
            let found = step["graph_launches"].as_f64().zip(step["graph_kernels"].as_f64());
            assert_eq!(found, graphs, "{case}");
        }
    }
}
