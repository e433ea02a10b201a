//! Generates a synthetic training run, with the same events for every writer.
//!
//! The run has the shape of a real JAX capture. Each device runs steps that contain the same operations in the same
//! order, with small gaps. One host thread launches the operations, and another shows Python frames.
//!
//! ```text
//! device   Steps        [ 0                        ] [ 1
//!          XLA Modules  [ jit_train_step           ] [ jit_train_step
//!          XLA Ops      [fusion][copy] [all-reduce ] [fusion]..
//! host     python3      [train > fit > ...         ]
//! ```

use super::random::Random;

/// The kind of accelerator whose tracks and arguments are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    Gpu,
    Tpu,
}

/// The track of an event, identified by a process and a thread of the trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Line {
    pub pid: u32,
    pub tid: u32,
}

/// The value of an argument.
pub enum Value<'a> {
    Text(&'a str),
    Number(i64),
}

/// One named argument of an event.
pub struct Arg<'a> {
    pub key: &'static str,
    pub value: Value<'a>,
    /// True if the argument is the same each time that the operation runs. Such an argument is stored only once in an
    /// xplane file.
    pub of_operation: bool,
}

/// One event.
pub struct Event<'a> {
    pub line: Line,
    pub name: &'a str,
    pub start_ps: i64,
    pub duration_ps: i64,
    /// Arguments, sorted by key.
    pub args: &'a [Arg<'a>],
}

/// A receiver of the lines and events of a run.
pub trait Sink {
    /// Starts a process. Called before the first line of the process.
    fn process(&mut self, pid: u32, name: &str) -> std::io::Result<()>;
    /// Starts a line. Called before the first event of the line.
    fn line(&mut self, line: Line, name: &str) -> std::io::Result<()>;
    /// Adds an event.
    fn event(&mut self, event: &Event) -> std::io::Result<()>;
}

const STEPS: u32 = 1;
const MODULES: u32 = 2;
const OPS: u32 = 3;
const COMPUTE: u32 = 13;
const COPY_IN: u32 = 14;
const COPY_OUT: u32 = 15;
const COLLECTIVE: u32 = 22;
const DEVICE: u32 = 1;
const HOST: u32 = 701;
const PYTHON: u32 = 9001;
const LAUNCHES: u32 = 9002;
const OPS_PER_STEP: u32 = 240;
const FRAMES: [&str; 5] =
    ["train", "$trainer.py:412 fit", "$pjit.py:330 cache_miss", "$profiler.py:91 wrapper", "PjitFunction(train_step)"];

/// Kinds of operations. Each has a name, a category, its fraction of all operations, a mean duration in picoseconds,
/// and FLOPs per picosecond in tenths.
const KINDS: [(&str, &str, f64, f64, i64); 7] = [
    ("fusion", "fusion", 0.40, 9e6, 4),
    ("gemm_fusion_dot", "dot_general", 0.18, 120e6, 600),
    ("input_reduce_fusion", "reduce", 0.15, 18e6, 4),
    ("wrapped_transpose", "transpose", 0.07, 9e6, 4),
    ("cublas-gemm", "custom-call", 0.10, 180e6, 600),
    ("copy", "copy", 0.05, 9e6, 4),
    ("all-reduce", "all-reduce", 0.05, 90e6, 4),
];

struct Operation {
    name: String,
    kernel: String,
    category: &'static str,
    mean_ps: f64,
    flops: i64,
    bytes: i64,
    scope: String,
    text: String,
}

/// Writes a run of exactly `events` events.
pub fn run(platform: Platform, events: u64, sink: &mut impl Sink) -> std::io::Result<()> {
    let mut random = Random::new(1);
    let operations = operations(&mut random);
    let mut run = Run {
        platform,
        sink,
        random,
        left: events,
        device_ps: 5_000_000_000,
        host_ps: 4_000_000_000,
        correlation: 1000,
    };
    run.lines()?;
    let mut step = 0;
    while run.left > 0 {
        run.step(step, &operations)?;
        step += 1;
    }
    Ok(())
}

fn operations(random: &mut Random) -> Vec<Operation> {
    (0..OPS_PER_STEP)
        .map(|index| {
            let mut at = random.unit();
            let kind = KINDS.iter().find(|kind| {
                at -= kind.2;
                at <= 0.0
            });
            let &(base, category, _, mean, flops_tenths) = kind.unwrap_or(&KINDS[0]);
            let mean_ps = mean * (0.4 + 1.2 * random.unit());
            let name = format!("{base}.{index}");
            let part = ["attn", "mlp", "norm"][index as usize % 3];
            let kernel = match category {
                "all-reduce" => "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)".to_owned(),
                _ => name.replace('.', "_"),
            };
            Operation {
                kernel,
                category,
                mean_ps,
                flops: mean_ps as i64 * flops_tenths / 10,
                bytes: (mean_ps * 1.1) as i64 + 1000,
                scope: format!(
                    "jit(train_step)/jit(main)/transpose(jvp(Transformer))/layer_{}/{part}/{category}",
                    index % 18
                ),
                text: format!(
                    "%{name} = (f32[8,2048]{{1,0:T(8,128)}}, bf16[16,128,2048]{{2,1,0:T(8,128)(2,1)}}) \
                     {category}(bf16[16,128,2048]{{2,1,0}} %p.{index}, f32[2048]{{0}} %p.{}), kind=kLoop, \
                     calls=%fused_computation.{index}",
                    index + 1
                ),
                name,
            }
        })
        .collect()
}

/// State of a run that is being written.
struct Run<'s, S> {
    platform: Platform,
    sink: &'s mut S,
    random: Random,
    left: u64,
    device_ps: i64,
    host_ps: i64,
    correlation: i64,
}

impl<S: Sink> Run<'_, S> {
    fn lines(&mut self) -> std::io::Result<()> {
        let gpu = self.platform == Platform::Gpu;
        self.sink.process(DEVICE, if gpu { "/device:GPU:0" } else { "/device:TPU:0" })?;
        let mut lines = vec![(STEPS, "Steps"), (MODULES, "XLA Modules"), (OPS, "XLA Ops")];
        if gpu {
            lines.extend([
                (COMPUTE, "Stream #13(Compute)"),
                (COPY_IN, "Stream #14(MemcpyH2D)"),
                (COPY_OUT, "Stream #15(MemcpyD2H)"),
                (COLLECTIVE, "Stream #22(Compute)"),
            ]);
        }
        for (tid, name) in lines {
            self.sink.line(Line { pid: DEVICE, tid }, name)?;
        }
        self.sink.process(HOST, "/host:CPU")?;
        self.sink.line(Line { pid: HOST, tid: PYTHON }, "python3")?;
        self.sink.line(Line { pid: HOST, tid: LAUNCHES }, "py_xla_execute/9002")
    }

    /// Writes one event, unless the run already has all its events.
    fn put(
        &mut self,
        pid: u32,
        tid: u32,
        name: &str,
        start_ps: i64,
        duration_ps: i64,
        args: &[Arg],
    ) -> std::io::Result<()> {
        if self.left == 0 {
            return Ok(());
        }
        self.left -= 1;
        self.sink.event(&Event { line: Line { pid, tid }, name, start_ps, duration_ps: duration_ps.max(1), args })
    }

    fn step(&mut self, step: i64, operations: &[Operation]) -> std::io::Result<()> {
        let (start, launched) = (self.device_ps, self.host_ps);
        let mut at = start;
        if self.platform == Platform::Gpu {
            at = self.copy_in(at)?;
        }
        for operation in operations {
            if self.left == 0 {
                break;
            }
            let duration = (operation.mean_ps * (0.9 + 0.2 * self.random.unit())) as i64;
            let most = if self.random.unit() > 0.02 { 1.5e6 } else { 60e6 };
            let gap = (most * self.random.unit()) as i64;
            self.correlation += 1;
            match self.platform {
                Platform::Gpu => self.kernel(operation, at, duration, step)?,
                Platform::Tpu => self.tpu_op(operation, at, duration)?,
            }
            at += duration + gap;
        }
        let module = "jit_train_step(1234567890123456789)";
        self.put(DEVICE, MODULES, module, start, at - start, &[number("program_id", 7), number("run_id", step)])?;
        let group = [number("group_id", step), number("step_num", step)];
        self.put(DEVICE, STEPS, &step.to_string(), start, at - start, &group)?;
        self.device_ps = at + 400_000_000;
        let end = (self.device_ps - 450_000_000).max(launched + 50_000_000);
        for (depth, name) in (0..).zip(FRAMES) {
            let inset = depth * 1_000_000;
            self.put(HOST, PYTHON, name, launched + inset, end - launched - 2 * inset, &group)?;
        }
        self.host_ps = end + 100_000_000;
        Ok(())
    }

    fn copy_in(&mut self, at: i64) -> std::io::Result<i64> {
        let duration = (30e6 * (0.8 + 0.4 * self.random.unit())) as i64;
        self.correlation += 1;
        let args = [
            text("context_id", "$$1"),
            number("correlation_id", self.correlation),
            text("memcpy_details", "kind_src:pageable kind_dst:device size:8388608 dest:0 async:1"),
            text("name", "MemcpyH2D"),
        ];
        self.put(DEVICE, COPY_IN, "MemcpyH2D", at, duration, &args)?;
        Ok(at + duration + 3_000_000)
    }

    fn kernel(&mut self, operation: &Operation, at: i64, duration: i64, step: i64) -> std::io::Result<()> {
        let bytes = operation.bytes;
        let occupancy = 25 + bytes % 76;
        let details = format!(
            "regs:{} static_shared:0 dynamic_shared:{} grid:{},1,1 block:128,1,1 occ_pct:{occupancy}",
            16 + bytes % 200,
            bytes % 49152,
            1 + bytes % 4096
        );
        let args = [
            text("context_id", "$$1"),
            number("correlation_id", self.correlation),
            number("device_id", 0),
            text("hlo_module", "jit_train_step"),
            text("hlo_op", &operation.name),
            text("kernel_details", &details),
            text("name", &operation.scope),
            number("occupancy_min_grid_size", 132),
            number("occupancy_pct", occupancy),
            number("program_id", 7),
            text("tf_op", &operation.scope),
            number("theoretical_occupancy_pct", occupancy),
        ];
        let stream = if operation.category == "all-reduce" { COLLECTIVE } else { COMPUTE };
        self.put(DEVICE, stream, &operation.kernel, at, duration, &args)?;
        let args = [
            text("hlo_category", operation.category),
            text("hlo_module", "jit_train_step"),
            text("hlo_op", &operation.name),
            text("tf_op", &operation.scope),
        ];
        self.put(DEVICE, OPS, &operation.name, at, duration, &args)?;
        if self.random.unit() < 0.5 {
            let args = [number("correlation_id", self.correlation), number("group_id", step), number("step_num", step)];
            let cost = 2_500_000 + self.correlation % 1000 * 1000;
            self.put(HOST, LAUNCHES, "cuLaunchKernel", self.host_ps, cost, &args)?;
            self.host_ps += 4_000_000;
        }
        Ok(())
    }

    fn tpu_op(&mut self, operation: &Operation, at: i64, duration: i64) -> std::io::Result<()> {
        let fixed = |mut arg: Arg<'static>| {
            arg.of_operation = true;
            arg
        };
        let fixed_text = |key, value| Arg { key, value: Value::Text(value), of_operation: true };
        let args = [
            fixed(number("bytes_accessed", operation.bytes)),
            number("device_duration_ps", duration),
            number("device_offset_ps", at),
            fixed_text("hlo_category", operation.category),
            fixed_text("long_name", &operation.text),
            fixed(number("model_flops", operation.flops)),
            fixed(number("raw_bytes_accessed", operation.bytes)),
            fixed_text("tf_op", &operation.scope),
        ];
        self.put(DEVICE, OPS, &operation.name, at, duration, &args)
    }
}

fn number(key: &'static str, value: i64) -> Arg<'static> {
    Arg { key, value: Value::Number(value), of_operation: false }
}

fn text<'a>(key: &'static str, value: &'a str) -> Arg<'a> {
    Arg { key, value: Value::Text(value), of_operation: false }
}
