//! Compares the source lines of ops in real captures with call stacks that another reader read from the same files.

use crate::support::samples;
use crate::support::xprof::{Row, number, open, ours, text};
use crossprof::{Settings, TableName};

/// Returns the row of an op.
fn op<'r>(rows: &'r [Row], name: &str) -> &'r Row {
    rows.iter().find(|row| text(row, "hlo_op_name") == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
#[ignore = "reads real profiles"]
fn ops_of_a_library_have_the_line_that_calls_it() {
    let mut session = open(&samples::real("gfx950-te-attention/*.xplane.pb"));
    let rows = ours(&mut session, &Settings::default(), TableName::Ops);
    // The stacks begin at three lines of the program and at one line of `site-packages/transformer_engine/jax`. The product
    // begins in the program.
    for (name, line, kernels) in [
        ("te_fused_attn_forward_ffi.10", 77, 2.0),
        ("te_fused_attn_backward_ffi.18", 77, 5.0),
        ("gemm_fusion_dot", 92, 1.0),
    ] {
        let row = op(&rows, name);
        assert_eq!(text(row, "source_info"), format!("/workspace/12_te_fused_attn.py:{line}"), "{name}");
        // Each of the four counted steps executes it once.
        assert_eq!((number(row, "executions"), number(row, "occurrences")), (4.0, 4.0 * kernels), "{name}");
        let per_execution = number(row, "total_self_time_us") / 4.0;
        assert!((number(row, "execution_self_time_us") - per_execution).abs() < 1e-9 * per_execution, "{name}");
    }
    let of_library = |row: &&Row| text(row, "source_info").contains("site-packages");
    assert_eq!((rows.iter().filter(of_library).count(), rows.len()), (0, 20));
}

#[test]
#[ignore = "reads real profiles"]
fn the_stacks_of_a_trace_json_are_read() {
    let mut session = open(&samples::real("tpu-qwen3-runs/run-a.trace.json.gz"));
    let rows = ours(&mut session, &Settings::default(), TableName::Ops);
    // The file contains `site-packages/torch/nn/modules/module.py:1775`.
    let source = text(op(&rows, "RPA-bq_32-bkvp_32-p_128-.37"), "source_info");
    assert!(source.ends_with("/vllm/model_executor/models/qwen3.py:152"), "{source}");
}
