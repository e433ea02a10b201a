//! Memory-bound ops do not reach the memory's bandwidth.

use super::draft::{Draft, equals};
use super::limits::BANDWIDTH_PERCENT;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::{Ps, format};
use metrics::roofline::Level;
use metrics::{Op, OpFamily, rate};
use report::{Confidence, FindingSeverity};

pub(super) const RULE: Rule = Rule { id: "low_memory_bandwidth", title: "Memory-bound ops are slow", check };

/// Share of the op time in such ops from which the rule fires (ours: the JAX guide's limit for overheads).
const TIME_PERCENT: f64 = 10.0;
/// Shortest op that the rule considers; the start limits shorter ones (ours: XProf's short-kernel cutoff).
const SHORTEST_US: f64 = 10.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let peaks = numbers.context.analysis.roofline.peaks.as_ref();
    let Some((peaks, memory)) = peaks.and_then(|peaks| Some((peaks, peaks.level(Level::Hbm)?.bytes_per_second))) else {
        return numbers.lacks_peaks();
    };
    let ops = &numbers.context.analysis.ops;
    if ops.rows.iter().all(|op| op.bytes.is_none()) {
        return numbers.lacks_in_json("the file does not contain the bytes that ops move.");
    }
    // The real traffic of a matrix product depends on the library's tiling, so products are excluded. Arithmetic cannot limit
    // other ops below their ridge point.
    let below_ridge = |op: &Op| {
        let peak = peaks.reached(op.data_type, op.family).map(|(_, peak)| peak);
        op.intensity().zip(peak).is_some_and(|(intensity, peak)| intensity < peak / memory)
    };
    let bound = |op: &&Op| {
        matches!(op.family, OpFamily::Elementwise | OpFamily::Reduction | OpFamily::OtherCompute)
            && below_ridge(op)
            && op.total.as_us() >= SHORTEST_US * op.occurrences as f64
    };
    let bytes: f64 = ops.rows.iter().filter(bound).filter_map(Op::hbm_bytes).sum();
    let time: Ps = ops.rows.iter().filter(bound).map(|op| op.total).sum();
    let share = numbers.op_percent(time);
    let Some(reached) = rate(bytes, time).map(|rate| 100.0 * rate / memory) else {
        return Verdict::Fine;
    };
    if share < TIME_PERCENT || reached >= BANDWIDTH_PERCENT.good {
        return Verdict::Fine;
    }
    let bad = reached < BANDWIDTH_PERCENT.bad;
    let severity = if bad { FindingSeverity::Warning } else { FindingSeverity::Note };
    let slowest = ops.rows.iter().filter(bound).max_by_key(|op| op.self_time);
    let name = slowest.map_or("", |op| ops.text(numbers.trace, op.name));
    let message = format!(
        "Memory-bound ops take {} of the op time and reach only {} of the peak bandwidth. The largest op is {}.{}",
        format::percent(share),
        format::percent(reached),
        format::printable(&format::shorten(name, 60)),
        numbers.left_out()
    );
    // The bytes are estimates: accesses that a cache serves count as memory traffic.
    Draft::new(severity, Confidence::Medium, "Memory-bound ops do not reach the memory's bandwidth", message)
        .remedy(
            "Look for accesses that are not contiguous (a transposed or strided operand, gathers of small rows, a minor \
             dimension that is not a multiple of 128) and for shapes too small to fill the device. Fuse the ops with their \
             neighbours.",
        )
        .passed("memory_bandwidth_percent", reached, if bad { BANDWIDTH_PERCENT.bad } else { BANDWIDTH_PERCENT.good })
        .passed("memory_bound_time_percent", share, TIME_PERCENT)
        .at_stake(numbers.of_window(share) * (1.0 - reached / 100.0))
        .link("ops", &equals("hlo_op_name", name))
        .fires()
}
