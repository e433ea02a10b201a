//! Tests promises in the project's founding documents. The command lines, the example of the schema and the folders are
//! exactly as in those documents.

use crate::support;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::support::chrome::ChromeTrace;
use crate::support::cli::{stderr, stdout};
use serde_json::{Value, json};

const MS: u64 = 1_000_000_000;

fn scratch(name: &str) -> PathBuf {
    support::cli::scratch("promises", name)
}

/// Runs a command line in `folder`. The line is printed in the documents, but without the program's name.
fn line(folder: &Path, line: &str) -> Output {
    support::cli::crossprof(folder, &line.split_whitespace().collect::<Vec<_>>())
}

fn succeeds(folder: &Path, text: &str) -> String {
    let output = line(folder, text);
    assert_eq!(output.status.code(), Some(0), "{text}: {}", stderr(&output));
    stdout(&output)
}

fn read_json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Writes a trace of five steps of `step_ms` on `devices` devices of type `kind`, compressed like the profiler's own files.
fn trace(path: &Path, kind: &str, devices: u32, step_ms: u64) {
    let mut json = ChromeTrace::new();
    for device in 0..devices {
        let pid = 3 + device;
        json.process(pid, &format!("/device:{kind}:{device}"));
        json.thread(pid, 1, "Steps");
        let ops = if kind == "TPU" { "XLA Ops" } else { "Stream #7(Kernel)" };
        json.thread(pid, 3, ops);
        for step in 0..5 {
            let start = step * step_ms * MS;
            json.event((pid, 1), &step.to_string(), start, step_ms * MS, &[]);
            json.event((pid, 3), "gemm_kernel", start, step_ms * MS / 2, &[]);
        }
    }
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, support::gzip(json.finish().as_bytes())).unwrap();
}

const CONFIG: &str = r#"{"model_type": "gemma", "hidden_size": 2048, "num_hidden_layers": 18, "num_attention_heads": 8,
    "num_key_value_heads": 1, "head_dim": 256, "intermediate_size": 16384, "vocab_size": 256000}"#;

/// The traces of the two systems in the comparison guide are at the paths that its `find` command expects. The command
/// lines after `find` are run.
#[test]
fn the_comparison_guide_runs_as_written() {
    let folder = scratch("guide");
    let tpu =
        "efficientids_flax/checkpoints/gemma/profiler_traces/plugins/profile/2025_01_01_00_00_00/host.trace.json.gz";
    let gpu =
        "efficientids/logs_Gemma2BConfig128_1/profiler_traces/plugins/profile/2025_01_01_00_00_00/host.trace.json.gz";
    trace(&folder.join(tpu), "TPU", 1, 80);
    trace(&folder.join(gpu), "GPU", 1, 100);
    std::fs::write(folder.join("efficientids_flax/checkpoints/gemma/config.json"), CONFIG).unwrap();
    let text = succeeds(&folder, &format!("--trace_file {tpu} --num_steps 5 --output_json gemma_tpu_profile.json"));
    // The checkpoint's configuration is found, and the report names its path.
    assert!(text.contains("width 2048, layers 18 (from efficientids_flax/checkpoints/gemma/config.json)"), "{text}");
    succeeds(&folder, &format!("--trace_file {gpu} --output_json gemma_gpu_profile.json"));
    succeeds(&folder, &format!("{gpu} --num_steps 5 --checkpoint_dir efficientids_flax/checkpoints/gemma"));
    let tpu = read_json(&folder.join("gemma_tpu_profile.json"));
    assert_eq!(tpu["parameter_counts"]["total_params"], 2_506_172_416u64);
    let found = tpu["provenance"].as_array().unwrap().iter().find(|file| file["format"] == "model_config").unwrap();
    assert!(found["path"].as_str().unwrap().ends_with("checkpoints/gemma/config.json"));

    let compared = succeeds(
        &folder,
        "compare --tpu gemma_tpu_profile.json --gpu gemma_gpu_profile.json --output comparison_report.html",
    );
    assert!(compared.contains("gemma_tpu_profile") || compared.contains("TPU"), "{compared}");
    let page = std::fs::read_to_string(folder.join("comparison_report.html")).unwrap();
    assert!(page.to_lowercase().starts_with("<!doctype html>"), "{}", &page[..100]);
    for focus in ["throughput", "kernels", "timing", "all"] {
        succeeds(
            &folder,
            &format!("compare --gpu gemma_gpu_profile.json --tpu gemma_tpu_profile.json --focus {focus}"),
        );
    }
    std::fs::remove_file(folder.join("comparison_report.html")).unwrap();
    succeeds(&folder, "compare --gpu gemma_gpu_profile.json --tpu gemma_tpu_profile.json --focus timing --html");
    assert!(folder.join("comparison_report.html").is_file());
    succeeds(&folder, "compare --html other.html --gpu gemma_gpu_profile.json --tpu gemma_tpu_profile.json");
    assert!(folder.join("other.html").is_file());
    // A profile after --html is not overwritten.
    assert_eq!(line(&folder, "compare --html gemma_gpu_profile.json gemma_tpu_profile.json").status.code(), Some(2));
    assert!(line(&folder, "compare a b --focus colours").status.code() == Some(2));
}

#[test]
fn focus_selects_the_printed_sections() {
    let folder = scratch("focus");
    trace(&folder.join("a.trace.json.gz"), "TPU", 1, 80);
    trace(&folder.join("b.trace.json.gz"), "TPU", 1, 100);
    let of = |focus: &str| succeeds(&folder, &format!("compare a.trace.json.gz b.trace.json.gz --focus {focus}"));
    let (rates, times, all) = (of("throughput"), of("timing"), of("all"));
    assert!(rates.contains("Steps per second") && !rates.contains("Device busy"), "{rates}");
    assert!(times.contains("Device busy") && !times.contains("Steps per second"), "{times}");
    assert!(all.contains("Steps per second") && all.contains("Device busy"), "{all}");
}

/// Finds configurations next to a profile or in the folders above it, up to the folder of all checkpoints.
#[test]
fn model_configurations_above_a_file_are_found() {
    let folder = scratch("sidecars");
    let run = "checkpoints/a/profiler_traces/plugins/profile/2025_01_01_00_00_00";
    trace(&folder.join(run).join("host.trace.json.gz"), "TPU", 1, 80);
    trace(&folder.join("other/t.trace.json.gz"), "TPU", 1, 100);
    let batch = |arguments: &str| {
        let found: Value = serde_json::from_str(&succeeds(&folder, &format!("{arguments} --format json"))).unwrap();
        let all = found.as_array().cloned().unwrap_or_else(|| vec![found]);
        all.iter().map(|profile| profile["model_config"]["batch_size"].as_u64()).collect::<Vec<_>>()
    };
    let file = format!("{run}/host.trace.json.gz");
    assert_eq!(batch(&file), [None]);
    // Files above the folder of all checkpoints do not belong to this checkpoint.
    std::fs::write(folder.join("crossprof.json"), r#"{"batch_size": 1}"#).unwrap();
    assert_eq!(batch(&file), [None]);
    assert_eq!(batch("other/t.trace.json.gz"), [Some(1)]);
    std::fs::write(folder.join("checkpoints/a/crossprof.json"), r#"{"batch_size": 2}"#).unwrap();
    assert_eq!((batch(&file), batch("checkpoints/a/profiler_traces")), (vec![Some(2)], vec![Some(2)]));
    // Each file has its own configuration, and the nearest configuration takes precedence.
    assert_eq!(batch(&format!("{file} other/t.trace.json.gz")), [Some(2), Some(1)]);
    std::fs::write(folder.join(run).join("crossprof.json"), r#"{"batch_size": 3}"#).unwrap();
    assert_eq!(batch(&file), [Some(3)]);
    // Files that are not model configurations are skipped, whatever is wrong with them.
    std::fs::write(folder.join("other/config.json"), r#"{"hidden_size": 0, "#).unwrap();
    assert_eq!(batch("other/t.trace.json.gz"), [Some(1)]);
    // If a folder is given, only this folder is searched.
    assert_eq!(batch(&format!("{file} --checkpoint-dir .")), [Some(1)]);
    assert_eq!(batch("other/t.trace.json.gz --checkpoint_dir checkpoints/a"), [Some(2)]);
    assert_eq!(batch("other/t.trace.json.gz --checkpoint_dir checkpoints/a --batch-size 7"), [Some(7)]);
    assert_eq!(line(&folder, "other/t.trace.json.gz --checkpoint_dir nowhere").status.code(), Some(2));
    // A comparison finds the configurations too.
    let compared = line(&folder, &format!("compare {file} other/t.trace.json.gz --format json"));
    let compared: Value = serde_json::from_str(&stdout(&compared)).unwrap();
    let checks = compared["fairness"].as_array().unwrap();
    let batch_size = checks.iter().find(|check| check["check"] == "batch_size").unwrap();
    assert_eq!(batch_size["values"], json!(["3", "1"]));
}

/// Reads the example of the schema exactly as printed, with comments, alternatives and omitted sections.
#[test]
fn the_example_of_the_schema_is_read_as_printed() {
    let folder = scratch("schema");
    let text = r#"{
  "metadata": {
    "timestamp": "ISO 8601",
    "platform": "TPU" or "GPU",
    "device_type": "TPU v4-8", "NVIDIA A100", etc.,
    "framework": "Flax" or "PAXml",
    "num_devices": 1
  },
  "model_config": {
    "model_dims": 2048,
    "num_layers": 18,
    "batch_size": 16,
    "seq_length": 128,
    "pretrained_model": "google/gemma-2b"
  },
  "parameter_counts": {
    "total_params": 2500000000,
    "trainable_params": 3500000,  // PAXml only
    "frozen_params": 2496500000   // PAXml only
  },
  "step_timing": {
    "num_steps": 5,
    "avg_step_time_us": 82600,
    "total_kernels": 1200,
    "kernels_per_step": 240
  },
  "throughput": {
    "tokens_per_sec": 25000,
    "samples_per_sec": 12.1,
    "steps_per_sec": 12.1,
    "ms_per_step": 82.6
  },
  "compute_utilization": {
    "compute_util_percent": 72.1,
    "kernel_time_us": 59500,
    "overhead_time_us": 23100
  },
  "kernels": {
    "top_kernels": [...],
    "kernels_by_category": {...}
  },
  "multi_device": {          // Optional (TPU multi-core, multi-GPU)
    "num_devices": 8,
    "device_stats": [...],
    "avg_utilization_percent": 71.5
  },
  "timeline_analysis": {...}, // Optional (TPU-specific)
  "compilation": {...},        // Optional
  "io_operations": {...}       // Optional
}
"#;
    for (name, text) in
        [("slashes.json", text.to_owned()), ("hashes.json", format!("# A profile\n{}", text.replace("//", "#")))]
    {
        std::fs::write(folder.join(name), text).unwrap();
        let profile: Value = serde_json::from_str(&succeeds(&folder, &format!("{name} --format json"))).unwrap();
        assert_eq!(profile["step_timing"]["avg_step_time_us"], 82600.0);
        assert_eq!(profile["compute_utilization"]["compute_util_percent"], 72.1);
        assert_eq!(profile["parameter_counts"]["frozen_params"], 2_496_500_000u64);
        assert_eq!(profile["multi_device"]["avg_utilization_percent"], 71.5);
        assert_eq!(profile["metadata"]["platform"], "Unknown");
        assert_eq!(profile["metadata"]["run_name"], name.trim_end_matches(".json"));
        for absent in ["timeline_analysis", "compilation", "io_operations", "memory_operations"] {
            assert!(profile.get(absent).is_none(), "{absent}");
        }
        // The readable report has the name of the file, and explains why it is short.
        let text = succeeds(&folder, name);
        assert!(text.starts_with(name.trim_end_matches(".json")), "{text}");
        assert!(text.contains("list several possibilities") && text.contains("comments"), "{text}");
    }
}

/// Reads the folders of the benchmark in the documents, which profiles two methods on one, four and eight GPUs.
#[test]
fn the_folders_of_the_benchmark_are_named_and_scale_apart() {
    let folder = scratch("benchmark");
    for (gpus, lcam, tad) in [(1u32, 80, 120), (4, 24, 40), (8, 16, 30)] {
        for (method, step_ms) in [("lcam", lcam), ("tad", tad)] {
            let path = format!(
                "tensorboard_logs/{gpus}gpu_20241201_14302{gpus}/{method}_trace/plugins/profile/2024_12_01_14_30_2{gpus}/host.trace.json.gz"
            );
            trace(&folder.join(path), "GPU", gpus, step_ms);
        }
    }
    let text = succeeds(&folder, "--logdir tensorboard_logs/");
    for name in ["1gpu lcam, ", "4gpu tad, ", "8gpu lcam, "] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{name}: {text}");
    }
    let comparison = |arguments: &str| -> Value {
        serde_json::from_str(&succeeds(&folder, &format!("compare {arguments} --format json"))).unwrap()
    };
    let all = comparison("tensorboard_logs");
    let names: Vec<&str> = all["runs"].as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["1gpu lcam", "1gpu tad", "4gpu lcam", "4gpu tad", "8gpu lcam", "8gpu tad"]);
    let series: Vec<&str> =
        all["scaling"]["series"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(series, ["lcam", "tad"]);
    let efficiency = |name: &str| {
        let at = names.iter().position(|it| *it == name).unwrap() as u64;
        let points = all["scaling"]["points"].as_array().unwrap();
        points.iter().find(|point| point["run"] == at).unwrap()["efficiency_percent"].as_f64().unwrap()
    };
    // The efficiencies are 80 / 24 / 4 and 120 / 30 / 8.
    assert!((efficiency("4gpu lcam") - 100.0 * 80.0 / 24.0 / 4.0).abs() < 0.1);
    assert!((efficiency("8gpu tad") - 50.0).abs() < 0.1);
    assert!((efficiency("1gpu tad") - 100.0).abs() < 1e-9);
    // The order of the files does not matter.
    let turned = comparison(
        "tensorboard_logs/8gpu_20241201_143028 tensorboard_logs/4gpu_20241201_143024 tensorboard_logs/1gpu_20241201_143021",
    );
    let mut turned: Vec<&str> =
        turned["runs"].as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap()).collect();
    turned.sort_unstable();
    assert_eq!(turned, names);
}

#[test]
fn the_results_of_the_benchmark_are_runs() {
    let folder = scratch("results");
    let methods = |devices: u64, lcam: f64, tad: f64| {
        let trace = |method: &str| format!("tensorboard_logs/{devices}gpu_20241201_143022/{method}_trace");
        json!({"gpu_count": devices, "n_qubit": 8, "timestamp": "2024-12-01T14:30:22", "isolation_verified": true,
            "initial_gpu_memory": {"GPU_0": {"total_gb": 40.0, "used_gb": 1.0, "free_gb": 39.0, "utilization_percent": 2.5}},
            "step_timing": {"system_creation": 1.5, "unitary_gradient_lcam": lcam, "unitary_gradient_tad": tad},
            "memory_profiles": {}, "total_params": 96,
            "unitary_grad_lcam": {"execution_time": lcam, "success": true, "tensorboard_trace": trace("lcam")},
            "unitary_grad_tad": {"execution_time": tad, "success": true, "tensorboard_trace": trace("tad")},
            "final_gpu_memory": {}})
    };
    std::fs::write(folder.join("profile_4gpu_results.json"), methods(4, 45.2, 52.1).to_string()).unwrap();
    let one: Value = serde_json::from_str(&succeeds(&folder, "profile_4gpu_results.json --format json")).unwrap();
    assert_eq!(one[0]["metadata"]["num_devices"], 4);
    assert_eq!(one[0]["parameter_counts"]["total_params"], 96);
    assert_eq!(one[0]["warnings"].as_array().unwrap().len(), 1, "{}", one[0]["warnings"]);

    let hybrid = json!({"timestamp": "2024-12-01T14:30:22", "n_qubit": 8,
        "results": {"1gpu": methods(1, 100.0, 150.0), "4gpu": methods(4, 45.2, 52.1)}});
    std::fs::write(folder.join("hybrid_profiler_results_20241201_143022.json"), hybrid.to_string()).unwrap();
    let output = line(&folder, "compare hybrid_profiler_results_20241201_143022.json --format json");
    let compared: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(compared["runs"].as_array().unwrap().len(), 4);
    assert_eq!(compared["scaling"]["series"].as_array().unwrap().len(), 2);
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    // The readable report contains no line whose values are all dashes.
    let text = succeeds(&folder, "hybrid_profiler_results_20241201_143022.json");
    assert!(!text.lines().any(|line| line.trim_end().ends_with('—')), "{text}");
}
