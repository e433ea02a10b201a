#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use proptest::prelude::*;

use super::OutOfMemory;
use crate::{Class, Summary};

/// An error as that of a GPU or a CPU is written.
const GPU: &str = include_str!("../../../../tests/data/out-of-memory/gpu.log");

/// An error as a TPU's compiler writes it.
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
        (found.peak_bytes(), found.sum("parameter allocation"), found.listed_bytes()),
        (10 << 20, Some(1 << 20), 9 << 20)
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
    // 16777216 rows of 128 lanes; the four that are used.
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
    for text in ["", "step 1 loss 3.2\n", "RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes.", "Peak buffers:\n"] {
        assert_eq!(OutOfMemory::read(text), [], "{text}");
    }
}

proptest! {
    #[test]
    fn any_damage_is_read(at in 0usize..2000, with in "\\PC{0,8}") {
        for text in [GPU, TPU] {
            let at = (at % text.len()..).find(|&at| text.is_char_boundary(at)).unwrap();
            for report in OutOfMemory::read(&format!("{}{with}{}", &text[..at], &text[at..])) {
                prop_assert!(report.listed_bytes() > 0);
                Summary::of(report.buffers.iter().map(|buffer| buffer.as_peak_buffer()));
            }
        }
    }
}
