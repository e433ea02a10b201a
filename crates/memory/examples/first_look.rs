//! Measures the time of a first look at memory: `cargo run --release -p memory --example first_look`. `docs/performance.md`
//! contains the results.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use base::Ps;
use memory::allocator::allocators;
use memory::{Classifier, HeapProfile, MAIN, ProgramMemory, Summary};
use trace::{EventColumn, TraceBuilder};
use wire_writer::{Message, message};

/// Number of measurements. The result is the fastest measurement.
const ROUNDS: u32 = 5;

fn main() {
    let program = program(100_000);
    time("hlo of 100,000 buffers, decoded", || hlo::read_proto(&program));
    time("program of 100,000 buffers, decoded and played", || ProgramMemory::read(&program));
    time("program of 100,000 buffers, with classes and sums", || {
        let memory = Arc::new(ProgramMemory::read(&program)?);
        let main = memory.space(MAIN)?;
        let classifier = Classifier::new(&memory);
        Some(Summary::of(memory.peak_buffers(main, &classifier)))
    });
    let profile = profile(100_000);
    time("pprof of 100,000 stacks", || HeapProfile::read(&profile));
    let trace = trace(1_000_000);
    time("1,000,000 events of an allocator", || allocators(&trace, Ps::ZERO));
}

fn time<T>(what: &str, look: impl Fn() -> T) {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        black_box(look());
        best = best.min(start.elapsed().as_secs_f64());
    }
    eprintln!("{what}: {:.0} ms", 1e3 * best);
}

/// Builds a training step with this many instructions. The buffer of each instruction lives until a thousand more
/// instructions have run.
fn program(buffers: i64) -> Vec<u8> {
    const ALIVE: i64 = 1000;
    let shape = message().int(2, 11).int(3, 256).int(3, 256).message(5, message().int(1, 1).int(1, 0));
    let name = |id: i64| format!("loop_fusion.{id}");
    let mut computation = message().bytes(1, "main").int(5, 1);
    let mut assignment = Message::default();
    let mut allocation = message().int(1, 0).int(2, ALIVE * (256 << 10));
    let mut trace = Message::default();
    for id in 1..=buffers {
        let pass = if id < buffers / 2 { "jvp(layer)" } else { "transpose(jvp(layer))" };
        let path = message().bytes(2, format!("jit(step)/{pass}/block_{}/dot_general", id % 48));
        let instruction = message().bytes(1, name(id)).bytes(2, "fusion").message(3, shape.clone()).message(7, path);
        computation = computation.message(2, instruction.int(35, id).int(36, (id - 1).max(1)));
        assignment = assignment.message(1, message().int(1, id).int(2, 256 << 10).message(3, message().int(4, id)));
        let assigned = message().int(1, id).int(2, (id % ALIVE) * (256 << 10)).int(3, 256 << 10);
        allocation = allocation.message(9, assigned);
        let event = |kind: i64, id: i64| message().int(1, kind).int(2, id).bytes(3, "main").bytes(4, name(id));
        if id > ALIVE {
            trace = trace.message(1, event(1, id - ALIVE));
        }
        trace = trace.message(1, event(0, id));
    }
    let module = message().bytes(1, "jit_step").bytes(2, "main").message(3, computation.int(6, buffers)).int(6, 1);
    let assignment = assignment.message(3, allocation).message(4, trace);
    message().message(1, module).message(3, assignment).0
}

/// Builds a profile with this many stacks of twelve frames.
fn profile(stacks: i64) -> Vec<u8> {
    const DEPTH: i64 = 12;
    const LINES: i64 = 5000;
    let mut profile = message().message(1, message().int(1, 1).int(2, 2)).message(1, message().int(1, 3).int(2, 4));
    for stack in 0..stacks {
        let frames =
            (0..DEPTH).fold(Message::default(), |sample, depth| sample.int(1, 1 + (stack * 7 + depth * 131) % LINES));
        let label = |key: i64, text: i64| message().int(1, key).int(2, text);
        let values = frames.int(2, 1).int(2, 4096);
        profile = profile.message(2, values.message(3, label(5, 6)).message(3, label(7, 8)));
    }
    for line in 1..=LINES {
        let at = message().int(1, 1 + line % 800).int(2, line);
        profile = profile.message(4, message().int(1, line).message(4, at));
    }
    let mut texts: Vec<String> = ["", "allocations", "count", "space", "bytes", "kind", "buffer", "device", "cuda:0"]
        .map(str::to_owned)
        .to_vec();
    for function in 1..=800 {
        profile = profile.message(5, message().int(1, function).int(2, 7 + 2 * function).int(4, 8 + 2 * function));
        texts.extend([format!("function_{function}"), format!("/home/me/project/module_{}.py", function % 60)]);
    }
    texts.into_iter().fold(profile, |profile, text| profile.bytes(6, text)).0
}

/// Builds a trace with this many allocations and releases of one allocator.
fn trace(events: i64) -> trace::Trace {
    let mut b = TraceBuilder::new();
    let line = b.line("/host:CPU", "python");
    let name = b.trace_mut().strings.intern("GPU_0_bfc");
    for at in 0..events {
        let event = b.event(line, if at % 2 == 0 { "MemoryAllocation" } else { "MemoryDeallocation" }, at, 0);
        event
            .args(|args| args.allocator_name = name)
            .value(EventColumn::InUseBytes, 1 << 20)
            .value(EventColumn::AvailableBytes, 1 << 30)
            .value(EventColumn::AllocationBytes, 4096)
            .value(EventColumn::RequestedBytes, 4000)
            .value(EventColumn::Address, (at / 2) % 4096);
    }
    b.build()
}
