//! Lists the rules that fire on real profiles, in the order of the report. No other rules may fire.
//!
//! Facts about the profile justify each list. Scripts that share no code with crossprof counted these facts.

use crossprof::Settings;

use super::runs::fired;
use crate::support::{load, samples, xprof};

/// `(file, findings)`.
pub(super) const EXPECTED: &[(&str, &[&str])] = &[
    // The trace has 100 runs of a program whose operands and results are in host memory (memory space 5 in every copy's
    // layout). 96.6 % of the op time is copy-done, and there is no idle time between steps. These do not fire: compilation
    // (four compilations, 1.5 s, all before the first step), clock skew (the all-reduces of the four chips start within 3 us of
    // each other), barriers (0.4 % of the longest span), communication (12 all-reduces before the steps), bandwidth (1371 of
    // 1638 GB/s during additions). 13.4 % of the active spans are idle, but before the steps and therefore outside the window.
    // On the chips' clocks, the steps vary by 0.1 of 784 ms (device_clocks.rs). The three arguments of jit_f have the sharding
    // {replicated} over 8 devices, and jit_f has no collective: each chip adds the same 5 GiB arrays.
    ("tpu-v6e-4chip/*.xplane.pb", &["critical async_copy_wait", "critical replicated_work"]),
    // The JSON contains model_flops, bytes_accessed and the text of each instruction, so the rules do not need the
    // programs. The JSON does not contain the shardings of the programs' arguments.
    ("tpu-v6e-4chip/*.trace.json.gz", &["critical async_copy_wait"]),
    // 96.4 % of the spans are gaps before kernels that were launched after the previous kernel had ended (by
    // correlation ids). Transposes around the convolution take 53.4 % of the kernel time. The Python tracer does not
    // fire (8 frames per millisecond). The first of five launches takes 60 ms, the others at most 46 ms. The limit of
    // each GPU's allocator is 144 GiB. The allocator holds about 4 GiB, and the program uses 1.6 GiB of them.
    (
        "mi300x-8gpu-conv/*.xplane.pb",
        &["critical host_overhead", "note unfused_data_formatting", "note warm_up_in_window"],
    ),
    // This capture differs from the xplane file next to it: one GPU, three convolutions in one kernel each (52.7 % of the
    // time). Its 222 Python frames per millisecond slow the host down.
    (
        "mi300x-8gpu-conv/*.trace.json.gz",
        &[
            "critical host_overhead",
            "warning dominant_op",
            "warning unused_visible_devices",
            "note profiler_overhead",
            "note no_hlo",
        ],
    ),
    // Python calls eleven programs one by one, each with one elementwise op. Gaps before late launches take 55.0 % of the span,
    // and gaps below 0.1 ms take 26.8 %. 64 of 75 kernels are that short. 7 of 8 GPUs have no events. There are 277 frames per
    // millisecond. These do not fire: many small kernels (fewer than 50 in the counted steps), one dominant op (the kernel name
    // with 85 % belongs to nine programs), arguments to donate (x of x + y is not the state of a training step). The allocator
    // holds 1 GiB of 144 GiB.
    (
        "mi300x-elementwise/*.xplane.pb",
        &["critical host_overhead", "warning unused_visible_devices", "note profiler_overhead"],
    ),
    // The GPU is 93.6 % busy. 105 of 150 kernels are short, but they follow each other closely (1.9 % in short gaps). The
    // largest kernel takes 35 %. Products are bfloat16 on matrix cores (Triton, Tensile MI16x16, CK). The allocator holds 1 GiB
    // of 279 GiB. Attention takes 50.4 % of the kernel time, at 184 TFLOP/s backward and 157 forward, of 2,517 for bfloat16
    // (FLOPs from the shapes of the calls in the HLO).
    ("gfx950-te-attention/*.xplane.pb", &["warning low_flop_rate", "warning unused_visible_devices"]),
    // With one kernel per GPU, no rule applies.
    ("gtx1080ti-2gpu/*.xplane.pb", &[]),
    ("gtx1080ti-2gpu/*.trace.json.gz", &["note no_hlo"]),
    // 575 of every 1000 us are between the last kernel and the next launch. The all-reduce takes 50 us on the stream that
    // also computes. Synthetic kernel names do not contain a data type. Occupancy is stated as 50 %, which is not below 50.
    ("synth-gpu-7steps/*.xplane.pb", &["critical host_overhead", "note unhidden_collectives", "note no_hlo"]),
    // The only step takes 992 ms, of which 27.7 ms are busy. A gap of 961 ms ends with a kernel that was launched just before.
    // Pascal has neither bfloat16 nor tensor cores. 72 of 114 kernels are short, and gaps between them take 0.2 % of the step.
    ("pascal-tf-laptop/*.xplane.pb", &["critical host_overhead", "note single_step", "note no_hlo"]),
    // The devices are 99.9 % and 99.7 % busy, with one counted step each. All-reduces (and all-to-alls in run-a) on the core's
    // own line take 6.5 and 5.5 % of the step. Short ops are not a problem on TPUs. Runs 850 and 247 start 647 and 544 us
    // before the DoEnqueueProgram with the same number, by the file's own times.
    (
        "tpu-qwen3-runs/run-a.trace.json.gz",
        &["note unhidden_collectives", "note device_clock_skew", "note single_step"],
    ),
    (
        "tpu-qwen3-runs/run-b.trace.json.gz",
        &["note unhidden_collectives", "note device_clock_skew", "note single_step"],
    ),
    // 45.5 % of the span is idle while the main thread is in DataLoader's __next__ (619 ms in total).
    ("kineto/h100-owlv2.json.gz", &["critical data_loading", "note host_processing", "note single_step"]),
    // There are two steps. NCCL's send-receive runs for 396 ms (379 ms on the other rank), 60 ms (80 ms) of it at the same time
    // as other kernels. Rank 0 is idle for 54 %. The host explains 125 of these 329 ms. For 64.5 ms, kernels wait for other
    // streams after launches that were each about 0.4 ms late.
    (
        "kineto/rank-0.json.gz",
        &["critical low_device_utilization", "warning unhidden_collectives", "warning host_overhead"],
    ),
    (
        "kineto/rank-1.json.gz",
        &["critical low_device_utilization", "warning host_overhead", "warning unhidden_collectives"],
    ),
    // There are six steps of 213 ms, which are 49.7 % idle. During 21.9 % of the span the device is idle while DataLoader's
    // __next__ runs. Short gaps take 8.7 %, which is below the limit of many_small_kernels, although nearly all of the 9927
    // kernels are short.
    (
        "kineto/top-level-array.pt.trace.json.gz",
        // Work from before the first annotation still runs for 32 ms in the first step, which is therefore 15 % shorter than
        // the others.
        &["warning host_overhead", "warning data_loading", "note host_processing", "note step_time_variation"],
    ),
];

#[test]
#[ignore = "reads real profiles"]
fn exactly_these_fire() {
    let mut wrong = Vec::new();
    for (path, expected) in EXPECTED {
        let mut session = xprof::open(&samples::real(path));
        let profile = session.report(0, &Settings::default()).unwrap();
        let found = fired(&profile);
        if found != *expected {
            wrong.push(format!("{path}: {found:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// TPU compiler options and TPU kernels have no effect on other devices.
#[test]
fn remedies_name_tpu_options_for_tpus_only() {
    let file = "tests/data/jax-cpu-mesh/plugins/profile/2026_11_21_02_00_07/host.xplane.pb";
    let (_, reports) = load(file, &std::fs::read(samples::root().join(file)).unwrap());
    let findings = &reports[0].findings;
    assert!(findings.iter().any(|finding| finding.id == "unhidden_collectives"), "{:?}", fired(&reports[0]));
    for finding in findings {
        for word in ["xla_tpu", "LIBTPU", "Pallas", "Mosaic", "xla_gpu"] {
            assert!(!finding.remedy.contains(word), "{}: {}", finding.id, finding.remedy);
        }
    }
}
