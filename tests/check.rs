//! Tests `crossprof check` on the command line: limits that hold or fail, mistakes, and output files.

mod docs;
mod mistakes;
mod outputs;
mod real;
mod verdicts;

use crate::support;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::support::chrome::ChromeTrace;
use crate::support::cli::{crossprof, stderr, stdout};
use serde_json::Value;

const MS: u64 = 1_000_000_000;

fn check(folder: &Path, arguments: &[&str]) -> Output {
    crossprof(folder, &[&["check"], arguments].concat())
}

/// Runs `crossprof check` with JSON output. Returns the exit status and the document.
fn json(folder: &Path, arguments: &[&str]) -> (i32, Value) {
    let output = check(folder, &[arguments, &["--format", "json"]].concat());
    let text = stdout(&output);
    let document = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{}", stderr(&output)));
    (output.status.code().unwrap(), document)
}

fn scratch(name: &str) -> PathBuf {
    support::cli::scratch("check", name)
}

/// Writes a trace of 5 steps on 2 chips. Each step lasts `step_ms`. In each step, chip 0 computes for 80 ms and chip 1
/// for 60 ms, so the expected numbers need no computation.
fn trace(path: &Path, step_ms: u64) {
    let mut json = ChromeTrace::new();
    for device in 0..2 {
        let pid = 3 + device;
        json.process(pid, &format!("/device:TPU:{device}"));
        json.thread(pid, 1, "Steps");
        json.thread(pid, 3, "XLA Ops");
        for step in 0..5 {
            let start = step * step_ms * MS;
            json.event((pid, 1), &step.to_string(), start, step_ms * MS, &[]);
            json.event(
                (pid, 3),
                "fusion.1",
                start,
                (80 - 20 * u64::from(device)) * MS,
                &[("hlo_category", "loop fusion")],
            );
        }
    }
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, json.finish()).unwrap();
}

/// Creates a folder with `new.trace.json` (100 ms per step) and `main.trace.json` (80 ms per step: 25 % faster).
fn two_traces(name: &str) -> PathBuf {
    let folder = scratch(name);
    trace(&folder.join("new.trace.json"), 100);
    trace(&folder.join("main.trace.json"), 80);
    folder
}
