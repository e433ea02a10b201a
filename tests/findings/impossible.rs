//! Tests the finding about facts that the user gives and that contradict the machine's capabilities. The limits in each
//! case are computed by hand.

use crossprof::insight::{Verdict, examine, verdict};
use crossprof::report::{Finding, FindingSeverity, ModelConfig};
use crossprof::run::{Run, Settings};
use crossprof::trace::Trace;

use super::runs::{gpu_steps, kernel, tpu_steps};

fn says(trace: Trace, settings: &Settings, id: &str) -> Verdict {
    let run = Run { trace, ..Run::default() };
    let examined = examine(&run, settings);
    verdict(&examined.context(&run), id).unwrap()
}

fn fires(verdict: Verdict) -> Finding {
    match verdict {
        Verdict::Fires(finding) => *finding,
        other => panic!("{other:?}"),
    }
}

fn evidence(finding: &Finding, name: &str) -> f64 {
    finding.evidence.iter().find(|it| it.name == name).unwrap().value
}

/// Runs steps of 1 ms on an MI300X, whose fastest data type (fp8) has 2,615 TFLOP/s, with 8.03 B parameters.
fn served(seq_length: u64) -> Verdict {
    let model = ModelConfig {
        batch_size: Some(1),
        seq_length: Some(seq_length),
        total_params: Some(8_030_000_000),
        ..ModelConfig::default()
    };
    let settings = Settings { device: Some("mi300x".to_owned()), model, ..Settings::default() };
    let trace = gpu_steps(12, |b, at| kernel(b, "gemm", at + 1, at + 5, 400));
    says(trace, &settings, "impossible_throughput")
}

/// 1.51 M tokens/s x 8.03e9 x 2 = 24.25 PFLOP/s, x 6 = 72.75. 100,000 tokens/s x 8.03e9 x 2 = 1.606 PFLOP/s, x 6 = 4.818;
/// 10,000 tokens/s x 6 = 0.48 PFLOP/s.
#[test]
fn tokens_need_more_than_the_device_has() {
    let finding = fires(served(1510));
    assert_eq!(finding.severity, FindingSeverity::Critical);
    assert!((evidence(&finding, "needed_tflops") - 24_250.6).abs() < 0.1, "{finding:?}");
    assert!(
        finding.message.contains("24.3 PFLOP/s") && finding.message.contains("72.8 PFLOP/s"),
        "{}",
        finding.message
    );
    let finding = fires(served(100));
    assert_eq!(finding.severity, FindingSeverity::Warning);
    assert!((evidence(&finding, "needed_tflops") - 4818.0).abs() < 0.1, "{finding:?}");
    assert_eq!(served(10), Verdict::Fine);
}

#[test]
fn samples_count_as_one_token_and_unknowns_are_not_judged() {
    let of = |model: ModelConfig| {
        let settings = Settings { device: Some("mi300x".to_owned()), model, ..Settings::default() };
        says(gpu_steps(12, |b, at| kernel(b, "gemm", at + 1, at + 5, 400)), &settings, "impossible_throughput")
    };
    let samples = ModelConfig { batch_size: Some(1510), total_params: Some(8_030_000_000), ..ModelConfig::default() };
    assert!((evidence(&fires(of(samples.clone())), "samples_per_sec") - 1_510_000.0).abs() < 1.0);
    assert_eq!(of(ModelConfig { total_params: None, ..samples.clone() }), Verdict::Irrelevant);
    assert_eq!(of(ModelConfig { batch_size: None, ..samples.clone() }), Verdict::Irrelevant);
    // The number of experts per token is unknown.
    assert_eq!(of(ModelConfig { num_experts: Some(128), ..samples }), Verdict::Irrelevant);
}

/// The trace has 12 steps, with 1 ms from start to start. The span of about 11.4 ms gives 570 us per step for 20 steps,
/// and 114 us for 100 steps. Each kernel takes 400 us.
#[test]
fn steps_are_no_shorter_than_a_kernel() {
    let of = |num_steps: Option<u64>| {
        let trace = gpu_steps(12, |b, at| kernel(b, "gemm", at + 1, at + 5, 400));
        says(trace, &Settings { num_steps, ..Settings::default() }, "impossible_step_count")
    };
    let finding = fires(of(Some(100)));
    assert_eq!((evidence(&finding, "longest_op_us"), evidence(&finding, "num_steps")), (400.0, 100.0));
    assert_eq!(of(Some(20)), Verdict::Fine);
    assert_eq!((of(None), of(Some(12))), (Verdict::Irrelevant, Verdict::Irrelevant));
}

/// A v4 chip has 275e12 bf16 FLOP/s: 27.5e9 FLOPs in 100 us.
#[test]
fn no_op_is_faster_than_its_device() {
    let of = |flops: i64, device: Option<&str>| {
        let trace = tpu_steps(12, |b, at| {
            let expression = b.trace_mut().strings.intern("%dot = bf16[8]{0} fusion(bf16[8]{0} %p)");
            let line = b.line("/device:TPU:0", "XLA Ops");
            b.event(line, "dot", at, 100).hlo_category("convolution fusion").args(|args| {
                (args.model_flops, args.bytes_accessed, args.long_name) = (Some(flops), Some(1 << 20), expression);
            });
        });
        let settings = Settings { device: device.map(str::to_owned), ..Settings::default() };
        says(trace, &settings, "above_peak")
    };
    let finding = fires(of(33_000_000_000, Some("tpu-v4")));
    assert_eq!(finding.severity, FindingSeverity::Critical);
    assert!((evidence(&finding, "compute_efficiency_percent") - 120.0).abs() < 1e-6, "{finding:?}");
    assert_eq!(of(29_000_000_000, Some("tpu-v4")), Verdict::Fine);
    assert_eq!(of(33_000_000_000, None), Verdict::Irrelevant);
}
