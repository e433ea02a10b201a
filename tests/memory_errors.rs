//! The text of an out-of-memory error as a file: tables, profile and findings of it, and what becomes of other texts.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod support;

use std::io::Write;
use std::process::{Command, Stdio};

use crossprof::{Query, Session, Settings, TableName};
use serde_json::Value;
use support::open;

/// As a TPU's compiler writes it, with what a log has around it.
const TPU: &str = r#"step 1 of 1000
XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 18.50G of 15.48G hbm. Exceeded hbm capacity by 3.02G.

Program hbm requirement 18.50G:
    HLO temp         18.49G (100.0% utilization: Unpadded (10.00G) Padded (18.49G), 0.0% fragmentation (1.1M))

  Largest program allocations in hbm:

  1. Size: 8.00G
     Operator: op_name="jit(step)/jit(main)/jvp(layer_3)/dot_general[precision=None]" source_file="/home/me/model.py" source_line=31
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

fn table(session: &mut Session, name: TableName, variant: &str) -> Vec<Value> {
    let table = session.table(0, &Settings::default(), name, variant, &Query::default()).unwrap();
    serde_json::to_value(&table).unwrap().as_array().unwrap().clone()
}

#[test]
fn tables_hold_what_the_text_lists() {
    let mut session = open("train.log", TPU.as_bytes());
    let buffers = table(&mut session, TableName::Buffers, "");
    // 16777216 rows, each filled up to 128 lanes of four bytes.
    let bytes: Vec<u64> = buffers.iter().map(|row| row["bytes"].as_u64().unwrap()).collect();
    assert_eq!(bytes, [16_777_216 * 128 * 4, 32768 * 32768 * 2]);
    assert_eq!((&buffers[0]["class"], &buffers[1]["class"]), (&Value::from("activation"), &Value::from("parameter")));
    assert_eq!(
        (&buffers[0]["source"], &buffers[0]["scope"]),
        (&Value::from("/home/me/model.py:31"), &Value::from("layer_3"))
    );
    assert_eq!(buffers[0]["padding_bytes"].as_u64(), Some(16_777_216 * 124 * 4));
    for form in ["class", "scope", "source"] {
        let sum: u64 =
            table(&mut session, TableName::Buffers, form).iter().map(|row| row["bytes"].as_u64().unwrap()).sum();
        assert_eq!(sum, bytes.iter().sum::<u64>(), "{form}");
    }
    let programs = table(&mut session, TableName::ProgramMemory, "");
    let [program] = programs.as_slice() else { panic!("one report") };
    // The text's number beside ours: 18.50 GiB needed, 10 GiB of it listed.
    assert_eq!(program["peak_heap_bytes"].as_u64(), Some((18.5 * (1u64 << 30) as f64) as u64));
    assert_eq!(program["listed_bytes"].as_u64(), Some(10 << 30));
}

#[test]
fn the_rules_judge_it_as_a_program() {
    let mut session = open("train.log", TPU.as_bytes());
    let profile = session.report(0, &Settings::default()).unwrap();
    let fired = |id: &str| profile.findings.iter().find(|it| it.id == id && it.severity.label() != "not_checked");
    let limit = fired("near_memory_limit").unwrap();
    assert_eq!((limit.severity.label(), limit.confidence.label()), ("critical", "high"));
    assert!(fired("padded_buffers").unwrap().message.contains("f32[4,16777216]"));
    assert!(fired("large_constants").is_none() && fired("no_device_ops").is_none());
    let memory = profile.memory.as_ref().unwrap();
    for classes in [&memory.devices[0].by_class, &memory.programs[0].by_class] {
        let sum: u64 = classes.iter().map(|class| class.bytes).sum();
        assert_eq!(Some(sum), memory.devices[0].peak_bytes, "what is not listed is a class, too");
    }
    assert_eq!(profile.provenance[0].format, "out_of_memory_error");
}

#[test]
fn other_texts_are_refused_with_a_sentence() {
    for text in
        ["step 1 loss 3.2\n", "RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes.\n", "Peak buffers:\n nothing\n"]
    {
        let mut session = Session::new();
        let file = session.begin("train.log", Some(text.len() as u64));
        session.push(file, text.as_bytes());
        let error = session.finish(file).error.map(|error| error.to_string());
        assert!(error.as_ref().is_some_and(|error| error.contains("log") && error.ends_with('.')), "{text}: {error:?}");
        assert!(session.runs().is_empty(), "{text}");
    }
}

#[test]
fn standard_input_is_read() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_crossprof"))
        .args(["table", "buffers", "--format", "json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // More than is looked at before it is known what the input holds.
    let text = format!("{}{TPU}", "step 1 loss 3.2\n".repeat(10_000));
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 2);
}
