//! Seven synthetic steps of 1000 us on one GPU, in which nothing overlaps:
//!
//! ```text
//! us        0    10                 71        100                    525     900 1000
//! host      [train: 8 launches of 5 us, every 8 us ................................] [train
//! stream                                      [100][80][60][40][30][20][50][10]
//!                                              3 kernels    h2d d2h d2d nccl h2d, 5 us apart
//! ```
//!
//! All copies except the last one have a size of 1 MiB.

use super::chrome::ChromeTrace;

const US: u64 = 1_000_000;
/// Name and length in microseconds of each op of a step, in order.
const OPS: [(&str, u64); 8] = [
    ("gemm_f32", 100),
    ("gemm_fp16_x", 80),
    ("gemm_bf16_x", 60),
    ("MemcpyH2D", 40),
    ("MemcpyD2H", 30),
    ("MemcpyD2D", 20),
    ("ncclDevKernel_AllReduce_Sum", 50),
    ("MEMCPYHtoD", 10),
];

/// Returns the trace as JSON.
pub(crate) fn trace() -> String {
    let mut json = ChromeTrace::new();
    let (stream, python) = ((1, 7), (701, 1));
    json.process(stream.0, "/device:GPU:0");
    json.thread(stream.0, stream.1, "Stream #7(Compute,MemcpyH2D)");
    json.process(python.0, "/host:CPU");
    json.thread(python.0, python.1, "python");
    let mut correlation = 0;
    for step in 0..7 {
        let begin = step * 1000 * US;
        json.event(python, "train", begin, 900 * US, &[("step_num", &step.to_string())]);
        let mut start = begin + 100 * US;
        for (launch, (name, length)) in (begin + 10 * US..).step_by(8 * US as usize).zip(OPS) {
            correlation += 1;
            let id = correlation.to_string();
            json.event(python, "cuLaunchKernel", launch, 5 * US, &[("correlation_id", &id)]);
            let mut args = vec![("correlation_id", id.as_str())];
            if name.starts_with("Memcpy") {
                args.push(("memcpy_details", "kind_src:pageable kind_dst:device size:1048576 dest:0 async:1"));
            } else if name != "MEMCPYHtoD" {
                let shape = "regs:32 static_shared:0 dynamic_shared:0 grid:132,1,1 block:256,1,1 occ_pct:50";
                args.push(("kernel_details", shape));
            }
            json.event(stream, name, start, length * US, &args);
            start += (length + 5) * US;
        }
    }
    json.finish()
}
