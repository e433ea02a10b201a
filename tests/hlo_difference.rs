//! Tests `crossprof hlo --against`, which prints the difference between two programs. The pairs of programs are in
//! tests/data/program-changes. The unit tests of the `hlo` crate compare each difference with the result that a script
//! in that folder wrote.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::samples;
use crossprof::{Unpacked, Unpacker};
use serde_json::Value;

/// Unpacks the pairs of programs into a folder, and returns the folder.
fn pairs(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hlo-difference-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    let archive = std::fs::read(samples::root().join("tests/data/program-changes/pairs.tar.gz")).unwrap();
    let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    let mut unpacker = Unpacker::new("pairs.tar.gz");
    let mut sink = |piece: Unpacked<'_>| match piece {
        Unpacked::Begin { path, .. } => files.push((folder.join(path.replace("pairs.tar.gz/", "")), Vec::new())),
        Unpacked::Data(bytes) => files.last_mut().unwrap().1.extend_from_slice(bytes),
        Unpacked::Warning(warning) => panic!("{warning:?}"),
        Unpacked::End => {}
    };
    unpacker.push(&archive, &mut sink);
    unpacker.finish(&mut sink);
    for (path, content) in files {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    folder
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crossprof"));
    command.current_dir(folder).arg("hlo").args(arguments);
    command.output().expect("the program starts")
}

fn printed(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn a_difference_is_printed_by_scope() {
    let folder = pairs("text");
    let text = printed(&folder, &["layer/a", "--against", "layer/b"]);
    assert!(text.starts_with("A  jit_step(0) of "), "{text}");
    assert!(text.contains("Instructions                       150           195     +30.0 %\n"), "{text}");
    // The memory is in the buffer assignments of both dumps.
    assert!(text.contains("Peak memory                   28.8 KiB      37.1 KiB"), "{text}");
    assert!(text.contains("\nbackward/layer_3 ") && text.contains("\nforward/layer_3 "), "{text}");
    assert!(text.contains("New in B: 9 instructions, and 40 inside fusions and reductions\n"), "{text}");
    assert!(text.contains("%ynn_fusion.3  fusion f32[16,32]{1,0}  32.8 kFLOP"), "{text}");
    let text = printed(&folder, &["names/a", "--against", "names/b"]);
    assert!(
        text.ends_with("\nNo instruction differs: all 150 are the same. Values of array constants are not compared.\n"),
        "{text}"
    );
    // Another stage of the same compilation is another program.
    let stages = ["layer/a/module_0000.jit_step.before_optimizations.txt", "--against", "layer/a"];
    assert!(printed(&folder, &stages).contains("Fusions                              0            18"));
    // The folder contains both stages.
    let stages = ["layer/a", "--program", "jit_step:before_optimizations", "--against-program", "jit_step"];
    assert!(printed(&folder, &stages).contains("Fusions                              0            18"));
}

#[test]
fn json_has_every_instruction() {
    let folder = pairs("json");
    let text = printed(&folder, &["data_type/a", "--against", "data_type/b", "--format", "json"]);
    let json: Value = serde_json::from_str(&text).expect("JSON");
    let len = |key: &str| json[key].as_array().expect("a list").len();
    let same = json["same"].as_u64().expect("a number") as usize;
    let instructions = |side: &str| json[side]["instructions"].as_u64().expect("a number") as usize;
    assert_eq!(same + len("changed") + len("gone"), instructions("a"));
    assert_eq!(same + len("changed") + len("new"), instructions("b"));
    assert!(
        json["a"]["peak_memory_bytes"].as_u64() > Some(10_000) && json["b"]["flops"].as_f64() > Some(1e5),
        "{text}"
    );
    let before =
        ["data_type/a", "data_type/b"].map(|side| format!("{side}/module_0000.jit_step.before_optimizations.txt"));
    let text = printed(&folder, &[&before[0], "--against", &before[1], "--format", "json"]);
    let json: Value = serde_json::from_str(&text).expect("JSON");
    let dots = json["changed"].as_array().expect("a list").iter().filter(|it| it["a"]["opcode"] == "dot");
    let aspects: Vec<&Value> = dots.map(|it| &it["changes"][0]).collect();
    assert_eq!(aspects.len(), 3);
    for aspect in aspects {
        assert_eq!(aspect["aspect"], "data_type");
        assert!(
            aspect["a"].as_str().unwrap().starts_with("f32[") && aspect["b"].as_str().unwrap().starts_with("bf16[")
        );
    }
}

#[test]
fn programs_of_one_input_and_of_captures_compare() {
    let folder = samples::root();
    let train = "tests/data/jax-cpu-train";
    let text = printed(&folder, &[train, "--program", "jit_train_step", "--against", train]);
    assert!(text.contains("No instruction differs: all 107 are the same."), "{text}");
    let message = refused(&folder, &[train, "--program", "jit_train_step", "--against-program", "jit_train_stp"]);
    assert!(message.contains("--against-program: no program matches jit_train_stp. Did you mean"), "{message}");
    let other = message
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .find(|it| it.contains('(') && !it.contains("train_step"));
    let other = other.expect("another program").to_owned();
    let text = printed(&folder, &[train, "--program", "jit_train_step", "--against-program", &other]);
    assert!(text.contains(&format!("\nB  {other} of ")) && text.contains("Gone from A: "), "{text}");
    let message = refused(&folder, &[train, "--program", "jit_train_step", "--against", train, "--format", "svg"]);
    assert!(message.contains("the difference between two programs can only be text or json"), "{message}");
    let message = refused(&folder, &[train, "--program", "jit_train_step", "--against", "tests/data/README.md"]);
    assert!(!message.is_empty(), "{message}");
    refused(&folder, &[train, "--against", train, "--op", "dot.1"]);
}
