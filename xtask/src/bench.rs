//! `cargo xtask bench`: measures the time and memory that crossprof and alternative programs need to load a file, in
//! one run.
//!
//! The reference is `gzip -dc FILE > /dev/null` on the same machine within the same minute, because every program that
//! reads the file must inflate it.

mod generate;
mod inflate;
mod json;
mod measure;
mod random;
mod shapes;
mod xplane;

use crate::build::{self, Variant};
use crate::{Result, cache, node, process, toolchain};
use flate2::{Compression, write::GzEncoder};
use generate::Platform;
use measure::Cost;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

const EVENTS: u64 = 1_000_000;
const RUNS: u32 = 3;
/// Version of the generator, which is part of the file names. Increase the version when the generator's output changes.
const GENERATOR: u32 = 1;

/// Number of events of the trace on which XProf is measured.
const ANNOTATIONS: u64 = 6_000_000;
/// Number of slices in a JSON file on which the timeline is measured, in addition to the synthetic runs.
const SLICES: u64 = 5_000_000;
/// Number of tracks in the largest timeline that is measured.
const THREADS: u32 = 2_000;
/// Number of rows in the table on which queries are measured.
const OPS: u64 = 1_000_000;

/// `cargo xtask bench [--events N] [--native] [--xprof PYTHON]`
///
/// `--xprof` names a Python interpreter that has XProf. XProf then builds its overview from the same file within the
/// same minute.
pub fn command(words: &[String]) -> Result {
    let (mut events, mut native_only, mut xprof) = (EVENTS, false, None);
    let mut rest = words.iter().map(String::as_str);
    while let Some(word) = rest.next() {
        match word {
            "--events" => {
                let number = rest.next().unwrap_or_default();
                events =
                    number.replace('_', "").parse().map_err(|_| format!("{number:?} is not a number of events."))?;
            }
            "--native" => native_only = true,
            "--xprof" => xprof = Some(rest.next().ok_or("`--xprof` needs a Python.")?),
            _ => return Err(format!("`bench` has no option {word:?}.")),
        }
    }
    let traces = traces(events)?;
    let annotations = xplane(&format!("annotations-{ANNOTATIONS}"), |sink| shapes::annotations(ANNOTATIONS, sink))?;
    let ops = xplane(&format!("ops-{OPS}"), |sink| shapes::distinct_ops(OPS, sink))?;
    let mut cargo = Command::new(toolchain::own_cargo());
    cargo
        .args(["build", "--locked", "--release", "--bin", "crossprof", "--example", "table_speed"])
        .current_dir(cache::repository());
    process::run(&mut cargo)?;
    native(&traces)?;
    let packed = traces.first().ok_or("There is no trace.")?;
    inflate::compare(&packed.json, !native_only)?;
    against_xprof(&annotations, xprof)?;
    println!("\nQueries on a table of {OPS} ops, and searches, native:");
    process::run(Command::new(cache::target().join("release/examples/table_speed")).arg(&ops))?;
    if native_only { Ok(()) } else { in_tab(&traces, &annotations, &ops) }
}

/// Measures the overview of a large xplane file in crossprof and in XProf.
fn against_xprof(file: &Path, python: Option<&str>) -> Result {
    println!("\nOverview of {ANNOTATIONS} annotations, native, best of {RUNS}:");
    let ours = measure::best_of(RUNS, || {
        let mut command = Command::new(cache::target().join("release/crossprof"));
        command.arg("analyze").arg(file);
        command
    })?;
    println!("crossprof {}", cost(ours));
    let Some(python) = python else { return Ok(()) };
    let theirs = measure::best_of(RUNS, || {
        // XProf writes its caches next to the file, so each run gets a separate folder.
        let script = "import os, sys, tempfile; from xprof.convert import raw_to_tool_data as x\n\
            with tempfile.TemporaryDirectory() as d:\n \
            p = os.path.join(d, 'host.xplane.pb'); os.symlink(sys.argv[1], p)\n \
            x.xspace_to_tool_data([p], 'overview_page', {})";
        let mut command = Command::new(python);
        command.args(["-c", script]).arg(file);
        command
    })?;
    println!("XProf     {}: {:.1} times as long", cost(theirs), theirs.seconds / ours.seconds);
    Ok(())
}

fn cost(cost: Cost) -> String {
    let memory = cost.peak_bytes.map_or("-".to_owned(), |bytes| format!("{} MB", bytes / 1_000_000));
    format!("{:>7.3} s {memory:>9}", cost.seconds)
}

/// Returns the path of an xplane trace. If the file is missing, writes it first.
fn xplane(stem: &str, fill: impl FnOnce(&mut xplane::XplaneSink) -> std::io::Result<()>) -> Result<PathBuf> {
    let path = cache::folder("bench")?.join(format!("{stem}-v{GENERATOR}.xplane.pb"));
    if !path.is_file() {
        create(&path, |out| {
            let mut sink = xplane::XplaneSink::default();
            fill(&mut sink)?;
            sink.write(out)
        })?;
    }
    Ok(path)
}

/// One synthetic run, as an xplane file and as a Chrome trace.
struct Trace {
    name: String,
    json: PathBuf,
    xplane: PathBuf,
}

/// Returns the runs. If files are missing, writes these files first.
fn traces(events: u64) -> Result<Vec<Trace>> {
    let mut traces = Vec::new();
    for (platform, name) in [(Platform::Gpu, "gpu"), (Platform::Tpu, "tpu")] {
        let stem = format!("{name}-{events}-v{GENERATOR}");
        let json = packed_json(platform, &stem, events)?;
        let xplane = xplane(&format!("{name}-{events}"), |sink| generate::run(platform, events, sink))?;
        traces.push(Trace { name: format!("{name}, {events} events"), json, xplane });
    }
    Ok(traces)
}

/// Returns the path of a run as a compressed Chrome trace. If the file is missing, writes it first.
fn packed_json(platform: Platform, stem: &str, events: u64) -> Result<PathBuf> {
    let path = cache::folder("bench")?.join(format!("{stem}.trace.json.gz"));
    if !path.is_file() {
        create(&path, |out| {
            let mut sink = json::JsonSink::new(GzEncoder::new(out, Compression::new(6)))?;
            generate::run(platform, events, &mut sink)?;
            sink.finish()?.finish()?.flush()
        })?;
    }
    Ok(path)
}

/// Writes a file under a temporary name, and renames the file when it is complete.
fn create(path: &Path, write: impl FnOnce(BufWriter<File>) -> std::io::Result<()>) -> Result {
    eprintln!("Writing {}.", path.display());
    let part = path.with_extension("part");
    File::create(&part)
        .and_then(|file| write(BufWriter::with_capacity(1 << 20, file)))
        .and_then(|()| std::fs::rename(&part, path))
        .map_err(|error| format!("{} cannot be written: {error}", path.display()))
}

/// Compares the time of the command line with the time of gzip.
fn native(traces: &[Trace]) -> Result {
    let tool = cache::target().join("release/crossprof");
    let analyze = |file: &Path| {
        let mut command = Command::new(&tool);
        command.args(["analyze", "--format", "json"]).arg(file);
        command
    };
    println!("\nNative, best of {RUNS}:");
    println!("{:<22} {:<26} {:>9} {:>9}", "trace", "program", "time", "peak");
    for trace in traces {
        let gzip = measure::best_of(RUNS, || {
            let mut command = Command::new("gzip");
            command.arg("-dc").arg(&trace.json);
            command
        })?;
        let json = measure::best_of(RUNS, || analyze(&trace.json))?;
        let xplane = measure::best_of(RUNS, || analyze(&trace.xplane))?;
        row(&trace.name, "gzip -dc > /dev/null", gzip, gzip);
        row(&trace.name, "crossprof, trace.json.gz", json, gzip);
        row(&trace.name, "crossprof, xplane.pb", xplane, gzip);
        println!("{:<22} xplane.pb is {:.1} times as fast as trace.json.gz", "", json.seconds / xplane.seconds);
    }
    Ok(())
}

fn row(trace: &str, program: &str, cost: Cost, gzip: Cost) {
    println!("{trace:<22} {program:<26} {} {:>9.2} of gzip", self::cost(cost), cost.seconds / gzip.seconds);
}

/// Measures the page in a browser tab: the time from a drop to the overview, queries on a large table, and the
/// timeline.
fn in_tab(traces: &[Trace], annotations: &Path, ops: &Path) -> Result {
    let script = cache::repository().join("tests/end2end/bench.mjs");
    if !script.is_file() {
        eprintln!("There is no {}: the page was not timed.", script.display());
        return Ok(());
    }
    let dist = build::page(Variant::Release)?;
    let mut run = node::playwright()?;
    run.arg(script).arg(&dist);
    for trace in traces {
        run.arg(&trace.json).arg(&trace.xplane);
    }
    run.arg(annotations).arg(ops);
    process::run(&mut run)?;
    let mut questions = node::playwright()?;
    process::run(questions.arg(cache::repository().join("tests/end2end/bench-tables.mjs")).arg(&dist).arg(ops))?;
    let slices = packed_json(Platform::Gpu, &format!("gpu-{SLICES}-v{GENERATOR}"), SLICES)?;
    let threads = xplane(&format!("threads-{THREADS}"), |sink| shapes::threads(THREADS, sink))?;
    for file in traces.iter().map(|trace| trace.json.as_path()).chain([annotations, &slices, &threads]) {
        let mut moved = node::playwright()?;
        process::run(moved.arg(cache::repository().join("tests/end2end/bench-timeline.mjs")).arg(&dist).arg(file))?;
    }
    Ok(())
}
