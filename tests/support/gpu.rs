//! Writes a synthetic training run on 2 GPUs, with 10 steps of kernels on a compute stream. Gradients are reduced on a
//! second stream during the backward pass, and batches are copied to the device on a third stream.
//!
//! ```text
//! host       launch launch launch ...
//! compute        [gemm][softmax][gemm] ... [gemm][gemm]  [adam]
//! collective                            [--nccl--]            partly hidden
//! copies     [H2D]                                        [D2H]
//! ```

use super::chrome::ChromeTrace;

pub(crate) const DEVICES: usize = 2;
pub(crate) const STEPS: u64 = 10;
const LAYERS: usize = 4;
const US: u64 = 1_000_000;

/// Size of every batch.
pub(crate) const BATCH_BYTES: u64 = 16_777_216;

/// Known facts about the trace, with times in picoseconds.
#[derive(Default)]
pub(crate) struct Truth {
    pub ops: u64,
    /// Busy time of each device: the length of the union of the ops on its streams.
    pub busy: [u64; DEVICES],
    pub step_starts: Vec<u64>,
    pub h2d: u64,
    pub d2h: u64,
    pub launches: u64,
}

struct Writer {
    json: ChromeTrace,
    truth: Truth,
    correlation: u64,
    intervals: [Vec<(u64, u64)>; DEVICES],
}

const COMPUTE: (u32, &str) = (13, "Stream #13(Compute)");
const H2D: (u32, &str) = (14, "Stream #14(MemcpyH2D)");
const D2H: (u32, &str) = (15, "Stream #15(MemcpyD2H)");
const NCCL: (u32, &str) = (22, "Stream #22(Compute)");

impl Writer {
    /// Adds a kernel on `stream`, which the host launches at `launch`. The kernel runs from `start` for `length`.
    /// Returns the end of the kernel.
    fn launch(
        &mut self,
        device: usize,
        stream: u32,
        (name, op): (&str, &str),
        launch: u64,
        (start, length): (u64, u64),
        details: (&str, &str),
    ) -> u64 {
        self.correlation += 1;
        let id = self.correlation.to_string();
        let call = match name {
            "MemcpyH2D" => "cuMemcpyHtoDAsync_v2",
            "MemcpyD2H" => "cuMemcpyDtoHAsync_v2",
            _ => "cuLaunchKernel",
        };
        let module = ("hlo_module", "jit_train_step");
        self.json.event((701, 5001 + device as u32), call, launch, 4 * US, &[("correlation_id", &id)]);
        let args = [("correlation_id", id.as_str()), module, ("hlo_op", op), details];
        let args = if op.is_empty() { vec![args[0], args[3]] } else { args.to_vec() };
        self.json.event((1 + device as u32, stream), name, start, length, &args);
        self.truth.ops += 1;
        self.truth.launches += 1;
        self.intervals[device].push((start, start + length));
        start + length
    }
}

/// Returns the trace as text, and its known facts.
pub(crate) fn trace() -> (String, Truth) {
    let mut w = Writer {
        json: ChromeTrace::new(),
        truth: Truth::default(),
        correlation: 0,
        intervals: [Vec::new(), Vec::new()],
    };
    for device in 0..DEVICES as u32 {
        w.json.process(1 + device, &format!("/device:GPU:{device}"));
        for (tid, name) in [COMPUTE, H2D, D2H, NCCL] {
            w.json.thread(1 + device, tid, name);
        }
    }
    w.json.process(701, "/host:CPU");
    w.json.thread(701, 4001, "python");
    for device in 0..DEVICES as u32 {
        w.json.thread(701, 5001 + device, &format!("py_xla_execute/{}", 5001 + device));
    }
    let mut now = 500 * US;
    for step in 0..STEPS {
        now = write_step(&mut w, step, now);
    }
    for device in 0..DEVICES {
        w.truth.busy[device] = union(&mut w.intervals[device]);
    }
    (w.json.finish(), w.truth)
}

fn write_step(w: &mut Writer, step: u64, start: u64) -> u64 {
    w.truth.step_starts.push(start);
    let load = w.json.jitter(180 * US, 20);
    w.json.event((701, 4001), "load_batch", start + 5 * US, load, &[]);
    let details = format!("kind_src:pinned kind_dst:device size:{BATCH_BYTES} dest:0 async:1");
    let mut end = 0;
    for device in 0..DEVICES {
        let mut launch = start + load + 20 * US;
        let length = w.json.jitter(690 * US, 3);
        w.truth.h2d += length;
        let mut compute = w.launch(
            device,
            H2D.0,
            ("MemcpyH2D", ""),
            launch,
            (launch + 12 * US, length),
            ("memcpy_details", &details),
        ) + 5 * US;
        let mut collective = 0;
        for pass in ["fwd", "bwd"] {
            for layer in 0..LAYERS {
                let id = if pass == "fwd" { layer } else { 2 * LAYERS - layer };
                let kernels = [
                    (format!("gemm_fusion_dot_{id}1"), format!("gemm_fusion_dot.{id}1"), 210),
                    ("void fmha_cutlassF_bf16_aligned_64x64_rf_sm80".to_owned(), format!("custom-call.{id}2"), 160),
                    (format!("loop_add_fusion_{id}"), format!("loop_add_fusion.{id}"), 30),
                    ("nvjet_tst_192x192_64x4_2x1_v_bz_coopB_NNN".to_owned(), format!("custom-call.{id}4"), 480),
                    (format!("input_reduce_fusion_{id}"), format!("input_reduce_fusion.{id}"), 45),
                ];
                for (name, op, mean_us) in kernels {
                    launch += 6 * US;
                    let factor = if pass == "bwd" { 2 } else { 1 };
                    let length = w.json.jitter(mean_us * factor * US, 3);
                    let shape =
                        "regs:168 static_shared:0 dynamic_shared:166912 grid:132,1,1 block:384,1,1 occ_pct:18.75";
                    let begin = compute.max(launch + 7 * US);
                    compute =
                        w.launch(device, COMPUTE.0, (&name, &op), launch, (begin, length), ("kernel_details", shape))
                            + 1_500_000;
                }
                if pass == "bwd" {
                    launch += 6 * US;
                    let length = w.json.jitter(780 * US, 8);
                    let shape = "regs:96 static_shared:0 dynamic_shared:82240 grid:24,1,1 block:512,1,1 occ_pct:12.5";
                    let begin = compute.max(collective) + 4 * US;
                    let op = format!("all-reduce-start.{layer}");
                    collective = w.launch(
                        device,
                        NCCL.0,
                        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage)", &op),
                        launch,
                        (begin, length),
                        ("kernel_details", shape),
                    );
                }
            }
        }
        launch += 6 * US;
        let length = w.json.jitter(380 * US, 3);
        let begin = compute.max(collective) + 3 * US;
        let adam = ("loop_multiply_add_fusion", "loop_multiply_add_fusion.90");
        let shape = "regs:40 static_shared:0 dynamic_shared:0 grid:2048,1,1 block:128,1,1 occ_pct:100";
        let done = w.launch(device, COMPUTE.0, adam, launch, (begin, length), ("kernel_details", shape));
        let length = w.json.jitter(2 * US, 10);
        w.truth.d2h += length;
        let loss = "kind_src:device kind_dst:pinned size:4 dest:0 async:1";
        end = end.max(w.launch(
            device,
            D2H.0,
            ("MemcpyD2H", ""),
            launch + 6 * US,
            (done + 2 * US, length),
            ("memcpy_details", loss),
        ));
    }
    let next = end + 90 * US;
    let name = step.to_string();
    w.json.event((701, 4001), "train", start, next - start - 10 * US, &[("step_num", &name)]);
    next
}

fn union(intervals: &mut [(u64, u64)]) -> u64 {
    intervals.sort_unstable();
    let (mut total, mut end) = (0, 0);
    for &mut (from, to) in intervals {
        total += to.saturating_sub(from.max(end));
        end = end.max(to);
    }
    total
}
