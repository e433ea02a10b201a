//! Reads the text of an out-of-memory error as an input file, and checks its tables, profile and findings. Texts that
//! are not such errors must be rejected.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::open;
use crossprof::{Query, Session, Settings, TableName, UnifiedProfile};
use serde_json::Value;

/// An error from the TPU compiler, with the surrounding lines of a log.
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
    // 16777216 rows, each padded to 128 lanes of four bytes.
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
    // Both the text and crossprof report that 18.50 GiB are needed, of which 10 GiB are listed.
    assert_eq!(program["peak_heap_bytes"].as_u64(), Some((18.5 * (1u64 << 30) as f64) as u64));
    assert_eq!(program["listed_bytes"].as_u64(), Some(10 << 30));
}

fn profile(text: &str) -> UnifiedProfile {
    open("train.log", text.as_bytes()).report(0, &Settings::default()).unwrap()
}

/// Returns the title and message of the finding about an error text.
fn finding(text: &str) -> String {
    let profile = profile(text);
    let fired: Vec<_> = profile.findings.iter().filter(|it| it.severity.label() != "not_checked").collect();
    let [found] = fired.as_slice() else { panic!("one finding: {fired:?}") };
    assert_eq!((found.id.as_str(), found.severity.label()), ("out_of_memory", "critical"), "{text}");
    assert!(!found.remedy.is_empty(), "{text}");
    format!("{}. {}", found.title, found.message)
}

fn assert_says(text: &str, words: &[&str]) {
    let found = finding(text);
    for word in words {
        assert!(found.contains(word), "{word}: {found}");
    }
}

#[test]
fn padding_without_which_the_program_fits_is_the_cause() {
    assert_says(TPU, &["45.9 % of the program's memory is padding", "18.5 GiB of 15.5 GiB HBM", "f32[4,16777216]"]);
    let profile = profile(TPU);
    let memory = profile.memory.as_ref().unwrap();
    for classes in [&memory.devices[0].by_class, &memory.programs[0].by_class] {
        let sum: u64 = classes.iter().map(|class| class.bytes).sum();
        assert_eq!(Some(sum), memory.devices[0].peak_bytes, "what is not listed is a class, too");
    }
    assert_eq!(profile.provenance[0].format, "out_of_memory_error");
}

/// An error from the TPU compiler, which needs 64 GiB although only 896 MiB are values.
const PADDED: &str = r#"RuntimeError: Resource exhausted: Ran out of memory in memory space hbm. Used 64.00G of 15.48G hbm. Exceeded hbm capacity by 48.52G.

Total hbm usage >= 64.52G:
    reserved        530.00M
    program          64.00G
    arguments            0B

Output size 0B; shares 0B with arguments.

Program hbm requirement 64.00G:
    global             4.0K
    HLO temp         64.00G (1.4% utilization: Unpadded (896.00M) Padded (64.00G), 0.0% fragmentation (0B))

  Largest program allocations in hbm:

  1. Size: 16.00G
     Operator: op_type="concatenate" op_name="jit(t)/jit(_take_along_axis)/concatenate[ dimension=4 ]" source_file="t.py" source_line=6
     Shape: s32[2048,1,128,128,4]{4,3,2,0,1:T(8,128)}
     Unpadded size: 512.00M
     Extra memory due to padding: 15.50G (32.0x expansion)
     XLA label: %fusion.1 = s32[2048,1,128,128,4]{4,3,2,0,1:T(8,128)} fusion(...)
     Allocation type: HLO temp
     ==========================
"#;

#[test]
fn the_text_adds_up_its_padding_itself() {
    let prefixed: String =
        PADDED.lines().map(|line| format!("2020-05-04 09:05:40.719: E 1578 xla_util.cc:76] {line}\n")).collect();
    let quoted = format!("[{{\"textPayload\": {}, \"severity\": \"ERROR\"}}]", serde_json::to_string(PADDED).unwrap());
    for text in [PADDED, &prefixed, &quoted] {
        // 64.00 GiB - 896 MiB of 64.00 GiB.
        assert_says(
            text,
            &["98.6 % of the program's memory is padding", "64.0 GiB of 15.5 GiB HBM", "63.1 GiB", "896 MiB"],
        );
        let mut session = open("train.log", text.as_bytes());
        let [buffer] = table(&mut session, TableName::Buffers, "").try_into().unwrap();
        assert_eq!(
            (&buffer["bytes"], &buffer["padding_bytes"]),
            (&Value::from(16_u64 << 30), &Value::from(31_u64 << 29))
        );
        assert_eq!(buffer["source"], "t.py:6");
    }
}

#[test]
fn a_small_program_is_not_the_cause() {
    let gpu = r#"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 6291456 bytes.
BufferAssignment OOM Debugging.
BufferAssignment stats:
             parameter allocation:    6.00MiB
              constant allocation:         0B
        maybe_live_out allocation:    6.00MiB
     preallocated temp allocation:         0B
                 total allocation:   12.00MiB
Peak buffers:
\tBuffer 1:
\t\tSize: 6.00MiB
\t\tOperator: op_name="jit(concatenate)/jit(main)/concatenate[dimension=0]" source_file="/home/user/models.py" source_line=689
\t\tXLA Label: concatenate
\t\tShape: f32[4096,128,3]
\t\t==========================
"#;
    assert_says(gpu, &["Memory ran out although the program is small", "12.0 MiB", "6.00 MiB"]);
    // According to the allocator's numbers, 9 of the 16 GiB in use do not belong to the program.
    let in_use = "Limit: 17179869184\nInUse: 17179869000\n";
    assert_says(
        &format!("{in_use}{gpu}"),
        &["Other programs, arrays or processes used the memory", "12.0 MiB of 16.0 GiB", "in use 16.0 GiB"],
    );
    let large = gpu.replace("12.00MiB", "15.00GiB");
    assert!(!finding(&large).contains("Other programs"));
}

#[test]
fn one_line_errors_state_requested_and_free_memory() {
    assert_says(
        "RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 180.59M. That was not possible. There are \
         142.58M free.; (0x3x0_HBM1): while running replica 0 and partition 0 of a replicated computation",
        &["An allocation of 181 MiB failed on 0x3x0_HBM1", "free 143 MiB"],
    );
    assert_says(
        "Attempting to reserve 12.05G at the bottom of memory. That was not possible. There are 13.98G free, 0B reserved, and 9.98G \
         reservable.",
        &["fragmented", "largest free block 9.98 GiB", "free 14.0 GiB"],
    );
    assert_says(
        "RESOURCE_EXHAUSTED: TPU TensorCore Hbm usage: 34.82G, SparseCore Hbm usage 174.10G, exceeding available bytes: 95.74G",
        &["209 GiB of 95.7 GiB HBM", "The SparseCore needs 174 GiB"],
    );
    assert_says(
        "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space vmem. Used 98.04M of 64.00M vmem. \
         Exceeded vmem capacity by 34.04M.",
        &["A kernel needs more VMEM than is available", "98.0 MiB of 64.0 MiB VMEM"],
    );
    assert_says(
        "2022-10-25 21:52:08.219469: W external/org_tensorflow/tensorflow/tsl/framework/bfc_allocator.cc:479] Allocator (GPU_1_bfc) ran \
         out of memory trying to allocate 27.93GiB (rounded to 29995136256)requested by op\n\
         2022-10-25 21:52:08.220328: W external/org_tensorflow/tensorflow/tsl/framework/bfc_allocator.cc:491] **____*****\n",
        &["An allocation of 27.9 GiB failed on GPU_1_bfc"],
    );
    // 10 of 12 GiB are in use.
    assert_says(
        "W bfc_allocator.cc:501] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.00GiB (rounded to 2147483648)\nStats:\n\
         Limit: 12884901888\nInUse: 10737418240\nLargestFreeBlock: 536870912\n",
        &["fragmented", "largest free block 512 MiB"],
    );
    assert_says(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 79.50 GiB of which \
         1.25 GiB is free. Including non-PyTorch memory, this process has 78.25 GiB memory in use. Of the allocated memory 70.00 GiB is \
         allocated by PyTorch, and 5.75 GiB is reserved by PyTorch but unallocated.",
        &["fragmented", "reserved by the allocator but unused 5.75 GiB", "failed on GPU 0"],
    );
}

#[test]
fn a_text_about_exhausted_memory_is_never_plain_text() {
    for text in [
        "RESOURCE_EXHAUSTED: no more\n",
        "E0000 CUDA_ERROR_OUT_OF_MEMORY: out of memory\n",
        "{\"log\":\"Last State: Terminated, Reason: OOMKilled\",\"stream\":\"stderr\"}\n",
        "<4>[12.5] Out of memory: Killed process 12 (python3)\n",
        "\u{1b}[31mRESOURCE_EXHAUSTED: x\u{1b}[0m\n",
    ] {
        assert_says(text, &["ran out"]);
    }
    // The error is far from the start of a file, and in a JSON log.
    let line = "{\"message\":\"step 1\",\"severity\":\"INFO\"}\n";
    let far =
        format!("{}{{\"message\":\"RESOURCE_EXHAUSTED: Attempting to allocate 1.50G.\"}}\n", line.repeat(300_000));
    for text in [far.as_str(), &far.replace(['{', '}'], "")] {
        assert_says(text, &["An allocation of 1.50 GiB failed"]);
    }
}

#[test]
fn tables_and_page_show_errors_without_buffers() {
    let mut session = open("train.log", b"RESOURCE_EXHAUSTED: Attempting to allocate 180.59M. There are 142.58M free.");
    let [row] = table(&mut session, TableName::ProgramMemory, "").try_into().unwrap();
    assert_eq!((&row["free_bytes"], &row["peak_heap_bytes"]), (&Value::from(149_505_966), &Value::Null));
    assert!(table(&mut session, TableName::Buffers, "").is_empty());
    let profile = session.report(0, &Settings::default()).unwrap();
    let device = &profile.memory.unwrap().devices[0];
    assert_eq!(
        (device.requested_bytes, device.free_bytes, device.peak_bytes),
        (Some(189_362_339), Some(149_505_966), None)
    );
}

#[test]
fn other_texts_are_refused_with_a_sentence() {
    for text in ["step 1 loss 3.2\n", "Peak of the room: ZOOM\n"] {
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
    // The error comes after more bytes than are inspected to determine the kind of the input.
    let text = format!("{}{TPU}", "step 1 loss 3.2\n".repeat(10_000));
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 2);
}
