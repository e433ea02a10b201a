//! The comment at the head of a script: the origin of the op, and its measured values in the trace.

use std::fmt::Write as _;

use base::Ps;
use base::format::{count, time_us};
use hlo::{Conventions, Instruction, Module, cost_by, expression};
use serde::{Deserialize, Serialize};

use crate::names::comment;

/// Numbers of the op in the trace. `None` means not measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Kind of the device: `TPU v6e`. Empty if unknown.
    pub device: String,
    /// Number of executions in the measured window, on all devices.
    pub executions: u64,
    /// Self time of all executions.
    pub time: Option<Ps>,
    /// FLOPs of all executions.
    pub flops: Option<f64>,
    /// Bytes that all executions read and wrote.
    pub bytes: Option<f64>,
    /// Limit that the op is closest to (`compute`, `hbm`). Empty if unknown.
    pub bound_by: String,
    /// The device's peak for the op's arithmetic, in FLOP/s.
    pub peak_flops_per_s: Option<f64>,
    /// Peak of the memory that limits the op, in bytes per second.
    pub peak_bytes_per_s: Option<f64>,
    /// Time that the op would need at the roofline, divided by the op's self time. The value is between 0 and 1.
    pub roofline_efficiency: Option<f64>,
}

/// Returns the comment.
pub(crate) fn head(
    module: &Module,
    program: &str,
    instruction: &Instruction,
    measured: Option<&Measured>,
    notes: &[String],
) -> String {
    let mut out = "# Reproduces one op of a compiled program with JAX. Written by crossprof.\n#\n".to_owned();
    let mut line = |label: &str, text: String| {
        let _ = writeln!(out, "# {label:<11} {}", comment(&text));
    };
    line("Op:", expression(module, instruction));
    if !instruction.metadata.op_name.is_empty() {
        line("JAX name:", instruction.metadata.op_name.clone());
    }
    line("Program:", program.to_owned());
    if let Some(source) = module.source_of(instruction) {
        line("Source:", source);
    }
    // GPU conventions count cycles, which are not FLOPs.
    let cost = cost_by(module, instruction, Conventions::Cpu);
    let calls = measured.map_or(0, |it| it.executions) as f64;
    let per_call = |total: Option<f64>| total.filter(|_| calls > 0.0).map(|total| total / calls);
    let flops = per_call(measured.and_then(|it| it.flops)).or(cost.map(|it| it.flops));
    let bytes = per_call(measured.and_then(|it| it.bytes)).or(cost.map(|it| it.bytes_accessed));
    let seconds = per_call(measured.and_then(|it| it.time).map(|it| it.as_us() / 1e6));
    if let Some(seconds) = seconds {
        let device = measured.map_or("", |it| it.device.as_str());
        let on = if device.is_empty() { String::new() } else { format!(" on {device}") };
        line("Time:", format!("{} per call (mean of {} calls{on})", time_us(seconds * 1e6), count(calls as u64)));
    }
    let rate = |amount: f64, unit: &str| {
        seconds.filter(|&it| it > 0.0).map_or(String::new(), |seconds| format!(", {}{unit}/s", si(amount / seconds)))
    };
    let of_peak = |peak: Option<f64>, unit: &str| {
        // Without a time, there is no rate to compare.
        peak.filter(|_| seconds.is_some()).map_or(String::new(), |peak| format!(" (peak {}{unit}/s)", si(peak)))
    };
    if let Some(flops) = flops.filter(|&it| it > 0.0) {
        let peak = of_peak(measured.and_then(|it| it.peak_flops_per_s), "FLOP");
        line("Work:", format!("{}FLOP per call{}{peak}", si(flops), rate(flops, "FLOP")));
    }
    if let Some(bytes) = bytes.filter(|&it| it > 0.0) {
        let peak = of_peak(measured.and_then(|it| it.peak_bytes_per_s), "B");
        line("Memory:", format!("{}B per call{}{peak}", si(bytes), rate(bytes, "B")));
    }
    if let Some(measured) = measured.filter(|it| !it.bound_by.is_empty()) {
        let efficiency = measured.roofline_efficiency;
        let efficiency = efficiency.map_or(String::new(), |it| format!(", {:.0} % of the roofline", it * 100.0));
        line("Bound by:", format!("{}{efficiency}", measured.bound_by));
    }
    if !notes.is_empty() {
        out.push_str("#\n");
        for note in notes {
            let _ = writeln!(out, "# {}", comment(note));
        }
    }
    out
}

/// Returns a number with three digits and a prefix: `12.3 G`.
fn si(number: f64) -> String {
    let mut number = number;
    let mut prefix = "";
    for next in ["k", "M", "G", "T", "P"] {
        if number < 1000.0 {
            break;
        }
        number /= 1000.0;
        prefix = next;
    }
    let digits = if number >= 100.0 || number.fract() == 0.0 {
        0
    } else if number >= 10.0 {
        1
    } else {
        2
    };
    format!("{number:.digits$} {prefix}")
}
