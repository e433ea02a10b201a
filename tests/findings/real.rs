//! Which rules fire on real profiles, in the order in which they are reported. What is not listed must not fire.
//!
//! Each list is justified by what is true of the profile, counted by programs that share no code with this one.

use crossprof::Settings;

use super::runs::fired;
use crate::support::{samples, xprof};

/// `(file, findings)`.
pub const EXPECTED: &[(&str, &[&str])] = &[
    // 100 runs of a program whose operands and results lie in host memory (memory space 5 in every copy's layout): 96.6 % of the
    // op time is copy-done, the steps follow each other without idle time. Not: compilation (four compiles, 1.5 s, all
    // before the first step), clock skew (the all-reduces of the four chips start within 3 us of each other), barriers
    // (0.4 % of the longest span), communication (12 all-reduces before the steps), bandwidth (1371 of 1638 GB/s while
    // adding). Idle are 13.4 % of the active spans, before the steps, and so outside of the window. By the chips' clocks
    // the steps vary by 0.1 ms of 784 (device_clocks.rs).
    ("tpu-v6e-4chip/*.xplane.pb", &["critical async_copy_wait"]),
    // The JSON carries model_flops, bytes_accessed and the text of each instruction: nothing of the programs is missed.
    ("tpu-v6e-4chip/*.trace.json.gz", &["critical async_copy_wait"]),
    // 96.4 % of the spans are gaps before kernels that were launched after the one before had ended (by correlation ids);
    // 53.4 % of the kernel time are transposes around the convolution. Not: the Python tracer (8 frames a millisecond).
    // The first of its five launches takes 60 ms, of the others none more than 46. The allocator of each GPU has 144 GiB, of which it has given out 1.6 GiB.
    (
        "mi300x-8gpu-conv/*.xplane.pb",
        &[
            "critical host_overhead",
            "warning unfused_data_formatting",
            "note preallocated_memory",
            "note warm_up_in_window",
        ],
    ),
    // Another capture than the xplane beside it: one GPU, three convolutions in one kernel each (52.7 % of the time); its
    // 222 Python frames a millisecond slow the host down.
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
    // Eleven programs of an elementwise op each, called one by one from Python: 55.0 % of the span are gaps before late
    // launches, 26.8 % gaps below 0.1 ms; 64 of 75 kernels are that short. 7 of 8 GPUs have no event; 277 frames a
    // millisecond. Not: many small kernels (fewer than 50 in the counted steps); one dominant op (the kernel name with 85 % belongs to nine programs);
    // arguments to donate (x of x + y is no state of a training step). 640 MiB of 144 GiB are in use.
    (
        "mi300x-elementwise/*.xplane.pb",
        &[
            "critical host_overhead",
            "warning unused_visible_devices",
            "note preallocated_memory",
            "note profiler_overhead",
        ],
    ),
    // 93.6 % busy. 105 of 150 kernels are short, but they follow each other closely (1.9 % in short gaps). The largest
    // kernel has 35 %. Products are bfloat16 on matrix cores (Triton, Tensile MI16x16, CK). 633 MiB of 279 GiB are in use.
    // Attention has 50.4 % of the kernel time, at 184 TFLOP/s backward and 157 forward of 2,517 for bfloat16 (FLOPs of the calls' shapes, from the HLO).
    (
        "gfx950-te-attention/*.xplane.pb",
        &["warning low_flop_rate", "warning unused_visible_devices", "note preallocated_memory"],
    ),
    // One kernel a GPU: nothing can be said of either.
    ("gtx1080ti-2gpu/*.xplane.pb", &[]),
    ("gtx1080ti-2gpu/*.trace.json.gz", &["note no_hlo"]),
    // Of every 1000 us, 575 lie between the last kernel and the next launch; the all-reduce takes 50 us on the stream that
    // also computes. Made-up kernel names tell no data type. Occupancy is stated as 50 %, which is not below 50.
    ("synth-gpu-7steps/*.xplane.pb", &["critical host_overhead", "note unhidden_collectives", "note no_hlo"]),
    // One step of 992 ms, 27.7 ms of it busy; a gap of 961 ms ends with a kernel launched just before. Pascal has neither
    // bfloat16 nor tensor cores. 72 of 114 kernels are short, and 0.2 % of the step lies in gaps between them.
    ("pascal-tf-laptop/*.xplane.pb", &["critical host_overhead", "note single_step", "note no_hlo"]),
    // 99.9 % and 99.7 % busy, one counted step each; all-reduces (and in run-a all-to-alls) on the core's own line are 6.5
    // and 5.5 % of it. Short ops are none of a TPU's troubles. Runs 850 and 247 start 647 and 544 us before the DoEnqueueProgram
    // of the same number, in the file's own times.
    (
        "tpu-qwen3-runs/run-a.trace.json.gz",
        &["note unhidden_collectives", "note device_clock_skew", "note single_step"],
    ),
    (
        "tpu-qwen3-runs/run-b.trace.json.gz",
        &["note unhidden_collectives", "note device_clock_skew", "note single_step"],
    ),
    // 45.5 % of the span is idle while the main thread is in DataLoader's __next__ (619 ms in all).
    ("kineto/h100-owlv2.json.gz", &["critical data_loading", "note host_processing", "note single_step"]),
    // Two steps. NCCL's send-receive runs for 396 ms (379 ms on the other rank), 60 ms (80 ms) of it beside
    // other kernels. Rank 0 is idle for 54 %, of which the host explains 125 of 329 ms: for 64.5 ms kernels wait for other streams
    // after a launch that was late by some 0.4 ms each.
    (
        "kineto/rank-0.json.gz",
        &["critical low_device_utilization", "warning unhidden_collectives", "warning host_overhead"],
    ),
    (
        "kineto/rank-1.json.gz",
        &["critical low_device_utilization", "warning host_overhead", "warning unhidden_collectives"],
    ),
    // Six steps of 213 ms, 49.7 % idle, 21.9 % of the span while DataLoader's __next__ runs; 8.7 % in short gaps: below the
    // limit of many_small_kernels, though nearly all of the 9927 kernels are short.
    (
        "kineto/top-level-array.pt.trace.json.gz",
        // Work from before the first annotation still runs for 32 ms in it: the first step is 15 % shorter than the others.
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
