//! Compares FLOPs, bytes, categories and expressions of the kernels in real GPU profiles, row by row, with XProf's
//! hlo_stats for the same profiles. The test prints the rows that differ intentionally.

use std::collections::BTreeMap;

use crate::support::decode;
use crate::support::xprof::{Row, close, number, output, rows, text, xplane};
use crossprof::hlo::{self, CostSource, Modules};
use crossprof::trace::Trace;

/// Returns the profile in a folder, and the rows of XProf's hlo_stats for that profile.
fn read(folder: &str) -> (Trace, Vec<Row>) {
    (decode(&xplane(folder)), rows(&output(folder, "hlo_stats")))
}

/// For each `(host, program, hlo_op)`, returns the number of kernels and their total time in picoseconds.
fn kernels(trace: &Trace) -> BTreeMap<(i64, String), (u64, f64)> {
    let mut found = BTreeMap::new();
    for event in trace.events.iter() {
        let args = trace.args_of(&event);
        let name = trace.text(args.hlo_op);
        let device = trace.lines.get(event.line.index()).and_then(|line| trace.plane_of(line));
        let on_gpu = device.is_some_and(|plane| trace.text(plane.name).starts_with("/device:GPU"));
        if let (true, Some(program), false) = (on_gpu, args.program_id, name.is_empty()) {
            let entry: &mut (u64, f64) = found.entry((program, name.to_owned())).or_default();
            entry.0 += 1;
            entry.1 += event.duration.as_ps() as f64;
        }
    }
    found
}

struct Compared {
    equal: usize,
    /// Rows in which XProf shows 0, but crossprof derives a number from shapes: `(row, FLOPs, bytes)`.
    from_shapes: Vec<(String, f64, f64)>,
}

fn compare(folder: &str) -> Compared {
    let (trace, rows) = read(folder);
    let modules = Modules::new(&trace);
    let kernels = kernels(&trace);
    let mut result = Compared { equal: 0, from_shapes: Vec::new() };
    for row in rows {
        let (number, text) = (|id: &str| number(&row, id), |id: &str| text(&row, id));
        let (program, name) = (number("program_id") as i64, text("hlo_op_name"));
        let module = modules.find(0, program).unwrap_or_else(|| panic!("{folder}: program {program}"));
        let instruction = module.instruction(name).unwrap_or_else(|| panic!("{folder}: {program} {name}"));
        assert_eq!(hlo::category(module, instruction), text("category"), "{folder} {name}");
        assert_eq!(hlo::expression(module, instruction), text("hlo_op_expression"), "{folder} {name}");
        let &(occurrences, time_ps) = kernels.get(&(program, name.to_owned())).unwrap();
        assert_eq!(occurrences as f64, number("occurrences"), "{folder} {name}");
        assert!(close(time_ps / 1e6, number("total_time")), "{folder} {name}: {time_ps} ps");

        let Some(cost) = hlo::cost(module, instruction) else { panic!("{folder} {name}: no cost") };
        // XProf's GFLOP/s and GiB/s are totals of all occurrences divided by the total time.
        let gflops = cost.flops * occurrences as f64 / (time_ps / 1e3);
        let gibps = cost.bytes_accessed * occurrences as f64 / (time_ps / 1e12) / (1u64 << 30) as f64;
        let (their_gflops, their_gibps) = (number("model_flop_rate"), number("measured_memory_bw"));
        if their_gflops == 0.0 && their_gibps == 0.0 && cost.source == CostSource::Shapes {
            println!(
                "{folder} {name}: {:e} FLOPs, {:e} bytes from shapes; XProf has 0",
                cost.flops, cost.bytes_accessed
            );
            result.from_shapes.push((name.to_owned(), cost.flops, cost.bytes_accessed));
            continue;
        }
        assert!(close(gflops, their_gflops), "{folder} {program} {name}: {gflops} GFLOP/s, XProf {their_gflops}");
        assert!(close(gibps, their_gibps), "{folder} {program} {name}: {gibps} GiB/s, XProf {their_gibps}");
        if their_gibps > 0.0 {
            let intensity = cost.flops / cost.bytes_accessed;
            assert!(close(intensity, number("operational_intensity")), "{folder} {name}");
        }
        assert_eq!(cost.source, CostSource::Hlo, "{folder} {name}");
        result.equal += 1;
    }
    println!("{folder}: {} rows equal, {} from shapes", result.equal, result.from_shapes.len());
    result
}

#[test]
#[ignore = "reads real profiles"]
fn a_convolution_on_eight_gpus() {
    let found = compare("mi300x-8gpu-conv");
    assert_eq!((found.equal, found.from_shapes.len()), (4, 0));
}

#[test]
#[ignore = "reads real profiles"]
fn elementwise_kernels() {
    let found = compare("mi300x-elementwise");
    assert_eq!((found.equal, found.from_shapes.len()), (13, 0));
}

#[test]
#[ignore = "reads real profiles"]
fn one_kernel_on_two_gpus() {
    let found = compare("gtx1080ti-2gpu");
    assert_eq!((found.equal, found.from_shapes.len()), (1, 0));
}

/// XProf has no numbers for attention and matrix multiplication in libraries. The expected values are computed by hand:
///
/// * batch 2, 16 heads, 2048 queries and keys, width 128, causal (`mask_type = 2`):
///   4 * 2 * 16 * 2048 * 2048 * 128 / 2 FLOPs forward, two and a half times as many backward;
/// * [4096,6144] times [2048,6144] transposed: 2 * 4096 * 2048 * 6144.
#[test]
#[ignore = "reads real profiles"]
fn attention_and_a_library_matrix_multiplication() {
    let found = compare("gfx950-te-attention");
    assert_eq!((found.equal, found.from_shapes.len()), (15, 5));
    let forward = 4.0 * 2.0 * 16.0 * 2048.0 * 2048.0 * 128.0 / 2.0;
    for (name, flops, bytes) in &found.from_shapes {
        let expected = match name.as_str() {
            "custom-call.1" => 2.0 * 4096.0 * 2048.0 * 6144.0,
            name if name.starts_with("te_fused_attn_forward_ffi") => forward,
            _ => 2.5 * forward,
        };
        assert_eq!(*flops, expected, "{name}");
        assert!(*bytes > 0.0 && *bytes < 4e8, "{name}: {bytes}");
    }
}

/// On TPUs, XProf shows the HLO text that the profiler recorded with each op. The embedded modules contain the same
/// text.
#[test]
#[ignore = "reads real profiles"]
fn expressions_of_a_tpu() {
    let (trace, rows) = read("tpu-v6e-4chip");
    let modules = Modules::new(&trace);
    let mut equal = 0;
    for row in rows {
        let program = row["program_id"].as_str().unwrap().parse::<u64>().unwrap() as i64;
        let module = modules.find(0, program).unwrap_or_else(|| panic!("program {program}"));
        let instruction = module.instruction(row["hlo_op_name"].as_str().unwrap()).unwrap();
        assert_eq!(hlo::expression(module, instruction), row["hlo_op_expression"].as_str().unwrap());
        equal += 1;
    }
    println!("tpu-v6e-4chip: {equal} expressions equal");
    assert_eq!(equal, 17);
    let all_reduce =
        modules.find_by_name(0, "jit__psum").and_then(|m| hlo::collective(m, m.instruction("all-reduce")?));
    let all_reduce = all_reduce.unwrap();
    assert_eq!(all_reduce.replica_groups, Some(vec![vec![0, 4], vec![1, 5], vec![2, 6], vec![3, 7]]));
    assert_eq!(all_reduce.operand_bytes, 5 * 1024 * 1024 * 256 * 4);
}
