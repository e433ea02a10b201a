#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use proptest::prelude::*;

use super::OutOfMemory;
use crate::{Class, Summary};

/// An error of a GPU or CPU.
const GPU: &str = include_str!("../../../../tests/data/out-of-memory/gpu.log");

/// An error of a TPU's compiler.
const TPU: &str = r#"XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 18.50G of 15.48G hbm. Exceeded hbm capacity by 3.02G.

Total hbm usage >= 19.02G:
    reserved        530.00M
    program          18.50G
    arguments            0B

Program hbm requirement 18.50G:
    global            1.14M
    HLO temp         18.49G (100.0% utilization: Unpadded (10.00G) Padded (18.49G), 0.0% fragmentation (1.1M))

  Largest program allocations in hbm:

  1. Size: 8.00G
     Operator: op_name="jit(step)/transpose(jvp(layer_3))/dot_general[precision=None]" source_file="/home/me/model.py" source_line=31
     Shape: f32[16777216,4]{1,0:T(8,128)}
     Unpadded size: 256.00M
     Extra memory due to padding: 7.75G (32.0x expansion)
     XLA label: fusion.7 = fusion(param.1), kind=kLoop, calls=fused_computation.7
     Allocation type: HLO temp
     ==========================

  2. Size: 2.00G
     Operator: op_name="state.params['w']"
     Shape: bf16[32768,32768]{1,0:T(8,128)(2,1)}
     Unpadded size: 2.00G
     XLA label: param.1 = parameter(0)
     Allocation type: arguments
     ==========================
"#;

fn one(text: &str) -> OutOfMemory {
    let mut found = OutOfMemory::read(text);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn a_gpus_text_is_read() {
    let found = one(GPU);
    assert_eq!(
        (found.requested_bytes, found.capacity_bytes, found.in_use_bytes),
        (Some(8 << 20), Some(16 << 20), Some(9 << 20))
    );
    assert_eq!(
        (found.program_bytes(), found.sum("parameter allocation"), found.listed_bytes()),
        (Some(10 << 20), Some(1 << 20), 9 << 20)
    );
    let [tanh, argument] = found.buffers.as_slice() else { panic!("two buffers") };
    assert_eq!(
        (tanh.name.as_str(), tanh.bytes, tanh.source.as_deref()),
        ("loop_tanh_fusion", 2048 * 1024 * 4, Some("/home/me/model.py:31"))
    );
    let [activation, unknown] = [tanh, argument].map(|buffer| buffer.as_peak_buffer());
    assert_eq!(
        (activation.class.class, activation.scope.as_str(), unknown.class.class),
        (Class::Activation, "layer_3", Class::Unknown)
    );
    assert!(argument.is_argument);
}

#[test]
fn a_tpus_text_is_read() {
    let found = one(TPU);
    assert_eq!(found.memory_space, "hbm");
    let gibibytes = |bytes: Option<u64>| bytes.unwrap() as f64 / (1u64 << 30) as f64;
    assert!(
        (gibibytes(found.needed_bytes) - 18.5).abs() < 1e-6 && (gibibytes(found.capacity_bytes) - 15.48).abs() < 1e-6
    );
    let [wide, weight] = found.buffers.as_slice() else { panic!("two buffers") };
    // The array has 16777216 rows of 128 lanes, but uses only four lanes.
    assert_eq!((wide.bytes, wide.unpadded_bytes), (16_777_216 * 128 * 4, 16_777_216 * 4 * 4));
    assert_eq!((weight.bytes, weight.name.as_str()), (2 << 30, "param.1"));
    assert_eq!(weight.as_peak_buffer().class.class, Class::Parameter);
    let summary = Summary::of(found.buffers.iter().map(|buffer| buffer.as_peak_buffer()));
    assert_eq!(summary.padded[0].better.as_ref().unwrap().shape, "f32[4,16777216]");
    assert_eq!(summary.bytes, found.listed_bytes());
}

#[test]
fn sizes_that_contradict_the_shape_stay_as_stated() {
    let found = one(&GPU.replace("f32[2048,1024]", "f32[2048,512]"));
    assert_eq!((found.buffers[0].bytes, found.buffers[0].unpadded_bytes), (8 << 20, 4 << 20));
    let found = one(&GPU.replace("f32[2048,1024]", "q9[,"));
    assert_eq!((found.buffers[0].bytes, found.buffers[0].shape.as_ref()), (8 << 20, None));
}

#[test]
fn what_stands_before_lines_does_not_matter() {
    let prefixed: String = GPU.lines().map(|line| format!("(worker pid=489)[0m {line}\n")).collect();
    assert_eq!(one(&prefixed), one(GPU));
    let cut = &TPU[..TPU.find("  2. Size").unwrap()];
    assert_eq!(one(cut).buffers.len(), 1, "a text that ends early");
}

#[test]
fn reports_count_once() {
    assert_eq!(OutOfMemory::read(&format!("{GPU}{GPU}")).len(), 1, "an error that is raised again");
    assert_eq!(OutOfMemory::read(&format!("{TPU}{GPU}")).len(), 2);
    let vmem = TPU.replace("allocations in hbm", "allocations in vmem");
    let vmem = &vmem[vmem.find("  Largest").unwrap()..];
    let found = OutOfMemory::read(&format!("{TPU}{vmem}"));
    assert_eq!(found.iter().map(|it| it.memory_space.as_str()).collect::<Vec<_>>(), ["hbm", "vmem"]);
    for text in ["", "step 1 loss 3.2\n", "Peak buffers:\n"] {
        assert_eq!(OutOfMemory::read(text), [], "{text}");
    }
}

/// Returns the numbers of one line: requested, free, contiguous, in use, capacity.
fn stated(text: &str) -> [Option<u64>; 5] {
    let it = one(text);
    [it.requested_bytes, it.free_bytes, it.largest_free_bytes, it.in_use_bytes, it.capacity_bytes]
}

/// Returns a size that is given in hundredths of a unit, as in the texts of errors.
const fn hundredths(hundredths: u64, unit: u32) -> Option<u64> {
    Some((hundredths << unit) / 100)
}

#[test]
fn one_line_errors_of_all_runtimes_are_read() {
    const M: u32 = 20;
    const G: u32 = 30;
    for (text, expected) in [
        (
            "RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 180.59M. That was not possible. \
             There are 142.58M free.; (0x3x0_HBM1): while running replica 0",
            [hundredths(18059, M), hundredths(14258, M), None, None, None],
        ),
        (
            "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Error loading program: Attempting to reserve 12.05G at the \
             bottom of memory. That was not possible. There are 13.98G free, 0B reserved, and 9.98G reservable.",
            [hundredths(1205, G), hundredths(1398, G), hundredths(998, G), None, None],
        ),
        ("RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes.", [Some(8), None, None, None, None]),
        (
            "E: failed to allocate 39.59G (42505076736 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
            [Some(42_505_076_736), None, None, None, None],
        ),
        (
            "W external/xla/tsl/framework/bfc_allocator.cc:479] Allocator (GPU_1_bfc) ran out of memory trying to allocate 27.93GiB \
             (rounded to 29995136256)requested by op",
            [Some(29_995_136_256), None, None, None, None],
        ),
        (
            "ResourceExhaustedError: OOM when allocating tensor with shape[128,256,1024] and type float on /job:localhost/device:GPU:0 by \
             allocator GPU_0_bfc",
            [Some(128 << 20), None, None, None, None],
        ),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 79.50 GiB of which \
             1.25 GiB is free. Including non-PyTorch memory, this process has 78.25 GiB memory in use. Of the allocated memory 70.00 GiB \
             is allocated by PyTorch, and 5.75 GiB is reserved by PyTorch but unallocated.",
            [hundredths(150, G), hundredths(125, G), None, hundredths(7825, G), hundredths(7950, G)],
        ),
        (
            "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 15.75 GiB total capacity; 14.50 GiB already allocated; \
             38.50 MiB free; 14.75 GiB reserved in total by PyTorch)",
            [hundredths(2000, M), hundredths(3850, M), None, hundredths(1450, G), hundredths(1575, G)],
        ),
        (
            "Scoped allocation with size 18.50M and limit 16.00M exceeded scoped vmem limit by 2.50M.",
            [hundredths(1850, M), None, None, None, hundredths(1600, M)],
        ),
        (
            "kernel: Out of memory: Killed process 12 (python3) total-vm:99kB, anon-rss:64kB, file-rss:0kB",
            [None, None, None, Some(64 << 10), None],
        ),
    ] {
        assert_eq!(stated(text), expected, "{text}");
    }
}

#[test]
fn the_words_around_sizes_name_memory_and_device() {
    let named = |text: &str| (one(text).space_name(), one(text).device);
    for (text, space, device) in [
        (
            "RESOURCE_EXHAUSTED: Attempting to allocate 1.0M. That was not possible. (0x3x0_HBM1)",
            "device memory",
            "0x3x0_HBM1",
        ),
        ("RESOURCE_EXHAUSTED: Ran out of memory in memory space vmem. Used 98.04M of 64.00M vmem.", "VMEM", ""),
        ("Scoped allocation with size 18.50M and limit 16.00M exceeded scoped vmem limit by 2.50M.", "VMEM", ""),
        (
            "HIP out of memory. Tried to allocate 1.50 GiB. GPU 3 has a total capacity of 79.50 GiB",
            "device memory",
            "GPU 3",
        ),
        ("Allocator (GPU_1_bfc) ran out of memory trying to allocate 1.00GiB", "device memory", "GPU_1_bfc"),
        ("Out of memory: Killed process 12 (python3) anon-rss:64kB", "host memory", ""),
    ] {
        assert_eq!(named(text), (space.to_owned(), device.to_owned()), "{text}");
    }
}

#[test]
fn both_cores_of_a_tpu_share_its_memory() {
    let found = one(
        "RESOURCE_EXHAUSTED: TPU TensorCore Hbm usage: 34.50G, SparseCore Hbm usage 174.25G, exceeding available bytes: 95.75G",
    );
    assert_eq!((found.space_name().as_str(), found.needed_bytes), ("HBM", hundredths(20875, 30)));
    assert_eq!((found.capacity_bytes, found.sum("SparseCore")), (hundredths(9575, 30), hundredths(17425, 30)));
}

#[test]
fn any_prefix_and_any_quotation_is_read() {
    let plain = one(TPU);
    let json = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let each = |prefix: &str, suffix: &str| -> String {
        TPU.lines().map(|line| format!("{prefix}{line}{suffix}\n")).collect()
    };
    let entries: String =
        TPU.lines().map(|line| format!("{{\"textPayload\":\"{}\",\"severity\":\"ERROR\"}}\n", json(line))).collect();
    for text in [
        each("2020-05-04 09:05:40.719019: E    1578 xla_util.cc:76] ", ""),
        each("(train pid=489, ip=10.0.0.2) ", ""),
        each("E0504 09:05:40.719019 140 xla_util.cc:76] ", ""),
        each("\u{1b}[36m(worker pid=489)\u{1b}[0m ", "\u{1b}[0m"),
        each("worker-0: ", "\r"),
        format!("{{\"textPayload\":\"{}\",\"severity\":\"ERROR\"}}", json(TPU)),
        format!("{{\"log\":\"{}\"}}", json(&json(TPU))),
        entries,
    ] {
        let found = one(&text);
        assert_eq!((&found.sums, found.padded), (&plain.sums, plain.padded), "{text}");
        assert_eq!(found.buffers, plain.buffers, "{text}");
        assert_eq!((found.needed_bytes, found.capacity_bytes), (plain.needed_bytes, plain.capacity_bytes), "{text}");
    }
}

#[test]
fn one_error_in_many_tellings_is_one_report() {
    let allocator = "W bfc_allocator.cc:479] Allocator (GPU_0_bfc) ran out of memory trying to allocate 8.00MiB\n";
    let found = one(&format!("{allocator}{allocator}{GPU}raise RuntimeError('out of memory')\n{GPU}"));
    assert_eq!((found.requested_bytes, found.buffers.len(), found.device.as_str()), (Some(8 << 20), 2, "GPU_0_bfc"));
    let other = allocator.replace("8.00MiB", "9.00GiB");
    assert_eq!(OutOfMemory::read(&format!("{other}{GPU}")).len(), 2, "another allocation");
    let survived = other.replace("GiB", "GiB. The caller indicates that this is not a failure");
    assert_eq!(OutOfMemory::read(&format!("{survived}{GPU}")).len(), 1);
    assert!(one(&survived).is_survived);
    let no_size = one("CUDA_ERROR_OUT_OF_MEMORY\nRESOURCE_EXHAUSTED: no more\n");
    assert!(!no_size.has_sizes() && no_size.statement.starts_with("CUDA_ERROR"), "{}", no_size.statement);
}

proptest! {
    #[test]
    fn any_damage_is_read(at in 0usize..2000, with in "\\PC{0,8}") {
        for text in [GPU, TPU] {
            let at = (at % text.len()..).find(|&at| text.is_char_boundary(at)).unwrap();
            for report in OutOfMemory::read(&format!("{}{with}{}", &text[..at], &text[at..])) {
                prop_assert!(report.has_sizes() || !report.statement.is_empty());
                Summary::of(report.buffers.iter().map(|buffer| buffer.as_peak_buffer()));
            }
        }
    }
}
