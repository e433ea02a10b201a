//! Initial range of a timeline.

use base::Ps;
use metrics::Context;
use timeline::extent;
use trace::Interval;

/// The initial range shows only the devices' work if the work is shorter than the capture divided by this number.
const LEAST_PART: i64 = 4;
/// The margin on each side of the work is the duration of the work divided by this number.
const MARGIN_PART: i64 = 10;

/// Returns the start and end of the devices' work with a margin, in picoseconds from the start of the capture. Returns
/// `None` if the work is not a small part of the capture, so that the whole capture is shown.
///
/// ```text
/// capture   [start_trace                                    ops|  stop_trace    ]
/// opens at                                                 [ops |]
/// ```
pub fn first_range(context: &Context<'_>) -> Option<(i64, i64)> {
    let all = extent(*context);
    let devices = &context.analysis.devices.used;
    let start = devices.iter().map(|device| device.to_host(device.span.start)).min()?.max(all.start);
    let end = devices.iter().map(|device| device.to_host(device.span.end)).max()?.min(all.end);
    let length = (end - start).as_ps();
    if length <= 0 || length > all.length().as_ps() / LEAST_PART {
        return None;
    }
    let margin = Ps::new(length / MARGIN_PART);
    let shown = Interval::new((start - margin).max(all.start), (end + margin).min(all.end));
    Some(((shown.start - all.start).as_ps(), (shown.end - all.start).as_ps()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use metrics::analyse;
    use run::{Run, Settings};
    use trace::TraceBuilder;

    fn opens_at(capture_us: i64, ops: (i64, i64)) -> Option<(f64, f64)> {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        let stream = b.line("/device:GPU:0", "Stream #1(Compute)");
        b.event(python, "main", 0, capture_us);
        b.event(stream, "gemm", ops.0, ops.1);
        let run = Run { trace: b.build(), ..Run::default() };
        let examined = analyse(&run, &Settings::default());
        let range = first_range(&examined.context(&run));
        range.map(|(start, end)| (start as f64 * 1e-6, end as f64 * 1e-6))
    }

    #[test]
    fn a_timeline_opens_at_the_work_of_the_devices() {
        assert_eq!(opens_at(10_000, (9_000, 100)), Some((8_990.0, 9_110.0)));
        assert_eq!(opens_at(10_000, (9_950, 50)), Some((9_945.0, 10_000.0)), "the capture ends there");
        assert_eq!(opens_at(10_000, (5_000, 2_600)), None, "that is not much less than all of it");
    }

    #[test]
    fn without_a_device_op_it_shows_everything() {
        let mut b = TraceBuilder::new();
        let python = b.line("/host:CPU", "python");
        b.event(python, "main", 0, 10);
        let run = Run { trace: b.build(), ..Run::default() };
        assert_eq!(first_range(&analyse(&run, &Settings::default()).context(&run)), None);
    }
}
