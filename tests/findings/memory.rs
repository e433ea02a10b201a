//! Rules about memory, tested on programs that JAX compiled, on synthetic allocators and on device memory profiles. For
//! each program on which a rule fires, there is a similar program on which the rule must not fire.

use crossprof::Settings;
use crossprof::insight::{Verdict, examine, verdict};
use crossprof::report::Finding;
use crossprof::report::FindingSeverity::{Critical, Note, Warning};
use crossprof::run::{EarlierHeapProfile, Run};
use crossprof::trace::{EventColumn, Framework, HloProto, StatValue, Trace, TraceBuilder};
use wire_writer::{Message, message};

use super::runs::{finding, says};
use crate::support::{gunzip, samples};

const GIB: i64 = 1 << 30;

fn with_program(proto: Vec<u8>) -> Trace {
    let mut trace = Trace::default();
    let name = trace.strings.intern("jit_f(1)");
    trace.hlo.push(HloProto { program_id: 1, name, host: 0, bytes: proto.into() });
    trace
}

/// Returns a program of the fixture.
fn compiled(name: &str) -> Trace {
    let folder = samples::root().join("tests/data/jax-cpu-memory-findings");
    let suffix = format!(".jit_{name}.cpu_after_optimizations.hlo.pb.gz");
    let [path] = samples::files(&folder, &[&suffix]).try_into().unwrap();
    with_program(gunzip(&std::fs::read(path).unwrap()))
}

/// Returns a program with one tiled array of type `f32[rows,lanes]`, whose allocation is `free` bytes larger than the
/// array.
fn tiled(rows: i64, lanes: i64, padded: i64, free: i64) -> Trace {
    let layout = message().int(1, 1).int(1, 0).message(6, message().int(1, 8).int(1, 128));
    let shape = message().int(2, 11).int(3, rows).int(3, lanes).message(5, layout);
    let add = message().bytes(1, "add.1").bytes(2, "add").message(3, shape).int(35, 1);
    let computation = message().bytes(1, "main").int(5, 1).message(2, add).int(6, 1);
    let module = message().bytes(1, "jit_f").bytes(2, "main").message(3, computation).int(6, 1);
    let buffer = message().int(1, 1).int(2, padded).message(3, message().int(4, 1));
    let allocation = message().int(2, padded + free).message(9, message().int(1, 1));
    let event = message().int(1, 0).int(2, 1).bytes(4, "add.1");
    let assignment = message().message(1, buffer).message(3, allocation).message(4, message().message(1, event));
    with_program(message().message(1, module).message(3, assignment).0)
}

/// Returns a GPU of 80 GiB whose allocator has this limit and `in_use` bytes at its peak.
fn allocator(limit: i64, in_use: i64, fragmentation: f64) -> Trace {
    allocating(limit, &[(in_use, fragmentation)])
}

/// Returns a trace with allocations of 1 GiB. `after` contains the bytes in use and the fragmentation after each
/// allocation.
fn allocating(limit: i64, after: &[(i64, f64)]) -> Trace {
    let mut b = TraceBuilder::new();
    b.trace_mut().framework = Framework::Jax;
    let stream = b.line("/device:GPU:0", "Stream #7(Compute)");
    b.plane_stat("/device:GPU:0", "memory_size", StatValue::Int(80 * GIB));
    b.event(stream, "gemm", 5, 100);
    let python = b.line("/host:CPU", "python");
    let name = b.trace_mut().strings.intern("GPU_0_bfc");
    for (time, &(in_use, fragmentation)) in (1..).zip(after) {
        let event = b.event(python, "MemoryAllocation", time, 0).args(|args| args.allocator_name = name);
        event
            .value(EventColumn::InUseBytes, in_use)
            .value(EventColumn::PeakInUseBytes, in_use)
            .value(EventColumn::AvailableBytes, limit - in_use)
            .value(EventColumn::AllocationBytes, GIB)
            .value(EventColumn::Address, time)
            .value(EventColumn::Fragmentation, fragmentation.to_bits().cast_signed());
    }
    b.build()
}

fn evidence(finding: &Finding, name: &str) -> f64 {
    finding.evidence.iter().find(|it| it.name == name).unwrap().value
}

fn silent(trace: Trace, id: &str) {
    assert_eq!(says(trace, id), Verdict::Fine, "{id}");
}

#[test]
fn near_memory_limit() {
    let found = finding(allocator(60 * GIB, 57 * GIB, 0.0), "near_memory_limit");
    assert_eq!((found.severity, evidence(&found, "peak_percent")), (Warning, 95.0));
    silent(allocator(60 * GIB, 50 * GIB, 0.0), "near_memory_limit");
    // Without allocator events, the program's peak and the size of the device are used.
    let with_program = |device: &str| {
        let mut trace = compiled("train_twice");
        let mut b = TraceBuilder::new();
        let line = b.line(device, "XLA Ops");
        b.plane_stat(device, "memory_size", StatValue::Int(100 << 20));
        b.event(line, "fusion.1", 0, 10).hlo_module("jit_train_twice");
        let with_ops = b.build();
        let name = trace.text(trace.hlo[0].name).to_owned();
        let mut proto = trace.hlo.remove(0);
        trace = with_ops;
        proto.name = trace.strings.intern(&name);
        trace.hlo.push(proto);
        trace
    };
    let found = finding(with_program("/device:TPU:0"), "near_memory_limit");
    assert_eq!((found.severity, evidence(&found, "capacity_bytes")), (Critical, (100 << 20) as f64));
    assert!(found.message.contains("at least 120"), "{}", found.message);
    assert!(matches!(says(compiled("train"), "near_memory_limit"), Verdict::NotChecked(_)), "no device");
}

#[test]
fn activations_dominate() {
    let found = finding(compiled("train"), "activations_dominate");
    assert_eq!(found.severity, Note);
    // The results of tanh in each of four blocks, and the sums in three of them, as in memory.py: 2048 x 1024 and 2048 x 256
    // numbers.
    assert!(evidence(&found, "activation_bytes") >= (4 * 2048 * 1024 * 4) as f64, "{:?}", found.evidence);
    assert!(
        ["first", "second", "third", "fourth"].iter().any(|scope| found.remedy.contains(scope)),
        "{}",
        found.remedy
    );
    silent(compiled("baked"), "activations_dominate");
}

#[test]
fn undonated_arguments() {
    let found = finding(compiled("train"), "undonated_arguments");
    // The rule finds all eight parameters. The parameters are the buffers that `donate` shares, according to XLA.
    assert_eq!((evidence(&found, "undonated_bytes"), evidence(&found, "undonated_arguments")), (8_388_608.0, 8.0));
    assert_eq!(found.severity, Note, "8 MiB, whatever their share of a small peak");
    silent(compiled("donate"), "undonated_arguments");
    silent(compiled("given"), "undonated_arguments");
    silent(compiled("baked"), "undonated_arguments");
    let found = finding(compiled("unusable"), "undonated_arguments");
    assert!(found.message.contains("donated, but no result"), "{}", found.message);
}

#[test]
fn large_constants() {
    let found = finding(compiled("baked"), "large_constants");
    assert_eq!((found.severity, evidence(&found, "constant_bytes")), (Warning, (4 << 20) as f64));
    assert!(found.message.contains("f32[1024,1024]"), "{}", found.message);
    silent(compiled("given"), "large_constants");
}

#[test]
fn replicated_parameters() {
    let found = finding(compiled("replicated"), "replicated_parameters");
    // Each of eight devices has a copy of eight megabytes. One copy would be enough.
    assert_eq!((evidence(&found, "replicated_bytes"), evidence(&found, "saved_bytes")), (8_388_608.0, 7_340_032.0));
    silent(compiled("sharded"), "replicated_parameters");
    assert_eq!(says(compiled("train"), "replicated_parameters"), Verdict::Irrelevant, "one device");
}

#[test]
fn padded_buffers() {
    // In tiles of 8 x 128, an array of 16384 x 4 numbers takes the space of 16384 x 128 numbers.
    let found = finding(tiled(16384, 4, 16384 * 128 * 4, 0), "padded_buffers");
    assert_eq!((found.severity, evidence(&found, "padding_bytes")), (Warning, (16384 * 124 * 4) as f64));
    assert!(found.message.contains("f32[4,16384], one takes 512 KiB"), "{}", found.message);
    silent(tiled(16384, 128, 16384 * 128 * 4, 0), "padded_buffers");
    silent(compiled("train"), "padded_buffers");
}

#[test]
fn memory_fragmentation() {
    let found = finding(tiled(16384, 128, 8 << 20, 2 << 20), "memory_fragmentation");
    assert_eq!((found.severity, evidence(&found, "free_at_peak_percent")), (Note, 20.0));
    silent(tiled(16384, 128, 8 << 20, 512 << 10), "memory_fragmentation");
    let found = finding(allocator(60 * GIB, 50 * GIB, 0.8), "memory_fragmentation");
    assert_eq!((found.severity, evidence(&found, "fragmentation_percent")), (Warning, 80.0));
    silent(allocator(60 * GIB, 50 * GIB, 0.3), "memory_fragmentation");
    silent(allocator(60 * GIB, 10 * GIB, 0.8), "memory_fragmentation");
}

#[test]
fn preallocated_memory() {
    // 1 GiB is free between arrays in use. The allocation uses the rest of the 60 GiB.
    let holding = |in_use: i64| {
        let before = (in_use - GIB, GIB as f64 / (61 * GIB - in_use) as f64);
        allocating(60 * GIB, &[before, (in_use, GIB as f64 / (60 * GIB - in_use) as f64)])
    };
    let found = finding(holding(6 * GIB), "preallocated_memory");
    assert_eq!((found.severity, evidence(&found, "unused_bytes")), (Note, (54 * GIB) as f64));
    // Title, evidence and text use the same number: the peak since the process started.
    assert_eq!(
        (evidence(&found, "used_percent"), found.title.as_str()),
        (10.0, "The process uses 10.0 % of the memory that it holds")
    );
    assert!(found.message.contains("used at most 6.00 GiB"), "{}", found.message);
    assert!(found.remedy.contains("XLA_PYTHON_CLIENT_MEM_FRACTION"), "{}", found.remedy);
    silent(holding(40 * GIB), "preallocated_memory");
    // The allocator may use 60 GiB and holds 10 GiB. Its largest block shrinks from 4 GiB to 3 GiB, and another free block
    // has 1 GiB.
    silent(allocating(60 * GIB, &[(5 * GIB, 0.2), (6 * GIB, 0.25)]), "preallocated_memory");
    let unknown = says(allocator(60 * GIB, 6 * GIB, 0.0), "preallocated_memory");
    assert!(matches!(unknown, Verdict::NotChecked(_)), "{unknown:?}");
    assert_eq!(says(compiled("train"), "preallocated_memory"), Verdict::Irrelevant, "no GPU");
}

/// Returns a trace of two TPUs that run a program with two arguments. `kind` is the kind of the second argument's sharding (0
/// means replicated).
fn on_two_devices(kind: i64, opcode: &str) -> Trace {
    let shape = || message().int(2, 11).int(3, 8);
    let sharding = |kind: i64| match kind {
        0 => message().int(1, 0),
        _ => message().int(1, kind).int(3, 2).int(4, 0).int(4, 1),
    };
    let parameter = |id: i64, kind: i64| {
        let own = message().bytes(1, "p").bytes(2, "parameter").message(3, shape()).int(9, id - 1).int(35, id);
        own.message(40, sharding(kind))
    };
    let root = message().bytes(1, "r").bytes(2, opcode).message(3, shape()).int(35, 3).int(36, 1);
    let computation = message().bytes(1, "main").int(5, 1);
    let computation = computation.message(2, parameter(1, 0)).message(2, parameter(2, kind)).message(2, root).int(6, 3);
    let devices = message().int(1, 1).int(2, 2).message(3, message().int(1, 0)).message(3, message().int(1, 1));
    let module = message().bytes(1, "jit_f").bytes(2, "main").message(3, computation).int(6, 1).message(15, devices);
    let mut b = TraceBuilder::new();
    for device in ["/device:TPU:0", "/device:TPU:1"] {
        let (modules, ops) = (b.line(device, "XLA Modules"), b.line(device, "XLA Ops"));
        for step in 0..12 {
            b.event(modules, "jit_f(1)", step * 1000, 1000).run_id(step);
            b.event(ops, "r", step * 1000, 900).hlo_module("jit_f").hlo_op("r").args(|args| args.program_id = Some(1));
        }
    }
    let mut trace = b.build();
    let name = trace.strings.intern("jit_f(1)");
    trace.hlo.push(HloProto { program_id: 1, name, host: 0, bytes: message().message(1, module).0.into() });
    trace
}

#[test]
fn replicated_work() {
    let found = finding(on_two_devices(0, "negate"), "replicated_work");
    assert_eq!((found.severity, found.title.as_str()), (Warning, "All 2 devices compute the same result"));
    assert!(found.message.starts_with("jit_f runs on 2 devices. All of its 2 arguments"), "{}", found.message);
    assert_eq!(found.time_at_stake_percent.map(f64::round), Some(45.0));
    silent(on_two_devices(3, "negate"), "replicated_work");
    silent(on_two_devices(0, "partition-id"), "replicated_work");
}

/// Returns a device memory profile with one array of each size. A separate source line allocated each array.
fn heap(lines: &[i64]) -> Vec<u8> {
    let texts = ["", "space", "bytes", "step", "/home/me/train.py"];
    let start = message().message(1, message().int(1, 1).int(2, 1)).message(1, message().int(1, 1).int(2, 2));
    let mut profile: Message = start.message(5, message().int(1, 1).int(2, 3).int(4, 4));
    for (&bytes, line) in lines.iter().zip(1..) {
        profile = profile.message(2, message().int(1, line).int(2, 1).int(2, bytes));
        profile = profile.message(4, message().int(1, line).message(4, message().int(1, 1).int(2, line)));
    }
    texts.into_iter().fold(profile, |profile, text| profile.bytes(6, text)).0
}

#[test]
fn heap_growth() {
    let named = |name: &str, earlier: Option<&[i64]>, lines: &[i64]| {
        let earlier_heap_profile =
            earlier.map(|lines| EarlierHeapProfile { name: name.to_owned(), bytes: heap(lines).into() });
        let run = Run { heap_profile: Some(heap(lines).into()), earlier_heap_profile, ..Run::default() };
        let examined = examine(&run, &Settings::default());
        verdict(&examined.context(&run), "heap_growth").unwrap()
    };
    let says = |earlier: Option<&[i64]>, lines: &[i64]| named("memory_1.prof", earlier, lines);
    let Verdict::Fires(found) = says(Some(&[10 << 20, 4 << 20]), &[10 << 20, 18 << 20]) else { panic!("it grew") };
    assert_eq!((found.severity, evidence(&found, "growth_percent")), (Warning, 100.0));
    assert!(found.message.contains("train.py:2 (+14.0 MiB)"), "{}", found.message);
    assert_eq!(says(Some(&[10 << 20, 4 << 20]), &[10 << 20, 5 << 20]), Verdict::Fine);
    assert_eq!(says(Some(&[18 << 20]), &[10 << 20]), Verdict::Fine, "it shrank");
    let Verdict::Fires(found) = named("busy.prof", Some(&[18 << 20]), &[10 << 20]) else { panic!("unknown order") };
    assert_eq!(
        (found.severity, found.title.as_str()),
        (Note, "busy.prof contains 8.00 MiB more than the later profile")
    );
    assert!(matches!(says(None, &[1 << 20]), Verdict::NotChecked(_)));
    assert_eq!(super::runs::says(compiled("train"), "heap_growth"), Verdict::Irrelevant);
}
