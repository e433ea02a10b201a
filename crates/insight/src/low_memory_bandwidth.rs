//! Memory-bound ops do not come near the peak memory bandwidth.
//!
//! The rule considers elementwise, reduction and other arithmetic ops that take at least 10 us each and whose intensity
//! is below their ridge point (peak FLOP rate of the op's data type divided by the peak bandwidth). The rule excludes
//! matrix products, because their traffic depends on their tiling. If these ops take at least 10 % of the op time
//! (ours), the rule compares their bytes per second with the peak bandwidth. Severity: note below 60 % of the peak,
//! warning below 40 % (JAX guide). Confidence: medium, because bytes are the compiler's estimate, and a cache may serve
//! some of these bytes. Remedy: access memory contiguously, and use larger shapes. The rule is skipped if the peak or
//! the bytes are unknown.

use super::draft::{Draft, equals};
use super::limits::{BANDWIDTH_PERCENT, OVERHEAD_PERCENT, SHORTEST_OP_US};
use super::numbers::Numbers;
use super::{Rule, Verdict, colliding_scatter};
use base::{Ps, format};
use metrics::roofline::Level;
use metrics::{Op, OpFamily, rate};
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule = Rule {
    id: "low_memory_bandwidth",
    title: "Memory-bound ops are slow",
    explained_by: &[&[&colliding_scatter::RULE]],
    ..Rule::checked_by(check)
};

fn check(numbers: &Numbers<'_>) -> Verdict {
    let peaks = numbers.context.analysis.roofline.peaks.as_ref();
    let Some((peaks, memory)) = peaks.and_then(|peaks| Some((peaks, peaks.level(Level::Hbm)?.bytes_per_second))) else {
        return numbers.lacks_peaks();
    };
    let ops = &numbers.context.analysis.ops;
    if ops.rows.iter().all(|op| op.bytes.is_none()) {
        return numbers.lacks_in_json("the file does not contain the bytes that ops move.");
    }
    // Products are excluded, because their real traffic depends on the library's tiling. Other ops below their ridge point
    // cannot be limited by arithmetic.
    let below_ridge = |op: &Op| {
        let peak = peaks.reached(op.data_type, op.family).map(|(_, peak)| peak);
        op.intensity().zip(peak).is_some_and(|(intensity, peak)| intensity < peak / memory)
    };
    let bound = |op: &&Op| {
        matches!(op.family, OpFamily::Elementwise | OpFamily::Reduction | OpFamily::OtherCompute)
            && below_ridge(op)
            && op.total.as_us() >= SHORTEST_OP_US * op.occurrences as f64
    };
    let bytes: f64 = ops.rows.iter().filter(bound).filter_map(Op::hbm_bytes).sum();
    let time: Ps = ops.rows.iter().filter(bound).map(|op| op.total).sum();
    let share = numbers.op_percent(time);
    let Some(reached) = rate(bytes, time).map(|rate| 100.0 * rate / memory) else {
        return Verdict::Fine;
    };
    if share < OVERHEAD_PERCENT.good || reached >= BANDWIDTH_PERCENT.good {
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
    // The bytes are estimates: they include accesses that a cache serves.
    Draft::new(severity, Confidence::Medium, "Memory-bound ops do not reach the memory bandwidth", message)
        .remedy(
            "Look for accesses that are not contiguous (a transposed or strided operand, gathers of small rows, a minor \
             dimension that is not a multiple of 128) and for shapes too small to fill the device. Fuse the ops with their \
             neighbours.",
        )
        .passed("memory_bandwidth_percent", reached, if bad { BANDWIDTH_PERCENT.bad } else { BANDWIDTH_PERCENT.good })
        .passed("memory_bound_time_percent", share, OVERHEAD_PERCENT.good)
        .at_stake(numbers.of_window(share) * (1.0 - reached / 100.0))
        .link(View::Ops, &equals("hlo_op_name", name))
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, with_costs};
    use report::FindingSeverity::{Note, Warning};

    #[test]
    fn fires_above_its_limit() {
        // In 500 us, the memory can move 50 MB.
        assert_eq!(finding(with_costs(500, 19_000_000, 1_000), &RULE).severity, Warning);
        assert_eq!(finding(with_costs(500, 29_000_000, 1_000), &RULE).severity, Note);
        fine(with_costs(500, 31_000_000, 1_000), &RULE);
        fine(with_costs(90, 2_000_000, 1_000), &RULE);
        // Above the ridge point of 10 FLOP per byte, memory is not the limit.
        fine(with_costs(500, 19_000_000, 200_000_000), &RULE);
    }
}
