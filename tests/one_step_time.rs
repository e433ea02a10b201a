//! Checks that every throughput and every ratio in the outputs of a comparison is based on the same typical step as the
//! verdict.

use crate::support;
use crate::support::samples;
use crossprof::compare::{Comparison, Options, Subject, WorkUnit, compare};
use crossprof::{export, format, pages};

fn subject(name: &str, path: &str, bytes: &[u8], batch: [u64; 2]) -> Subject {
    let (result, mut profiles) = support::load(path, bytes);
    assert_eq!(result.error, None);
    let mut profile = profiles.remove(0);
    let [size, length] = batch;
    (profile.model_config.batch_size, profile.model_config.seq_length) = (Some(size), Some(length));
    let devices = profile.metadata.num_devices;
    profile.throughput = crossprof::metrics::throughput(&profile.step_timing, &profile.model_config, devices, None);
    Subject {
        name: name.to_owned(),
        watts_per_device: Some(500.0),
        dollars_per_device_hour: Some(2.0),
        ..Subject::new(profile)
    }
}

fn near(found: f64, truth: f64) -> bool {
    (found / truth - 1.0).abs() < 1e-9
}

/// Checks that all numbers of a comparison of two runs are based on the runs' typical steps. Returns how many numbers
/// were checked, and whether another step time would have been noticed.
fn hold(subjects: [Subject; 2], tokens: f64) -> (usize, bool) {
    let found = compare(&subjects, &Options::default());
    let change = &found.step_time[0];
    let steps = [change.baseline_typical_us.unwrap(), change.typical_us.unwrap()];
    let of_step = |path: &str| -> Option<f64> {
        let per = path.split(['_', '.']).find_map(|word| match word {
            "tokens" => Some(tokens),
            "samples" => subjects[0].profile.model_config.batch_size.map(|it| it as f64),
            "steps" => Some(1.0),
            _ => None,
        });
        (path.starts_with("throughput.") && !path.ends_with("device")).then_some(per?)
    };
    let mut held = 0;
    for metric in &found.metrics {
        if let Some(units) = of_step(&metric.metric) {
            for (value, step) in metric.values.iter().zip(steps) {
                assert!(near(value.unwrap(), 1e6 * units / step), "{}: {value:?}, a step of {step}", metric.metric);
                held += 1;
            }
            let ratio = metric.ratios[1];
            assert!(ratio.is_none_or(|ratio| near(ratio, steps[0] / steps[1])), "{}: {ratio:?}", metric.metric);
        }
        // Other statistics of the steps have no ratio that could contradict the verdict.
        let is_other = metric.metric.starts_with("step_timing.") && metric.metric.ends_with("step_time_us");
        assert!(!is_other || metric.ratios.iter().all(Option::is_none), "{}", metric.metric);
    }
    for measure in found.rates.iter().filter(|it| it.unit == WorkUnit::Token).flat_map(|it| &it.measures).take(1) {
        assert!(near(measure.values[0], 1e6 * tokens / steps[1]) && near(measure.values[1], 1e6 * tokens / steps[0]));
        held += 2;
    }
    for (run, subject) in subjects.iter().enumerate() {
        let devices = subject.profile.metadata.num_devices as f64;
        let dollars = 1e6 / tokens * steps[run] / 1e6 * devices * 2.0 / 3600.0;
        let cost = found.costs.iter().find(|it| it.metric == "efficiency.dollars_per_million_tokens").unwrap();
        assert!(near(cost.values[run].unwrap(), dollars * 1.0), "{cost:?}");
        held += 1;
    }
    let by_mean = outputs_without_means(&found, &subjects, steps);
    (held, by_mean)
}

/// Checks that no output shows rates of the mean step, if these rates differ visibly from the rates of the typical
/// step. Returns true if the rates differ visibly.
fn outputs_without_means(found: &Comparison, subjects: &[Subject; 2], steps: [f64; 2]) -> bool {
    let page = serde_json::to_string(&pages::compare::page(found, "")).unwrap();
    let mut html = export::comparison::html(found, subjects);
    // The profiles inside a report keep their own numbers.
    html.truncate(html.find("<script type=\"application").unwrap_or(html.len()));
    let outputs = [page, export::comparison::text(found), export::comparison::markdown(found), html];
    let mut differs = false;
    for (subject, step) in subjects.iter().zip(steps) {
        let rate = subject.profile.throughput.tokens_per_sec.unwrap();
        let typical = rate * subject.profile.step_timing.avg_step_time_us.unwrap() / step;
        let said = [format::number(rate), format::number(typical)];
        if said[0] == said[1] {
            continue;
        }
        differs = true;
        let plain = |text: &str| text.replace(['\u{202f}', '\u{a0}', ' '], "");
        for output in &outputs {
            assert!(!plain(output).contains(&format!("{}tokens/s", plain(&said[0]))), "{} in {output}", said[0]);
            assert!(!plain(output).contains(&format!("{}/s", plain(&said[0]))), "{} in {output}", said[0]);
        }
    }
    differs
}

/// Builds a job with steps of this length. One step in ten takes 40 % longer, so the mean is not the typical step.
fn job(step_us: u64) -> Vec<u8> {
    let mut json = support::chrome::ChromeTrace::new();
    json.process(701, "/host:CPU");
    json.thread(701, 4001, "python");
    json.process(1, "/device:GPU:0");
    json.thread(1, 13, "Stream #13(Compute)");
    let us = 1_000_000;
    let mut now = 1000 * us;
    for step in 0..20_u64 {
        let length = if step % 10 == 4 { step_us * 14 / 10 } else { step_us + step % 3 };
        json.event((701, 4001), "train", now, (length - 1) * us, &[("step_num", &step.to_string())]);
        json.event(
            (1, 13),
            "gemm_fusion_dot",
            now,
            (length - 20) * us,
            &[("hlo_module", "jit_train"), ("hlo_op", "dot.1")],
        );
        now += length * us;
    }
    json.finish().into_bytes()
}

#[test]
fn headline_tables_and_files_have_one_step_time() {
    let subjects = [("main", 1000), ("new", 800)]
        .map(|(name, us)| subject(name, &format!("{name}.trace.json"), &job(us), [8, 128]));
    let (held, differs) = hold(subjects, 1024.0);
    assert!(held >= 10 && differs, "{held} numbers");
}

#[test]
#[ignore = "reads real profiles"]
fn real_pairs_have_one_step_time() {
    let pairs = [
        ["tpu-qwen3-runs/run-a.trace.json.gz", "tpu-qwen3-runs/run-b.trace.json.gz"],
        ["mi300x-8gpu-conv/tw003.xplane.pb", "tpu-v6e-4chip/host.xplane.pb"],
        ["mi300x-8gpu-conv/tw003.xplane.pb", "mi300x-elementwise/tw003.xplane.pb"],
    ];
    let mut all = 0;
    for pair in pairs {
        let subjects = [0, 1].map(|at| subject(["a", "b"][at], pair[at], &samples::real_bytes(pair[at]), [8, 128]));
        all += hold(subjects, 1024.0).0;
    }
    assert!(all >= 20, "{all} numbers were held");
}
