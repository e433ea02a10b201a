//! Tests traces of writers other than JAX: categories, absolute times, pairs, and names that come late.

use super::{decode, describe, events, values, warnings};
use trace::{EventColumn, Framework, LineKind, PlaneKind, Platform, StatValue};

/// A process without metadata is named after the work that ran on it.
#[test]
fn a_nameless_process_with_kernels_is_a_gpu() {
    let trace = decode(
        r#"{"schemaVersion": 1, "traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 40, "tid": 41, "ts": 1682725898079484, "dur": 100},
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 2, "tid": 7, "ts": 1682725898079500, "dur": 10, "args": {"stream": 7}}]}"#,
    )
    .unwrap();
    let names = |of: Vec<trace::StrId>| of.into_iter().map(|name| trace.text(name).to_owned()).collect::<Vec<_>>();
    assert_eq!(names(trace.planes.iter().map(|plane| plane.name).collect()), ["process 40", "GPU 2"]);
    assert_eq!(names(trace.lines.iter().map(|line| line.name).collect()), ["thread 41", "stream 7"]);
}

#[test]
fn kineto_is_understood() {
    let trace = decode(
        r#"{"schemaVersion": 1, "deviceProperties": [{"id": 3, "name": "Made-Up 9000", "totalGlobalMem": 85899345920, "numSms": 132}],
        "distributedInfo": {"backend": "nccl", "rank": 2, "world_size": 8},
        "traceEvents": [
        {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#551", "pid": 40, "tid": 40, "ts": 1682725898079484, "dur": 100.5, "args": {"External id": 1}},
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1682725898079500, "dur": 10,
         "args": {"External id": 6, "device": 3, "stream": 7, "correlation": 524077, "registers per thread": 168,
         "shared memory": 231424, "blocks per SM": 0.848485, "grid": [56, 2, 1], "block": [384, 1, 1], "est. achieved occupancy %": 0}},
        {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoH (Device -> Pageable)", "pid": 0, "tid": 7, "ts": 1682725898079520.125, "dur": 2,
         "args": {"device": 3, "bytes": 4096, "correlation": 10159970886766084423}},
        {"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#551", "pid": 0, "tid": 7, "ts": 1682725898079500, "dur": 30},
        {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 1682725898079000, "dur": 3000},
        {"name": "process_name", "ph": "M", "ts": 1682725898079000, "pid": 40, "tid": 0, "args": {"name": "python3"}},
        {"name": "process_name", "ph": "M", "ts": 1682725898079000, "pid": 0, "tid": 0, "args": {"name": "python3"}},
        {"name": "process_labels", "ph": "M", "ts": 1682725898079000, "pid": 0, "tid": 0, "args": {"labels": "GPU 3"}},
        {"name": "thread_name", "ph": "M", "pid": 0, "tid": 7, "args": {"name": "stream 7 "}}]}"#,
    )
    .unwrap();
    assert_eq!(warnings(&trace), []);
    assert_eq!(trace.framework, Framework::PyTorch);
    assert_eq!(trace.capture.anchor_ns, 1_682_725_898_079_484_000);
    assert_eq!(trace.capture.start_unix_ns, Some(1_682_725_898_079_000_000));
    let times: Vec<_> = events(&trace).into_iter().map(|(_, start, duration)| (start, duration)).collect();
    assert_eq!(
        times,
        [
            (0, 100_500_000),
            (16_000_000, 10_000_000),
            (36_125_000, 2_000_000),
            (16_000_000, 30_000_000),
            (-484_000_000, 3_000_000_000)
        ]
    );
    assert_eq!(
        values(&trace, EventColumn::Correlation),
        [(1, 524_077), (2, 10_159_970_886_766_084_423u64.cast_signed())]
    );
    assert_eq!(values(&trace, EventColumn::StepNum), [(0, 551)]);
    assert_eq!(trace.args_of(&trace.events.iter().nth(2).unwrap()).copy_bytes, Some(4096));
    let details = |at| trace.text(trace.args_of(&trace.events.iter().nth(at).unwrap()).kernel_details);
    assert_eq!((details(1), details(2)), ("regs:168 shm:231424 grid:56,2,1 block:384,1,1", ""));
    let kinds: Vec<_> = trace.planes.iter().map(|plane| plane.kind).collect();
    let device = PlaneKind::Device { platform: Platform::Gpu, ordinal: 3 };
    assert_eq!(kinds, [PlaneKind::Host, device, PlaneKind::Other]);
    assert_eq!(trace.lines.get(1).map(|line| line.kind), Some(LineKind::DeviceOps));
    let (host, gpu) = (trace.planes.first().unwrap(), trace.planes.get(1).unwrap());
    assert_eq!(trace.plane_stat(gpu, "memory_size"), Some(StatValue::Int(85_899_345_920)));
    assert_eq!(trace.plane_stat(host, "rank"), Some(StatValue::Int(2)));
    // All processes have the program's name. Only the label identifies the device.
    assert_eq!((trace.text(host.name), trace.text(gpu.name)), ("python3", "GPU 3"));
    for (stat, text) in [("labels", "GPU 3"), ("gpu_device_name", "Made-Up 9000")] {
        let id = trace.strings.find(text).unwrap();
        assert_eq!(trace.plane_stat(gpu, stat), Some(StatValue::Text(id)));
    }
}

#[test]
fn kineto_records_the_sizes_of_collectives() {
    let kernel = |args: &str| {
        format!(
            r#"[{{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":7,"ts":1,"dur":10,"args":{{{args}}}}}]"#
        )
    };
    let details = |args: &str| {
        let trace = decode(kernel(args)).unwrap();
        trace.text(trace.args_of(&trace.events.iter().next().unwrap()).kernel_details).to_owned()
    };
    assert_eq!(
        details(
            r#""Collective name":"allreduce","In msg nelems":1024,"Out msg nelems":1024,"Group size":2,"dtype":"BFloat16",
            "Process Group Name":"0","Process Group Ranks":"[0, 1]","grid":[24,1,1]"#
        ),
        "collective:allreduce in_elements:1024 out_elements:1024 group_size:2 dtype:BFloat16 ranks:0,1 grid:24,1,1"
    );
    // The first list is truncated. The other keys have a different meaning, because the events are not launches.
    assert_eq!(
        details(r#""Collective name":"allgather","Process Group Ranks":"[0, 1, ..., 7]""#),
        "collective:allgather"
    );
    assert_eq!(details(r#""dtype":"float","Group size":8,"shared memory":1"#), "");
    assert_eq!(details(r#""grid":"[1,x]""#), "");
    assert_eq!(details(r#""grid":"[1,x]","block":"[2,1,1]","registers per thread":32"#), "block:2,1,1 regs:32");
}

#[test]
fn annotations_of_tensorflow_name_the_op() {
    let trace = decode(
        r#"[{"ph":"X","pid":1,"tid":7,"ts":1,"dur":10,"name":"k","args":{"annotation":"Mul:Mul#id=3#"}},
            {"ph":"X","pid":1,"tid":7,"ts":12,"dur":10,"name":"k","args":{"annotation":"Mul:Mul","tf_op":"model/Add:Add"}},
            {"ph":"X","pid":1,"tid":7,"ts":24,"dur":1,"name":"tpu::System::TransferToDevice","args":{"size":"4096"}}]"#,
    )
    .unwrap();
    let args = |at| trace.args_of(&trace.events.iter().nth(at).unwrap());
    assert_eq!([0, 1].map(|at| trace.text(args(at).tf_op)), ["Mul:Mul", "model/Add:Add"]);
    assert_eq!(args(2).copy_bytes, Some(4096));
}

#[test]
fn pairs_become_durations() {
    let trace = decode(
        r#"[{"ph":"B","pid":1,"tid":1,"ts":0,"name":"f","args":{"hlo_op":"x"}},
        {"ph":"B","pid":1,"tid":1,"ts":1,"name":"g"},{"ph":"B","pid":1,"tid":"2","ts":1,"name":"other"},
        {"ph":"E","pid":1,"tid":1,"ts":2},{"ph":"E","pid":1,"tid":1,"ts":10,"name":"f"},{"ph":"E","pid":1,"tid":2,"ts":4},
        {"ph":"b","cat":"c","id":"0x1a","pid":1,"tid":1,"ts":1,"name":"async"},{"ph":"n","cat":"c","id":26,"ts":2},
        {"ph":"e","cat":"d","id":26,"pid":1,"ts":3},{"ph":"e","cat":"c","id":26,"pid":1,"tid":9,"ts":5},
        {"ph":"B","pid":1,"tid":1,"ts":9,"name":"back"},{"ph":"E","pid":1,"tid":1,"ts":8}]"#,
    )
    .unwrap();
    let us = 1_000_000;
    assert_eq!(events(&trace), [("g", us, us), ("f", 0, 10 * us), ("other", us, 3 * us), ("async", us, 4 * us)]);
    assert_eq!(warnings(&trace), [("negative_duration", Some(1)), ("unmatched_end", Some(1))]);
    let lines: Vec<_> = trace.lines.iter().map(|line| trace.text(line.name)).collect();
    assert_eq!(lines, ["thread 1", "thread 2", "async events"]);
    assert_eq!(trace.complete_events, 0);
}

#[test]
fn names_may_come_late_and_twice() {
    let event = r#"{"ph":"X","pid":3,"tid":2,"ts":1,"dur":1,"name":"a"}"#;
    let name = |kind: &str, text: &str| {
        format!(r#"{{"ph":"M","pid":"3","tid":2,"name":"{kind}","args":{{"name":"{text}"}}}}"#)
    };
    let first = [name("process_name", "/device:TPU:1"), name("thread_name", "XLA Ops"), event.to_owned()];
    let last = [
        event.to_owned(),
        name("process_name", "wrong"),
        name("process_name", "/device:TPU:1"),
        name("thread_name", "XLA Ops"),
    ];
    let traces = [decode(format!("[{}]", first.join(","))).unwrap(), decode(format!("[{}]", last.join(","))).unwrap()];
    for trace in &traces {
        assert_eq!(trace.planes.len(), 1);
        assert_eq!(trace.lines.first().map(|line| line.kind), Some(LineKind::DeviceOps));
        assert_eq!(trace.framework, Framework::Jax);
    }
    assert!(describe(&traces[1]).contains("(\"a\", \"XLA Ops\", 0, DeviceOps)"));
}

#[test]
fn the_writer_is_detected_by_unique_events() {
    let event = |name: &str| format!(r#"{{"ph":"X","pid":3,"tid":2,"ts":1,"dur":1,"name":"{name}"}}"#);
    let xla = |name: &str| format!(r#"{{"metadata":{{"highres-ticks":true}},"traceEvents":[{}]}}"#, event(name));
    assert_eq!(decode(xla("train")).unwrap().framework, Framework::Jax);
    assert_eq!(decode(xla("ExecutorState::Process")).unwrap().framework, Framework::TensorFlow);
    assert_eq!(decode(format!("[{}]", event("train"))).unwrap().framework, Framework::Unknown);
}
