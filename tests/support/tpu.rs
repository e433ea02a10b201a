//! Writes a synthetic training run of 8 steps on 4 TPU chips. Two steps compile (the second one again because the
//! layout of its inputs changed, as often happens), and every fourth step waits for its batch.
//!
//! ```text
//! host   |train 0 ..compile..|train 1 ..compile..|train 2|train 3 (input stall)|train 4| ...
//! TPU:n               [module]            [module] [module]            [module] [module]
//! ops               ffn attn .. all-reduce .. adam                                one after another, no overlap
//! ```

use std::collections::BTreeMap;

use super::chrome::ChromeTrace;

pub(crate) const DEVICES: usize = 4;
pub(crate) const STEPS: u64 = 8;
const LAYERS: usize = 6;
const MS: u64 = 1_000_000_000;
const US: u64 = 1_000_000;

/// Known facts about the trace, with times in picoseconds.
#[derive(Default)]
pub(crate) struct Truth {
    pub ops: u64,
    pub busy: [u64; DEVICES],
    pub span: [u64; DEVICES],
    pub by_category: BTreeMap<String, u64>,
    pub compile: u64,
    pub input: u64,
}

/// An op of the model: name, category, mean length in microseconds, model FLOPs, bytes.
struct Op {
    name: String,
    category: &'static str,
    mean_us: u64,
    flops: u64,
    bytes: u64,
    scope: String,
}

fn model() -> Vec<Op> {
    let mut ops = Vec::new();
    let mut op = |name: String, category, mean_us, flops, bytes, scope: String| {
        ops.push(Op { name, category, mean_us, flops, bytes, scope });
    };
    op("fusion.1".into(), "loop fusion", 60, 0, 33_554_432, "embed/take".into());
    for pass in ["jvp(Model)", "transpose(jvp(Model))"] {
        let times = if pass.starts_with('j') { 1 } else { 2 };
        for layer in 0..LAYERS {
            let id = layer + 10 * times as usize;
            let scope = |part: &str| format!("{pass}/layer_{layer}/{part}");
            op(format!("fusion.{id}1"), "loop fusion", 25 * times, 4_194_304, 67_108_864, scope("norm/mul"));
            op(
                format!("fusion.{id}2"),
                "convolution fusion",
                210 * times,
                154_618_822_656,
                62_914_560,
                scope("attn/qkv/dot_general"),
            );
            op(
                format!("custom-call.{id}3"),
                "custom-call",
                180 * times,
                68_719_476_736,
                50_331_648,
                scope("attn/flash_attention"),
            );
            op(
                format!("fusion.{id}4"),
                "convolution fusion",
                75 * times,
                51_539_607_552,
                41_943_040,
                scope("attn/out/dot_general"),
            );
            op(
                format!("fusion.{id}5"),
                "convolution fusion",
                540 * times,
                412_316_860_416,
                150_994_944,
                scope("ffn/gate_up/dot_general"),
            );
            op(
                format!("fusion.{id}6"),
                "convolution fusion",
                270 * times,
                206_158_430_208,
                100_663_296,
                scope("ffn/down/dot_general"),
            );
            if times == 2 {
                op(format!("all-reduce.{id}7"), "all-reduce", 190, 0, 56_623_104, scope("psum"));
            }
        }
    }
    op("fusion.90".into(), "output fusion", 820, 549_755_813_888, 268_435_456, "logits/dot_general".into());
    op("fusion.91".into(), "loop fusion", 310, 0, 905_969_664, "adam/update".into());
    op("copy.92".into(), "data formatting", 45, 0, 67_108_864, "adam/transpose".into());
    ops
}

/// Returns the trace as text, and its known facts.
pub(crate) fn trace() -> (String, Truth) {
    let mut json = ChromeTrace::new();
    let mut truth = Truth::default();
    let pid = |device: usize| 3 + 8 * device as u32;
    for device in 0..DEVICES {
        json.process(pid(device), &format!("/device:TPU:{device}"));
        json.thread(pid(device), 2, "XLA Modules");
        json.thread(pid(device), 3, "XLA Ops");
    }
    json.process(701, "/host:CPU");
    json.thread(701, 4001, "python");
    let python = (701, 4001);
    let ops = model();
    let mut first = [None; DEVICES];
    let mut now = 2 * MS;
    for step in 0..STEPS {
        let annotation = now;
        let mut host = now + 40 * US;
        let load = if step % 4 == 3 { json.jitter(9 * MS, 10) } else { json.jitter(600 * US, 10) };
        json.event(python, "data_loading", host, load, &[]);
        truth.input += load;
        host += load + 30 * US;
        if step <= 1 {
            let compile = json.jitter(if step == 0 { 38 * MS } else { 21 * MS }, 5);
            json.event(python, "backend_compile_and_load", host, compile, &[]);
            truth.compile += compile;
            host += compile + 100 * US;
        }
        json.event(python, "PjitFunction(train_step)", host, 350 * US, &[]);
        let run_id = (100 + step).to_string();
        let launch = host + 420 * US;
        // Collectives end together, because every device waits for the slowest.
        let mut clock = [0; DEVICES];
        for (device, clock) in clock.iter_mut().enumerate() {
            *clock = launch + device as u64 * 12 * US;
        }
        let starts = clock;
        for op in &ops {
            let mut ends = [0; DEVICES];
            let lengths: Vec<u64> = (0..DEVICES)
                .map(|device| {
                    // The last chip is slightly slower than the others.
                    let mean = op.mean_us * US * if device == 3 { 104 } else { 100 } / 100;
                    json.jitter(mean, 2)
                })
                .collect();
            for device in 0..DEVICES {
                ends[device] = clock[device] + lengths[device];
            }
            if op.category == "all-reduce" {
                ends = [ends.into_iter().max().unwrap_or(0); DEVICES];
            }
            for device in 0..DEVICES {
                let length = ends[device] - clock[device];
                let path = format!("jit(train_step)/jit(main)/{}:", op.scope);
                let mut args = vec![("bytes_accessed", op.bytes.to_string()), ("hlo_category", op.category.to_owned())];
                if op.flops > 0 {
                    args.push(("model_flops", op.flops.to_string()));
                }
                args.push(("tf_op", path));
                let args: Vec<(&str, &str)> = args.iter().map(|(key, value)| (*key, value.as_str())).collect();
                json.event((pid(device), 3), &op.name, clock[device], length, &args);
                truth.ops += 1;
                truth.busy[device] += length;
                *truth.by_category.entry(op.category.to_owned()).or_default() += length;
                first[device].get_or_insert(clock[device]);
                truth.span[device] = ends[device] - first[device].unwrap_or(0);
                // The sequencer issues the next op slightly later.
                clock[device] = ends[device] + 400_000;
            }
        }
        for device in 0..DEVICES {
            let name = "jit_train_step(7382910456123)";
            let (start, length) = (starts[device], clock[device] - 400_000 - starts[device]);
            json.event((pid(device), 2), name, start, length, &[("run_id", &run_id)]);
        }
        let end = clock.into_iter().max().unwrap_or(0);
        json.event(python, "block_until_ready", host + 400 * US, end - host - 400 * US, &[]);
        now = end + 80 * US;
        json.event(python, "train", annotation, now - annotation - 20 * US, &[("step_num", &step.to_string())]);
    }
    (json.finish(), truth)
}
