//! Samples with memory data: a device memory profile, and texts of out-of-memory errors.

use crate::wire::{bytes, message, number, write};

/// Returns a device memory profile with allocations from `lines` source lines.
pub(super) fn heap_profile(lines: u64) -> Vec<u8> {
    let texts = [
        "",
        "allocations",
        "count",
        "space",
        "bytes",
        "kind",
        "buffer",
        "device",
        "cuda:0",
        "step",
        "/home/me/train.py",
    ];
    let mut fields = vec![message(1, &[number(1, 1), number(2, 2)]), message(1, &[number(1, 3), number(2, 4)])];
    for (line, size) in (1..=lines).map(|at| (12 * at, (1 << 20) >> at)) {
        let label = |key, text| message(3, &[number(1, key), number(2, text)]);
        fields.push(message(2, &[number(1, line), number(2, 1), number(2, size), label(5, 6), label(7, 8)]));
        fields.push(message(4, &[number(1, line), message(4, &[number(1, 1), number(2, line)])]));
    }
    fields.push(message(5, &[number(1, 1), number(2, 9), number(4, 10)]));
    fields.extend(texts.map(|text| bytes(6, text)));
    write(&fields)
}

/// Returns texts of errors, each with its name. Some texts have the wording of the GPU and TPU compilers. In other
/// texts, errors are repeated and mixed, as in logs.
pub(super) fn errors() -> [(&'static str, String); 5] {
    [
        ("gpu.log", GPU.to_owned()),
        ("tpu.log", TPU.to_owned()),
        ("both.log", format!("{TPU}{GPU}")),
        ("twice.log", format!("{GPU}step 2\n{GPU}")),
        ("crlf.log", TPU.replace('\n', "\r\n")),
    ]
}

const GPU: &str = include_str!("../../../../tests/data/out-of-memory/gpu.log");

const TPU: &str = r#"RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 18.50G of 15.48G hbm.

Program hbm requirement 18.50G:
    HLO temp         18.49G (100.0% utilization: Unpadded (10.00G) Padded (18.49G), 0.0% fragmentation (1.1M))

  Largest program allocations in hbm:

  1. Size: 8.00G
     Operator: op_name="jit(step)/transpose(jvp(layer_3))/dot_general" source_file="/home/me/model.py" source_line=31
     Shape: f32[16777216,4]{1,0:T(8,128)(2,1)}
     Unpadded size: 256.00M
     XLA label: fusion.7 = fusion(param.1), kind=kLoop
     Allocation type: HLO temp
     ==========================

  2. Size: 2.00G
     Operator: op_name="state.params['w']"
     Shape: bf16[32768,32768]{1,0:T(8,128)(2,1)}
     Allocation type: arguments
     ==========================
"#;
