//! The host and device clocks disagree.
//!
//! The measure is the longest time by which an op starts before the call that launched it. On TPUs, the uncertainty of
//! the clock alignment is subtracted ([Clocks](metrics.md#clocks)). The clocks differ by at least the measured time.
//! Ops are matched to calls by correlation id on GPUs and by run id on TPUs. Severity: note from 50 us, warning from 1
//! ms (ours: launch delays are tens of microseconds, and short steps take a millisecond). On GPUs, a note is also
//! reported from 1 us if one in 10 ops starts that early, because the delays of these launches are unknown. Confidence:
//! high on GPUs, but medium on TPUs, because there a whole program is matched to the call that enqueued it. Remedy:
//! synchronise the clocks, or compare durations only. The rule is skipped if the capture links no op to its launch.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity, View};

pub(super) static RULE: Rule =
    Rule { id: "device_clock_skew", title: "Host and device clocks disagree", ..Rule::checked_by(check) };

/// Maximum time by which an op may start before its launch without a finding. We chose this limit because launch delays
/// are tens of microseconds.
const NOTE_US: f64 = 50.0;
/// The limit on GPUs if many ops start before their launch. This limit is lower because the delays of such launches are
/// unknown.
const LEAST_US: f64 = 1.0;
/// If at least one op in this number starts early, early starts are treated as usual.
const USUAL: u64 = 10;
/// Minimum skew for a warning. A short step takes this long.
const WARNING_US: f64 = 1000.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let launches = &numbers.context.analysis.launches;
    if launches.joined_ops == 0 {
        return lacks("the capture does not link device ops to the calls that launched them.");
    }
    // The uncertainty of the clock alignment is not skew.
    let clocks = numbers.context.analysis.devices.used.iter().filter_map(|device| device.clock);
    let uncertainty = clocks.map(|clock| clock.uncertainty.as_us()).fold(0.0, f64::max);
    let early = launches.early_max.as_us() - uncertainty;
    let total = &launches.total;
    let is_usual = numbers.is_gpu() && early >= LEAST_US && total.early * USUAL >= total.launches;
    if early < NOTE_US && !is_usual {
        return Verdict::Fine;
    }
    let long = early >= WARNING_US;
    let severity = if long { FindingSeverity::Warning } else { FindingSeverity::Note };
    let (what, confidence) =
        if numbers.is_gpu() { ("An op", Confidence::High) } else { ("A program", Confidence::Medium) };
    let message = format!(
        "{what} starts {} before the call that launched it, so the device's clock is behind the host's by at least \
         that much. The launch delay of {} of {} launches is unknown, and shorter delays and causes of idle time are \
         unreliable. \"Launches by call and kernel\" on the Kernels page shows the launch delays of each call.",
        format::time_us(early),
        format::count(total.early),
        format::count(total.launches)
    );
    Draft::new(severity, confidence, "The host and device clocks disagree", message)
        .remedy(
            match numbers.profile.metadata.num_hosts {
                Some(2..) => {
                    "Capture again, for longer: the profiler aligns the clocks when it starts. Check that the hosts' clocks are \
                     synchronised (chrony, NTP). Compare durations, not timestamps, of host and device."
                }
                _ => {
                    "Capture again, for longer: the profiler aligns the clocks when it starts. Compare durations, not \
                     timestamps, of host and device."
                }
            },
        )
        .passed("op_before_launch_us", early, [NOTE_US, WARNING_US].into_iter().rfind(|&limit| early >= limit).unwrap_or(LEAST_US))
        .count("early_launches", total.early)
        .count("joined_ops", launches.joined_ops)
        // Less than a microsecond is rounding.
        .evidence_where("placement_uncertainty_us", Some(uncertainty).filter(|&it| it >= 1.0))
        .link(View::Kernels, "")
        .fires()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, fine, gpu_steps, kernel};
    use report::FindingSeverity::{Note, Warning};

    #[test]
    fn fires_above_its_limit() {
        // The kernel is launched in the next step, but starts `early` us before the launch.
        let trace = |early: i64| gpu_steps(12, move |b, at| kernel(b, "gemm", at + 1100, at + 1100 - early, 500));
        assert_eq!(finding(trace(1000), &RULE).severity, Warning);
        assert_eq!(finding(trace(50), &RULE).severity, Note);
        // A skew below the limit is still reported if the delays of many launches are unknown. Here all delays are unknown.
        assert_eq!(finding(trace(49), &RULE).severity, Note);
        fine(trace(0), &RULE);
        fine(trace(-5), &RULE);
    }
}
