//! Ops exceed the peak rate of the assumed device.
//!
//! Matrix products reach more than 110 % of the peak of their data type and take at least 1 % of the op time (both limits are
//! ours: clock and count errors are smaller). On a TPU, convolutions are included, because XLA computes matrix products with
//! them. Only ops of at least 10 us are included (XProf's limit for short kernels). Severity: critical with high confidence if
//! the user selected the device (`--device`), otherwise warning with medium confidence. Remedy: select the device that ran the
//! program.

use super::draft::{Draft, equals};
use super::limits::SHORTEST_OP_US;
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::{Ps, format};
use metrics::roofline::Source;
use metrics::{Op, OpFamily};
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule =
    Rule { id: "above_peak", title: "Ops exceed the device's peak FLOP rate", ..Rule::checked_by(check) };

/// Above this percentage of the peak rate, an inaccurate clock cannot be the cause.
const PEAK_PERCENT: f64 = 110.0;
/// The rule fires if ops above the peak rate take at least this percentage of the op time.
const TIME_PERCENT: f64 = 1.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let analysis = numbers.context.analysis;
    let Some(peaks) = analysis.roofline.peaks.as_ref() else { return Verdict::Irrelevant };
    // GPU libraries compute a convolution with fewer operations than its definition requires (Winograd). Attention skips masked
    // products.
    let is_exact = |op: &&Op| match op.family {
        OpFamily::Matmul => true,
        OpFamily::Convolution => numbers.is_tpu(),
        _ => false,
    };
    let reached = |op: &Op| {
        let share = analysis.roofline.point(op)?.compute_efficiency?;
        (op.total.as_us() >= SHORTEST_OP_US * op.executions.max(1) as f64).then_some(100.0 * share)
    };
    let above: Vec<(&Op, f64)> = analysis
        .ops
        .rows
        .iter()
        .filter(is_exact)
        .filter_map(|op| Some((op, reached(op).filter(|&percent| percent > PEAK_PERCENT)?)))
        .collect();
    let time: Ps = above.iter().map(|(op, _)| op.self_time).sum();
    let share = numbers.op_percent(time);
    let fastest = above.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let Some(&(op, percent)) = fastest.filter(|_| share >= TIME_PERCENT) else { return Verdict::Fine };
    let chosen = peaks.rates_source == Source::Chosen;
    let name = analysis.ops.text(numbers.trace, op.name);
    let message = format!(
        "{} computes {}, which is {} of the peak of a {} for its data type. Ops above the peak take {} of the op time.{}",
        format::printable(&format::shorten(name, 60)),
        op.flops_per_second().map_or_else(String::new, |rate| format::si(rate, "FLOP/s")),
        format::percent(percent),
        format::printable(&peaks.device),
        format::percent(share),
        if chosen { " The device was selected by hand, and cannot be the one that ran the program." } else { "" },
    );
    let (severity, confidence) = match chosen {
        true => (FindingSeverity::Critical, Confidence::High),
        false => (FindingSeverity::Warning, Confidence::Medium),
    };
    let title = if chosen {
        "Ops exceed the peak FLOP rate of the selected device"
    } else {
        "Ops exceed the device's peak FLOP rate"
    };
    Draft::new(severity, confidence, title, message)
        .remedy("Select the device that the program ran on (on the Model page, or with --device). Until then, MFU, HFU and all shares of a peak are wrong.")
        .passed("compute_efficiency_percent", percent, PEAK_PERCENT)
        .passed("above_peak_time_percent", share, TIME_PERCENT)
        .link(View::Ops, &equals("hlo_op_name", name))
        .fires()
}
