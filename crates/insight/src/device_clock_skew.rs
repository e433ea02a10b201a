//! The clocks of host and device disagree.

use super::draft::{Draft, lacks};
use super::numbers::Numbers;
use super::{Rule, Verdict};
use base::format;
use report::{Confidence, FindingSeverity};

/// The rule.
pub(super) const RULE: Rule = Rule { id: "device_clock_skew", title: "Clocks of host and device disagree", check };

/// By how much ops may start before their launch (ours: launch delays are given in tens of microseconds).
const NOTE_US: f64 = 50.0;
/// On GPUs, where many ops start before their launch, also less is said: the delays of those launches are unknown.
const LEAST_US: f64 = 1.0;
/// One launch in so many is many (ours).
const USUAL: u64 = 10;
/// From this time on the skew is as long as short steps (ours).
const WARNING_US: f64 = 1000.0;

fn check(numbers: &Numbers<'_>) -> Verdict {
    let launches = &numbers.context.analysis.launches;
    if launches.joined_ops == 0 {
        return lacks("the capture does not tie device ops to the calls that launched them.");
    }
    // What the placement of the chips' clocks may be wrong by is no difference of clocks.
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
        "{what} starts {} before the call that launched it, which cannot be: the device's clock is early by at least that. The launch \
         delay of {} of {} launches is unknown, and other delays and causes of idle time that are shorter are unreliable. Each launch is \
         in \"Launches by call and kernel\" on the Kernels page.",
        format::time_us(early),
        format::count(total.early),
        format::count(total.launches)
    );
    Draft::new(severity, confidence, "The clocks of host and device disagree", message)
        .remedy(
            match numbers.profile.metadata.num_hosts {
                Some(2..) => {
                    "Capture again, for longer: the profiler aligns the clocks when it starts. Check that the hosts' clocks are \
                     synchronised (chrony, NTP). Compare durations and not times of host and device."
                }
                _ => {
                    "Capture again, for longer: the profiler aligns the clocks when it starts. Compare durations and not times of host \
                     and device."
                }
            },
        )
        .passed("op_before_launch_us", early, [NOTE_US, WARNING_US].into_iter().rfind(|&limit| early >= limit).unwrap_or(LEAST_US))
        .count("early_launches", total.early)
        .count("joined_ops", launches.joined_ops)
        // Below a microsecond it is rounding.
        .evidence_where("placement_uncertainty_us", Some(uncertainty).filter(|&it| it >= 1.0))
        .link("kernels", "")
        .fires()
}
