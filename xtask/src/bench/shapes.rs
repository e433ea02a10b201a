//! Traces that are extreme in one respect. The traces contain the same name millions of times, a million different
//! names, or thousands of threads.

use super::generate::{Arg, Event, Line, Sink, Value};
use std::io::Result;

const HOST: u32 = 701;
const DEVICE: u32 = 1;
const OPS: u32 = 3;
const PYTHON: u32 = 9001;

/// Writes the trace that JAX records on a CPU for `events` empty annotations `TraceAnnotation("ev", i=i)`. The trace
/// has one host line, on which all events have the same name.
pub fn annotations(events: u64, sink: &mut impl Sink) -> Result<()> {
    let line = Line { pid: HOST, tid: PYTHON };
    sink.process(HOST, "/host:CPU")?;
    sink.line(line, "python")?;
    let mut start_ps = 13_000_000;
    for index in 0..events as i64 {
        let duration_ps = 256_000 + index % 7 * 11_000;
        let args = [Arg { key: "i", value: Value::Number(index), of_operation: false }];
        sink.event(&Event { line, name: "ev", start_ps, duration_ps, args: &args })?;
        start_ps += duration_ps + 640_000;
    }
    Ok(())
}

/// Writes `ops` different instructions of one program. Each instruction runs once on the same TPU.
pub fn distinct_ops(ops: u64, sink: &mut impl Sink) -> Result<()> {
    const KINDS: [(&str, &str); 4] =
        [("fusion", "loop fusion"), ("copy", "data formatting"), ("convolution", "convolution"), ("add", "add")];
    let line = Line { pid: DEVICE, tid: OPS };
    sink.process(DEVICE, "/device:TPU:0")?;
    sink.line(line, "XLA Ops")?;
    let mut start_ps = 1_000_000;
    for index in 0..ops as i64 {
        let (kind, category) = KINDS[index as usize % KINDS.len()];
        let name = format!("{kind}.{index}");
        // Durations are scattered, so that neighbours in the file are not neighbours in a sorted table.
        let duration_ps = 100_000 + index.wrapping_mul(7_919) % 1_000_003 * 10;
        let path = format!("jit(train)/layer_{}/block_{}/{kind}:", index % 96, index % 12);
        let fixed = |key, value| Arg { key, value, of_operation: true };
        let args = [
            fixed("bytes_accessed", Value::Number(duration_ps / 100)),
            fixed("flops", Value::Number(duration_ps * 3)),
            fixed("hlo_category", Value::Text(category)),
            fixed("program_id", Value::Number(7)),
            fixed("tf_op", Value::Text(&path)),
        ];
        sink.event(&Event { line, name: &name, start_ps, duration_ps, args: &args })?;
        start_ps += duration_ps + 50_000;
    }
    Ok(())
}

/// Writes `threads` threads of one process. Each thread has 500 events, which are nested function calls.
pub fn threads(threads: u32, sink: &mut impl Sink) -> Result<()> {
    const FUNCTIONS: [&str; 5] = ["run", "next_batch", "decode", "resize", "pad"];
    sink.process(HOST, "/host:CPU")?;
    for thread in 0..threads {
        let line = Line { pid: HOST, tid: PYTHON + thread };
        sink.line(line, &format!("worker {thread}"))?;
        let mut start_ps = i64::from(thread) * 1_300_000;
        for _ in 0..100 {
            // Each call is inside the previous one.
            for (depth, name) in (0..).zip(FUNCTIONS) {
                let event = Event {
                    line,
                    name,
                    start_ps: start_ps + depth * 9_000_000,
                    duration_ps: 90_000_000 - depth * 18_000_000,
                    args: &[],
                };
                sink.event(&event)?;
            }
            start_ps += 110_000_000 + i64::from(thread) * 70_000;
        }
    }
    Ok(())
}
